package worldmodel_test

import (
	"fmt"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/worldmodel"
)

var _ selfregulate.Latent = (*worldmodel.Sim)(nil)

// BenchmarkRegulatedAct is one decision of the preset tiny with Algorithm 1 (H = 10), trace
// included: go test -bench RegulatedAct -cpu 1 ./worldmodel
func BenchmarkRegulatedAct(b *testing.B) {
	for _, reading := range selfregulate.Readings() {
		b.Run(string(reading), func(b *testing.B) {
			c, err := worldmodel.Preset("tiny")
			if err != nil {
				b.Fatal(err)
			}
			m, err := worldmodel.New(c, 1)
			if err != nil {
				b.Fatal(err)
			}
			s := m.NewSim()
			cfg := selfregulate.DefaultGradient()
			cfg.Reading = reading
			g, err := selfregulate.NewStateRegulator(selfregulate.StatePsi, cfg, s)
			if err != nil {
				b.Fatal(err)
			}
			state, action, obs := make([]float32, s.StateDim()), make([]float32, c.Action), make([]float32, c.Obs)
			r := rng.New(1, "act")
			b.ReportAllocs()
			defer worldmodel.ReportCPU(b)()
			for b.Loop() {
				s.Observe(state, action, obs, nil, false, r)
				out := g.Regulate(state, r)
				copy(state, out.State)
				worldmodel.Act(action, out.Mean, out.Std, r)
			}
		})
	}
}

// Example trains a model for a few updates on a stream of two numbers and acts with it.
func Example() {
	cfg, err := worldmodel.Preset("debug")
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.Obs, cfg.Action = 2, 1
	model, err := worldmodel.New(cfg, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	replay, err := worldmodel.NewReplay(cfg, 1, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	sim, r := model.NewSim(), rng.New(1, "example")
	state, action := make([]float32, sim.StateDim()), make([]float32, 1)
	mean, std := make([]float32, 1), make([]float32, 1)
	for t := range 30 { // one episode; its action leads to the next observation
		obs := []float32{float32(t), action[0]}
		sim.Observe(state, action, obs, nil, t == 0, r)
		if err := replay.Add(0, worldmodel.Step{Obs: obs, Action: action, Reward: action[0], First: t == 0, Last: t == 29, State: state}); err != nil {
			fmt.Println(err)
			return
		}
		sim.Policy(state, mean, std)
		worldmodel.Act(action, mean, std, r)
	}
	// Solved after 12 of at most 30 steps: the labels of the five ψ.
	labels := worldmodel.QuantileLabels(cfg.Quantiles, 12, 30)
	if err := replay.Label(0, 0, labels); err != nil {
		fmt.Println(err)
		return
	}
	trainer, err := worldmodel.NewTrainer(model, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	for range 3 {
		if _, err := trainer.Update(replay); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(labels, trainer.Updates(), "updates")
	// Output: [0 1 1 1 1] 3 updates
}
