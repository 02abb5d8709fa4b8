package gridarm_test

import (
	"context"
	"testing"
	"time"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
)

func BenchmarkStep(b *testing.B) {
	for _, o := range []struct {
		name string
		opt  gridarm.Options
	}{{"state", gridarm.Options{}}, {"grid", gridarm.Options{Grid: true}}} {
		for _, t := range gridarm.Tasks() {
			b.Run(o.name+"/"+t.String(), func(b *testing.B) {
				w, err := gridarm.NewWorld(t, o.opt)
				if err != nil {
					b.Fatal(err)
				}
				obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
				p := gridarm.Corruption{Noise: .3}.Policy(t, rng.New(1, "bench"))
				w.ResetInto(1, 0, obs)
				b.ReportAllocs()
				for b.Loop() {
					if w.Over() {
						w.ResetInto(1, 0, obs)
					}
					p(obs, a)
					w.StepInto(a, obs)
				}
			})
		}
	}
}

func TestStepsAllocateNothing(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		w, _ := gridarm.NewWorld(task, gridarm.Options{Grid: true, MaxSteps: 1 << 30})
		obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
		p := gridarm.Scripted(task)
		w.ResetInto(1, 0, obs)
		if n := testing.AllocsPerRun(200, func() { p(obs, a); w.StepInto(a, obs) }); n != 0 {
			t.Errorf("%s: %v allocations a decision", task, n)
		}
	}
}

// The figures depend on the machine and are not judged here; that all are filled in is.
func TestBenchFillsEveryFigure(t *testing.T) {
	r, err := gridarm.Bench(context.Background(), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]float64{
		"decisions": r.DecisionsPerS, "mean": r.DecisionsPerSMean, "grid": r.DecisionsPerSGrid, "env": r.EnvStepsPerS,
		"reset": r.ResetUS, "snapshot": r.SnapshotNS, "load": float64(r.Decisions),
	} {
		if v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if r.AllocsPerStep != 0 {
		t.Errorf("%v allocations a decision", r.AllocsPerStep)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := gridarm.Bench(ctx, time.Second); err == nil {
		t.Error("a cancelled benchmark reports no error")
	}
}
