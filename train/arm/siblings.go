package arm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// SiblingFormat is the format tag of a [SiblingReport].
const SiblingFormat = "muse/armsiblings@1"

// SiblingConfig are the settings of the test whether ψ tells apart the actions that are
// possible at a state: from a restored state every action is taken and played on.
type SiblingConfig struct {
	Tasks    []gridarm.Task `json:"tasks"`
	Episodes int            `json:"episodes"` // visited a task
	Every    int            `json:"every"`    // decisions between two states
	Actions  int            `json:"actions"`  // siblings drawn at a state
	Repeats  int            `json:"repeats"`  // continuations of each
	// Spread is the deviation of the siblings around the actor's mean: 0 = the actor's own.
	Spread   float64                     `json:"spread"`
	Gradient selfregulate.GradientConfig `json:"gradient"`
	// Limit is the time left from the state at which a continuation counts as lost; 0 =
	// the episode's. A short one tells actions apart that all succeed in the end.
	Limit int `json:"limit"`
}

// DefaultSiblings are six actions at every fifth decision.
func DefaultSiblings() SiblingConfig {
	return SiblingConfig{Episodes: 5, Every: 5, Actions: 6, Repeats: 1, Spread: 0.5, Gradient: selfregulate.DefaultGradient()}
}

// Validate reports all problems at once.
func (c SiblingConfig) Validate() error {
	var errs []error
	for _, n := range []struct {
		name         string
		value, least int
	}{{"tasks", len(c.Tasks), 1}, {"episodes", c.Episodes, 1}, {"every", c.Every, 1}, {"actions", c.Actions, 2}, {"repeats", c.Repeats, 1}, {"limit", c.Limit, 0}} {
		if n.value < n.least || n.value > 10_000 {
			errs = append(errs, fmt.Errorf("arm: %s is %d, must lie between %d and 10000", n.name, n.value, n.least))
		}
	}
	if !(c.Spread >= 0 && c.Spread <= 2) {
		errs = append(errs, fmt.Errorf("arm: spread is %g, must lie in [0,2]", c.Spread))
	}
	return errors.Join(append(errs, c.Gradient.Validate())...)
}

// SiblingReport says what choosing by ψ gains at single decisions.
type SiblingReport struct {
	Format string        `json:"format"`
	Config SiblingConfig `json:"config"`
	// Lift is of the imagined next state's Σψ among sibling actions.
	Lift selfassess.Lift `json:"lift"`
	// Slope is of the same siblings ranked by ∇Σψ alone: how far an action moves the
	// imagined next state along the gradient at the state that the mean action leads to.
	Slope selfassess.Lift `json:"slope"`
	// Within is the macro AUROC of Σψ among the siblings of states with both outcomes.
	Within float64 `json:"within_state_auroc"`
	Mixed  int     `json:"mixed_states"`
	// Regulators are the mean outcomes of a regulated first action less that of the
	// actor's own at the same states.
	Regulators []SiblingRegulator `json:"regulators"`
}

// SiblingRegulator is one regulator's first action.
type SiblingRegulator struct {
	Name string              `json:"name"`
	Lift selfassess.Estimate `json:"lift"`
}

var siblingRegulators = []string{"psi/literal", "psi/in-place", "random/in-place", "value/in-place", "rollouts/best", "rollouts/random"}

// sibRow is what one state contributes.
type sibRow struct {
	byPsi, bySlope []selfassess.Prediction
	task           string
	off            float64
	regulated      []float64
}

// Siblings visits states of the actor's own episodes and plays every sibling on.
func Siblings(ctx context.Context, m *worldmodel.Model, c SiblingConfig, seed uint64, workers int, p *train.Progress) (SiblingReport, error) {
	rep := SiblingReport{Format: SiblingFormat, Config: c}
	if err := c.Validate(); err != nil {
		return rep, err
	}
	if m.Config().Quantiles == 0 {
		return rep, errors.New("arm: the model has no ψ to rank actions by; it was trained with --quantiles 0, give another one")
	}
	var rows []sibRow
	err := train.Ordered(ctx, workers, 0, len(c.Tasks)*c.Episodes, func(ctx context.Context, i int) ([]sibRow, error) {
		return visitStates(ctx, m, c, c.Tasks[i/c.Episodes], i%c.Episodes, seed)
	}, func(_ int, rs []sibRow) error {
		rows = append(rows, rs...)
		p.Add(1, fmt.Sprintf("%d states", len(rows)))
		return nil
	})
	if err != nil {
		return rep, err
	}
	boot := selfassess.Bootstrap{Seed: 1}
	var byPsi, bySlope []selfassess.Prediction
	var task []string
	var off []float64
	regulated := make([][]float64, len(siblingRegulators))
	for _, r := range rows {
		byPsi, bySlope = append(byPsi, r.byPsi...), append(bySlope, r.bySlope...)
		task, off = append(task, r.task), append(off, r.off)
		for k, v := range r.regulated {
			regulated[k] = append(regulated[k], v)
		}
		var y, s []float64
		for _, x := range r.byPsi {
			y, s = append(y, is(x.Label > 0.5)), append(s, x.P)
		}
		if mixed(y) {
			rep.Within += selfassess.AUROC(y, s)
			rep.Mixed++
		}
	}
	if rep.Mixed > 0 {
		rep.Within /= float64(rep.Mixed)
	}
	rep.Lift, rep.Slope = selfassess.SiblingLift(byPsi, boot), selfassess.SiblingLift(bySlope, boot)
	for k, n := range siblingRegulators {
		d, _ := selfassess.DiffByTask(task, regulated[k], task, off, boot)
		rep.Regulators = append(rep.Regulators, SiblingRegulator{n, d})
	}
	return rep, nil
}

// visitStates plays one episode and branches at its states, until it is solved.
func visitStates(ctx context.Context, m *worldmodel.Model, c SiblingConfig, t gridarm.Task, e int, seed uint64) ([]sibRow, error) {
	w, err := gridarm.NewWorld(t, envOptions(false))
	if err != nil {
		return nil, err
	}
	p, q := newPlayer(m), newPlayer(m)
	q.mean = true
	rnd := rng.New(seed, "siblings", t.String(), e)
	w.ResetInto(rng.Seed(seed, "siblings", "worlds"), e, p.obs)
	clear(p.act)
	var regs []selfregulate.StateRegulator
	for _, n := range siblingRegulators {
		a, err := NewAgent(n, c.Gradient, true)
		if err != nil {
			return nil, err
		}
		r, err := a.regulator(q.sim)
		if err != nil {
			return nil, err
		}
		regs = append(regs, r)
	}
	var rows []sibRow
	for i := 0; i < limit && !w.State().Solved; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		encode(p.in, p.obs)
		p.sim.Observe(p.state, p.act, p.in, nil, i == 0, rnd)
		if i%c.Every == c.Every-1 {
			rows = append(rows, branch(p, q, w, regs, c, fmt.Sprintf("%s/%d/%d", t, e, i), rnd))
		}
		p.sim.Policy(p.state, p.mu, p.sd)
		worldmodel.Act(p.act, p.mu, p.sd, rnd)
		for k, v := range p.act {
			p.act[k] = min(max(v, -1), 1)
		}
		w.StepInto(p.act, p.obs)
	}
	return rows, nil
}

// branch takes every sibling action at the present state and leaves the world as it was.
func branch(p, q *player, w *gridarm.World, regs []selfregulate.StateRegulator, c SiblingConfig, at string, rnd *rand.Rand) sibRow {
	saved, task := w.State(), w.Task().String()
	row := sibRow{task: task}
	until := limit
	if c.Limit > 0 {
		until = min(limit, saved.Steps+c.Limit)
	}
	// All continuations of a state have the same draws.
	seed := rnd.Uint64()
	outcome := func(act []float32) float64 {
		won := 0.0
		for k := range c.Repeats {
			won += continuation(p, q, w, saved, act, until, rng.New(seed, "continuation", k)) / float64(c.Repeats)
		}
		return won
	}
	p.sim.Policy(p.state, p.mu, p.sd)
	mean := append([]float32{}, p.mu...)
	row.off = outcome(mean)
	for _, r := range regs {
		out := r.Regulate(p.state, rng.New(seed, "regulate"))
		row.regulated = append(row.regulated, outcome(append([]float32{}, out.Mean...)))
	}
	// The gradient at the state that the mean action leads to.
	base, grad, next := make([]float32, len(p.state)), make([]float32, len(p.state)), make([]float32, len(p.state))
	p.sim.Imagine(base, p.state, mean, rng.New(seed, "next"))
	p.sim.SuccessGradient(grad, base)
	for k := range c.Actions {
		act := make([]float32, len(mean))
		for j := range act {
			sd := float64(p.sd[j])
			if c.Spread > 0 {
				sd = c.Spread
			}
			act[j] = min(max(mean[j]+float32(sd*rnd.NormFloat64()), -1), 1)
		}
		p.sim.Imagine(next, p.state, act, rng.New(seed, "next"))
		slope := 0.0
		for j, g := range grad {
			slope += float64(g) * float64(next[j]-base[j])
		}
		y := outcome(act)
		x := selfassess.Prediction{Task: task, Label: y, State: at, Action: fmt.Sprint(k), P: p.sim.Success(next) / float64(len(p.psi))}
		row.byPsi = append(row.byPsi, x)
		x.P = slope
		row.bySlope = append(row.bySlope, x)
	}
	if err := w.SetState(saved); err != nil {
		panic(err) // its own state
	}
	w.Observe(p.obs)
	return row
}

// continuation restores a state, takes act and lets the actor's mean play on: 1 if the
// task is solved by decision until.
func continuation(p, q *player, w *gridarm.World, saved gridarm.State, act []float32, until int, rnd *rand.Rand) float64 {
	if err := w.SetState(saved); err != nil {
		panic(err) // its own state
	}
	copy(q.state, p.state)
	copy(q.act, act)
	for {
		res := w.StepInto(q.act, q.obs)
		if res.Success {
			return 1
		}
		if res.Done() || w.Steps() >= until {
			return 0
		}
		encode(q.in, q.obs)
		q.sim.Observe(q.state, q.act, q.in, nil, false, rnd)
		q.sim.Policy(q.state, q.mu, q.sd)
		copy(q.act, q.mu)
		for k, v := range q.act {
			q.act[k] = min(max(v, -1), 1)
		}
	}
}

// String is the report as text.
func (r SiblingReport) String() string {
	var b strings.Builder
	l := r.Lift
	fmt.Fprintf(&b, "%d states of %d tasks, %d actions each; blind choice succeeds %s\n", l.States, l.Tasks, r.Config.Actions, l.Random)
	fmt.Fprintf(&b, "ranked by Σψ of the imagined next state: best %s, lowest %s (oracle %s)\n", l.Best, l.Lowest, l.Oracle)
	fmt.Fprintf(&b, "ranked along ∇Σψ:                        best %s, lowest %s\n", r.Slope.Best, r.Slope.Lowest)
	fmt.Fprintf(&b, "AUROC of Σψ among siblings, mean over %d states with both outcomes: %.3f\n", r.Mixed, r.Within)
	for _, x := range r.Regulators {
		fmt.Fprintf(&b, "first action of %-16s against the actor's own: %s\n", x.Name, x.Lift)
	}
	return b.String()
}
