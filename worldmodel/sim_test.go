package worldmodel

import (
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// TestSimEqualsGraph runs a sequence through the graph and step by step through a Sim
// with the same random numbers: states within 1e-5, latents equal.
func TestSimEqualsGraph(t *testing.T) {
	c := toy()
	m, err := New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(5, "sim")
	randomise(m.net, r)
	g, err := newModelGraph(m.net, newNet[float32](c), c.Batch, c.Length)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	g.fill(r)
	if _, err := g.run(); err != nil {
		t.Fatal(err)
	}
	s := m.NewSim()
	w, x, d := g.scan.width(), c.Obs+c.Grid, c.Deter
	psi := make([]float32, c.Quantiles)
	for b := range c.Batch {
		state := make([]float32, c.StateDim())
		copy(state, g.h0[b*d:(b+1)*d])
		copy(state[d:], g.z0[b*c.latent():(b+1)*c.latent()])
		for step := range c.Length {
			row := step*c.Batch + b
			first := g.first[row] != 0
			if first {
				clear(state)
			}
			copy(s.u, g.u[row*c.Stoch:(row+1)*c.Stoch])
			copy(s.in, g.obs[row*x:(row+1)*x])
			s.advance(1, state, state, g.act[row*c.Action:(row+1)*c.Action], first)
			s.posterior(1, state)
			for j, v := range state {
				if d := math.Abs(float64(v - g.out.outs[row*w+j])); !(d <= 1e-5) {
					t.Fatalf("sequence %d step %d number %d: %g, the graph has %g", b, step, j, v, g.out.outs[row*w+j])
				}
			}
			s.Psi(state, psi)
			sum := 0.0
			for _, p := range psi {
				sum += float64(p)
			}
			if math.Abs(sum-s.Success(state)) > 1e-6 {
				t.Fatalf("Success %g, ψ sums to %g", s.Success(state), sum)
			}
		}
	}
}

// TestSimRows compares one state at a time with many side by side.
func TestSimRows(t *testing.T) {
	c := toy()
	m, _ := New(c, 1)
	r := rng.New(6, "rows")
	randomise(m.net, r)
	const n = 5
	one, many := m.NewSim(), m.newSim(n)
	f := c.StateDim()
	states, acts := make([]float32, n*f), make([]float32, n*c.Action)
	for i := range states {
		states[i] = float32(r.NormFloat64())
	}
	for i := range acts {
		acts[i] = float32(2 * r.NormFloat64())
	}
	for i := range many.u {
		many.u[i] = r.Float32()
	}
	next := make([]float32, n*f)
	many.imagine(n, next, states, acts)
	rew, con, val := make([]float32, n), make([]float32, n), make([]float32, n)
	learned{many}.judge(n, next, rew, con)
	many.values(&m.net.critic, n, next, val)
	for i := range n {
		got := make([]float32, f)
		copy(one.u, many.u[i*c.Stoch:(i+1)*c.Stoch])
		one.imagine(1, got, states[i*f:(i+1)*f], acts[i*c.Action:(i+1)*c.Action])
		for j, v := range got {
			if math.Abs(float64(v-next[i*f+j])) > 1e-5 {
				t.Fatalf("row %d number %d: %g and %g", i, j, v, next[i*f+j])
			}
		}
		for _, p := range []struct{ a, b float64 }{{one.Reward(got), float64(rew[i])}, {one.Continue(got), float64(con[i])}, {one.Value(got), float64(val[i])}} {
			if math.Abs(p.a-p.b) > 1e-4*math.Max(1, math.Abs(p.b)) {
				t.Errorf("row %d: %g and %g", i, p.a, p.b)
			}
		}
	}
}

func TestSimAllocatesNothing(t *testing.T) {
	m, err := New(toy(), 1)
	if err != nil {
		t.Fatal(err)
	}
	c, s, r := m.cfg, m.NewSim(), rng.New(1, "alloc")
	state, act, grad := make([]float32, c.StateDim()), make([]float32, c.Action), make([]float32, c.StateDim())
	mean, std := make([]float32, c.Action), make([]float32, c.Action)
	obs, grid := make([]float32, c.Obs), make([]float32, c.Grid)
	if n := testing.AllocsPerRun(20, func() {
		s.Observe(state, act, obs, grid, false, r)
		s.Policy(state, mean, std)
		Act(act, mean, std, r)
		s.Imagine(state, state, act, r)
		s.Forward(state, state, act)
		s.SuccessGradient(grad, state)
		s.ValueGradient(grad, state)
		s.Reward(state)
		s.Continue(state)
		s.Decode(state, obs, grid)
	}); n != 0 {
		t.Errorf("%g allocations a decision", n)
	}
}

// TestStateGradients compares ∇Σψ and the value's gradient with finite differences
// through the plain forward pass in float64.
func TestStateGradients(t *testing.T) {
	c := toy()
	m, _ := New(c, 1)
	r := rng.New(7, "gradients")
	randomise(m.net, r)
	n64 := newNet[float64](c)
	for i, v := range m.net.flat {
		n64.flat[i] = float64(v)
	}
	state := make([]float64, c.StateDim())
	s32 := make([]float32, c.StateDim())
	for i := range state {
		s32[i] = float32(r.NormFloat64())
		state[i] = float64(s32[i])
	}
	psi := func() float64 {
		out := make([]float64, c.Quantiles)
		newStack(1, n64.psi.hidden).run(&n64.psi, 1, state, len(state), out)
		sum := 0.0
		for _, v := range out {
			sum += sigmoid(v)
		}
		return sum
	}
	value := func() float64 {
		out := make([]float64, c.Bins)
		newStack(1, n64.critic.hidden).run(&n64.critic, 1, state, len(state), out)
		return symlog(newTwoHot[float64](c.Bins, c.BinLimit).mean(out, make([]float64, c.Bins)))
	}
	s := m.NewSim()
	for name, f := range map[string]struct {
		plain func() float64
		grad  func(g, s []float32) float64
	}{"ψ": {psi, s.SuccessGradient}, "value": {value, s.ValueGradient}} {
		g := make([]float32, len(s32))
		got := f.grad(g, s32)
		if want := f.plain(); math.Abs(got-want) > 1e-5 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
		norm := 0.0
		for i := range state {
			old := state[i]
			state[i] = old + 1e-5
			up := f.plain()
			state[i] = old - 1e-5
			down := f.plain()
			state[i] = old
			want := (up - down) / 2e-5
			norm += want * want
			if math.Abs(float64(g[i])-want) > 1e-5*math.Max(1, math.Abs(want)) {
				t.Errorf("∂%s/∂s[%d] = %g, finite differences %g", name, i, g[i], want)
			}
		}
		if norm < 1e-6 {
			t.Errorf("the gradient of %s vanishes (%g): the test shows nothing", name, norm)
		}
	}
}
