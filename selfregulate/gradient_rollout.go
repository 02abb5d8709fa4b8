package selfregulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// RolloutConfig are the settings of choosing among imagined futures of a latent state;
// start from [DefaultRollouts].
type RolloutConfig struct {
	Futures int `json:"futures"` // imagined at each decision
	Horizon int `json:"horizon"` // imagined steps of each
	// Spread is the deviation of the futures' first actions around the actor's mean; 0 = the
	// actor's own. The first future begins with the mean itself, so that the actor's way is
	// among the choices. The steps after the first are samples of the actor.
	Spread float64 `json:"spread"`
	// Hold is for how many imagined steps the first action is kept, so that it has an effect
	// that can be told; only one is taken.
	Hold int `json:"hold"`
	// Margin is by how much Σψ of the best future must exceed that of the actor's own, or
	// the actor's own is taken: where the actor is able, others are better by chance only.
	Margin float64 `json:"margin"`
}

// DefaultRollouts are far-apart futures of a few steps, chosen on the arm
// (docs/world-model.md).
func DefaultRollouts() RolloutConfig {
	return RolloutConfig{Futures: 16, Horizon: 5, Spread: 0.7, Hold: 2}
}

// Validate reports all problems at once.
func (c RolloutConfig) Validate() error {
	var errs []error
	if c.Futures < 1 || c.Horizon < 1 || c.Futures > 1000 || c.Horizon > 1000 {
		errs = append(errs, fmt.Errorf("selfregulate: futures is %d and horizon %d, both must lie between 1 and 1000", c.Futures, c.Horizon))
	}
	if c.Hold < 1 || c.Hold > 1000 {
		errs = append(errs, fmt.Errorf("selfregulate: hold is %d, must lie between 1 and 1000", c.Hold))
	}
	if !(c.Margin >= 0 && c.Margin <= 1000) {
		errs = append(errs, fmt.Errorf("selfregulate: margin is %g, must lie in [0,1000]", c.Margin))
	}
	if !(c.Spread >= 0 && c.Spread <= 2) {
		errs = append(errs, fmt.Errorf("selfregulate: spread is %g, must lie in [0,2]", c.Spread))
	}
	return errors.Join(errs...)
}

// The names of [NewRollouts]: which of the futures is acted on.
const (
	RolloutsBest   = "rollouts/best"
	RolloutsRandom = "rollouts/random"
	RolloutsLowest = "rollouts/lowest"
)

// RolloutNames lists them.
func RolloutNames() []string { return []string{RolloutsBest, RolloutsRandom, RolloutsLowest} }

// rollouts is option 1 of the paper's section 3.1.2 for actions that are numbers.
type rollouts struct {
	name        string
	cfg         RolloutConfig
	w           Latent
	state       []float32
	dream       []float32
	first       []float32 // (Futures, A)
	score       []float64
	mean0, std0 []float32
	mean, std   []float32
	act         []float32
	pcg         *rand.PCG // of choices and first actions
	rnd         *rand.Rand
	dreamPCG    *rand.PCG // of what follows, the same for every future
	dreamRnd    *rand.Rand
}

// NewRollouts returns a regulator that leaves the state as it is and chooses the action: it
// imagines futures that begin with different actions, scores each by Σψ where it ends, and
// acts on the best (or, as controls, on a random or the lowest one). It is what muse's
// text agents do, with a world model's state in place of a text.
func NewRollouts(name string, cfg RolloutConfig, w Latent) (StateRegulator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if name != RolloutsBest && name != RolloutsRandom && name != RolloutsLowest {
		return nil, fmt.Errorf("selfregulate: no choice %q among rollouts; use %v", name, RolloutNames())
	}
	deter, stoch, classes := w.Latents()
	mk := func(n int) []float32 { return make([]float32, n) }
	s, a := deter+stoch*classes, w.ActionDim()
	g := &rollouts{name: name, cfg: cfg, w: w, state: mk(s), dream: mk(s), first: mk(cfg.Futures * a), score: make([]float64, cfg.Futures),
		mean0: mk(a), std0: mk(a), mean: mk(a), std: mk(a), act: mk(a), pcg: rand.NewPCG(0, 0), dreamPCG: rand.NewPCG(0, 0)}
	g.rnd, g.dreamRnd = rand.New(g.pcg), rand.New(g.dreamPCG)
	return g, nil
}

func (g *rollouts) Name() string { return g.name }

// chosenStd is the deviation of a chosen action: it is meant to be taken as it is.
const chosenStd = 1e-3

// Regulate implements [StateRegulator]. The three choices imagine the same futures where
// they are given the same randomness.
func (g *rollouts) Regulate(state []float32, r *rand.Rand) Regulated {
	seed := r.Uint64()
	g.pcg.Seed(seed, 4)
	a, best, lowest := len(g.mean0), 0, 0
	pick := g.rnd.IntN(g.cfg.Futures)
	copy(g.state, state)
	g.w.Policy(state, g.mean0, g.std0)
	for i := range g.cfg.Futures {
		g.imagine(i, seed)
		if g.score[i] > g.score[best] {
			best = i
		}
		if g.score[i] < g.score[lowest] {
			lowest = i
		}
	}
	switch g.name {
	case RolloutsBest:
		if pick = best; g.score[best] < g.score[0]+g.cfg.Margin {
			pick = 0
		}
	case RolloutsLowest:
		pick = lowest
	}
	copy(g.mean, g.first[pick*a:(pick+1)*a])
	kl := 0.0
	for j := range g.std {
		g.std[j] = chosenStd
		d := float64(g.mean[j]-g.mean0[j]) / float64(g.std0[j])
		kl += d * d / 2
	}
	return Regulated{State: g.state, Mean: g.mean, Std: g.std,
		Trace: StateTrace{Regulator: g.name, Before: g.w.Success(state), After: g.score[pick], KL: kl}}
}

// imagine plays future i: its first action, then the actor's. All futures of a decision
// meet the same luck, so that they differ by their first action alone.
func (g *rollouts) imagine(i int, seed uint64) {
	a := len(g.mean0)
	first := g.first[i*a : (i+1)*a]
	copy(first, g.mean0)
	if i > 0 {
		for j := range first {
			sd := float64(g.std0[j])
			if g.cfg.Spread > 0 {
				sd = g.cfg.Spread
			}
			first[j] += float32(sd * g.rnd.NormFloat64())
		}
	}
	for j, v := range first {
		first[j] = min(max(v, -1), 1)
	}
	g.dreamPCG.Seed(seed, 5)
	g.w.Imagine(g.dream, g.state, first, g.dreamRnd)
	for t := 1; t < g.cfg.Horizon; t++ {
		copy(g.act, first)
		if t >= g.cfg.Hold {
			g.w.Policy(g.dream, g.mean, g.std)
			draw(g.act, g.mean, g.std, g.dreamRnd)
			for j, v := range g.act {
				g.act[j] = min(max(v, -1), 1)
			}
		}
		g.w.Imagine(g.dream, g.dream, g.act, g.dreamRnd)
	}
	g.score[i] = g.w.Success(g.dream)
}
