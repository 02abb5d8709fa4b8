package corpus

import (
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

// games opens games of the splits, at most n (0 = all).
func games(t testing.TB, n int, splits ...string) []*textworld.Game {
	t.Helper()
	g, err := textworld.Select(textworld.Selection{Splits: splits, Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	if len(g) == 0 {
		t.Fatalf("no games in %v", splits)
	}
	return g
}

func testPrior(t testing.TB) *Prior {
	t.Helper()
	p, err := actorPrior()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLucidSearcherWins(t *testing.T) {
	m, _ := Lookup("strong")
	for _, c := range []struct {
		split string
		n     int
	}{{"seen", 0}, {"unseen", 0}, {"actor", 100}} {
		gs := games(t, c.n, c.split)
		wins, steps := 0, 0
		for i, g := range gs {
			tr, err := playOnce(m, g, testPrior(t), nil, Level{}, Limit, rng.New(1, c.split, i))
			if err != nil {
				t.Fatal(err)
			}
			if tr.won {
				wins++
				steps += len(tr.pairs)
			} else {
				t.Logf("lost %s (%s)", g.ID(), g.Goal())
				for _, p := range tr.pairs {
					t.Logf("  %s | > %s | %s", p.Thoughts, p.Action, p.Observation)
				}
			}
		}
		mean := float64(steps) / float64(wins)
		t.Logf("%s: %d of %d won, %.1f commands", c.split, wins, len(gs), mean)
		if wins*100 < 99*len(gs) || mean > 10 {
			t.Errorf("%s: a lucid player won %d of %d games with %.1f commands on average; want 99 %% and at most 10", c.split, wins, len(gs), mean)
		}
	}
}

// transcript answers with recorded texts, whatever is commanded.
type transcript struct {
	intro string
	obs   []string
	n     int
}

func (w *transcript) Intro() string { return w.intro }
func (w *transcript) Won() bool     { return w.n == len(w.obs) }
func (w *transcript) Do(string) (string, bool) {
	w.n++
	return w.obs[w.n-1], w.obs[w.n-1] != llm.NothingHappens
}

// A player that sees only recorded texts does what it did in the game: nothing
// but the displayed text reaches it.
func TestPlayersSeeTextOnly(t *testing.T) {
	m, _ := Lookup("weak")
	for i, g := range games(t, 0, "unseen") {
		for k, l := range m.Levels {
			tr, err := playOnce(m, g, testPrior(t), nil, l, Limit, rng.New(7, i, k))
			if err != nil {
				t.Fatal(err)
			}
			w := &transcript{intro: textworld.NewWorld(g, textworld.DialectMove).Intro()}
			for _, p := range tr.pairs {
				w.obs = append(w.obs, p.Observation)
			}
			p, err := newPlayer(testPrior(t), w.Intro(), nil, m.Noise, rng.New(7, i, k))
			if err != nil {
				t.Fatal(err)
			}
			again := play(p, w, l, m.Modes, Limit)
			if again.plan != tr.plan {
				t.Fatalf("%s: plan %q in the game, %q from its texts", g.ID(), tr.plan, again.plan)
			}
			for j := range tr.pairs {
				if a, b := tr.pairs[j], again.pairs[j]; a.Action != b.Action || a.Thoughts[0] != b.Thoughts[0] {
					t.Fatalf("%s: command %d is %q (%q) in the game, %q (%q) from its texts", g.ID(), j, a.Action, a.Thoughts[0], b.Action, b.Thoughts[0])
				}
			}
		}
	}
}

// Lucid thoughts are true: what a thought claims to see was displayed, and the
// last of a type is the last.
func TestLucidThoughtsAreTrue(t *testing.T) {
	m, _ := Lookup("strong")
	for i, g := range games(t, 0, "seen") {
		tr, err := playOnce(m, g, testPrior(t), nil, Level{}, Limit, rng.New(8, i))
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		for _, p := range tr.pairs {
			th := p.Thoughts[0]
			if _, o, ok := strings.Cut(th, "i see "); ok {
				o, _, _ = strings.Cut(o, " in ")
				if !strings.Contains(shown, "a "+o) {
					t.Errorf("%s: thought %q, but %q was never shown", g.ID(), th, o)
				}
			}
			if _, o, ok := strings.Cut(th, "i have "); ok {
				o, _, _ = strings.Cut(o, ".")
				if !strings.Contains(shown, "You pick up the "+o) {
					t.Errorf("%s: thought %q, but %q was never picked up", g.ID(), th, o)
				}
			}
			if p.Observation == llm.NothingHappens && !strings.HasPrefix(p.Action, "go to ") && !strings.HasPrefix(p.Action, "open ") {
				t.Errorf("%s: lucid command %q has no effect", g.ID(), p.Action)
			}
			shown += p.Observation + "\n"
		}
	}
}

func TestParseGoal(t *testing.T) {
	for s, want := range map[string]Goal{
		"put some apple on countertop.":                      {Pick, "apple", "countertop"},
		"Your task is to: put a book in sofa.":               {Pick, "book", "sofa"},
		"look at cd under the desklamp.":                     {Look, "cd", "desklamp"},
		"examine the book with the desklamp.":                {Look, "book", "desklamp"},
		"put a clean mug in shelf.":                          {Clean, "mug", "shelf"},
		"clean some mug and put it in shelf.":                {Clean, "mug", "shelf"},
		"heat some egg and put it in fridge.":                {Heat, "egg", "fridge"},
		"put a hot egg in fridge.":                           {Heat, "egg", "fridge"},
		"cool some pan and put it in stoveburner.":           {Cool, "pan", "stoveburner"},
		"put a cool pan in stoveburner.":                     {Cool, "pan", "stoveburner"},
		"put two cd in safe.":                                {Two, "cd", "safe"},
		"Your task is to: find two cd and put them in safe.": {Two, "cd", "safe"},
	} {
		if g, err := ParseGoal(s); err != nil || g != want {
			t.Errorf("%q: %+v, %v; want %+v", s, g, err, want)
		}
	}
	for _, s := range []string{"", "put a in .", "put a big red mug in shelf.", "slice an apple."} {
		if g, err := ParseGoal(s); err == nil {
			t.Errorf("%q was read as %+v", s, g)
		}
	}
}

func TestBeliefFollowsText(t *testing.T) {
	b, err := newBelief(testIntro)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n string) *place { return &b.places[b.index[n]] }
	b.update("go to drawer 1", "The drawer 1 is closed.")
	if !at("drawer 1").near || !at("drawer 1").closed || at("drawer 1").seen {
		t.Errorf("after going to a closed drawer: %+v", at("drawer 1"))
	}
	b.update("go to drawer 2", llm.NothingHappens) // shares the location
	b.update("open drawer 2", llm.NothingHappens)  // and does not open
	if !at("drawer 2").near || !at("drawer 2").fixed {
		t.Errorf("drawer at the same location that does not open: %+v", at("drawer 2"))
	}
	b.update("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a mug 2, and a pen 1.")
	if o, r := b.visible("mug", -1); o != "mug 2" || r != b.index["drawer 1"] {
		t.Errorf("sees %q in %d", o, r)
	}
	b.update("take mug 2 from drawer 1", "You pick up the mug 2 from the drawer 1.")
	if o, _ := b.visible("mug", -1); !b.holdsTarget() || o != "" {
		t.Errorf("after taking the mug: holds %q, sees %q", b.hold, o)
	}
	b.update("go to desk 1", "On the desk 1, you see nothing.")
	if at("drawer 1").near || at("drawer 2").near || !at("desk 1").near {
		t.Error("after leaving, only the desk is near")
	}
	b.update("move mug 2 to desk 1", "You move the mug 2 to the desk 1.")
	if o, r := b.visible("mug", -1); b.hold != "" || o != "mug 2" || r != b.index["desk 1"] {
		t.Errorf("after putting it on the desk: holds %q, sees %q in %d", b.hold, o, r)
	}
	for action, want := range map[string]string{
		"go to desk 1": "go: is here already", "go to desk 9": "go: no such place", "move mug 2 to desk 1": "put: not held",
		"take pen 1 from drawer 1": "take: elsewhere", "take pen 1 from desk 1": "take: not there", "open drawer 3": "open: elsewhere",
		"clean mug 2 with sinkbasin 1": "treat: not held", "use desklamp 1": "use: no such lamp here",
	} {
		if got := b.failure(action); got != want {
			t.Errorf("%q: reason %q, want %q", action, got, want)
		}
	}
}
