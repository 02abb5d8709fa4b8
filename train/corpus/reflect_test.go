package corpus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

func pairs(l ...string) []llm.Pair {
	var out []llm.Pair
	for i := 0; i+1 < len(l); i += 2 {
		out = append(out, llm.Pair{Action: l[i], Observation: l[i+1]})
	}
	return out
}

func ExampleReflect() {
	fmt.Println(Reflect("put a clean mug in shelf.", []llm.Pair{
		{Action: "go to desk 1", Observation: "On the desk 1, you see a pen 1."},
		{Action: "go to drawer 2", Observation: "The drawer 2 is closed."},
		{Action: "open drawer 2", Observation: "You open the drawer 2. The drawer 2 is open. In it, you see a mug 1."},
	}))
	// Output: the mug was in drawer 2, go there first.
}

func TestReflect(t *testing.T) {
	many := []string{}
	for i := range 14 {
		many = append(many, fmt.Sprintf("go to shelf %d", i+1), fmt.Sprintf("On the shelf %d, you see nothing.", i+1))
	}
	for _, c := range []struct {
		name, goal string
		pairs      []llm.Pair
		want       string
	}{
		{"nothing learnt", "put a mug in shelf.", pairs("look", "You are in the middle of a room. Looking quickly around you, you see nothing.", "go to shelf 9", "Nothing happens."), "look in more places."},
		{"unknown goal", "win the game", nil, "look in more places."},
		{"not seen", "put a mug in shelf.", pairs("go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 1.", "go to drawer 1", "The drawer 1 is closed.", "open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see nothing.", "go to desk 1", "On the desk 1, you see a pen 1."),
			"the mug is not in desk 1, drawer 1."},
		{"ten at most", "put a mug in shelf.", pairs(many...), "the mug is not in shelf 1, shelf 2, shelf 3, shelf 4, shelf 5, shelf 6, shelf 7, shelf 8, shelf 9, shelf 10."},
		{"step forgotten", "clean some mug and put it in shelf.", pairs("go to desk 1", "On the desk 1, you see a mug 1.", "take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.", "move mug 1 to shelf 1", "You move the mug 1 to the shelf 1.", "go to shelf 1", "On the shelf 1, you see a mug 1."),
			"the mug was in desk 1, go there first. clean the mug before you put it in the shelf."},
		{"step not forgotten", "clean some mug and put it in shelf.", pairs("go to desk 1", "On the desk 1, you see a mug 1.", "take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.", "clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1.", "move mug 1 to shelf 1", "You move the mug 1 to the shelf 1."),
			"the mug was in desk 1, go there first."},
		{"command without effect is no step", "put a hot egg in fridge.", pairs("go to desk 1", "On the desk 1, you see nothing.", "heat egg 1 with microwave 1", "Nothing happens.", "move egg 1 to fridge 1", "Nothing happens."),
			"the egg is not in desk 1."},
		{"lamp first", "examine the cd with the desklamp.", pairs("go to desk 1", "On the desk 1, you see a desklamp 1.", "use desklamp 1", "You turn on the desklamp 1.", "go to bed 1", "On the bed 1, you see a cd 2."),
			"the cd was in bed 1, go there first. the desklamp was in desk 1. take the cd, then use the desklamp."},
		{"two places", "put two cd in safe.", pairs("go to desk 1", "On the desk 1, you see a cd 1.", "go to bed 1", "On the bed 1, you see a cd 2.", "take cd 2 from bed 1", "You pick up the cd 2 from the bed 1.", "move cd 2 to safe 1", "You move the cd 2 to the safe 1.", "examine safe 1", "The safe 1 is open. In it, you see a cd 2."),
			"the cd was in desk 1 and bed 1, go there first. put two cd in the same safe."},
		{"container is no place", "put a mug in shelf.", pairs("examine plate 1", "This is a normal plate 1. In it, you see a mug 1."), "look in more places."},
	} {
		if got := Reflect(c.goal, c.pairs); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

const testIntro = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 2, a desk 1, a drawer 3, a drawer 2, a drawer 1, a shelf 2, and a shelf 1.\n\nYour task is to: put a mug in shelf."

func TestReflectionsAreObeyed(t *testing.T) {
	prior := NewPrior([]Room{{"bed 1": nil, "desk 1": {"mug 1"}, "drawer 1": nil, "shelf 1": nil}})
	newP := func(lines ...string) *player {
		p, err := newPlayer(prior, testIntro, lines, .3, rng.New(1, "p"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		lines []string
		first string // command
		plan  string // beginning
	}{
		{nil, "go to desk 1", "find mug in desk 2, "},
		{[]string{"the mug was in drawer 2, go there first."}, "go to drawer 2", "go to drawer 2 first, find mug in "},
		{[]string{"the mug is not in desk 1."}, "go to desk 2", "find mug in desk 2, "},
		{[]string{"the mug was in bed 1 and drawer 3, go there first. put two mug in the same shelf."}, "go to bed 1", "go to bed 1 first, "},
		{[]string{"the mug was in bed 1, go there first.", "the mug is not in bed 1, desk 1."}, "go to desk 2", "find mug in desk 2, "},
		{[]string{"the mug is not in bed 1.", "the mug was in bed 1, go there first."}, "go to bed 1", "go to bed 1 first, "},
		{[]string{"the mug was in safe 4, go there first."}, "go to desk 1", "find mug in "}, // no such place here
		{[]string{"the pen was in bed 1, go there first."}, "go to desk 1", "find mug in "},  // another object
	} {
		p := newP(c.lines...)
		if plan := p.plan(); !strings.HasPrefix(plan, c.plan) {
			t.Errorf("%q: plan %q, want it to begin with %q", c.lines, plan, c.plan)
		}
		if _, a := p.next(); a != c.first {
			t.Errorf("%q: first command %q, want %q", c.lines, a, c.first)
		}
	}
	if p := newP("the mug is not in desk 1, desk 2."); strings.Contains(p.plan(), "desk") {
		t.Errorf("plan %q names a type that a reflection excludes", p.plan())
	}
}

// A wrong reflection costs commands, not the game.
func TestWrongHintIsSurvived(t *testing.T) {
	m, _ := Lookup("strong")
	for i, g := range games(t, 60, "seen") {
		goal, err := ParseGoal(g.Goal())
		if err != nil {
			t.Fatal(err)
		}
		r := rng.New(2, i)
		h := hint(goal, g.Contents(), true, r)
		tr, err := playOnce(m, g, testPrior(t), []string{h}, Level{}, Limit, r)
		if err != nil {
			t.Fatal(err)
		}
		if !tr.won {
			t.Errorf("%s: lost after the wrong hint %q", g.ID(), h)
		}
		place := strings.TrimSuffix(strings.TrimPrefix(h[:strings.Index(h, ",")], "the "+goal.Object+" was in "), ",")
		if tr.pairs[0].Action != "go to "+place {
			t.Errorf("%s: hint %q, but first command %q", g.ID(), h, tr.pairs[0].Action)
		}
	}
}

func FuzzReflect(f *testing.F) {
	f.Add("put a mug in shelf.", "go to desk 1", "On the desk 1, you see a mug 1, and a pen 1.")
	f.Add("put two cd in safe.", "move  to ", "You arrive at . you see ")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, goal, action, obs string) {
		s := Reflect(goal, []llm.Pair{{Action: action, Observation: obs}, {Action: action, Observation: obs}})
		if s == "" {
			t.Fatal("empty reflection")
		}
		if !strings.Contains(action+obs, "\n") && strings.Contains(s, "\n") {
			t.Fatalf("reflection of more than one line: %q", s)
		}
		readReflections([]string{s, obs}, map[string]int{"desk 1": 0})
	})
}
