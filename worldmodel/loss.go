package worldmodel

import "math"

// symlog is sign(x)·ln(1+|x|): large values keep their order, small ones their size.
func symlog[T float](x T) T {
	v := T(math.Log1p(float64(abs(x))))
	if x < 0 {
		return -v
	}
	return v
}

// symexp is the inverse of symlog.
func symexp[T float](x T) T {
	v := T(math.Expm1(float64(abs(x))))
	if x < 0 {
		return -v
	}
	return v
}

// squaredLoss is Σ_dims (y − target)² of each of n rows, averaged over rows with
// weight 1/n (no ½); g receives its gradient. Both in symlog space.
func squaredLoss[T float](n int, y, target, g []T) T {
	var sum float64
	k := 2 / T(n)
	for i, v := range y {
		d := v - target[i]
		sum += float64(d) * float64(d)
		g[i] = k * d
	}
	return T(sum / float64(n))
}

// logisticLoss is the binary cross-entropy of logits y against target, weighted by w
// (nil = 1), summed over the columns and averaged over n rows.
func logisticLoss[T float](n int, y, target, w, g []T) T {
	var sum float64
	inv := 1 / T(n)
	for i, v := range y {
		k := T(1)
		if w != nil {
			k = w[i]
		}
		if k == 0 {
			g[i] = 0
			continue
		}
		// max(v,0) − v·y + ln(1 + e^−|v|): no overflow for any logit.
		sum += float64(k) * (float64(max(v, 0)-v*target[i]) + math.Log1p(math.Exp(-math.Abs(float64(v)))))
		g[i] = k * inv * (sigmoid(v) - target[i])
	}
	return T(sum / float64(n))
}

// klLoss is the KL balance of DreamerV3 over n rows of stoch latents:
// dyn = max(free, KL(sg(post) ‖ prior)), rep = max(free, KL(post ‖ sg(prior))), the KL
// summed over the latents before it is cut off, then averaged over rows. It returns
// sd·dyn + sr·rep and the plain KL, and writes the gradients of the raw logits.
// post has stride ldp and its gradient is written at the same stride.
func klLoss[T float](n, stoch, classes int, unimix, free, sd, sr T, post []T, ldp int, prior, gpost []T, gprior []T, sp, sq, gp, gq []T) (loss, kl T) {
	z := stoch * classes
	var sumLoss, sumKL float64
	for r := range n {
		x, y := post[r*ldp:r*ldp+z], prior[r*z:(r+1)*z]
		softmax(x, classes, sp)
		softmax(y, classes, sq)
		var d T
		for i := range z {
			p, q := mix(sp[i], unimix, classes), mix(sq[i], unimix, classes)
			l := log(p / q)
			d += p * l
			gp[i] = l + 1
			gq[i] = -p / q
		}
		sumKL += float64(d)
		sumLoss += float64((sd + sr) * max(free, d))
		gx, gy := gpost[r*ldp:r*ldp+z], gprior[r*z:(r+1)*z]
		clear(gx)
		clear(gy)
		if d <= free {
			continue
		}
		for i := range z {
			gp[i] *= sr / T(n)
			gq[i] *= sd / T(n)
		}
		softmaxBack(sp, classes, unimix, gp, gx)
		softmaxBack(sq, classes, unimix, gq, gy)
	}
	return T(sumLoss / float64(n)), T(sumKL / float64(n))
}

// twoHot are the bins of a categorical value head: symexp of 2k+1 evenly spaced
// numbers in ±limit, built from one half and mirrored, so that their mean is 0 exactly.
type twoHot[T float] struct{ bins []T }

func newTwoHot[T float](n int, limit float64) twoHot[T] {
	b := make([]T, n)
	half := n / 2
	for i := 1; i <= half; i++ {
		v := symexp(T(limit * float64(i) / float64(half)))
		b[half+i], b[half-i] = v, -v
	}
	return twoHot[T]{b}
}

// mean is Σ p·b of logits x. Mirrored bins are summed in pairs, so that equal
// logits give exactly 0.
func (h twoHot[T]) mean(x, p []T) T {
	softmax(x, len(x), p)
	half := len(h.bins) / 2
	var s T
	for i := 1; i <= half; i++ {
		s += (p[half+i] - p[half-i]) * h.bins[half+i]
	}
	return s
}

// encode returns the lower bin and its share of a value; the next bin has the rest.
func (h twoHot[T]) encode(v T) (lo int, share T) {
	last := len(h.bins) - 1
	if !(v > h.bins[0]) {
		return 0, 1
	}
	if v >= h.bins[last] {
		return last - 1, 0
	}
	a, b := 0, last
	for b-a > 1 {
		if mid := (a + b) / 2; h.bins[mid] <= v {
			a = mid
		} else {
			b = mid
		}
	}
	return a, (h.bins[b] - v) / (h.bins[b] - h.bins[a])
}

// loss adds w·crossEntropy(x, two-hot of v) to its result and its gradient to g;
// p are the softmax values of x.
func (h twoHot[T]) loss(x, p []T, v, w T, g []T) float64 {
	lo, share := h.encode(v)
	for j, q := range p {
		g[j] += w * q
	}
	g[lo] -= w * share
	g[lo+1] -= w * (1 - share)
	top := x[0]
	for _, y := range x[1:] {
		top = max(top, y)
	}
	var sum T
	for _, y := range x {
		sum += exp(y - top)
	}
	lse := top + log(sum)
	return float64(w * (lse - share*x[lo] - (1-share)*x[lo+1]))
}
