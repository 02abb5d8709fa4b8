package worldmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// toy is a small configuration in which every part has a shape of its own.
func toy() Config {
	c, _ := Preset("debug")
	c.Obs, c.Grid, c.Action = 5, 6, 2
	c.EncLayers, c.DecLayers, c.PriorLayers, c.PolicyLayers = 2, 2, 2, 2
	c.Deter, c.Blocks, c.Hidden, c.Units, c.Stoch, c.Classes, c.Bins = 8, 2, 5, 7, 3, 4, 9
	c.Quantiles, c.BinLimit, c.Batch, c.Length = 3, 5, 3, 5
	return c
}

// randomise makes all weights large enough for every gradient to matter.
func randomise[T float](n *net[T], r *rand.Rand) {
	for _, t := range n.tensors {
		w := n.span(t)
		for i := range w {
			switch {
			case t.isNorm:
				w[i] = T(1 + 0.2*r.NormFloat64())
			case t.fan > 0:
				w[i] = T(r.NormFloat64() / math.Sqrt(float64(t.fan)))
			default:
				w[i] = T(0.2 * r.NormFloat64())
			}
		}
	}
}

// fill puts random data into the leaves, with an episode border inside.
func (m *modelGraph[T]) fill(r *rand.Rand) {
	c := m.net.cfg
	norm := func(x []T, k float64) {
		for i := range x {
			x[i] = T(k * r.NormFloat64())
		}
	}
	norm(m.obs, 1)
	norm(m.act, 1)
	norm(m.h0, 0.5)
	norm(m.reward, 3)
	for i := range m.obs {
		if i%(c.Obs+c.Grid) >= c.Obs {
			m.obs[i] = T(r.IntN(2))
		}
	}
	clear(m.z0)
	for i := range m.scan.b * c.Stoch {
		m.z0[i*c.Classes+r.IntN(c.Classes)] = 1
	}
	for i := range m.u {
		m.u[i] = T(r.Float64())
	}
	for i := range m.cont {
		m.cont[i] = T(0.9 * float64(r.IntN(2)))
		m.first[i] = 0
	}
	for i := range m.psi {
		m.psi[i], m.mask[i] = T(r.IntN(2)), T(r.IntN(2))
	}
	m.first[2*m.scan.b+1] = 1
}

// The sample of a latent is a step function and its gradient is defined by the
// straight-through rule, so finite differences see only what flows beside it. soft
// makes forward pass on probabilities instead of samples, for which the same
// backward pass is the true gradient.
func TestModelGraphFiniteDifferences(t *testing.T) {
	for _, kind := range []string{RewardSymlog, RewardTwoHot} {
		c := toy()
		c.Reward = kind
		c.FreeNats = 0.1
		c.ScaleRec = 3
		c.ScaleRep = c.ScaleDyn // finite differences can't see stop-gradients; equal weights need none
		n, g := newNet[float64](c), newNet[float64](c)
		r := rng.New(3, "fd", kind)
		randomise(n, r)
		m, err := newModelGraph(n, g, c.Batch, c.Length)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		m.scan.soft = true
		m.fill(r)
		cost, err := m.run()
		if err != nil {
			t.Fatal(err)
		}
		if !(cost > 0) || m.kl <= 0.1 {
			t.Fatalf("cost %g, kl %g", cost, m.kl)
		}
		grad := append([]float64(nil), g.flat...)
		used := map[string]bool{}
		for _, name := range m.names {
			used[name] = true
		}
		for _, ti := range n.tensors {
			if !used[ti.name] {
				if ti.group == groupModel {
					t.Errorf("%s is in no graph", ti.name)
				}
				continue
			}
			w := n.span(ti)
			for range 6 {
				i := r.IntN(len(w))
				const eps = 1e-5
				old := w[i]
				w[i] = old + eps
				up, _ := m.run()
				w[i] = old - eps
				down, _ := m.run()
				w[i] = old
				want, got := (up-down)/(2*eps), grad[ti.at+i]
				if math.Abs(want-got) > 1e-6*math.Max(1, math.Abs(want))+1e-7 {
					t.Errorf("%s: ∂L/∂%s[%d] = %g, finite differences %g", kind, ti.name, i, got, want)
				}
			}
		}
	}
}

func TestPolicyGraphFiniteDifferences(t *testing.T) {
	policyFiniteDifferences(t, 0)
}

func TestImitationFiniteDifferences(t *testing.T) {
	policyFiniteDifferences(t, 0.7)
}

func policyFiniteDifferences(t *testing.T, imitate float64) {
	c := toy()
	c.Entropy, c.Imitate = 0.3, imitate
	n, g := newNet[float64](c), newNet[float64](c)
	r := rng.New(4, "policy")
	randomise(n, r)
	p, err := newPolicyGraph(n, g, 6, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, x := range [][]float64{p.feat, p.act, p.k, p.w, p.ret, p.slow, p.weight, p.target, p.copied} {
		for i := range x {
			x[i] = r.NormFloat64()
		}
	}
	if _, err := p.run(); err != nil {
		t.Fatal(err)
	}
	if got := p.lossOf("imitation"); (got != 0) != (imitate > 0) {
		t.Errorf("imitation %g costs %g", imitate, got)
	}
	grad := append([]float64(nil), g.flat...)
	for _, ti := range n.tensors {
		if ti.group != groupActor && ti.group != groupCritic {
			continue
		}
		w := n.span(ti)
		for range 6 {
			i := r.IntN(len(w))
			const eps = 1e-5
			old := w[i]
			w[i] = old + eps
			up, _ := p.run()
			w[i] = old - eps
			down, _ := p.run()
			w[i] = old
			want, got := (up-down)/(2*eps), grad[ti.at+i]
			if math.Abs(want-got) > 1e-6*math.Max(1, math.Abs(want)) {
				t.Errorf("∂L/∂%s[%d] = %g, finite differences %g", ti.name, i, got, want)
			}
		}
	}
}

// TestGraphIsDeterministic builds the same graph several times: Gorgonia sums
// gradients of a shared node in an order of its own, which must not depend on a map.
func TestGraphIsDeterministic(t *testing.T) {
	c := toy()
	var want []float32
	for range 8 {
		n, g := newNet[float32](c), newNet[float32](c)
		r := rng.New(9, "same")
		randomise(n, r)
		m, err := newModelGraph(n, g, c.Batch, c.Length)
		if err != nil {
			t.Fatal(err)
		}
		m.fill(r)
		for range 2 { // the second run of a graph too
			if _, err := m.run(); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = append(want, g.flat...)
			}
			for i, v := range g.flat {
				if v != want[i] {
					t.Fatalf("gradient %d differs between equal graphs: %g, %g", i, v, want[i])
				}
			}
		}
		m.close()
	}
}
