package arm

import (
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/worldmodel"
)

// A person's game is recorded like an agent's, with what the model thinks of the coming
// decision behind it; the model that watches changes nothing.
func TestGame(t *testing.T) {
	cfg, err := worldmodel.Preset("debug")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Obs, cfg.Action = ObsSize, gridarm.ActionSize
	m, err := worldmodel.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	const n = 12
	var alone, watched *Game
	for _, g := range []struct {
		to *(*Game)
		m  *worldmodel.Model
	}{{&alone, nil}, {&watched, m}} {
		if *g.to, err = NewGame(gridarm.Push, gridarm.Options{MaxSteps: n}, 3, 0, g.m, "test", 4); err != nil {
			t.Fatal(err)
		}
	}
	if e := watched.Record(); len(e.Steps) != 1 || len(e.Steps[0].Action) != 0 || len(e.Steps[0].Trace.Candidates[0].Path) != 4 || len(e.Steps[0].Trace.Candidates[0].Psi) != cfg.Quantiles {
		t.Fatalf("before the first decision: %+v", e.Steps)
	}
	script, act := gridarm.Scripted(gridarm.Push), make([]float32, gridarm.ActionSize)
	for !watched.Over() {
		script(watched.Obs(), act)
		a, b := watched.Step(act), alone.Step(act)
		if a != b {
			t.Fatalf("the model that watches changes the game: %+v, %+v", a, b)
		}
	}
	e := watched.Record()
	if len(e.Steps) != n || !e.Truncated || e.Success != (e.SolvedAt > 0) || e.Reason == "" {
		t.Errorf("after the end: %d decisions, %+v", len(e.Steps), e.Reason)
	}
	if p := e.Steps[n-1].Trace.Candidates[0].Assessed.P; p < 0 || p > 1 {
		t.Errorf("P is %v", p)
	}
	cfg.Obs = 7
	if m, err = worldmodel.New(cfg, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := NewGame(gridarm.Push, gridarm.Options{}, 3, 0, m, "test", 4); err == nil {
		t.Error("a model of other observations: no error")
	}
}
