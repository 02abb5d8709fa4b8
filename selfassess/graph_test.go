package selfassess

import (
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// toy draws a small head in both precisions and rows for it.
func toy(in, hidden, n int) (*mlp, [4][]float64, []float32, []float64, []float64) {
	r := rng.New(3, "toy")
	m := newMLP(in, hidden, r)
	var p [4][]float64
	for i, s := range m.params() {
		for _, v := range s {
			p[i] = append(p[i], float64(v))
		}
	}
	x, y, w := make([]float32, n*in), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 2)
	}
	for i := range y {
		y[i], w[i] = r.Float64(), .5+r.Float64()
	}
	return m, p, x, y, w
}

func filler[T float](in int, x []float32, y, w []float64) func(i int, dst []T) (T, T) {
	return func(i int, dst []T) (T, T) {
		for j, v := range x[i*in : (i+1)*in] {
			dst[j] = T(v)
		}
		return T(y[i]), T(w[i])
	}
}

// Every gradient of the graph against central differences, soft labels, weights
// and a padded batch included.
func TestGraphGradients(t *testing.T) {
	for _, size := range [][4]int{{5, 7, 6, 6}, {5, 7, 8, 3}, {1, 3, 2, 2}, {4, 1, 3, 2}, {3, 2, 1, 1}} {
		in, hidden, batch, n := size[0], size[1], size[2], size[3]
		_, p, x, y, w := toy(in, hidden, n)
		g, err := newGraph(in, hidden, batch, p)
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		fill := filler[float64](in, x, y, w)
		_, grads, err := g.run(n, fill)
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		var kept [4][]float64
		for i, v := range grads {
			kept[i] = append([]float64(nil), v...)
			if len(v) != len(p[i]) {
				t.Fatalf("%v: gradient %d has %d values, want %d", size, i, len(v), len(p[i]))
			}
		}
		const eps = 1e-6
		for i := range p {
			for j := range p[i] {
				old := p[i][j]
				p[i][j] = old + eps
				hi, _, _ := g.run(n, fill)
				p[i][j] = old - eps
				lo, _, _ := g.run(n, fill)
				p[i][j] = old
				if num := (hi - lo) / (2 * eps); math.Abs(num-kept[i][j]) > 1e-6*(1+math.Abs(num)) {
					t.Errorf("%v: parameter %d[%d]: gradient %g, differences %g", size, i, j, kept[i][j], num)
				}
			}
		}
		g.close()
	}
}

// The plain Go forward pass equals the graph's logits.
func TestInferenceEqualsGraph(t *testing.T) {
	const in, hidden, n = 40, 64, 16
	m, _, x, y, w := toy(in, hidden, n)
	g, err := newGraph(in, hidden, n, [4][]float32{m.w1, m.b1, m.w2, m.b2})
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	cost, _, err := g.run(n, filler[float32](in, x, y, w))
	if err != nil {
		t.Fatal(err)
	}
	z, err := values[float32](g.logits)
	if err != nil {
		t.Fatal(err)
	}
	loss, total := 0.0, 0.0
	for i, v := range m.logits(x) {
		near(t, "logit", v, float64(z[i]), 1e-5)
		loss += w[i] * bceLogit(v, y[i])
		total += w[i]
	}
	near(t, "cost", float64(cost), loss/total, 1e-5)
	alone := m.logits(x[3*in : 4*in])[0]
	if alone != m.logits(x)[3] {
		t.Error("a row must not depend on its neighbours")
	}
}

// Huge logits must not overflow.
func TestCostIsStable(t *testing.T) {
	p := [4][]float32{{1000}, {0}, {1}, {0}}
	g, err := newGraph(1, 1, 2, p)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	cost, grads, err := g.run(2, func(i int, x []float32) (float32, float32) { x[0] = 9; return float32(i), 1 })
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cost", float64(cost), 4500, 1e-2)
	near(t, "gradient of the bias", float64(grads[3][0]), .5, 1e-6)
	if _, _, err := g.run(1, func(int, []float32) (float32, float32) { return 1, 0 }); err == nil {
		t.Error("a batch without weight must be an error")
	}
}

// AdamW on one step by hand: the first step moves by lr in the direction of the
// gradient after decay.
func TestAdamWFirstStep(t *testing.T) {
	p := [][]float32{{1}, {-2}, {0}, {3}}
	o := newAdamW(p, 0.1, 0.5)
	o.update(p, [4][]float32{{2}, {-.5}, {0}, {1e-3}})
	for i, want := range []float64{1*.95 - .1, -2*.95 + .1, 0, 3*.95 - .1} {
		near(t, "parameter", float64(p[i][0]), want, 1e-5)
	}
}
