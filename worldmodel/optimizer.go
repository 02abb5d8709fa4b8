package worldmodel

import "math"

// optimizer is one LaProp (Ziyin et al. 2020) or Adam over all weights, behind
// adaptive gradient clipping a tensor (AGC, Brock et al. 2021), as in DreamerV3.
type optimizer struct {
	kind            string
	lr, agc         float64
	warmup, decay   int
	step            int
	momentum, scale []float32 // running means of the (normalised) gradient and of its square
}

const (
	momentumRate = 0.9
	scaleRate    = 0.999
	lapropEps    = 1e-20
	adamEps      = 1e-8
	agcFloor     = 1e-3 // smallest weight norm that AGC counts with
)

func newOptimizer(c Config, n int) *optimizer {
	return &optimizer{kind: c.Optimizer, lr: c.LR, agc: c.AGC, warmup: c.Warmup, decay: c.Decay,
		momentum: make([]float32, n), scale: make([]float32, n)}
}

// decayed is the share of its rate that a decay leaves at the end.
const decayed = 0.05

// rate is the learning rate of the present step: linear growth, then constant, and from
// half of the decay on a linear fall.
func (o *optimizer) rate() float64 {
	r := o.lr * min(1, float64(o.step)/float64(max(o.warmup, 1)))
	if o.decay > 0 {
		left := 2 * (1 - float64(o.step)/float64(o.decay))
		r *= min(1, decayed+(1-decayed)*max(left, 0))
	}
	return r
}

// update changes the weights in place by the gradients, which it clips in place too.
// It returns the norm of all gradients before clipping; if that is not finite it
// changes nothing.
func (o *optimizer) update(n, grad *net[float32]) (norm float64) {
	norms := make([]float64, len(n.tensors))
	for i, t := range n.tensors {
		if t.group != groupSlow {
			norms[i] = sumSquares(grad.span(t))
			norm += norms[i]
		}
	}
	norm = math.Sqrt(norm)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm
	}
	o.step++
	rate := o.rate()
	c1 := 1 - math.Pow(momentumRate, float64(o.step))
	c2 := 1 - math.Pow(scaleRate, float64(o.step))
	for i, t := range n.tensors {
		if t.group == groupSlow {
			continue
		}
		w, g := n.span(t), grad.span(t)
		m, v := o.momentum[t.at:t.at+t.n], o.scale[t.at:t.at+t.n]
		clip := float32(1)
		if o.agc > 0 {
			limit := o.agc * max(agcFloor, math.Sqrt(sumSquares(w)))
			clip = float32(1 / max(1, math.Sqrt(norms[i])/limit))
		}
		if o.kind == Adam {
			k, eps := float32(rate*math.Sqrt(c2)/c1), float32(adamEps*math.Sqrt(c2))
			for j := range w {
				d := g[j] * clip
				m[j] += (1 - momentumRate) * (d - m[j])
				v[j] += (1 - scaleRate) * (d*d - v[j])
				w[j] -= k * m[j] / (sqrt(v[j]) + eps)
			}
			continue
		}
		k, root := float32(rate/c1), float32(1/math.Sqrt(c2))
		for j := range w {
			d := g[j] * clip
			v[j] += (1 - scaleRate) * (d*d - v[j])
			m[j] += (1 - momentumRate) * (d/(sqrt(v[j])*root+lapropEps) - m[j])
			w[j] -= k * m[j]
		}
	}
	return norm
}

func sumSquares(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}
