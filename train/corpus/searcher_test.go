package corpus

import (
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
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
			tr, err := playOnce(m, g, testPrior(t), nil, Level{}, rng.New(1, c.split, i))
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
