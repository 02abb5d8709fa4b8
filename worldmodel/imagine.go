package worldmodel

import (
	"math"
	"math/rand/v2"
	"slices"
)

// dynamics is what actor and critic are trained in: the world model, or the true one
// in a test. It works on n states [h | z] side by side.
type dynamics interface {
	// imagine writes the successors of states under actions to next.
	imagine(r *rand.Rand, n int, next, state, action []float32)
	// judge writes the reward of having arrived in each state and the probability of
	// going on times the discount.
	judge(n int, state, reward, cont []float32)
}

// rollout is an imagined rollout of n states over H steps. Row t·n + i is state i after t
// steps; states, rewards and values have (H+1)·n rows, actions H·n.
type rollout struct {
	n, h                  int
	states                []float32 // ((H+1)·n, F)
	actions               []float32 // (H·n, A)
	reward, cont          []float32
	value, slow           []float32
	ret, weight           []float32 // (H·n)
	mean, std             []float32
	sorted                []float32 // scratch of the percentiles
	entropy, returns, val float64   // means of the last run, for the log
}

func newRollout(c Config, n int) *rollout {
	mk := func(k int) []float32 { return make([]float32, k) }
	all := (c.Horizon + 1) * n
	return &rollout{n: n, h: c.Horizon, states: mk(all * c.StateDim()), actions: mk(c.Horizon * n * c.Action),
		reward: mk(all), cont: mk(all), value: mk(all), slow: mk(all),
		ret: mk(c.Horizon * n), weight: mk(c.Horizon * n), mean: mk(c.Action), std: mk(c.Action), sorted: mk(c.Horizon * n)}
}

// run rolls out from the first n states, which the caller has filled in.
func (o *rollout) run(s *Sim, d dynamics, r *rand.Rand) {
	net, c := s.m.net, s.m.cfg
	f, a := c.StateDim(), c.Action
	o.entropy = 0
	for t := range o.h + 1 {
		state := o.states[t*o.n*f : (t+1)*o.n*f]
		d.judge(o.n, state, o.reward[t*o.n:(t+1)*o.n], o.cont[t*o.n:(t+1)*o.n])
		s.values(&net.critic, o.n, state, o.value[t*o.n:(t+1)*o.n])
		if t == o.h {
			break
		}
		s.values(&net.slow, o.n, state, o.slow[t*o.n:(t+1)*o.n])
		act := o.actions[t*o.n*a : (t+1)*o.n*a]
		s.policy.run(&net.actor, o.n, state, f, s.out)
		for i := range o.n {
			policyOf(s.out[i*2*a:(i+1)*2*a], o.mean, o.std)
			Act(act[i*a:(i+1)*a], o.mean, o.std, r)
			for _, v := range o.std {
				o.entropy += math.Log(float64(v)) + 1.4189385332046727
			}
		}
		d.imagine(r, o.n, o.states[(t+1)*o.n*f:(t+2)*o.n*f], state, act)
	}
	o.entropy /= float64(o.h * o.n)
	lambdaReturn(o.n, o.h, float32(c.Lambda), o.reward, o.cont, o.value, o.ret)
	// Weight of a step: the probability that the episode has come this far.
	for i := range o.ret {
		o.weight[i] = o.cont[i]
		if i >= o.n {
			o.weight[i] *= o.weight[i-o.n]
		}
	}
	o.returns, o.val = mean(o.ret), mean(o.value)
}

// lambdaReturn computes ret_t = r_{t+1} + c_{t+1}·[(1−λ)·v_{t+1} + λ·ret_{t+1}] with
// ret_H = v_H, for n rows side by side. Rewards and continues belong to the state
// in which they were received.
func lambdaReturn(n, h int, lambda float32, reward, cont, value, ret []float32) {
	for t := h - 1; t >= 0; t-- {
		for i := range n {
			next := (t+1)*n + i
			after := value[next]
			if t < h-1 {
				after = (1-lambda)*value[next] + lambda*ret[next]
			}
			ret[t*n+i] = reward[next] + cont[next]*after
		}
	}
}

// spread is the distance between the 5th and the 95th percentile of the returns.
func (o *rollout) spread() float64 {
	copy(o.sorted, o.ret)
	slices.Sort(o.sorted)
	at := func(q float64) float64 {
		x := q * float64(len(o.sorted)-1)
		i := int(x)
		j := min(i+1, len(o.sorted)-1)
		return float64(o.sorted[i]) + (x-float64(i))*float64(o.sorted[j]-o.sorted[i])
	}
	return at(0.95) - at(0.05)
}

func mean(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s / float64(max(len(x), 1))
}

// values writes the critic's values of n states.
func (s *Sim) values(critic *mlp[float32], n int, state, out []float32) {
	bins := s.m.cfg.Bins
	s.policy.run(critic, n, state, s.m.cfg.StateDim(), s.out)
	for i := range n {
		out[i] = s.bins.mean(s.out[i*bins:(i+1)*bins], s.probs)
	}
}

// learned is the world model as dynamics.
type learned struct{ s *Sim }

func (l learned) imagine(r *rand.Rand, n int, next, state, action []float32) {
	for i := range l.s.u[:n*l.s.m.cfg.Stoch] {
		l.s.u[i] = r.Float32()
	}
	l.s.imagine(n, next, state, action)
}

func (l learned) judge(n int, state, reward, cont []float32) {
	s := l.s
	f, w := s.m.cfg.StateDim(), s.m.cfg.rewardOut()
	s.head.run(&s.m.net.rew, n, state, f, s.out)
	for i := range n {
		reward[i] = s.rewardOf(s.out[i*w : (i+1)*w])
	}
	s.head.run(&s.m.net.con, n, state, f, s.out)
	for i := range n {
		cont[i] = sigmoid(s.out[i])
	}
}
