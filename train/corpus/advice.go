package corpus

import (
	"regexp"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
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

// NextPlace is where a lucid player that has seen a trace would look for the thing
// of the goal next: a place in which it was displayed, else the likeliest one, by
// the training games, that was not looked into. intro holds the task and the room line.
func NextPlace(intro string, pairs []llm.Pair) (object, place string, err error) {
	prior, err := actorPrior()
	if err != nil {
		return "", "", err
	}
	p, err := newPlayer(prior, intro, nil, 0, rng.New(0, "next"))
	if err != nil {
		return "", "", err
	}
	if seen := readTrace(p.goal, pairs).seen; len(seen) > 0 {
		return p.goal.Object, seen[0], nil
	}
	for _, pr := range pairs {
		p.update(pr.Action, pr.Observation)
	}
	return p.goal.Object, p.places[p.target(p.goal.Object)].name, nil
}
