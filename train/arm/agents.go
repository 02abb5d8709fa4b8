package arm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/nearest"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/worldmodel"
)

// The bars beside every table: what no model plays.
const (
	AgentScript = "script" // the scripted policy, which knows the task
	AgentRandom = "uniform"
)

// AgentNames are the agents that [NewAgent] knows: the regulators with both readings of
// Algorithm 1, choice among imagined futures, planning over ψ, and the bars.
func AgentNames() []string {
	names := []string{selfregulate.StateOff}
	for _, n := range selfregulate.StateNames() {
		if n != selfregulate.StateOff {
			for _, r := range selfregulate.Readings() {
				names = append(names, n+"/"+string(r))
			}
		}
	}
	names = append(names, selfregulate.RolloutNames()...)
	return append(names, selfregulate.StatePlan, AgentScript, AgentRandom)
}

// AgentSpec says how an agent acts. It stands in run.json and names the rows of tables.
type AgentSpec struct {
	Name     string                      `json:"name"`
	Gradient selfregulate.GradientConfig `json:"gradient"`
	Plan     selfregulate.PlanConfig     `json:"plan"`
	// Rollouts are the settings of agents that choose among imagined futures.
	Rollouts *selfregulate.RolloutConfig `json:"rollouts,omitempty"`
	Mean     bool                        `json:"mean"` // acts by the mean of its policy, else a sample
}

// NewAgent returns the agent called name with the settings of g, whose reading is the name's.
// A name may change settings for itself: psi/in-place+beta=0.3+keep, of beta, steps, anneal,
// unit, resample, project and keep; rollouts/best+spread=0.3, of futures, steps, hold, spread and margin.
func NewAgent(name string, g selfregulate.GradientConfig, mean bool) (AgentSpec, error) {
	kind, settings, has := strings.Cut(name, "+")
	if !slices.Contains(AgentNames(), kind) {
		near, _ := nearest.Of(kind, AgentNames())
		if i := slices.IndexFunc(AgentNames(), func(n string) bool { return kind != "" && strings.HasPrefix(n, kind+"/") }); i >= 0 {
			near = AgentNames()[i]
		}
		return AgentSpec{}, fmt.Errorf("arm: no agent %q; did you mean %q? (known: %s)", kind, near, strings.Join(AgentNames(), ", "))
	}
	spec := AgentSpec{Name: name, Gradient: g, Plan: selfregulate.DefaultPlan(), Mean: mean}
	set := func(string) error { return fmt.Errorf("agent %s has no settings", kind) }
	check := spec.Gradient.Validate
	if _, r, ok := strings.Cut(kind, "/"); slices.Contains(selfregulate.RolloutNames(), kind) {
		c := selfregulate.DefaultRollouts()
		spec.Rollouts = &c
		set, check = func(s string) error { return setRollouts(&c, s) }, func() error { return c.Validate() }
	} else if ok {
		spec.Gradient.Reading = selfregulate.Reading(r)
		set, check = func(s string) error { return setGradient(&spec.Gradient, s) }, func() error { return spec.Gradient.Validate() }
	}
	if has {
		for s := range strings.SplitSeq(settings, "+") {
			if err := set(s); err != nil {
				return AgentSpec{}, fmt.Errorf("arm: agent %q: setting %q: %w", name, s, err)
			}
		}
	}
	return spec, check()
}

// setRollouts reads one setting of an agent's name: futures=8.
func setRollouts(c *selfregulate.RolloutConfig, s string) (err error) {
	key, value, _ := strings.Cut(s, "=")
	switch key {
	case "futures":
		c.Futures, err = strconv.Atoi(value)
	case "steps":
		c.Horizon, err = strconv.Atoi(value)
	case "hold":
		c.Hold, err = strconv.Atoi(value)
	case "margin":
		c.Margin, err = strconv.ParseFloat(value, 64)
	case "spread":
		c.Spread, err = strconv.ParseFloat(value, 64)
	default:
		err = errors.New("want futures=N, steps=N, hold=N, spread=N or margin=N")
	}
	return err
}

// setGradient reads one setting of an agent's name: beta=0.3, keep.
func setGradient(g *selfregulate.GradientConfig, s string) (err error) {
	key, value, hasValue := strings.Cut(s, "=")
	flags := map[string]*bool{"unit": &g.Unit, "resample": &g.Resample, "project": &g.Project, "keep": &g.Keep}
	numbers := map[string]*float64{"beta": &g.Beta, "anneal": &g.Anneal}
	switch {
	case flags[key] != nil && !hasValue:
		*flags[key] = true
	case numbers[key] != nil && hasValue:
		*numbers[key], err = strconv.ParseFloat(value, 64)
	case key == "steps" && hasValue:
		g.Horizon, err = strconv.Atoi(value)
	default:
		err = errors.New("want beta=N, anneal=N, steps=N, unit, resample, project or keep")
	}
	return err
}

// kind is the agent's name without its own settings.
func (a AgentSpec) kind() string {
	k, _, _ := strings.Cut(a.Name, "+")
	return k
}

// Bar reports whether the agent is a bar, which no model plays.
func (a AgentSpec) Bar() bool { return a.Name == AgentScript || a.Name == AgentRandom }

// NeedsPsi reports whether the agent can't act without ψ.
func (a AgentSpec) NeedsPsi() bool { return !a.Bar() && a.Name != selfregulate.StateOff }

// regulator over a simulator; nil for the actor alone.
func (a AgentSpec) regulator(sim *worldmodel.Sim) (selfregulate.StateRegulator, error) {
	switch a.Name {
	case selfregulate.StateOff:
		return nil, nil
	case selfregulate.StatePlan:
		return selfregulate.NewPlanner(a.Plan, sim)
	}
	if a.Rollouts != nil {
		return selfregulate.NewRollouts(a.kind(), *a.Rollouts, sim)
	}
	kind, _, _ := strings.Cut(a.kind(), "/")
	return selfregulate.NewStateRegulator(kind, a.Gradient, sim)
}

// info is what a record says of the agent.
func (a AgentSpec) info(model AgentModel, m *worldmodel.Model) Agent {
	out := Agent{Config: AgentConfig{Name: "world model", Limit: limit, Mean: a.Mean}, Model: model, Selector: a.Name}
	if a.Bar() {
		out.Config, out.Model = AgentConfig{Name: a.Name, Limit: limit}, AgentModel{Name: a.Name}
		return out
	}
	out.Assessor, out.Config.Rollouts = assessor(m), a.Rollouts
	if a.NeedsPsi() && a.Name != selfregulate.StatePlan && a.Rollouts == nil {
		g := a.Gradient
		out.Config.Gradient = &g
	}
	return out
}

// bar plays an episode of w, which was reset into obs, by a bar.
func (a AgentSpec) bar(w *gridarm.World, obs []float32, seed uint64) Episode {
	policy := gridarm.Scripted(w.Task())
	if a.Name == AgentRandom {
		policy = gridarm.RandomPolicy(rng.Seed(seed, "uniform"))
	}
	e := begin(w, obs)
	act := make([]float32, gridarm.ActionSize)
	for t := 1; ; t++ {
		policy(obs, act)
		for i, v := range act {
			act[i] = min(max(v, -1), 1)
		}
		res := w.StepInto(act, obs)
		if res.Success && e.SolvedAt == 0 {
			e.SolvedAt = t
		}
		s := w.State()
		e.Steps = append(e.Steps, Step{Action: append([]float32{}, act...), Observation: append([]float32{}, obs[:gridarm.StateSize]...),
			Reward: float32(res.Reward), Success: res.Success, Touch: s.Touch, Held: s.Held})
		if res.Done() {
			e.end(w, res)
			return e
		}
	}
}
