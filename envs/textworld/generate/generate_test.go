package generate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

// size is how many games the tests make.
func size(t *testing.T) int {
	if testing.Short() {
		return 300
	}
	return 10000
}

// Every game is won by the expert's plan, also when replayed through the environment's
// own words, and no game is a shipped one or made twice.
func TestGamesAreWonAndNew(t *testing.T) {
	seen := map[string]string{}
	shipped, err := textworld.Select(textworld.Selection{Limit: map[bool]int{true: 400}[testing.Short()]})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range shipped {
		seen[Fingerprint(g)] = g.ID()
	}
	g, err := New(Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for i := range size(t) {
		x, err := g.Game(i)
		if err != nil {
			t.Fatal(err)
		}
		f := Fingerprint(x)
		if old, ok := seen[f]; ok {
			t.Fatalf("game %s is %s again", x.ID(), old)
		}
		seen[f] = x.ID()
		types[x.TaskType()]++
		w := textworld.NewWorld(x, textworld.DialectMove)
		if w.Won() {
			t.Fatalf("%s is won at the start", x.ID())
		}
		for k, c := range x.Walkthrough() {
			if _, did := w.Do(c); !did || w.Won() != (k == len(x.Walkthrough())-1) {
				t.Fatalf("%s: command %d %q of %q: effect %v, won %v", x.ID(), k, c, x.Walkthrough(), did, w.Won())
			}
		}
	}
	for task, n := range types {
		if n < size(t)/50 {
			t.Errorf("only %d games of %s", n, task)
		}
	}
	if len(types) != 6 {
		t.Errorf("%d task types", len(types))
	}
}

func TestGamesAreFixedBySeedAndNumber(t *testing.T) {
	a, _ := New(Options{Seed: 3})
	b, _ := New(Options{Seed: 3})
	c, _ := New(Options{Seed: 4})
	for _, i := range []int{0, 5, 17} {
		x, err := a.Game(i)
		if err != nil {
			t.Fatal(err)
		}
		if i == 17 { // asking in another order changes nothing
			_, _ = b.Game(99)
		}
		y, _ := b.Game(i)
		z, _ := c.Game(i)
		if x.Hash() != y.Hash() || Fingerprint(x) == Fingerprint(z) {
			t.Errorf("game %d: %s, %s, %s", i, x.Hash(), y.Hash(), z.Hash())
		}
	}
}

// The written form is the game itself.
func TestPDDLReadsBackAsTheSameGame(t *testing.T) {
	g, err := New(Options{Seed: 1, NewGoals: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		b, err := g.Blueprint(i)
		if err != nil {
			t.Fatal(err)
		}
		b.Second = false // PDDL has no wording
		want, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		src, err := b.PDDL()
		if err != nil {
			t.Fatal(err)
		}
		got, err := textworld.ParseProblem(src, "generated/"+strings.ReplaceAll(b.ID, "/gen_", "/trial_gen_")+"/x.pddl")
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if Fingerprint(got) != Fingerprint(want) || got.TaskType() != want.TaskType() {
			t.Fatalf("%s differs:\n%s\n%s", b.ID, Fingerprint(got), Fingerprint(want))
		}
		w := textworld.NewWorld(got, textworld.DialectMove)
		if w.Intro() != textworld.NewWorld(want, textworld.DialectMove).Intro() {
			t.Fatalf("%s: the opening texts differ", b.ID)
		}
		for _, c := range b.Walkthrough {
			w.Do(c)
		}
		if !w.Won() {
			t.Fatalf("%s: the plan doesn't win the game that was read back", b.ID)
		}
	}
}

func TestDifficultyAndGoals(t *testing.T) {
	things := func(o Options) (recs, opens, n int) {
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			x, err := g.Game(i)
			if err != nil {
				t.Fatal(err)
			}
			if x.Split() != o.Split() || !strings.Contains(x.ID(), o.Split()) {
				t.Fatalf("%s is of split %s", x.ID(), x.Split())
			}
			s := textworld.NewWorld(x, textworld.DialectMove).Describe()
			recs += len(s.Receptacles)
			if strings.Contains(strings.Join(x.Walkthrough(), "\n"), "open ") {
				opens++
			}
			n++
		}
		return recs / n, opens, n
	}
	easy, easyOpens, _ := things(Options{Seed: 1, Difficulty: Easy})
	normal, normalOpens, _ := things(Options{Seed: 1})
	hard, hardOpens, _ := things(Options{Seed: 1, Difficulty: Hard})
	if !(easy < normal && normal < hard) || !(easyOpens < normalOpens && normalOpens < hardOpens) {
		t.Errorf("receptacles %d, %d, %d; plans that open something %d, %d, %d", easy, normal, hard, easyOpens, normalOpens, hardOpens)
	}
	known := map[string]bool{}
	m, err := learned()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range m.goals {
		known[x.task+x.object+x.target] = true
	}
	fresh := 0
	for _, o := range []Options{{Seed: 2}, {Seed: 2, NewGoals: true}} {
		g, _ := New(o)
		for i := range 100 {
			b, err := g.Blueprint(i)
			if err != nil {
				t.Fatal(err)
			}
			if !known[b.TaskType+b.Object+b.Target] {
				if fresh++; !o.NewGoals {
					t.Fatalf("%s is no goal of training", b.ID)
				}
			}
		}
	}
	if fresh == 0 {
		t.Error("NewGoals made none")
	}
	if _, err := New(Options{Difficulty: "mad"}); err == nil || !strings.Contains(err.Error(), "easy") {
		t.Errorf("unknown difficulty: %v", err)
	}
	if _, err := New(Options{Types: []string{"cook"}}); err == nil {
		t.Error("an unknown type was taken")
	}
	g, _ := New(Options{Types: []string{"look_at_obj_in_light"}})
	if x, err := g.Game(0); err != nil || x.TaskType() != "look_at_obj_in_light" {
		t.Errorf("%v", err)
	}
}

// The properties that blueprints give to types are those of the shipped games.
func TestPropertiesAreTheShippedOnes(t *testing.T) {
	var all []string
	games, err := textworld.Select(textworld.Selection{Splits: []string{"train"}, Limit: 400})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for _, g := range games {
		for _, o := range textworld.NewWorld(g, textworld.DialectMove).Describe().Objects {
			p := slices.DeleteFunc(o.Properties, func(s string) bool { return strings.HasPrefix(s, "is") && s != "isReceptacleObject" })
			if len(o.In) > 0 && len(p) > 0 {
				want[o.Type] = p
			}
		}
	}
	b := textworld.Blueprint{ID: "a/b", TaskType: "pick_and_place_simple", Object: "mug", Target: "shelf", Receptacles: []textworld.BlueprintReceptacle{{Type: "shelf", Location: 1}}}
	for _, t := range sortedKeys(want) {
		b.Objects = append(b.Objects, textworld.BlueprintObject{Type: t})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range textworld.NewWorld(g, textworld.DialectMove).Describe().Objects {
		all = append(all, o.Type)
		if !slices.Equal(o.Properties, want[o.Type]) {
			t.Errorf("%s: blueprint %v, shipped %v", o.Type, o.Properties, want[o.Type])
		}
	}
	if len(all) < 40 {
		t.Errorf("only %d types compared", len(all))
	}
}

func TestBlueprintErrors(t *testing.T) {
	good := textworld.Blueprint{ID: "a/b", TaskType: "pick_and_place_simple", Object: "mug", Target: "shelf",
		Receptacles: []textworld.BlueprintReceptacle{{Type: "shelf", Location: 1}}, Objects: []textworld.BlueprintObject{{Type: "mug"}}}
	if _, err := good.Build(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*textworld.Blueprint){
		"task":       func(b *textworld.Blueprint) { b.TaskType = "cook" },
		"empty room": func(b *textworld.Blueprint) { b.Receptacles = nil },
		"location":   func(b *textworld.Blueprint) { b.Receptacles = []textworld.BlueprintReceptacle{{Type: "shelf"}} },
		"nowhere":    func(b *textworld.Blueprint) { b.Objects = []textworld.BlueprintObject{{Type: "mug", In: 3}} },
		"both":       func(b *textworld.Blueprint) { b.Objects = []textworld.BlueprintObject{{Type: "shelf"}} },
	} {
		b := good
		f(&b)
		if _, err := b.Build(); !errors.Is(err, textworld.ErrBlueprint) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.PDDL(); !errors.Is(err, textworld.ErrBlueprint) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkGame(b *testing.B) {
	g, err := New(Options{Seed: 7})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := g.Game(i); err != nil {
			b.Fatal(err)
		}
	}
}
