package gridarm_test

import (
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
)

func BenchmarkStep(b *testing.B) {
	r := rng.New(1, "bench")
	var acts [1024][gridarm.ActionSize]float32
	for i := range acts {
		for k := range acts[i] {
			acts[i][k] = 2*r.Float32() - 1
		}
	}
	for _, t := range gridarm.Tasks() {
		b.Run(t.String(), func(b *testing.B) {
			w, err := gridarm.NewWorld(t, gridarm.Options{})
			if err != nil {
				b.Fatal(err)
			}
			obs := make([]float32, w.ObsSize())
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if w.Over() {
					w.Reset(1, i)
				}
				w.StepInto(acts[i&1023][:], obs)
				i++
			}
		})
	}
}
