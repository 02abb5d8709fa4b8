package worldmodel

import (
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// TestLambdaReturn compares with three steps computed by hand: rewards 1, 2, 3 for
// arriving in states 1 to 3, continues .9, .8, .5, values 10, 20, 30, 40, λ = .5.
func TestLambdaReturn(t *testing.T) {
	reward := []float32{99, 1, 2, 3} // that of the first state is never used
	cont := []float32{99, .9, .8, .5}
	value := []float32{10, 20, 30, 40}
	ret := make([]float32, 3)
	lambdaReturn(1, 3, .5, reward, cont, value, ret)
	r2 := 3 + .5*40.0            // 23: v of the last state
	r1 := 2 + .8*(.5*30.0+.5*r2) // 23.2
	r0 := 1 + .9*(.5*20.0+.5*r1) // 20.44
	for i, want := range []float64{r0, r1, r2} {
		if math.Abs(float64(ret[i])-want) > 1e-5 {
			t.Errorf("ret[%d] = %g, want %g", i, ret[i], want)
		}
	}
	// λ = 1 is the discounted sum, λ = 0 one step of the value.
	lambdaReturn(1, 3, 1, reward, cont, value, ret)
	if want := 1 + .9*(2+.8*(3+.5*40.0)); math.Abs(float64(ret[0])-want) > 1e-5 {
		t.Errorf("λ 1: %g, want %g", ret[0], want)
	}
	lambdaReturn(1, 3, 0, reward, cont, value, ret)
	if want := 1 + .9*20.0; math.Abs(float64(ret[0])-want) > 1e-5 {
		t.Errorf("λ 0: %g, want %g", ret[0], want)
	}
	// Two rows side by side don't mix.
	two := make([]float32, 6)
	pair := func(x []float32) (y []float32) {
		for _, v := range x {
			y = append(y, v, 2*v)
		}
		return y
	}
	lambdaReturn(2, 3, .5, pair(reward), []float32{1, 1, .9, .9, .8, .8, .5, .5}, pair(value), two)
	if math.Abs(float64(two[0])-r0) > 1e-5 || math.Abs(float64(two[1])-2*r0) > 1e-4 {
		t.Errorf("two rows: %v, want %g and its double", two[:2], r0)
	}
}

func TestTwoHot(t *testing.T) {
	for _, n := range []int{5, 41, 255} {
		h := newTwoHot[float32](n, 20)
		if v := h.mean(make([]float32, n), make([]float32, n)); v != 0 {
			t.Errorf("%d bins: equal logits mean %g, want exactly 0", n, v)
		}
		for _, v := range []float32{0, 0.3, -0.3, 7, -1234, 5e6, 1e12, -1e12} {
			lo, share := h.encode(v)
			want := min(max(v, h.bins[0]), h.bins[n-1])
			if got := share*h.bins[lo] + (1-share)*h.bins[lo+1]; math.Abs(float64(got-want)) > 3e-7*float64(h.bins[lo+1]-h.bins[lo]) {
				t.Errorf("%d bins: %g is encoded as %g", n, v, got)
			}
			if share < 0 || share > 1 {
				t.Errorf("share %g", share)
			}
		}
	}
	// The loss is the cross-entropy, and its gradient agrees with differences.
	h := newTwoHot[float64](9, 3)
	r := rng.New(1, "twohot")
	x, p, g := make([]float64, 9), make([]float64, 9), make([]float64, 9)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	at := func() float64 { softmax(x, 9, p); return h.loss(x, p, 2.5, 0.7, make([]float64, 9)) }
	softmax(x, 9, p)
	lo, share := h.encode(2.5)
	if got, want := h.loss(x, p, 2.5, 0.7, g), -0.7*(share*math.Log(p[lo])+(1-share)*math.Log(p[lo+1])); math.Abs(got-want) > 1e-12 {
		t.Errorf("loss %g, want %g", got, want)
	}
	for i := range x {
		x[i] += 1e-6
		up := at()
		x[i] -= 2e-6
		down := at()
		x[i] += 1e-6
		if want := (up - down) / 2e-6; math.Abs(g[i]-want) > 1e-8 {
			t.Errorf("gradient %d is %g, want %g", i, g[i], want)
		}
	}
}

// TestKL checks the balance: no loss above the free nats for equal logits, no gradient
// below one nat, and each term's gradient only on its own side.
func TestKL(t *testing.T) {
	const n, stoch, classes = 2, 3, 4
	const z = stoch * classes
	r := rng.New(2, "kl")
	post, prior := make([]float64, n*z), make([]float64, n*z)
	gp, gq := make([]float64, n*z), make([]float64, n*z)
	s := func() []float64 { return make([]float64, z) }
	run := func(free, sd, sr float64) (float64, float64) {
		return klLoss(n, stoch, classes, .01, free, sd, sr, post, z, prior, gp, gq, s(), s(), s(), s())
	}
	zero := func(g []float64) bool {
		for _, v := range g {
			if v != 0 {
				return false
			}
		}
		return true
	}
	for i := range post {
		post[i] = r.NormFloat64()
		prior[i] = post[i]
	}
	if loss, kl := run(1, 1, .1); kl != 0 || loss != 1.1 || !zero(gp) || !zero(gq) {
		t.Errorf("equal logits: KL %g, loss %g, want 0 and the free 1.1 without gradient", kl, loss)
	}
	for i := range prior {
		prior[i] += .3 * r.NormFloat64()
	}
	if _, kl := run(1, 1, .1); kl <= 0 || kl >= 1 || !zero(gp) || !zero(gq) {
		t.Errorf("KL %g below 1 nat must have no gradient", kl)
	}
	for i := range prior {
		prior[i] *= 8
	}
	if _, kl := run(1, 1, 0); kl < 1 || !zero(gp) || zero(gq) {
		t.Errorf("dyn alone must train the prior only (KL %g)", kl)
	}
	if _, _ = run(1, 0, 1); zero(gp) || !zero(gq) {
		t.Error("rep alone must train the posterior only")
	}
	// Against the definition.
	_, kl := run(1, 1, 1)
	want := 0.0
	p, q := make([]float64, n*z), make([]float64, n*z)
	softmax(post, classes, p)
	softmax(prior, classes, q)
	for i := range p {
		a, b := .99*p[i]+.01/classes, .99*q[i]+.01/classes
		want += a * math.Log(a/b) / n
	}
	if math.Abs(kl-want) > 1e-12 {
		t.Errorf("KL %g, want %g", kl, want)
	}
}

func TestSymlog(t *testing.T) {
	for _, x := range []float64{0, 1e-6, -.5, 3, -1e4} {
		if y := symexp(symlog(x)); math.Abs(y-x) > 1e-9*math.Max(1, math.Abs(x)) {
			t.Errorf("symexp(symlog(%g)) = %g", x, y)
		}
	}
	if got := symlog(math.E - 1); math.Abs(got-1) > 1e-12 {
		t.Errorf("symlog(e−1) = %g", got)
	}
}

// TestSample counts draws against the mixed probabilities.
func TestSample(t *testing.T) {
	sm := []float64{.7, .2, .1, 0}
	r := rng.New(3, "sample")
	const n = 20000
	count := make([]float64, 4)
	z := make([]float64, 4)
	for range n {
		sample(sm, 4, .1, []float64{r.Float64()}, z)
		for j, v := range z {
			count[j] += v
		}
	}
	for j, s := range sm {
		p := mix(s, .1, 4)
		if d := math.Abs(count[j]/n - p); d > 5*math.Sqrt(p*(1-p)/n) {
			t.Errorf("class %d was drawn %g of the time, want %g", j, count[j]/n, p)
		}
	}
	sample(sm, 4, .1, []float64{1 - 1e-17}, z)
	if z[0]+z[1]+z[2]+z[3] != 1 {
		t.Error("a draw at the very end has no class")
	}
}
