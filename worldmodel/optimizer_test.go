package worldmodel

import (
	"math"
	"testing"
)

// TestLaPropByHand follows two steps of one weight with gradients 4 and -2: the first
// normalised gradient is 1, whatever its size.
func TestLaPropByHand(t *testing.T) {
	c := toy()
	c.Optimizer, c.LR, c.AGC, c.Warmup = LaProp, 0.1, 0, 2
	n, g := newNet[float32](c), newNet[float32](c)
	o := newOptimizer(c, len(n.flat))
	at := n.enc[0].w
	at[0] = 3
	g.enc[0].w[0] = 4
	if norm := o.update(n, g); math.Abs(norm-4) > 1e-6 {
		t.Errorf("norm %g, want 4", norm)
	}
	// v̂ = 16, ĝ = 1, m̂ = 1; the warm-up halves the first step.
	if want := 3 - 0.05; math.Abs(float64(at[0])-want) > 1e-6 {
		t.Errorf("after one step %g, want %g", at[0], want)
	}
	g.enc[0].w[0] = -2
	o.update(n, g)
	v := (0.999*0.001*16 + 0.001*4) / (1 - 0.999*0.999)
	m := (0.9*0.1*1 + 0.1*(-2/math.Sqrt(v))) / (1 - 0.81)
	if want := 3 - 0.05 - 0.1*m; math.Abs(float64(at[0])-want) > 1e-5 {
		t.Errorf("after two steps %g, want %g", at[0], want)
	}
	if at[1] != 0 {
		t.Errorf("a weight without gradient moved to %g", at[1])
	}
	for _, l := range []*layer[float32]{&n.slow.out} {
		if l.w[0] != 0 {
			t.Error("the optimiser moved the slow critic")
		}
	}
}

// TestAdaptiveClipping: the gradient of a tensor is at most agc times its weight norm.
func TestAdaptiveClipping(t *testing.T) {
	c := toy()
	c.Optimizer, c.LR, c.AGC, c.Warmup = Adam, 0.1, 0.5, 0
	n, g := newNet[float32](c), newNet[float32](c)
	o := newOptimizer(c, len(n.flat))
	n.enc[0].w[0] = 2  // limit 1
	g.enc[0].w[0] = 10 // clipped to 1
	n.enc[0].b[0] = 2
	g.enc[0].b[0] = 0.5 // below the limit
	o.update(n, g)
	for i, want := range []float32{0.1, 0.05} { // momentum is (1 − 0.9)·g
		at := []int{0, len(n.enc[0].w)}[i]
		if got := o.momentum[at]; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("momentum %g, want %g", got, want)
		}
	}
	// Nothing moves, not even the moments, when a gradient is not finite.
	before := append([]float32(nil), n.flat...)
	g.actor.out.b[0] = float32(math.NaN())
	if norm := o.update(n, g); !math.IsNaN(norm) || o.step != 1 {
		t.Errorf("norm %g, %d steps", norm, o.step)
	}
	for i, v := range n.flat {
		if v != before[i] {
			t.Fatal("a weight moved")
		}
	}
}

// TestRate: growth, a constant half, a linear fall to a twentieth that stays, and a
// constant rate after SetRate.
func TestRate(t *testing.T) {
	c := toy()
	c.LR, c.Warmup, c.Decay = 0.1, 10, 1000
	o := newOptimizer(c, 1)
	for _, x := range []struct {
		step int
		want float64
	}{{1, .01}, {10, .1}, {500, .1}, {750, .1 * (.05 + .95*.5)}, {1000, .005}, {5000, .005}} {
		if o.step = x.step; math.Abs(o.rate()-x.want) > 1e-12 {
			t.Errorf("step %d: %g, want %g", x.step, o.rate(), x.want)
		}
	}
	tr := &Trainer{opt: o}
	if tr.SetRate(0.3); o.rate() != 0.3 {
		t.Errorf("after SetRate: %g", o.rate())
	}
}
