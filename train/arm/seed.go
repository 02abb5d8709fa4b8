package arm

import (
	"fmt"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/worldmodel"
)

// Each task has two lanes of the replay: that of seeded episodes, which are never
// dropped, and that of own play.
func seedLane(i int) int { return 2 * i }
func ownLane(i int) int  { return 2*i + 1 }

// lanes are the lanes of n tasks, and the capacity of all so that each can hold
// all seeded episodes and its share of own ones.
func lanes(c Config) (n, capacity int) {
	each := max(c.Capacity/len(c.Tasks), (c.Scripted+c.Corrupted)*(limit+1))
	return 2 * len(c.Tasks), 2 * len(c.Tasks) * each
}

// seedReplay fills the seed lanes. The target of every step is the script's action at
// that observation, also where a corrupted script did something else.
func seedReplay(c Config, seed uint64, r *worldmodel.Replay) error {
	obs, in := make([]float32, envOptions(false).ObsSize()), make([]float32, ObsSize)
	for i, t := range c.Tasks {
		for e := range c.Scripted + c.Corrupted {
			rnd := rng.New(seed, "seed", t.String(), e)
			w, err := gridarm.NewWorld(t, envOptions(rnd.Float64() < c.HideTask))
			if err != nil {
				return err
			}
			var bad gridarm.Corruption
			if e >= c.Scripted {
				bad = gridarm.RandomCorruption(t, rnd.Float64(), rnd)
			}
			w.ResetInto(rng.Seed(seed, "seed", "worlds"), e, obs)
			if err := script(w, bad.Policy(t, rnd), obs, in, r, seedLane(i), c.Model.Quantiles); err != nil {
				return fmt.Errorf("arm: seeding %s: %w", t, err)
			}
		}
	}
	return nil
}

// script plays an episode of w by a policy into a lane.
func script(w *gridarm.World, p gridarm.Policy, obs, in []float32, r *worldmodel.Replay, lane, quantiles int) error {
	act, target, expert := make([]float32, gridarm.ActionSize), make([]float32, gridarm.ActionSize), gridarm.Scripted(w.Task())
	solved := -1
	var res gridarm.Result
	for t := 0; ; t++ {
		encode(in, obs)
		expert(obs, target)
		for k, v := range target {
			target[k] = min(max(v, -1), 1)
		}
		if err := r.Add(lane, worldmodel.Step{Obs: in, Action: act, Reward: float32(res.Reward), First: t == 0, Last: res.Done(), Target: target}); err != nil {
			return err
		}
		if res.Done() {
			break
		}
		p(obs, act)
		for k, v := range act {
			act[k] = min(max(v, -1), 1)
		}
		if res = w.StepInto(act, obs); res.Success && solved < 0 {
			solved = t + 1
		}
	}
	return r.Label(lane, 0, worldmodel.QuantileLabels(quantiles, solved, limit))
}

// SeededReplay makes a replay of the training tasks for a model whose own is not at hand:
// scripted and corrupted episodes, as many as the default training is seeded with.
func SeededReplay(seed uint64) func(worldmodel.Config) (*worldmodel.Replay, error) {
	return func(m worldmodel.Config) (*worldmodel.Replay, error) {
		c, err := Default("tiny")
		if err != nil {
			return nil, err
		}
		c.Model = m
		c.Capacity = 0
		n, capacity := lanes(c)
		r, err := worldmodel.NewReplay(m, n, capacity)
		if err != nil {
			return nil, err
		}
		return r, seedReplay(c, seed, r)
	}
}
