package selfassess

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/gonum"
)

// mlp is the head g_η: standardised input (n) → hidden ReLU layer (h) → logit.
// It is plain data; the training graph works on the same slices.
type mlp struct {
	in, hidden int
	mean       []float32 // (in) of the training rows
	scale      []float32 // (in) 1/standard deviation; 0 for inputs that never varied
	w1         []float32 // (in, hidden) row-major
	b1         []float32 // (hidden)
	w2         []float32 // (hidden)
	b2         []float32 // (1)
}

// clip bounds standardised inputs: a feature that is rare in training would
// otherwise decide alone when it appears.
const clip = 10

// newMLP draws weights uniformly from ±1/√fan-in.
func newMLP(in, hidden int, r *rand.Rand) *mlp {
	m := &mlp{in: in, hidden: hidden, mean: make([]float32, in), scale: make([]float32, in),
		w1: make([]float32, in*hidden), b1: make([]float32, hidden), w2: make([]float32, hidden), b2: make([]float32, 1)}
	for i := range m.scale {
		m.scale[i] = 1
	}
	draw := func(v []float32, fan int) {
		k := 1 / math.Sqrt(float64(fan))
		for i := range v {
			v[i] = float32((2*r.Float64() - 1) * k)
		}
	}
	draw(m.w1, in)
	draw(m.b1, in)
	draw(m.w2, hidden)
	draw(m.b2, hidden)
	return m
}

// params lists the trained slices in a fixed order.
func (m *mlp) params() [][]float32 { return [][]float32{m.w1, m.b1, m.w2, m.b2} }

// clone copies the trained slices; mean and scale are shared, they never change.
func (m *mlp) clone() *mlp {
	c := *m
	c.w1, c.b1 = append([]float32(nil), m.w1...), append([]float32(nil), m.b1...)
	c.w2, c.b2 = append([]float32(nil), m.w2...), append([]float32(nil), m.b2...)
	return &c
}

// fitScale sets mean and scale from the given rows.
func (m *mlp) fitScale(x matrix, rows []int) {
	n := float64(len(rows))
	sum, sq := make([]float64, m.in), make([]float64, m.in)
	for _, r := range rows {
		for j, v := range x.row(r) {
			sum[j] += float64(v)
		}
	}
	for j := range sum {
		sum[j] /= n
	}
	for _, r := range rows {
		for j, v := range x.row(r) {
			d := float64(v) - sum[j]
			sq[j] += d * d
		}
	}
	for j := range sq {
		m.mean[j], m.scale[j] = float32(sum[j]), 0
		if sd := math.Sqrt(sq[j] / n); sd > 1e-6 {
			m.scale[j] = float32(1 / (sd + 1e-3))
		}
	}
}

// standardise writes the standardised rows of x to dst; both are (n, in).
func (m *mlp) standardise(dst, x []float32) {
	for r := 0; r < len(x); r += m.in {
		row, out := x[r:r+m.in], dst[r:r+m.in]
		for j, v := range row {
			out[j] = min(max((v-m.mean[j])*m.scale[j], -clip), clip)
		}
	}
}

// logits computes one logit a row of the raw matrix x (n, in). Every row is
// computed alone and in the same order of operations, so a row's bytes do not
// depend on its neighbours.
func (m *mlp) logits(x []float32) []float64 {
	z, h := make([]float32, m.in), make([]float32, m.hidden)
	out := make([]float64, len(x)/m.in)
	for r := range out {
		m.standardise(z, x[r*m.in:(r+1)*m.in])
		out[r] = m.logit(z, h)
	}
	return out
}

// logit is the forward pass for one standardised row; h is scratch of length hidden.
func (m *mlp) logit(z, h []float32) float64 {
	copy(h, m.b1)
	for j, v := range z {
		if v != 0 {
			blas.Saxpy(m.hidden, v, m.w1[j*m.hidden:(j+1)*m.hidden], 1, h, 1)
		}
	}
	var s float32
	for k, v := range h {
		if v > 0 {
			s += v * m.w2[k]
		}
	}
	return float64(s + m.b2[0])
}

var blas gonum.Implementation

// sigmoid is stable for large |z|.
func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
