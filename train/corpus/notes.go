package corpus

import (
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Notes sums up what earlier episodes of one task have shown, in the sentences of
// [Reflect], for a player that is about to start again: where things of the wanted
// type lay before the player moved them, or else where none was. Nothing but the
// episodes' own texts goes in. "" where there is nothing to tell.
func Notes(goal string, episodes [][]llm.Pair) string {
	g, err := ParseGoal(goal)
	if err != nil {
		return ""
	}
	var all traceFacts
	for _, ps := range episodes {
		t := readTrace(g, ps)
		for _, r := range t.seen {
			all.seen = appendOnce(all.seen, r)
		}
		for _, r := range t.looked {
			all.looked = appendOnce(all.looked, r)
		}
		if all.lamp == "" {
			all.lamp = t.lamp
		}
	}
	all.looked = slices.DeleteFunc(all.looked, func(r string) bool { return slices.Contains(all.seen, r) })
	return strings.Join(all.places(g), " ")
}

// places are the sentences about where things are.
func (t traceFacts) places(g Goal) []string {
	var out []string
	if len(t.seen) > 0 {
		n := 1
		if g.Kind == Two {
			n = min(2, len(t.seen))
		}
		out = append(out, "the "+g.Object+" was in "+strings.Join(t.seen[:n], " and ")+", go there first.")
	} else if len(t.looked) > 0 {
		out = append(out, "the "+g.Object+" is not in "+strings.Join(t.looked[:min(maxListed, len(t.looked))], ", ")+".")
	}
	if t.lamp != "" && g.Kind == Look {
		out = append(out, "the "+g.Place+" was in "+t.lamp+".")
	}
	return out
}
