package worldmodel

// softmax writes the softmax of each group of classes values of x to p; both have
// the same length. p may be x.
func softmax[T float](x []T, classes int, p []T) {
	for at := 0; at < len(x); at += classes {
		g, out := x[at:at+classes], p[at:at+classes]
		top := g[0]
		for _, v := range g[1:] {
			top = max(top, v)
		}
		var sum T
		for j, v := range g {
			e := exp(v - top)
			out[j] = e
			sum += e
		}
		inv := 1 / sum
		for j := range out {
			out[j] *= inv
		}
	}
}

// mix is the probability of a class whose softmax is s: (1−μ)·s + μ/C (unimix).
func mix[T float](s, unimix T, classes int) T { return (1-unimix)*s + unimix/T(classes) }

// sample draws one class of each group by inversion: sm are the softmax values, u
// uniform numbers, one a group. z becomes one-hot.
func sample[T float](sm []T, classes int, unimix T, u []T, z []T) {
	for i := range u {
		g := sm[i*classes : (i+1)*classes]
		out := z[i*classes : (i+1)*classes]
		clear(out)
		left := u[i]
		pick := classes - 1 // also when rounding leaves something over
		for j, s := range g {
			if left -= mix(s, unimix, classes); left < 0 {
				pick = j
				break
			}
		}
		out[pick] = 1
	}
}

// softmaxBack turns gp = ∂L/∂p of the mixed probabilities into ∂L/∂logits and adds
// it to gx, group by group.
func softmaxBack[T float](sm []T, classes int, unimix T, gp, gx []T) {
	for at := 0; at < len(sm); at += classes {
		s, g, out := sm[at:at+classes], gp[at:at+classes], gx[at:at+classes]
		var mean T
		for j, v := range s {
			mean += v * g[j]
		}
		for j, v := range s {
			out[j] += (1 - unimix) * v * (g[j] - mean)
		}
	}
}
