package textworld

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/internal/rng"
)

func evaluationGames(t testing.TB, splits ...string) []*Game {
	t.Helper()
	games, err := Select(Selection{Splits: splits})
	if err != nil {
		t.Fatal(err)
	}
	return games
}

// playOut follows the expert for at most limit commands and counts them.
func playOut(t *testing.T, g *Game, w *World, limit int) int {
	t.Helper()
	n := 0
	for ; !w.Won() && n < limit; n++ {
		cmd, ok, why := w.ExpertAction()
		if !ok {
			t.Fatalf("%s: the expert gives up after %d commands: %s", g.ID(), n, why)
		}
		if _, effect := w.Do(cmd); !effect {
			t.Fatalf("%s: the expert's command %q has no effect", g.ID(), cmd)
		}
	}
	if !w.Won() {
		t.Fatalf("%s: not won within %d commands", g.ID(), limit)
	}
	return n
}

func TestExpertWinsFromTheStart(t *testing.T) {
	for _, d := range []Dialect{DialectMove, DialectPut} {
		longer, total := 0, 0
		for _, g := range evaluationGames(t, "seen", "unseen", "val") {
			n := playOut(t, g, NewWorld(g, d), 50)
			total++
			if n > len(g.Walkthrough()) {
				longer++
			}
		}
		if total != 474 {
			t.Fatalf("%d games, want 140 + 134 + 200", total)
		}
		// The stored plans are optimal; the expert may be longer only by its order of treatment and opening.
		t.Logf("%s: %d of %d plans longer than the stored optimal one", d, longer, total)
		if longer > total/20 {
			t.Errorf("%s: %d of %d plans are longer than the stored optimal one", d, longer, total)
		}
	}
}

// From any state that random play reaches, the expert either wins or names the
// dead end; and a state that it calls dead really has the hand full for ever.
func TestExpertFromRandomStates(t *testing.T) {
	states := 20
	if testing.Short() {
		states = 3
	}
	won, dead := 0, 0
	for _, g := range evaluationGames(t, "seen", "unseen", "val") {
		stuck := map[string]bool{}
		for _, o := range g.DeadEnds() {
			stuck[o] = true
		}
		r := rng.New(1, "expert", g.ID())
		for s := 0; s < states; {
			w := NewWorld(g, DialectMove)
			for n := 1 + r.IntN(49); n > 0 && !w.Won(); n-- {
				// Choose a verb first: uniform choice would mostly go to places.
				by := map[byte][]string{}
				var verbs []byte
				for _, c := range w.AppendAdmissible(nil) {
					if by[c[0]] == nil {
						verbs = append(verbs, c[0])
					}
					by[c[0]] = append(by[c[0]], c)
				}
				v := by[verbs[r.IntN(len(verbs))]]
				w.Do(v[r.IntN(len(v))])
			}
			if w.Won() {
				s++ // some games are won by random play; count the state, nothing to do
				continue
			}
			if why := w.DeadEnd(); why != "" {
				dead++
				if !stuck[w.Carrying()] {
					t.Fatalf("%s: called dead (%s) with %q in the hand, which has a place", g.ID(), why, w.Carrying())
				}
				continue
			}
			playOut(t, g, w, 50)
			won++
			s++
		}
	}
	t.Logf("%d states won, %d dead ends met", won, dead)
	if dead == 0 {
		t.Error("random play met no dead end; the recogniser is not exercised")
	}
}

// Every step says whether the goal is still in reach, as World.DeadEnd does, and hands
// nothing of it on to an agent.
func TestStepsTellDeadEnds(t *testing.T) {
	ctx := context.Background()
	dead := 0
	games := evaluationGames(t, "unseen")
	for _, g := range games[:60] {
		env := New(g, Options{MaxSteps: 40})
		obs, info, err := env.Reset(ctx, envs.ResetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stuck := map[string]bool{}
		for _, o := range g.DeadEnds() {
			stuck[o] = true
		}
		r := rng.New(2, "dead", g.ID())
		for {
			p := info.Privileged
			if why := env.World().DeadEnd(); p.Dead != why {
				t.Fatalf("%s: the step says %q, the world %q", g.ID(), p.Dead, why)
			}
			if p.Dead != "" {
				dead++
				if text := fmt.Sprint(obs); strings.Contains(text, p.Dead) || info.Public().Privileged != nil {
					t.Fatalf("%s: an agent is told: %q", g.ID(), text)
				}
			}
			cmd := "look"
			adm := env.Admissible()
			for _, c := range adm { // what fits nowhere is taken when it is in reach
				name, _, _ := strings.Cut(strings.TrimPrefix(c, "take "), " from ")
				if stuck[name] {
					cmd = c
				}
			}
			if cmd == "look" {
				cmd = adm[r.IntN(len(adm))]
			}
			if r.IntN(4) == 0 { // also in clones and after a snapshot is restored
				env = env.Clone()
				s, err := env.Snapshot()
				if err == nil {
					err = env.Restore(s)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			st, err := env.Step(ctx, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if obs, info = st.Obs, st.Info; st.Done() {
				break
			}
		}
	}
	if dead == 0 {
		t.Error("no step met a dead end")
	}
	t.Logf("%d steps in dead ends", dead)
}

// A game that can't be won says so at the reset.
func TestDeadFromTheStart(t *testing.T) {
	games, err := Select(Selection{Splits: []string{"unseen"}, Types: []string{"heat"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := games[0]
	d := *g.core().data
	d.contain = nil // nothing may be put anywhere
	env := New(newGame(&d), Options{})
	_, info, err := env.Reset(context.Background(), envs.ResetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Privileged.Dead == "" {
		t.Errorf("%s without a place for anything can be won", d.goalText)
	}
	// The option changes the game, and with it the answer.
	_, info, err = env.Reset(context.Background(), envs.ResetOptions{Options: map[string]any{"game": g.ID()}})
	if err != nil || info.Privileged.Dead != "" {
		t.Errorf("the game itself: %q, %v", info.Privileged.Dead, err)
	}
}

// The interface description counts these games by hand.
func TestDeadEndGames(t *testing.T) {
	n := 0
	for _, g := range evaluationGames(t, "seen", "unseen") {
		if len(g.DeadEnds()) > 0 {
			n++
		}
	}
	if n != 115 {
		t.Errorf("%d of 274 evaluation games have an object that can be put nowhere once taken, want 115", n)
	}
}

func BenchmarkPlan(b *testing.B) {
	games := evaluationGames(b, "unseen")
	for i := 0; b.Loop(); i++ {
		NewWorld(games[i%len(games)], DialectMove).Plan()
	}
}
