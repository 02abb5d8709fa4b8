package selfassess

import "math"

// adamW is Adam with decoupled weight decay (Loshchilov & Hutter 2019) over raw
// slices, all parameters decayed alike.
type adamW struct {
	lr, decay    float64
	step         int
	first, other [][]float32 // running means of g and g²
}

const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

func newAdamW(params [][]float32, lr, decay float64) *adamW {
	o := &adamW{lr: lr, decay: decay}
	for _, p := range params {
		o.first = append(o.first, make([]float32, len(p)))
		o.other = append(o.other, make([]float32, len(p)))
	}
	return o
}

// update changes params in place.
func (o *adamW) update(params [][]float32, grads [4][]float32) {
	o.step++
	c1 := 1 - math.Pow(adamBeta1, float64(o.step))
	c2 := 1 - math.Pow(adamBeta2, float64(o.step))
	// θ ← θ(1 − lr·λ) − lr·(m/c1)/(√(v/c2) + ε), with √c2 taken out of the loop.
	shrink := float32(1 - o.lr*o.decay)
	rate := float32(o.lr * math.Sqrt(c2) / c1)
	eps := float32(adamEps * math.Sqrt(c2))
	for i, p := range params {
		m, v, g := o.first[i], o.other[i], grads[i]
		_, _, _ = m[len(p)-1], v[len(p)-1], g[len(p)-1]
		for j := range p {
			d := g[j]
			m[j] += (1 - adamBeta1) * (d - m[j])
			v[j] += (1 - adamBeta2) * (d*d - v[j])
			p[j] = p[j]*shrink - rate*m[j]/(float32(math.Sqrt(float64(v[j])))+eps)
		}
	}
}
