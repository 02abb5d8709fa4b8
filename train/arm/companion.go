package arm

import (
	"fmt"
	"math/rand/v2"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/worldmodel"
)

// Game is an episode that a person plays, recorded as an agent's is. A world model may
// watch: at each observation it says what it would do and how likely success is. It
// changes nothing. One goroutine.
type Game struct {
	w    *gridarm.World
	p    *player // nil without a model
	r    *rand.Rand
	e    Episode
	obs  []float32
	last []float32 // action that led to obs
	next *Trace    // of the coming decision
	res  gridarm.Result
}

// NewGame resets a world of task t. m may be nil; futures is how many moments it imagines
// ahead, name what records call it. o's task channel is set to what models read.
func NewGame(t gridarm.Task, o gridarm.Options, seed uint64, episode int, m *worldmodel.Model, name string, futures int) (*Game, error) {
	o.TaskChannel = envOptions(false).TaskChannel
	w, err := gridarm.NewWorld(t, o)
	if err != nil {
		return nil, err
	}
	g := &Game{w: w, r: rng.New(seed, "arm", "game", episode), obs: make([]float32, w.ObsSize()), last: make([]float32, gridarm.ActionSize)}
	if m != nil {
		if c := m.Config(); c.Obs != ObsSize || c.Action != gridarm.ActionSize {
			return nil, fmt.Errorf("arm: the model reads %d numbers and acts by %d; those of the arm have %d and %d (make one with `muse train worldmodel --env gridarm`)",
				c.Obs, c.Action, ObsSize, gridarm.ActionSize)
		}
		g.p = newPlayer(m)
		g.p.futures = futures
	}
	w.ResetInto(seed, episode, g.obs)
	g.e = begin(w, g.obs)
	g.e.ID, g.e.Phase, g.e.Arm, g.e.Seed = g.e.Task+"#play", "play", "you", seed
	g.e.Agent = Agent{Config: AgentConfig{Name: "you", Limit: w.Options().MaxSteps}, Model: AgentModel{Name: name}}
	if m != nil && m.Config().Quantiles > 0 {
		g.e.Agent.Assessor = "psi"
	}
	g.look(true)
	return g, nil
}

// look lets the model see the present observation.
func (g *Game) look(first bool) {
	g.next = &Trace{Choice: selfregulate.Choice{Index: -1}, Candidates: []Candidate{}}
	if g.p == nil {
		return
	}
	encode(g.p.in, g.obs)
	g.p.sim.Observe(g.p.state, g.last, g.p.in, nil, first, g.r)
	g.next.Candidates = append(g.next.Candidates, g.p.candidate("what the model would do"))
	g.next.Choice = selfregulate.Choice{Index: 0, Reason: "its policy"}
}

// Obs is the present observation, which the game owns.
func (g *Game) Obs() []float32 { return g.obs }

// World is the world that is played, to be looked at.
func (g *Game) World() *gridarm.World { return g.w }

// Over reports whether the episode has ended.
func (g *Game) Over() bool { return g.res.Done() }

// Step takes the person's decision.
func (g *Game) Step(act []float32) gridarm.Result {
	for i := range g.last {
		g.last[i] = min(max(act[i], -1), 1)
	}
	g.res = g.w.StepInto(g.last, g.obs)
	s := g.w.State()
	g.e.Steps = append(g.e.Steps, Step{Action: append([]float32{}, g.last...), Observation: append([]float32{}, g.obs[:gridarm.StateSize]...),
		Reward: float32(g.res.Reward), Success: g.res.Success, Touch: s.Touch, Held: s.Held, Trace: g.next})
	if g.res.Success && g.e.SolvedAt == 0 {
		g.e.SolvedAt = len(g.e.Steps)
	}
	g.next = nil
	if g.res.Done() {
		g.e.end(g.w, g.res)
		return g.res
	}
	g.look(false)
	return g.res
}

// Record is the episode so far; behind the decisions taken stands the coming one, without
// an action, unless the episode is over.
func (g *Game) Record() Episode {
	e := g.e
	e.Steps = append([]Step{}, e.Steps...)
	if !g.Over() {
		e.Steps = append(e.Steps, Step{Action: []float32{}, Observation: []float32{}, Trace: g.next})
	}
	return e
}
