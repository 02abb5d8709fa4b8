package worldmodel

import (
	"fmt"
	"math/rand/v2"
)

// Sim runs a model forward without gradients: acting, imagination and the small
// gradients that regulation needs. It owns all scratch memory and allocates nothing
// after [Model.NewSim]; it is not safe for concurrent use.
//
// A state is one slice [h | z] of [Config.StateDim] numbers, owned by the caller:
// explicit carry, no hidden memory.
type Sim struct {
	m        *Model
	rows     int
	cell     *cell[float32]
	enc      *stack[float32]
	post     []float32
	cache    normCache[float32]
	logits   []float32 // (rows, S·C)
	sm       []float32
	u        []float32 // (rows, S)
	in       []float32 // (rows, Obs+Grid)
	h        []float32 // (rows, D)
	prior    *stack[float32]
	dec      *stack[float32]
	head     *stack[float32]
	policy   *stack[float32]
	out      []float32 // (rows, widest head)
	gout, gh []float32
	probs    []float32
	bins     twoHot[float32]
}

// NewSim returns a simulator of one state at a time.
func (m *Model) NewSim() *Sim { return m.newSim(1) }

func (m *Model) newSim(rows int) *Sim {
	n, c := m.net, m.cfg
	mk := func(k int) []float32 { return make([]float32, k) }
	widest := max(c.Bins, 2*c.Action, c.Obs+c.Grid, c.Quantiles, 1)
	return &Sim{m: m, rows: rows, cell: newCell(n, rows, false), enc: newStack(rows, n.enc),
		post: mk(rows * c.Hidden), cache: newNormCache[float32](rows, c.Hidden),
		logits: mk(rows * c.latent()), sm: mk(rows * c.latent()), u: mk(rows * c.Stoch),
		in: mk(rows * (c.Obs + c.Grid)), h: mk(rows * c.Deter),
		prior: newStack(rows, n.prior.hidden), dec: newStack(rows, n.dec.hidden), head: newStack(rows, n.rew.hidden), policy: newStack(rows, n.actor.hidden),
		out: mk(rows * widest), gout: mk(widest), gh: mk(c.StateDim()), probs: mk(c.Bins), bins: newTwoHot[float32](c.Bins, c.BinLimit)}
}

// Model returns the model that is run.
func (s *Sim) Model() *Model { return s.m }

// StateDim is the length of a state.
func (s *Sim) StateDim() int { return s.m.cfg.StateDim() }

// ActionDim is the length of an action.
func (s *Sim) ActionDim() int { return s.m.cfg.Action }

// Observe advances state in place by what happened: action led to the observation
// obs (Obs numbers) with grid (Grid numbers, nil for none). first marks the first
// observation of an episode; state and action are then reset. z is drawn from the
// posterior q(z | h, x) with r (paper, Eq. 1).
func (s *Sim) Observe(state, action, obs, grid []float32, first bool, r *rand.Rand) {
	c := s.m.cfg
	if len(state) != c.StateDim() || len(action) != c.Action || len(obs) != c.Obs || len(grid) != c.Grid {
		panic(fmt.Sprintf("worldmodel: Observe with state %d, action %d, obs %d, grid %d; the model has %d, %d, %d, %d",
			len(state), len(action), len(obs), len(grid), c.StateDim(), c.Action, c.Obs, c.Grid))
	}
	if first {
		clear(state)
	}
	for i := range s.u[:c.Stoch] {
		s.u[i] = r.Float32()
	}
	encodeObs(s.in, obs, float32(c.ObsScale))
	copy(s.in[c.Obs:], grid)
	s.advance(1, state, state, action, first)
	s.posterior(1, state)
}

// encodeObs writes what the encoder reads and the decoder predicts of an observation.
func encodeObs(dst, obs []float32, scale float32) {
	for i, v := range obs {
		dst[i] = symlog(scale * v)
	}
}

// advance computes s.h = f(state, action) of n rows. first clears the actions.
func (s *Sim) advance(n int, next, state, action []float32, first bool) {
	c := s.m.cfg
	d, z, f := c.Deter, c.latent(), c.StateDim()
	for r := range n {
		copy(s.cell.h[r*d:(r+1)*d], state[r*f:])
		copy(s.cell.z[r*z:(r+1)*z], state[r*f+d:])
	}
	in := s.cell.a[:n*c.Action]
	copy(in, action)
	if first {
		clear(in)
	}
	s.cell.actions(0, n, in)
	s.cell.step(0, n, s.h)
	for r := range n {
		copy(next[r*f:r*f+d], s.h[r*d:(r+1)*d])
	}
}

// posterior draws z of n rows whose h is in s.h and whose input is in s.in.
func (s *Sim) posterior(n int, state []float32) {
	net, c := s.m.net, s.m.cfg
	d, hid := c.Deter, c.Hidden
	tok := s.enc.forward(net.enc, n, s.in, c.Obs+c.Grid)
	for r := range n {
		copy(s.post[r*hid:(r+1)*hid], net.postH.b)
	}
	mulNN(n, hid, c.Units, tok, c.Units, net.postH.w[d*hid:], hid, 1, s.post, hid)
	mulNN(n, hid, d, s.h, d, net.postH.w, hid, 1, s.post, hid)
	net.postH.norm(n, s.post, s.cache)
	net.postLogit.affine(n, s.post, hid, s.logits)
	s.draw(n, state)
}

// draw samples z of n rows from s.logits with s.u.
func (s *Sim) draw(n int, state []float32) {
	c := s.m.cfg
	d, z, f := c.Deter, c.latent(), c.StateDim()
	softmax(s.logits[:n*z], c.Classes, s.sm[:n*z])
	for r := range n {
		sample(s.sm[r*z:(r+1)*z], c.Classes, float32(c.Unimix), s.u[r*c.Stoch:(r+1)*c.Stoch], state[r*f+d:(r+1)*f])
	}
}

// Forward writes to next the state {f(state, action), z}: h moves, z stays. This is
// line 10 of Algorithm 1 as it is printed. next may be state.
func (s *Sim) Forward(next, state, action []float32) {
	d := s.m.cfg.Deter
	s.advance(1, next, state, action, false)
	if &next[0] != &state[0] {
		copy(next[d:], state[d:])
	}
}

// Imagine writes to next the imagined successor of state: h ← f(state, action),
// z ~ p(z | h). next may be state.
func (s *Sim) Imagine(next, state, action []float32, r *rand.Rand) {
	for i := range s.u[:s.m.cfg.Stoch] {
		s.u[i] = r.Float32()
	}
	s.imagine(1, next, state, action)
}

// imagine is Imagine for n rows with the uniform numbers in s.u.
func (s *Sim) imagine(n int, next, state, action []float32) {
	net, c := s.m.net, s.m.cfg
	s.advance(n, next, state, action, false)
	s.prior.run(&net.prior, n, s.h, c.Deter, s.logits)
	s.draw(n, next)
}

// Policy writes mean and deviation of the actor's normal distribution at state.
func (s *Sim) Policy(state, mean, std []float32) {
	s.policy.run(&s.m.net.actor, 1, state, s.m.cfg.StateDim(), s.out)
	policyOf(s.out, mean, std)
}

// Act draws an action; mean and std are scratch of ActionDim. Numbers may lie
// outside [-1,1]: environments clamp them, and the model bounds them by itself.
func Act(action, mean, std []float32, r *rand.Rand) {
	for i := range action {
		action[i] = mean[i] + std[i]*float32(r.NormFloat64())
	}
}

// Value is the critic's value of state.
func (s *Sim) Value(state []float32) float64 {
	s.policy.run(&s.m.net.critic, 1, state, s.m.cfg.StateDim(), s.out)
	return float64(s.bins.mean(s.out[:s.m.cfg.Bins], s.probs))
}

// Reward is the predicted reward of having arrived in state.
func (s *Sim) Reward(state []float32) float64 {
	s.head.run(&s.m.net.rew, 1, state, s.m.cfg.StateDim(), s.out)
	return float64(s.rewardOf(s.out))
}

func (s *Sim) rewardOf(out []float32) float32 {
	if s.m.cfg.Reward == RewardTwoHot {
		return s.bins.mean(out[:s.m.cfg.Bins], s.probs)
	}
	return symexp(out[0])
}

// Continue is the predicted probability that the episode goes on, times the discount.
func (s *Sim) Continue(state []float32) float64 {
	s.head.run(&s.m.net.con, 1, state, s.m.cfg.StateDim(), s.out)
	return float64(sigmoid(s.out[0]))
}

// Psi writes the N probabilities ψ_i(state): the episode succeeds within the i-th
// N-th of its time limit.
func (s *Sim) Psi(state, psi []float32) {
	s.head.run(&s.m.net.psi, 1, state, s.m.cfg.StateDim(), s.out)
	for i := range psi {
		psi[i] = sigmoid(s.out[i])
	}
}

// Success is Σ_i ψ_i(state), between 0 and N. It panics in a model without ψ.
func (s *Sim) Success(state []float32) float64 {
	s.head.run(&s.m.net.psi, 1, state, s.m.cfg.StateDim(), s.out)
	sum := 0.0
	for _, v := range s.out[:s.m.cfg.Quantiles] {
		sum += float64(sigmoid(v))
	}
	return sum
}

// SuccessGradient writes ∇_s Σ_i ψ_i(s) to grad and returns Σ_i ψ_i (paper, Eq. 5).
func (s *Sim) SuccessGradient(grad, state []float32) float64 {
	sum := s.Success(state)
	for i := range s.gout[:s.m.cfg.Quantiles] {
		p := sigmoid(s.out[i])
		s.gout[i] = p * (1 - p)
	}
	s.head.back(&s.m.net.psi, 1, s.gout, grad)
	return sum
}

// ValueGradient writes ∇_s of the critic's value in symlog space to grad and returns
// that value; it is the control of regulation by ψ.
func (s *Sim) ValueGradient(grad, state []float32) float64 {
	n := s.m.cfg.Bins
	v := float32(s.Value(state))
	// v = Σ p·b, so ∂v/∂x_j = p_j·(b_j − v); symlog' = 1/(1+|v|).
	k := 1 / (1 + abs(v))
	for j := range n {
		s.gout[j] = k * s.probs[j] * (s.bins.bins[j] - v)
	}
	s.policy.back(&s.m.net.critic, 1, s.gout, grad)
	return float64(symlog(v))
}

// Decode writes the observation that the model expects in state: obs in the units of
// the environment, grid as probabilities.
func (s *Sim) Decode(state, obs, grid []float32) {
	c := s.m.cfg
	s.dec.run(&s.m.net.dec, 1, state, c.StateDim(), s.out)
	scale := float32(c.ObsScale)
	for i := range obs {
		obs[i] = symexp(s.out[i]) / scale
	}
	for i := range grid {
		grid[i] = sigmoid(s.out[c.Obs+i])
	}
}

// Latents are the widths of a state: h has deter numbers, z has stoch groups of classes
// numbers.
func (s *Sim) Latents() (deter, stoch, classes int) {
	return s.m.cfg.Deter, s.m.cfg.Stoch, s.m.cfg.Classes
}
