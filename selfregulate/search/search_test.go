package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/rng"
)

var ctx = context.Background()

// toy is a tree of known values: commands a, b and c, three deep. A future from a state
// plays to the end by chance and is assessed with a noisy value of where it ends.
type toy struct {
	// worth is the value of a full path such as "aca".
	worth func(path string) float64
	noise float64
	price int // tokens of one future; reading a node again costs 3
	calls []string
}

func (w *toy) Imagine(_ context.Context, s string, n, tokens int, seed uint64) ([]Future[string], int, error) {
	used := 0
	if s != "" {
		used = 3
	}
	if tokens > 0 {
		n = min(n, (tokens-used)/w.price)
	}
	if n < 1 {
		return nil, 0, nil
	}
	w.calls = append(w.calls, s)
	var out []Future[string]
	for i := range n {
		r := rng.New(seed, "candidate", i)
		end := s
		for len(end) < 3 {
			end += string(rune('a' + r.IntN(3)))
		}
		v := min(1, max(0, w.worth(end)+w.noise*r.NormFloat64()))
		first := end[len(s) : len(s)+1]
		out = append(out, Future[string]{Action: first, Outcome: "seen " + first, Next: s + first, Value: v, Ended: len(s) == 2})
		used += w.price
	}
	return out, used, nil
}

// trap: at random a looks best; b is worth 1, if c follows it twice.
func trap(path string) float64 {
	switch {
	case path == "bcc":
		return 1
	case path[0] == 'a':
		return .5
	case path[0] == 'b':
		return .35
	}
	return .1
}

func settings(change func(*Config)) Config {
	c := Default()
	c.Root, c.Draw, c.Least, c.Tokens, c.Visits = 6, 2, 1, 10_000, 400
	c.C = .5
	if change != nil {
		change(&c)
	}
	return c
}

func TestFindsTheBestArm(t *testing.T) {
	for _, rule := range []Rule{UCT, PUCT} {
		for _, backup := range []Backup{Mean, Max} {
			wins := 0
			for seed := range uint64(20) {
				w := &toy{worth: func(p string) float64 { return map[byte]float64{'a': .3, 'b': .45, 'c': .2}[p[0]] }, noise: .2, price: 10}
				tr := New(settings(func(c *Config) { c.Rule, c.Backup = rule, backup; c.Visits = 300 }), w, "", seed)
				if err := tr.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if best, _ := tr.Best(); best == "b" {
					wins++
				}
			}
			if wins < 18 {
				t.Errorf("%s, %s: %d of 20 searches find the best arm", rule, backup, wins)
			}
		}
	}
}

// A chain of choices is worth more than the mean of chance: only a deep search with
// the value of the best command below sees it.
func TestDepthAndMaxSeeWhatChanceDoesNot(t *testing.T) {
	find := func(depth int, b Backup) (wins int) {
		for seed := range uint64(20) {
			tr := New(settings(func(c *Config) { c.Depth, c.Backup, c.Visits = depth, b, 600 }), &toy{worth: trap, price: 10}, "", seed)
			if err := tr.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if best, _ := tr.Best(); best == "b" {
				wins++
			}
		}
		return wins
	}
	flat, deep := find(1, Mean), find(3, Max)
	if flat > 4 || deep < 18 {
		t.Errorf("b is found by %d of 20 flat and %d of 20 deep searches", flat, deep)
	}
}

func TestBudgetToTheToken(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := settings(func(c *Config) {
			c.Tokens = rapid.IntRange(1, 700).Draw(r, "tokens")
			c.Depth = rapid.IntRange(1, 3).Draw(r, "depth")
			c.Root = rapid.IntRange(1, 6).Draw(r, "root")
			c.Draw = rapid.IntRange(1, 4).Draw(r, "draw")
			c.Alpha = rapid.Float64Range(0, 1).Draw(r, "alpha")
		})
		w := &toy{worth: trap, noise: .1, price: rapid.IntRange(1, 60).Draw(r, "price")}
		tr := New(c, w, "", rapid.Uint64().Draw(r, "seed"))
		if err := tr.Run(ctx); err != nil {
			r.Fatal(err)
		}
		s := tr.Summary()
		if s.Tokens > c.Tokens {
			r.Fatalf("%d tokens of %d", s.Tokens, c.Tokens)
		}
		// What is left would not have bought one more future at the root.
		if s.Visits < c.Visits && c.Tokens-s.Tokens >= w.price+c.Draw {
			r.Fatalf("%d of %d tokens used, a future costs %d: the search stopped early", s.Tokens, c.Tokens, w.price)
		}
		sum := 0
		for _, a := range s.Arms {
			sum += a.Visits
		}
		if sum != s.Visits || tr.root.n != s.Visits {
			r.Fatalf("arms were visited %d times, the root %d, the tree %d", sum, tr.root.n, s.Visits)
		}
		check(r, tr, tr.root)
	})
}

// check: what a node counts is the sum of what hangs below it.
func check(r *rapid.T, t *Tree[string], n *node[string]) {
	visits, sum := 0, 0.0
	for _, a := range n.arms {
		below, draws := 0, 0
		for _, o := range a.outcomes {
			below += o.node.n
			draws += o.draws
			check(r, t, o.node)
		}
		if a.n != below+a.draws || draws != a.draws {
			r.Fatalf("arm %s: %d visits, %d draws, %d below", a.action, a.n, a.draws, below)
		}
		if v := t.value(a); !(v >= 0 && v <= 1) {
			r.Fatalf("arm %s is worth %v", a.action, v)
		}
		visits, sum = visits+a.n, sum+a.sum
	}
	if visits != n.n || math.Abs(sum-n.sum) > 1e-9 {
		r.Fatalf("node: %d visits of value %v, arms %d of %v", n.n, n.sum, visits, sum)
	}
}

func TestSameSeedSameTree(t *testing.T) {
	run := func(seed uint64) (Summary, []string) {
		w := &toy{worth: trap, noise: .3, price: 7}
		tr := New(settings(func(c *Config) { c.Tokens = 500 }), w, "", seed)
		if err := tr.Run(ctx); err != nil {
			t.Fatal(err)
		}
		return tr.Summary(), w.calls
	}
	a, ac := run(5)
	b, bc := run(5)
	c, _ := run(6)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ac, bc) || reflect.DeepEqual(a, c) {
		t.Errorf("5: %+v\n5: %+v\n6: %+v", a, b, c)
	}
}

// The first draw of the root has the seed of the search: best rollout's futures.
func TestRootDrawsFromTheSeedItself(t *testing.T) {
	var got []uint64
	w := worldFunc(func(s string, n, tokens int, seed uint64) ([]Future[string], int, error) {
		got = append(got, seed)
		return []Future[string]{{Action: "a", Outcome: fmt.Sprint(len(got)), Next: s + "a", Value: .5}}, 1, nil
	})
	tr := New(settings(func(c *Config) { c.Tokens, c.Depth = 12, 2 }), w, "", 77)
	if err := tr.Run(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, s := range got {
		seen[s] = true
	}
	if got[0] != 77 || len(seen) != len(got) || len(got) != 12 {
		t.Errorf("seeds %v", got)
	}
}

type worldFunc func(s string, n, tokens int, seed uint64) ([]Future[string], int, error)

func (f worldFunc) Imagine(_ context.Context, s string, n, tokens int, seed uint64) ([]Future[string], int, error) {
	return f(s, n, tokens, seed)
}

func TestAnytime(t *testing.T) {
	stop := errors.New("no more")
	n := 0
	inner := &toy{worth: trap, price: 10}
	w := worldFunc(func(s string, k, tokens int, seed uint64) ([]Future[string], int, error) {
		if n++; n > 3 {
			return nil, 5, stop
		}
		return inner.Imagine(ctx, s, k, tokens, seed)
	})
	tr := New(settings(nil), w, "", 1)
	if _, ok := tr.Best(); ok {
		t.Error("an empty tree has an answer")
	}
	if err := tr.Run(ctx); !errors.Is(err, stop) || !strings.Contains(err.Error(), "visits") {
		t.Fatalf("got %v", err)
	}
	s := tr.Summary()
	if best, ok := tr.Best(); !ok || best == "" || s.Calls != 3 || s.Visits != 10 {
		t.Errorf("after the failure: %q, %+v", best, s)
	}
	// Time runs by a clock of the test: one tick a call.
	now := time.Unix(0, 0)
	tr = New(settings(func(c *Config) { c.Millis, c.Tokens = 20, 0 }), inner, "", 1)
	tr.now = func() time.Time { now = now.Add(time.Millisecond); return now }
	if err := tr.Run(ctx); err != nil || tr.Summary().Calls != 19 {
		t.Errorf("%d calls, %v", tr.Summary().Calls, err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := tr.Run(done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRefusesWhatIsNoProbability(t *testing.T) {
	for _, v := range []float64{math.NaN(), -.1, 1.1} {
		tr := New(settings(nil), worldFunc(func(string, int, int, uint64) ([]Future[string], int, error) {
			return []Future[string]{{Action: "a", Value: v}}, 1, nil
		}), "", 1)
		if err := tr.Run(ctx); !errors.Is(err, ErrValue) {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

// A world that takes more than it may ends the search, and the account says so.
func TestOverdrawnBudgetEndsTheSearch(t *testing.T) {
	calls := 0
	tr := New(settings(func(c *Config) { c.Tokens = 50 }), worldFunc(func(string, int, int, uint64) ([]Future[string], int, error) {
		calls++
		return []Future[string]{{Action: "a", Outcome: "b", Value: .5}}, 60, nil
	}), "", 1)
	if err := tr.Run(ctx); err != nil || calls != 1 || tr.Summary().Tokens != 60 {
		t.Errorf("%d calls, %+v, %v", calls, tr.Summary(), err)
	}
	if best, ok := tr.Best(); !ok || best != "a" {
		t.Errorf("best %q", best)
	}
}

func TestFuturesWithoutACommand(t *testing.T) {
	tr := New(settings(func(c *Config) { c.Tokens = 40 }), worldFunc(func(string, int, int, uint64) ([]Future[string], int, error) {
		return []Future[string]{{Value: .9}}, 10, nil
	}), "", 1)
	if err := tr.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, ok := tr.Best(); ok || tr.Summary().Visits != 4 || tr.Summary().Tokens != 40 {
		t.Errorf("got %+v", tr.Summary())
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Fatal(err)
	}
	err := Config{Rule: "x", Backup: "x", Final: "", C: math.NaN(), Alpha: 2, Tokens: -1}.Validate()
	for _, w := range []string{"rule", "backup", "final", "c is NaN", "depth", "root", "width", "alpha", "tokens", "least", "visits"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("no word about %s in %v", w, err)
		}
	}
}

// Imagined walks through three rooms, of which the second holds what is looked for.
func Example() {
	w := worldFunc(func(s string, n, _ int, seed uint64) ([]Future[string], int, error) {
		var out []Future[string]
		for i := range n {
			room := rng.New(seed, "candidate", i).IntN(3)
			out = append(out, Future[string]{
				Action: fmt.Sprintf("go to room %d", room), Outcome: "a room", Next: s + fmt.Sprint(room), Value: []float64{.2, .7, .3}[room],
			})
		}
		return out, 10 * n, nil
	})
	cfg := Default()
	cfg.Tokens, cfg.Least, cfg.Depth = 200, 10, 1
	t := New(cfg, w, "", 1)
	if err := t.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	best, _ := t.Best()
	fmt.Println(best, t.Summary().Tokens)
	// Output: go to room 1 200
}
