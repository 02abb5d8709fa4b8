package lora

import (
	"fmt"
	"math"
)

// Adam is AdamW without decay on an adapter's factors, with the gradient clipped
// to a global norm (Loshchilov & Hutter, 2019).
type Adam struct {
	Rate   float64 // learning rate, set before each step
	Clip   float64 // largest global norm of the gradient; 0 = no clipping
	m, v   [][]float64
	step   int
	params [][]float32
}

const beta1, beta2, adamEpsilon = .9, .99, 1e-8

// NewAdam makes an optimiser for the adapter.
func NewAdam(ad *Adapter, rate, clip float64) *Adam {
	o := &Adam{Rate: rate, Clip: clip, params: ad.params()}
	for _, p := range o.params {
		o.m, o.v = append(o.m, make([]float64, len(p))), append(o.v, make([]float64, len(p)))
	}
	return o
}

// Step moves the factors against the gradient and returns the gradient's norm
// before clipping. A gradient that is not finite is an error and changes nothing.
func (o *Adam) Step(g *Grads) (norm float64, err error) {
	for _, s := range *g {
		for _, x := range s {
			norm += float64(x) * float64(x)
		}
	}
	norm = math.Sqrt(norm)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("lora: the gradient of step %d is not finite; lower the learning rate (%g)", o.step+1, o.Rate)
	}
	factor := 1.0
	if o.Clip > 0 && norm > o.Clip {
		factor = o.Clip / norm
	}
	o.step++
	c1, c2 := 1-math.Pow(beta1, float64(o.step)), 1-math.Pow(beta2, float64(o.step))
	for i, p := range o.params {
		m, v := o.m[i], o.v[i]
		for j, x := range (*g)[i] {
			y := factor * float64(x)
			m[j] = beta1*m[j] + (1-beta1)*y
			v[j] = beta2*v[j] + (1-beta2)*y*y
			p[j] -= float32(o.Rate * (m[j] / c1) / (math.Sqrt(v[j]/c2) + adamEpsilon))
		}
	}
	return norm, nil
}
