package corpus

import (
	"slices"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
)

// maxListed is how many places a "not in" reflection names.
const maxListed = 10

// Reflect writes the reflection of an expert on a lost trial, from the trace
// alone: where the wanted object was seen, or else where it is not, and a
// forgotten step. goal is the task sentence; the answers may begin with the
// arrival sentence. The text has no "reflection:" tag and is one line. It is the
// teacher of the training text; an agent at play writes its own.
//
// Where nothing can be learnt it returns "look in more places.".
func Reflect(goal string, pairs []llm.Pair) string {
	g, err := ParseGoal(goal)
	if err != nil {
		return moreToSee
	}
	t := readTrace(g, pairs)
	out := t.places(g)
	if t.forgot {
		out = append(out, forgotten(g))
	}
	if len(out) == 0 {
		return moreToSee
	}
	return strings.Join(out, " ")
}

const moreToSee = "look in more places."

// forgotten is the sentence about the step that a task needs and that was left out; "" if it has none.
func forgotten(g Goal) string {
	verb, _ := g.treat()
	switch {
	case verb != "":
		return verb + " the " + g.Object + " before you put it in the " + g.Place + "."
	case g.Kind == Look:
		return "take the " + g.Object + ", then use the " + g.Place + "."
	case g.Kind == Two:
		return "put two " + g.Object + " in the same " + g.Place + "."
	}
	return ""
}

// traceFacts are what a lost trial has shown.
type traceFacts struct {
	seen   []string // places in which an object of the wanted type lay, in order of sight
	looked []string // places looked into that held none
	lamp   string   // where a lamp was seen
	forgot bool     // a needed step was left out
}

func readTrace(g Goal, pairs []llm.Pair) traceFacts {
	var f traceFacts
	moved := map[string]bool{}   // objects the player itself has moved: their new places are no news
	treated := map[string]bool{} // objects cleaned, heated or cooled
	putAt := map[string]bool{}   // places of the goal's type that received an object
	verbNeeded, _ := g.treat()
	hold := ""
	took, used := false, false
	for _, pr := range pairs {
		obs := textworld.CutArrival(pr.Observation)
		if obs == llm.NothingHappens {
			continue
		}
		verb, obj, r := splitCommand(pr.Action)
		switch verb {
		case "go", "open", "examine":
			if !strings.Contains(obs, "you see ") || !isName(r) || strings.HasPrefix(obs, "This is ") {
				continue
			}
			target := false
			for _, x := range listAfter(obs, "you see ") {
				switch typeOf(x) {
				case g.Object:
					target = target || !moved[x]
				case g.Place:
					if g.Kind == Look && f.lamp == "" {
						f.lamp = r
					}
				}
			}
			if target {
				f.seen = appendOnce(f.seen, r)
			} else {
				f.looked = appendOnce(f.looked, r)
			}
		case "take":
			hold = obj
			moved[obj] = true
			took = took || typeOf(obj) == g.Object
		case "move":
			hold = ""
			if typeOf(obj) == g.Object && typeOf(r) == g.Place {
				putAt[r] = true
				f.forgot = f.forgot || verbNeeded != "" && !treated[obj]
			}
		case "clean", "heat", "cool":
			treated[obj] = verb == verbNeeded || verb == "clean" && treated[obj]
		case "use":
			used = true
			if g.Kind == Look && typeOf(hold) != g.Object {
				f.forgot = true
			}
		}
	}
	switch g.Kind {
	case Look:
		f.forgot = f.forgot || took && !used
	case Two:
		f.forgot = len(putAt) > 0
	}
	return f
}

// hints are reflections as a player follows them, by object type.
type hints struct {
	first  map[string][]int        // places to go to first
	avoid  map[string]map[int]bool // places not to search
	recall bool                    // a forgotten step was named
}

// readReflections takes sentences of [Reflect]'s patterns apart; later sentences
// overrule earlier ones. Places that the room does not have are ignored.
func readReflections(lines []string, index map[string]int) hints {
	h := hints{first: map[string][]int{}, avoid: map[string]map[int]bool{}}
	for _, line := range lines {
		for _, s := range strings.SplitAfter(strings.TrimSpace(line), ".") {
			s = strings.TrimSuffix(strings.TrimSpace(s), ".")
			if r, ok := strings.CutPrefix(s, "the "); ok {
				if o, l, ok := strings.Cut(r, " was in "); ok {
					l = strings.TrimSuffix(l, ", go there first")
					var rs []int
					for _, n := range strings.Split(l, " and ") {
						if i, ok := index[n]; ok {
							rs = append(rs, i)
							delete(h.avoid[o], i)
						}
					}
					h.first[o] = append(rs, without(h.first[o], rs)...)
				} else if o, l, ok := strings.Cut(r, " is not in "); ok {
					if h.avoid[o] == nil {
						h.avoid[o] = map[int]bool{}
					}
					for _, n := range strings.Split(l, ", ") {
						if i, ok := index[n]; ok {
							h.avoid[o][i] = true
							h.first[o] = without(h.first[o], []int{i})
						}
					}
				}
				continue
			}
			h.recall = h.recall || strings.Contains(s, " before you put ") || strings.Contains(s, ", then use ") || strings.Contains(s, " in the same ")
		}
	}
	return h
}

// without is l less the entries of drop; l is not changed.
func without(l, drop []int) []int {
	var out []int
	for _, x := range l {
		if !slices.Contains(drop, x) {
			out = append(out, x)
		}
	}
	return out
}

func appendOnce(l []string, x string) []string {
	if slices.Contains(l, x) {
		return l
	}
	return append(l, x)
}

// isName reports whether s has the form "type number".
func isName(s string) bool {
	t, n, ok := strings.Cut(s, " ")
	if !ok || !isWord(t) || n == "" {
		return false
	}
	return strings.Trim(n, "0123456789") == ""
}
