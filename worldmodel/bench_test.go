package worldmodel

import (
	"syscall"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/rng"
)

// sized is a preset with the sequence length of the comparison with PyTorch.
func sized(b *testing.B, name string) Config {
	c, err := Preset(name)
	if err != nil {
		b.Fatal(err)
	}
	c.Obs, c.Action = 50, 4
	c.Batch, c.Length = 16, 32
	return c
}

// cpu reports the processor time of an iteration beside the wall clock, which other
// programs on the machine slow down.
func cpu(b *testing.B) (report func()) {
	start := cpuTime()
	return func() {
		b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkModelUpdate is one forward and backward pass of the world model with its
// share of the optimiser: go test -bench ModelUpdate -cpu 1 ./worldmodel
func BenchmarkModelUpdate(b *testing.B) {
	for _, name := range []string{"tiny", "small"} {
		b.Run(name, func(b *testing.B) {
			c := sized(b, name)
			m, err := New(c, 1)
			if err != nil {
				b.Fatal(err)
			}
			grad := newNet[float32](c)
			g, err := newModelGraph(m.net, grad, c.Batch, c.Length)
			if err != nil {
				b.Fatal(err)
			}
			defer g.close()
			g.fill(rng.New(1, "bench"))
			opt := newOptimizer(c, len(m.net.flat))
			defer cpu(b)()
			for b.Loop() {
				if _, err := g.run(); err != nil {
					b.Fatal(err)
				}
				opt.update(m.net, grad)
			}
		})
	}
}

// BenchmarkAct is one decision: posterior from an observation, then an action.
func BenchmarkAct(b *testing.B) {
	for _, name := range []string{"tiny", "small"} {
		b.Run(name, func(b *testing.B) {
			m, err := New(sized(b, name), 1)
			if err != nil {
				b.Fatal(err)
			}
			s := m.NewSim()
			state, action := make([]float32, s.StateDim()), make([]float32, 4)
			mean, std, obs := make([]float32, 4), make([]float32, 4), make([]float32, 50)
			r := rng.New(1, "act")
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				s.Observe(state, action, obs, nil, false, r)
				s.Policy(state, mean, std)
				Act(action, mean, std, r)
			}
		})
	}
}

// BenchmarkUpdate is a whole update: world model, imagination, actor and critic, with
// the preset's own batch and starts.
func BenchmarkUpdate(b *testing.B) {
	for _, name := range []string{"tiny", "small"} {
		b.Run(name, func(b *testing.B) {
			c, err := Preset(name)
			if err != nil {
				b.Fatal(err)
			}
			m, err := New(c, 1)
			if err != nil {
				b.Fatal(err)
			}
			tr, err := NewTrainer(m, 1)
			if err != nil {
				b.Fatal(err)
			}
			defer tr.Close()
			r, err := NewReplay(c, 1, 2000)
			if err != nil {
				b.Fatal(err)
			}
			rnd := rng.New(1, "bench")
			obs, act := make([]float32, c.Obs), make([]float32, c.Action)
			for i := range 1000 {
				for j := range obs {
					obs[j] = float32(rnd.NormFloat64())
				}
				if err := r.Add(0, Step{Obs: obs, Action: act, First: i%100 == 0, Last: i%100 == 99}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				if _, err := tr.Update(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
