package textworld_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/textworld"
	"pgregory.net/rapid"
)

func TestConformance(t *testing.T) {
	for _, o := range []textworld.Options{{}, {Dialect: textworld.DialectPut, ThinkCost: 1, ListAdmissible: true, MaxSteps: 20}} {
		envtest.Run(t, func() (envs.Env, error) { return textworld.New(mustOpen(t, sampleID), o), nil }, envtest.Options{})
	}
}

func reset(t testing.TB, e *textworld.Env) {
	t.Helper()
	if _, _, err := e.Reset(context.Background(), envs.ResetOptions{}); err != nil {
		t.Fatal(err)
	}
}

func step(t testing.TB, e *textworld.Env, cmd string) envs.Step {
	t.Helper()
	s, err := e.Step(context.Background(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Success, truncation and reason at the limit: a win on command 50 is a win,
// command 50 without a win is truncated, and a win one late does not happen.
func TestLimitBoundary(t *testing.T) {
	g := mustOpen(t, sampleID)
	plan := g.Walkthrough()
	for _, c := range []struct {
		name            string
		idle            int // commands before the plan
		wantWon         bool
		wantSteps       int
		term, trunc     bool
		reason          string
		reward, wantSum float64
	}{
		{"at once", 0, true, len(plan), true, false, "won", 1, 1},
		{"on command 50", 50 - len(plan), true, 50, true, false, "won", 1, 1},
		{"one late", 51 - len(plan), false, 50, false, true, "limit of 50 commands", 0, 0},
	} {
		e := textworld.New(g, textworld.Options{})
		reset(t, e)
		cmds := make([]string, c.idle)
		for i := range cmds {
			cmds[i] = []string{"look", "no such command"}[i%2] // both cost a step
		}
		cmds = append(cmds, plan...)
		var last envs.Step
		sum, n := 0.0, 0
		for _, cmd := range cmds {
			last = step(t, e, cmd)
			sum += last.Reward
			n++
			if last.Done() {
				break
			}
		}
		if n != c.wantSteps || last.Terminated != c.term || last.Truncated != c.trunc || last.Info.Success() != c.wantWon ||
			last.Info.Privileged.Reason != c.reason || last.Reward != c.reward || sum != c.wantSum {
			t.Errorf("%s: %d steps, %+v %+v", c.name, n, last, *last.Info.Privileged)
		}
		if _, err := e.Step(context.Background(), "look"); !errors.Is(err, envs.ErrResetNeeded) {
			t.Errorf("%s: a step after the end gives %v", c.name, err)
		}
		if last.Info.Public().Privileged != nil {
			t.Error("Public keeps privileged values")
		}
	}
}

func TestThinkLines(t *testing.T) {
	g := mustOpen(t, sampleID)
	for _, c := range []struct{ cost, want int }{{0, 1}, {1, 3}} {
		e := textworld.New(g, textworld.Options{ThinkCost: c.cost})
		reset(t, e)
		for _, line := range []string{"think: where is it?", " think: there"} {
			if s := step(t, e, line); s.Obs != "OK." {
				t.Errorf("a think line is answered %q", s.Obs)
			}
		}
		step(t, e, "look")
		if e.Steps() != c.want {
			t.Errorf("cost %d: %d commands counted, want %d", c.cost, e.Steps(), c.want)
		}
		if got := e.Spec().Settings["think_cost"]; got != c.cost {
			t.Errorf("the spec says think_cost %v", got)
		}
	}
	e := textworld.New(g, textworld.Options{ThinkCost: 1, MaxSteps: 2})
	reset(t, e)
	step(t, e, "think: a")
	if s := step(t, e, "think: b"); !s.Truncated {
		t.Error("charged thoughts do not reach the limit")
	}
}

func TestSnapshotContinuesAlike(t *testing.T) {
	games := sampleGames(t)
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(games).Draw(t, "game")
		e := textworld.New(g, textworld.Options{})
		ctx := context.Background()
		if _, _, err := e.Reset(ctx, envs.ResetOptions{}); err != nil {
			t.Fatal(err)
		}
		play := func(e *textworld.Env, n int, draw func([]string) string) string {
			var b strings.Builder
			for range n {
				cmd := draw(e.Admissible())
				s, err := e.Step(ctx, cmd)
				if err != nil {
					break
				}
				fmt.Fprintln(&b, cmd, s.Obs, s.Terminated, s.Truncated, s.Info.Success(), e.Steps())
			}
			return b.String()
		}
		random := func(adm []string) string { return rapid.SampledFrom(adm).Draw(t, "cmd") }
		play(e, rapid.IntRange(0, 45).Draw(t, "before"), random)
		snap, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		twin := e.Clone()
		k := 0
		fixed := func(adm []string) string { k++; return adm[(k*7)%len(adm)] }
		a := play(e, 10, fixed)
		k = 0
		b := play(twin, 10, fixed)
		fresh := textworld.New(g, textworld.Options{})
		if err := fresh.Restore(snap); err != nil {
			t.Fatal(err)
		}
		k = 0
		if c := play(fresh, 10, fixed); a != b || a != c {
			t.Fatalf("original:\n%s\nclone:\n%s\nrestored:\n%s", a, b, c)
		}
	})
}

func TestEnvRefusesWhatItCannotDo(t *testing.T) {
	g, other := mustOpen(t, sampleID), mustOpen(t, textworld.Catalog()[0].ID)
	ctx := context.Background()
	for _, o := range []textworld.Options{{Dialect: "nonsense"}, {MaxSteps: -1}, {ThinkCost: 2}} {
		if _, _, err := textworld.New(g, o).Reset(ctx, envs.ResetOptions{}); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	e := textworld.New(g, textworld.Options{})
	if err := e.Restore("nothing"); err == nil {
		t.Error("Restore takes a string")
	}
	reset(t, e)
	if _, err := e.Step(ctx, 7); err == nil || e.Steps() != 0 {
		t.Error("an int is taken as action, or costs a step")
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Step(done, "look"); !errors.Is(err, context.Canceled) || e.Steps() != 0 {
		t.Error("a cancelled step is executed")
	}
	o := textworld.New(other, textworld.Options{})
	reset(t, o)
	snap, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Restore(snap); err == nil || !strings.Contains(err.Error(), other.ID()) {
		t.Errorf("a snapshot of another game: %v", err)
	}
	if _, _, err := e.Reset(ctx, envs.ResetOptions{Options: map[string]any{"game": other.ID()}}); err != nil || e.Game() != other {
		t.Errorf("Reset does not change the game: %v", err)
	}
	if s := step(t, e, "look\nlook"); s.Obs != "Nothing happens." {
		t.Errorf("two commands in one: %q", s.Obs)
	}
}

func TestDescribeIsJSON(t *testing.T) {
	e := textworld.New(mustOpen(t, sampleID), textworld.Options{})
	if e.Describe() != nil {
		t.Error("a state before Reset")
	}
	reset(t, e)
	for _, c := range e.Game().Walkthrough() {
		if step(t, e, c); strings.HasPrefix(c, "take") {
			break
		}
	}
	b, err := json.Marshal(e.Describe())
	if err != nil {
		t.Fatal(err)
	}
	var s textworld.State
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if s.Carrying == "" || s.Steps != e.Steps() || s.Game != sampleID || len(s.Facing) == 0 || len(s.Receptacles) < 6 {
		t.Errorf("state %s", b)
	}
	if r := e.Render(); !strings.Contains(r, s.Carrying) || !strings.Contains(r, "> ") {
		t.Errorf("render:\n%s", r)
	}
	in := e.Game().Contents()
	if len(in) != len(s.Receptacles) {
		t.Errorf("Contents lists %d receptacles of %d", len(in), len(s.Receptacles))
	}
}
