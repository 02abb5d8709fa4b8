package scripted

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Toy is a tiny player and world model of household tasks, for examples: it
// walks to the places that the room names, takes what it looks for when it saw
// it, brings it to its place, and imagines places as empty. Everything it knows
// stands in the prefix; its only randomness is the request's stream.
func Toy() *Model { return New("toy", toy) }

var (
	toySee  = regexp.MustCompile(`\ban? ([a-z]+ \d+)`)
	toyGoal = regexp.MustCompile(`put (?:an?|some|two) (?:clean |hot |cool )?([a-z]+) (?:in|on|in/on) ([a-z]+)`)
)

func toy(p Prompt) (string, error) {
	thing, place := "mug", "shelf"
	if m := toyGoal.FindStringSubmatch(p.Prefix); m != nil {
		thing, place = m[1], m[2]
	}
	if p.Request.Until == llm.UntilLine {
		return toyLine(p, thing, place), nil
	}
	head, _, _ := strings.Cut(p.Prefix, "\n"+llm.TagAct)
	var places []string
	for _, m := range toySee.FindAllStringSubmatch(head, -1) {
		places = append(places, m[1])
	}
	if len(places) == 0 {
		places = []string{place + " 1"}
	}
	text := p.Prefix
	n := 1
	if p.Request.Until == llm.UntilPairs {
		n = max(p.Request.Pairs, 1)
	}
	for range n {
		pair := toyPair(text, thing, place, places, p.Rand.IntN(len(places)))
		text += llm.RenderPair(pair)
		if strings.HasPrefix(pair.Action, "move ") && pair.Observation != llm.NothingHappens {
			text += llm.RenderEnd(true)
			break
		}
	}
	return strings.TrimPrefix(text, p.Prefix), nil
}

// toyPair is the next command and what the toy expects of it.
func toyPair(text, thing, place string, places []string, random int) llm.Pair {
	pairs := llm.Parse(text).Pairs
	held, at, seen := "", "", ""
	for _, p := range pairs {
		w := strings.Fields(p.Action)
		switch {
		case p.Observation == llm.NothingHappens:
			seen = ""
		case strings.HasPrefix(p.Action, "go to ") && len(w) >= 4:
			at, seen = w[2]+" "+w[3], ""
			for _, m := range toySee.FindAllStringSubmatch(p.Observation, -1) {
				if strings.HasPrefix(m[1], thing+" ") {
					seen = m[1]
				}
			}
		case w[0] == "take" && len(w) >= 3:
			held, seen = w[1]+" "+w[2], ""
		case w[0] == "move":
			held = ""
		}
	}
	switch {
	case held != "" && strings.HasPrefix(at, place+" "):
		return llm.Pair{Thoughts: []string{"put " + held + " here."}, Action: fmt.Sprintf("move %s to %s", held, at),
			Observation: fmt.Sprintf("You move the %s to the %s.", held, at)}
	case held != "":
		return llm.Pair{Thoughts: []string{"i have " + held + "."}, Action: "go to " + place + " 1",
			Observation: fmt.Sprintf("On the %s 1, you see nothing.", place)}
	case seen != "":
		return llm.Pair{Thoughts: []string{"i see " + seen + "."}, Action: fmt.Sprintf("take %s from %s", seen, at),
			Observation: fmt.Sprintf("You pick up the %s from the %s.", seen, at)}
	}
	to := places[random]
	return llm.Pair{Thoughts: []string{fmt.Sprintf("find %s: next %s.", thing, to)}, Action: "go to " + to,
		Observation: fmt.Sprintf("On the %s, you see nothing.", to)}
}

// toyLine writes a plan, or a reflection on the places that held nothing.
func toyLine(p Prompt, thing, place string) string {
	if strings.HasSuffix(strings.TrimSpace(p.Prefix), llm.TagPlan) {
		return fmt.Sprintf(" find %s, put it in %s 1.\n", thing, place)
	}
	var not []string
	for _, q := range llm.Parse(p.Prefix).Pairs {
		to, ok := strings.CutPrefix(q.Action, "go to ")
		if ok && !strings.Contains(q.Observation, thing) {
			not = append(not, to)
		}
	}
	if len(not) == 0 {
		return fmt.Sprintf(" look for the %s elsewhere.\n", thing)
	}
	return fmt.Sprintf(" the %s is not in %s.\n", thing, strings.Join(not, ", "))
}
