package corpus

import (
	"reflect"
	"slices"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/rng"
)

func TestReadAdvice(t *testing.T) {
	for text, want := range map[string]Advice{
		"the mug was in shelf 2 and desk 1, go there first. heat the mug before you put it in the shelf.": {Object: "mug", First: []string{"shelf 2", "desk 1"}, Step: true,
			Lead: "the mug was in shelf 2 and desk 1, go there first. heat the mug before you put it in the shelf.", Whole: true},
		"the cd is not in desk 1, shelf 2. the desklamp was in desk 1.": {Object: "cd", Avoid: []string{"desk 1", "shelf 2"}, Lead: "the cd is not in desk 1, shelf 2. the desklamp was in desk 1.", Whole: true},
		"the cd was in desk 1, go there first. take cd 2 from desk 1":   {Object: "cd", First: []string{"desk 1"}, Lead: "the cd was in desk 1, go there first."},
		"the cd was in desk 1, go there first.You pick up":              {},
		"look in more places.": {Lead: "look in more places.", Whole: true},
		"be careful.":          {},
		"":                     {},
	} {
		if got := ReadAdvice(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// All that the teacher writes is understood, and names what the trace has shown.
func TestReflectionsAreReadWhole(t *testing.T) {
	m, _ := Lookup("weak")
	places := 0
	for i, g := range games(t, 60, "val") {
		tr, err := playOnce(m, g, testPrior(t), nil, Level{Confuse: .4, Recover: .05}, Limit, rng.New(5, "advice", i))
		if err != nil {
			t.Fatal(err)
		}
		text := Reflect(g.Goal(), tr.pairs)
		a := ReadAdvice(text)
		if !a.Whole || a.Lead != text {
			t.Errorf("not understood: %q, only %q", text, a.Lead)
		}
		with, without, err := Shown(g.Goal(), tr.pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []struct{ names, in []string }{{a.First, with}, {a.Avoid, without}} {
			if slices.ContainsFunc(l.names, func(x string) bool { return !slices.Contains(l.in, x) }) {
				t.Errorf("%q names one of %v; the trace has shown %v", text, l.names, l.in)
			}
			places += len(l.names)
		}
		object, next, err := NextPlace(textworld.NewWorld(g, textworld.DialectMove).Intro(), tr.pairs)
		if err != nil || object != mustGoal(t, g).Object {
			t.Fatalf("next place for %q: %v", object, err)
		}
		// Where everything was looked into, one place is looked at again.
		if len(with) > 0 && next != with[0] || len(with) == 0 && len(without) < len(g.Contents()) && slices.Contains(without, next) {
			t.Errorf("look in %s next; shown in %v, not in %v", next, with, without)
		}
		for _, p := range with {
			if !slices.ContainsFunc(g.Contents()[p], func(o string) bool { return typeOf(o) == mustGoal(t, g).Object }) {
				t.Errorf("game %s: %s was shown with a %s and starts with %v", g.ID(), p, mustGoal(t, g).Object, g.Contents()[p])
			}
		}
	}
	if places < 60 {
		t.Errorf("only %d places named", places)
	}
}

func mustGoal(t *testing.T, g *textworld.Game) Goal {
	t.Helper()
	goal, err := ParseGoal(g.Goal())
	if err != nil {
		t.Fatal(err)
	}
	return goal
}
