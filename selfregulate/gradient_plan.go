package selfregulate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// PlanConfig are the settings of planning over ψ; start from [DefaultPlan].
type PlanConfig struct {
	Horizon    int `json:"horizon"`    // imagined steps of a plan
	Plans      int `json:"plans"`      // sampled in each round
	Elite      int `json:"elite"`      // best plans that the next round is drawn around
	Iterations int `json:"iterations"` // rounds
}

// DefaultPlan looks as far ahead as Algorithm 1 does.
func DefaultPlan() PlanConfig { return PlanConfig{Horizon: 10, Plans: 32, Elite: 6, Iterations: 3} }

// Validate reports all problems at once.
func (c PlanConfig) Validate() error {
	var errs []error
	if c.Horizon < 1 || c.Iterations < 1 {
		errs = append(errs, fmt.Errorf("selfregulate: horizon is %d and iterations %d, both must be 1 or more", c.Horizon, c.Iterations))
	}
	if c.Elite < 2 || c.Plans < c.Elite {
		errs = append(errs, fmt.Errorf("selfregulate: %d elite plans of %d; at least 2, and not more than all", c.Elite, c.Plans))
	}
	return errors.Join(errs...)
}

// StatePlan is the name of [NewPlanner].
const StatePlan = "plan"

// planner is the cross-entropy method over action sequences.
type planner struct {
	cfg                      PlanConfig
	w                        Latent
	state, dream             []float32
	plans                    []float32 // (Plans, Horizon, A)
	score                    []float64
	order                    []int
	mean, std                []float32 // (Horizon, A)
	mean0, std0, meanA, stdA []float32 // (A)
	pcg                      *rand.PCG
	rnd                      *rand.Rand
}

// NewPlanner returns a regulator that does not move the state but chooses the action: it
// imagines plans of actions, keeps those after which Σψ is highest, draws new ones around
// them, and acts by the first action of the last elite. The first round follows the
// actor, so that plans stay near what the model has seen. It is beyond the paper: what
// Algorithm 1 seeks by gradient, sought by sampling.
func NewPlanner(cfg PlanConfig, w Latent) (StateRegulator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deter, stoch, classes := w.Latents()
	mk := func(n int) []float32 { return make([]float32, n) }
	s, a := deter+stoch*classes, w.ActionDim()
	p := &planner{cfg: cfg, w: w, state: mk(s), dream: mk(s), plans: mk(cfg.Plans * cfg.Horizon * a), score: make([]float64, cfg.Plans), order: make([]int, cfg.Plans),
		mean: mk(cfg.Horizon * a), std: mk(cfg.Horizon * a), mean0: mk(a), std0: mk(a), meanA: mk(a), stdA: mk(a), pcg: rand.NewPCG(0, 0)}
	p.rnd = rand.New(p.pcg)
	return p, nil
}

func (p *planner) Name() string { return StatePlan }

func (p *planner) Regulate(state []float32, r *rand.Rand) Regulated {
	p.pcg.Seed(r.Uint64(), 3)
	c, a := p.cfg, len(p.mean0)
	copy(p.state, state)
	p.w.Policy(state, p.mean0, p.std0)
	for round := range c.Iterations {
		for i := range c.Plans {
			p.imagine(i, round == 0)
			p.order[i] = i
		}
		slices.SortFunc(p.order, func(x, y int) int {
			return cmp.Or(cmp.Compare(p.score[y], p.score[x]), cmp.Compare(x, y)) // ties to the lower index
		})
		p.refit()
	}
	copy(p.meanA, p.mean[:a])
	copy(p.stdA, p.std[:a])
	before := p.w.Success(state)
	after := 0.0
	for _, i := range p.order[:c.Elite] {
		after += p.score[i] / float64(c.Elite)
	}
	return Regulated{State: p.state, Mean: p.meanA, Std: p.stdA, Trace: StateTrace{Regulator: StatePlan,
		Before: before, After: after, KL: normalKL(p.mean0, p.std0, p.meanA, p.stdA)}}
}

// imagine draws plan i, by the actor or around the last elite, and scores its end.
func (p *planner) imagine(i int, actor bool) {
	a, h := len(p.mean0), p.cfg.Horizon
	copy(p.dream, p.state)
	for t := range h {
		act := p.plans[(i*h+t)*a : (i*h+t+1)*a]
		if actor {
			p.w.Policy(p.dream, p.meanA, p.stdA)
			draw(act, p.meanA, p.stdA, p.rnd)
		} else {
			draw(act, p.mean[t*a:(t+1)*a], p.std[t*a:(t+1)*a], p.rnd)
		}
		for j, v := range act {
			act[j] = min(max(v, -1), 1)
		}
		p.w.Imagine(p.dream, p.dream, act, p.rnd)
	}
	p.score[i] = p.w.Success(p.dream)
}

// minPlanStd keeps the rounds from collapsing on one plan.
const minPlanStd = 0.05

// refit sets mean and deviation of each step to those of the elite.
func (p *planner) refit() {
	n, width := float64(p.cfg.Elite), len(p.mean)
	for k := range width {
		sum, sq := 0.0, 0.0
		for _, i := range p.order[:p.cfg.Elite] {
			v := float64(p.plans[i*width+k])
			sum += v
			sq += v * v
		}
		m := sum / n
		p.mean[k] = float32(m)
		p.std[k] = float32(max(minPlanStd, math.Sqrt(max(0, sq/n-m*m))))
	}
}
