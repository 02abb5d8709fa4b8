package arm

import (
	"fmt"
	"slices"
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
// Algorithm 1, planning over ψ, and the bars.
func AgentNames() []string {
	names := []string{selfregulate.StateOff}
	for _, n := range selfregulate.StateNames() {
		if n != selfregulate.StateOff {
			for _, r := range selfregulate.Readings() {
				names = append(names, n+"/"+string(r))
			}
		}
	}
	return append(names, selfregulate.StatePlan, AgentScript, AgentRandom)
}

// AgentSpec says how an agent acts. It stands in run.json and names the rows of tables.
type AgentSpec struct {
	Name     string                      `json:"name"`
	Gradient selfregulate.GradientConfig `json:"gradient"`
	Plan     selfregulate.PlanConfig     `json:"plan"`
	Mean     bool                        `json:"mean"` // acts by the mean of its policy, else a sample
}

// NewAgent returns the agent called name with the settings of g, whose reading is the name's.
func NewAgent(name string, g selfregulate.GradientConfig, mean bool) (AgentSpec, error) {
	if !slices.Contains(AgentNames(), name) {
		near, _ := nearest.Of(name, AgentNames())
		return AgentSpec{}, fmt.Errorf("arm: no agent %q; did you mean %q? (known: %s)", name, near, strings.Join(AgentNames(), ", "))
	}
	if _, r, ok := strings.Cut(name, "/"); ok {
		g.Reading = selfregulate.Reading(r)
	}
	return AgentSpec{Name: name, Gradient: g, Plan: selfregulate.DefaultPlan(), Mean: mean}, g.Validate()
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
	kind, _, _ := strings.Cut(a.Name, "/")
	return selfregulate.NewStateRegulator(kind, a.Gradient, sim)
}

// info is what a record says of the agent.
func (a AgentSpec) info(model AgentModel, m *worldmodel.Model) Agent {
	out := Agent{Config: AgentConfig{Name: "world model", Limit: limit, Mean: a.Mean}, Model: model, Selector: a.Name}
	if a.Bar() {
		out.Config, out.Model = AgentConfig{Name: a.Name, Limit: limit}, AgentModel{Name: a.Name}
		return out
	}
	out.Assessor = assessor(m)
	if a.NeedsPsi() && a.Name != selfregulate.StatePlan {
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
