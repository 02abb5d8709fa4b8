package selfassess

import (
	"fmt"
	"math"
	"sort"
)

// Calibration maps a logit to a calibrated probability. Every kind is strictly
// increasing in the logit (but for rounding near 0 and 1), so calibration never changes which of
// several candidates is best. The zero value is the plain sigmoid.
type Calibration struct {
	// Kind is "" (none), "temperature", "platt" or "isotonic".
	Kind string `json:"kind,omitempty"`
	// A and B: P = σ(A·logit + B) for temperature (B = 0, A = 1/T) and Platt.
	A float64 `json:"a,omitempty"`
	B float64 `json:"b,omitempty"`
	// Logit and Prob are the knots of the isotonic map, both increasing.
	Logit []float64 `json:"logit,omitempty"`
	Prob  []float64 `json:"prob,omitempty"`
}

// blend is the share of the plain sigmoid in the isotonic map: it keeps flat
// stretches strictly increasing.
const blend = 0.01

// Apply returns the calibrated probability of a logit.
func (c Calibration) Apply(z float64) float64 {
	switch c.Kind {
	case "temperature", "platt":
		return sigmoid(c.A*z + c.B)
	case "isotonic":
		return (1-blend)*interpolate(c.Logit, c.Prob, z) + blend*sigmoid(z)
	}
	return sigmoid(z)
}

// String describes the map in a few words.
func (c Calibration) String() string {
	switch c.Kind {
	case "":
		return "none"
	case "isotonic":
		return fmt.Sprintf("isotonic (%d knots)", len(c.Logit))
	case "temperature":
		return fmt.Sprintf("temperature %.3f", 1/c.A)
	}
	return fmt.Sprintf("%s (%.3f, %+.3f)", c.Kind, c.A, c.B)
}

// name is the kind in words.
func (c Calibration) name() string {
	if c.Kind == "" {
		return "none"
	}
	return c.Kind
}

// calibrationKinds in the order in which equal losses are resolved: simpler first.
var calibrationKinds = []string{"", "temperature", "platt", "isotonic"}

// fitCalibration fits one kind on logits z with labels y in [0,1].
func fitCalibration(kind string, z, y []float64) (Calibration, error) {
	switch kind {
	case "":
		return Calibration{}, nil
	case "temperature":
		a := fitTemperature(z, y)
		return Calibration{Kind: kind, A: a}, nil
	case "platt":
		a, b := fitPlatt(z, y)
		return Calibration{Kind: kind, A: a, B: b}, nil
	case "isotonic":
		x, p := fitIsotonic(z, y)
		return Calibration{Kind: kind, Logit: x, Prob: p}, nil
	}
	return Calibration{}, fmt.Errorf("selfassess: unknown calibration %q", kind)
}

const minSlope = 1e-3 // a calibration may not turn the ranking around

// fitTemperature minimises the log loss over log A in [-2, 2] by golden section;
// the loss is convex in A, hence unimodal in log A. The bounds keep separable data
// from making every probability 0 or 1.
func fitTemperature(z, y []float64) float64 {
	loss := func(u float64) float64 { return logitLoss(z, y, math.Exp(u), 0) }
	lo, hi := -2.0, 2.0
	g := (math.Sqrt(5) - 1) / 2
	a, b := hi-g*(hi-lo), lo+g*(hi-lo)
	fa, fb := loss(a), loss(b)
	for range 60 {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - g*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + g*(hi-lo)
			fb = loss(b)
		}
	}
	return math.Exp((lo + hi) / 2)
}

// fitPlatt is logistic regression on the logit by damped Newton steps. A weak
// prior at (1, 0), worth about one row, keeps separable data finite.
func fitPlatt(z, y []float64) (a, b float64) {
	a = 1
	n := float64(len(z))
	prior := 1 / max(n, 1)
	obj := func(a, b float64) float64 {
		return logitLoss(z, y, a, b) + prior/2*((a-1)*(a-1)+b*b)
	}
	cur := obj(a, b)
	for range 100 {
		ga, gb := prior*(a-1), prior*b
		haa, hab, hbb := prior, 0.0, prior
		for i, v := range z {
			p := sigmoid(a*v + b)
			d, w := (p-y[i])/n, p*(1-p)/n
			ga += d * v
			gb += d
			haa += w * v * v
			hab += w * v
			hbb += w
		}
		det := haa*hbb - hab*hab
		if det <= 0 {
			break
		}
		sa, sb := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		t := 1.0
		for ; t > 1e-6; t /= 2 {
			if f := obj(a-t*sa, b-t*sb); f <= cur {
				break
			}
		}
		next := obj(a-t*sa, b-t*sb)
		if t <= 1e-6 || cur-next < 1e-12 {
			break
		}
		a, b, cur = a-t*sa, b-t*sb, next
	}
	return max(a, minSlope), b
}

// logitLoss is the mean log loss of σ(a·z + b).
func logitLoss(z, y []float64, a, b float64) float64 {
	s := 0.0
	for i, v := range z {
		s += bceLogit(a*v+b, y[i])
	}
	return s / float64(max(len(z), 1))
}

// bceLogit is the stable binary cross-entropy of a logit and a label in [0,1].
func bceLogit(z, y float64) float64 {
	return max(z, 0) - z*y + math.Log1p(math.Exp(-math.Abs(z)))
}

// fitIsotonic pools adjacent violators and returns one knot a block: mean logit
// and mean label, the latter kept 1/(2n) away from 0 and 1.
func fitIsotonic(z, y []float64) (knots, probs []float64) {
	n := len(z)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] < z[order[b]] })
	type block struct{ z, y, n float64 }
	var st []block
	for k := 0; k < n; {
		b := block{}
		for v := z[order[k]]; k < n && z[order[k]] == v; k++ { // equal logits belong together
			b.z += z[order[k]]
			b.y += y[order[k]]
			b.n++
		}
		st = append(st, b)
		for len(st) > 1 {
			p, q := st[len(st)-2], st[len(st)-1]
			if p.y/p.n < q.y/q.n {
				break
			}
			st = append(st[:len(st)-2], block{p.z + q.z, p.y + q.y, p.n + q.n})
		}
	}
	eps := 1 / (2 * float64(max(n, 1)))
	for _, b := range st {
		knots = append(knots, b.z/b.n)
		probs = append(probs, min(max(b.y/b.n, eps), 1-eps))
	}
	return knots, probs
}

// interpolate is piecewise linear through increasing knots, constant outside.
func interpolate(x, p []float64, v float64) float64 {
	i := sort.SearchFloat64s(x, v)
	switch {
	case len(x) == 0:
		return 0.5
	case i == 0:
		return p[0]
	case i == len(x):
		return p[len(p)-1]
	}
	t := (v - x[i-1]) / (x[i] - x[i-1])
	return p[i-1] + t*(p[i]-p[i-1])
}
