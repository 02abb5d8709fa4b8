package arm

import (
	"math/rand/v2"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/worldmodel"
)

// limit is the number of decisions of an episode.
const limit = gridarm.DefaultMaxSteps

// player plays episodes with a model. One goroutine.
type player struct {
	sim  *worldmodel.Sim
	reg  selfregulate.StateRegulator // nil: the actor alone
	mean bool                        // act by the policy's mean

	// What the record holds beside actions and outcomes.
	record  bool
	futures int // imagined moments of each candidate

	// detour may change the action of decision t, nil for none.
	detour func(t int, act []float32)

	obs, in, act        []float32
	state, mu, sd, psi  []float32
	dream, dreamAct, bf []float32
}

func newPlayer(m *worldmodel.Model) *player {
	mk := func(n int) []float32 { return make([]float32, n) }
	c := m.Config()
	return &player{sim: m.NewSim(), obs: mk(envOptions(false).ObsSize()), in: mk(ObsSize), act: mk(c.Action),
		state: mk(c.StateDim()), mu: mk(c.Action), sd: mk(c.Action), psi: mk(c.Quantiles), dream: mk(c.StateDim()), dreamAct: mk(c.Action), bf: mk(ObsSize)}
}

// visit is called at each observation of an episode, with the step that led to it and
// Σψ there (0 without ψ).
type visit func(s worldmodel.Step, psi float64) error

// play plays an episode of w, which was reset into p.obs. Each observation is handed to
// visit (which may be nil); its slices are valid during the call. Seeing, regulating and
// acting have streams of their own, so that agents with the same seed differ by what they
// do and not by their luck.
func (p *player) play(w *gridarm.World, seed uint64, see visit) (Episode, error) {
	sight, acts, moves := rng.New(seed, "posterior"), rng.New(seed, "action"), rng.New(seed, "regulation")
	e := begin(w, p.obs)
	clear(p.act)
	var res gridarm.Result
	for t := 0; ; t++ {
		encode(p.in, p.obs)
		p.sim.Observe(p.state, p.act, p.in, nil, t == 0, sight)
		success := 0.0
		if len(p.psi) > 0 {
			success = p.sim.Success(p.state)
		}
		if see != nil {
			st := worldmodel.Step{Obs: p.in, Action: p.act, Reward: float32(res.Reward), First: t == 0, Last: res.Done(), State: p.state}
			if err := see(st, success); err != nil {
				return e, err
			}
		}
		if res.Done() {
			break
		}
		tr := p.decide(acts, moves)
		if p.detour != nil {
			p.detour(t, p.act)
		}
		res = w.StepInto(p.act, p.obs)
		if res.Success && e.SolvedAt == 0 {
			e.SolvedAt = t + 1
		}
		if p.record {
			s := w.State()
			e.Steps = append(e.Steps, Step{Action: append([]float32{}, p.act...), Observation: append([]float32{}, p.obs[:gridarm.StateSize]...),
				Reward: float32(res.Reward), Success: res.Success, Touch: s.Touch, Held: s.Held, Trace: tr})
		}
	}
	e.end(w, res)
	return e, nil
}

// decide regulates the state and writes the action to p.act.
func (p *player) decide(acts, moves *rand.Rand) *Trace {
	var tr *Trace
	if p.record {
		tr = &Trace{Choice: selfregulate.Choice{Reason: "the actor's action"}}
	}
	p.sim.Policy(p.state, p.mu, p.sd)
	if tr != nil {
		tr.Candidates = append(tr.Candidates, p.candidate("policy"))
	}
	if p.reg != nil {
		out := p.reg.Regulate(p.state, moves)
		copy(p.state, out.State)
		copy(p.mu, out.Mean)
		copy(p.sd, out.Std)
		if tr != nil {
			s := out.Trace
			s.Steps = nil
			tr.State = &s
			tr.Candidates = append(tr.Candidates, p.candidate(p.reg.Name()))
			tr.Choice = selfregulate.Choice{Index: 1, Reason: "the regulated state's action"}
		}
	}
	if p.mean {
		copy(p.act, p.mu)
	} else {
		worldmodel.Act(p.act, p.mu, p.sd, acts)
	}
	for i, v := range p.act {
		p.act[i] = min(max(v, -1), 1)
	}
	return tr
}

// candidate describes the state that p.state is now, and imagines on by the actor's mean.
func (p *player) candidate(label string) Candidate {
	c := Candidate{Label: label, Psi: make([]float32, len(p.psi))}
	if n := len(p.psi); n > 0 {
		p.sim.Psi(p.state, c.Psi)
		c.Assessed.P = float64(c.Psi[n-1])
	}
	if p.futures == 0 {
		return c
	}
	copy(p.dream, p.state)
	// A stream of its own: looking ahead must not change what is played.
	r := rand.New(rand.NewPCG(1, 2))
	mu, sd := make([]float32, len(p.mu)), make([]float32, len(p.mu))
	for range p.futures {
		p.sim.Policy(p.dream, mu, sd)
		p.sim.Imagine(p.dream, p.dream, mu, r)
		p.sim.Decode(p.dream, p.bf, nil)
		m := moment(p.bf)
		for i := range m {
			m[i] = round3(m[i])
		}
		c.Path = append(c.Path, m)
	}
	return c
}
