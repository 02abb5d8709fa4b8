package corpus

import (
	"regexp"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Advice is what a reflection says, as far as it consists of the sentences that
// [Reflect] writes.
type Advice struct {
	Object string   // type of the thing it is about, "" where no sentence names a place
	First  []string // places to go to first
	Avoid  []string // places in which the thing is not
	Step   bool     // names a forgotten step
	// Lead is the beginning of the text that consists of known sentences, Whole
	// whether that is all of it.
	Lead  string
	Whole bool
}

const placeName = `[a-z]+ \d+`

// sentences are the forms of [Reflect]; the groups are thing and places.
var sentences = []struct {
	kind string
	re   *regexp.Regexp
}{
	{"first", regexp.MustCompile(`^the ([a-z]+) was in (` + placeName + `(?: and ` + placeName + `)?), go there first\.(?: |$)`)},
	{"avoid", regexp.MustCompile(`^the ([a-z]+) is not in (` + placeName + `(?:, ` + placeName + `)*)\.(?: |$)`)},
	{"lamp", regexp.MustCompile(`^the (desklamp|floorlamp) was in (` + placeName + `)\.(?: |$)`)},
	{"step", regexp.MustCompile(`^(?:clean|heat|cool) the [a-z]+ before you put it in the [a-z]+\.(?: |$)`)},
	{"step", regexp.MustCompile(`^take the [a-z]+, then use the [a-z]+\.(?: |$)`)},
	{"step", regexp.MustCompile(`^put two [a-z]+ in the same [a-z]+\.(?: |$)`)},
	{"more", regexp.MustCompile(`^look in more places\.(?: |$)`)},
}

// ReadAdvice takes a reflection apart, from its beginning up to the first sentence
// of another form.
func ReadAdvice(text string) Advice {
	var a Advice
	rest := strings.TrimSpace(text)
	n := len(rest)
next:
	for rest != "" {
		for _, s := range sentences {
			m := s.re.FindStringSubmatch(rest)
			if m == nil {
				continue
			}
			switch s.kind {
			case "first":
				a.Object, a.First = m[1], append(a.First, strings.Split(m[2], " and ")...)
			case "avoid":
				a.Object, a.Avoid = m[1], append(a.Avoid, strings.Split(m[2], ", ")...)
			case "step":
				a.Step = true
			}
			rest = rest[len(m[0]):]
			continue next
		}
		break
	}
	a.Lead = strings.TrimSpace(strings.TrimSpace(text)[:n-len(rest)])
	a.Whole = rest == "" && n > 0
	return a
}

// Shown lists the places of a trace in which a thing of the goal's type was
// displayed before the player had moved it, and those that were displayed without one.
func Shown(goal string, pairs []llm.Pair) (with, without []string, err error) {
	g, err := ParseGoal(goal)
	if err != nil {
		return nil, nil, err
	}
	t := readTrace(g, pairs)
	return t.seen, t.looked, nil
}
