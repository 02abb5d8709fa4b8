package worldmodel

// scan runs the recurrence over T steps of B sequences: at each step the state is
// reset where an episode begins, h ← f(h, z, a) and z ~ q(z | h, token) with a
// straight-through gradient (paper, Eq. 1). Rows are time-major: row t·B + b.
//
// The output packs [h | z | posterior logits] in one row of D + 2·S·C numbers,
// since an operation of a graph has one output.
type scan[T float] struct {
	net     *net[T]
	b, t    int
	cell    *cell[T]
	post    []T // (T·B, U) hidden layer of the posterior
	cache   normCache[T]
	hidden  []T // (T·B, U) ∂L/∂ its pre-activation
	logits  []T // (T·B, S·C)
	sm      []T // (T·B, S·C) softmax of the logits
	glogits []T
	gh, gz  []T // (B, D), (B, S·C) carried back
	gp      []T // (B, S·C)

	// soft passes on probabilities instead of samples. The straight-through gradient is
	// then the true one, which is how tests compare it with finite differences.
	soft bool
}

func newScan[T float](n *net[T], b, t int) *scan[T] {
	d, u, z, rows := n.cfg.Deter, n.cfg.Hidden, n.cfg.latent(), b*t
	mk := func(k int) []T { return make([]T, k) }
	return &scan[T]{net: n, b: b, t: t, cell: newCell(n, rows, true),
		post: mk(rows * u), cache: newNormCache[T](rows, u), hidden: mk(rows * u),
		logits: mk(rows * z), sm: mk(rows * z), glogits: mk(rows * z),
		gh: mk(b * d), gz: mk(b * z), gp: mk(b * z)}
}

// width is the number of columns of the output.
func (s *scan[T]) width() int { return s.net.cfg.Deter + 2*s.net.cfg.latent() }

// forward computes out(T·B, width) from tokens (T·B, units), actions (T·B, A) that
// led to each step, first (T·B; 1 where an episode begins), the stored state before
// the first step h0 (B, D), z0 (B, S·C), and uniform numbers u (T·B, S).
func (s *scan[T]) forward(tok, act, first, h0, z0, u, out []T) {
	net := s.net
	c := net.cfg
	d, z, hid, rows, w := c.Deter, c.latent(), c.Hidden, s.b*s.t, s.width()
	// Everything that does not depend on the recurrence is batched over time.
	for r := range rows {
		a := s.cell.a[r*c.Action : (r+1)*c.Action]
		copy(a, act[r*c.Action:(r+1)*c.Action])
		if first[r] != 0 {
			clear(a)
		}
	}
	s.cell.actions(0, rows, s.cell.a)
	for r := range rows {
		copy(s.post[r*hid:(r+1)*hid], net.postH.b)
	}
	mulNN(rows, hid, c.Units, tok, c.Units, net.postH.w[d*hid:], hid, 1, s.post, hid)
	for t := range s.t {
		k := t * s.b
		h, zz := s.cell.h[k*d:(k+s.b)*d], s.cell.z[k*z:(k+s.b)*z]
		for b := range s.b {
			hr, zr := h[b*d:(b+1)*d], zz[b*z:(b+1)*z]
			switch {
			case first[k+b] != 0:
				clear(hr)
				clear(zr)
			case t == 0:
				copy(hr, h0[b*d:(b+1)*d])
				copy(zr, z0[b*z:(b+1)*z])
			default:
				prev := out[(k-s.b+b)*w:]
				copy(hr, prev[:d])
				copy(zr, prev[d:d+z])
			}
		}
		next := s.gh // free in the forward pass
		s.cell.step(k, s.b, next)
		post := s.post[k*hid : (k+s.b)*hid]
		mulNN(s.b, hid, d, next, d, net.postH.w, hid, 1, post, hid)
		net.postH.norm(s.b, post, s.cache.from(k, hid))
		logits, sm := s.logits[k*z:(k+s.b)*z], s.sm[k*z:(k+s.b)*z]
		net.postLogit.affine(s.b, post, hid, logits)
		softmax(logits, c.Classes, sm)
		for b := range s.b {
			row := out[(k+b)*w : (k+b+1)*w]
			copy(row, next[b*d:(b+1)*d])
			sample(sm[b*z:(b+1)*z], c.Classes, T(c.Unimix), u[(k+b)*c.Stoch:(k+b+1)*c.Stoch], row[d:d+z])
			if s.soft {
				for j, v := range sm[b*z : (b+1)*z] {
					row[d+j] = mix(v, T(c.Unimix), c.Classes)
				}
			}
			copy(row[d+z:], logits[b*z:(b+1)*z])
		}
	}
}

// backward takes gout = ∂L/∂out to gtok and to the gradients of the weights of
// the cell and the posterior in grad.
func (s *scan[T]) backward(tok, out, first, gout, gtok []T, grad *net[T]) {
	net := s.net
	c := net.cfg
	d, z, hid, rows, w := c.Deter, c.latent(), c.Hidden, s.b*s.t, s.width()
	for _, g := range [][]T{grad.inH.s, grad.inZ.s, grad.inA.s, grad.hid.s, grad.postH.s, s.gh, s.gz} {
		clear(g)
	}
	for t := s.t - 1; t >= 0; t-- {
		k := t * s.b
		gl, sm := s.glogits[k*z:(k+s.b)*z], s.sm[k*z:(k+s.b)*z]
		for b := range s.b {
			row := gout[(k+b)*w : (k+b+1)*w]
			for j := range d {
				s.gh[b*d+j] += row[j]
			}
			for j := range z {
				// Straight-through: the gradient of the sample goes to its probabilities.
				s.gp[b*z+j] = s.gz[b*z+j] + row[d+j]
			}
			copy(gl[b*z:(b+1)*z], row[d+z:])
		}
		softmaxBack(sm, c.Classes, T(c.Unimix), s.gp, gl)
		gpost := s.hidden[k*hid : (k+s.b)*hid]
		net.postLogit.affineBack(s.b, nil, 0, gl, 0, gpost, hid, nil, nil)
		net.postH.normBack(s.b, gpost, s.cache.from(k, hid), gpost, grad.postH.s)
		mulNT(s.b, d, hid, gpost, hid, net.postH.w, hid, 1, s.gh, d)
		s.cell.back(k, s.b, s.gh, s.gz, grad)
		for b := range s.b {
			if first[k+b] != 0 { // nothing flows across the border of an episode
				clear(s.gh[b*d : (b+1)*d])
				clear(s.gz[b*z : (b+1)*z])
			}
		}
	}
	s.cell.weights(rows, grad)
	net.postLogit.affineBack(rows, s.post, hid, s.glogits, 0, nil, 0, grad.postLogit.w, grad.postLogit.b)
	mulTN(d, hid, rows, out, w, s.hidden, hid, 0, grad.postH.w, hid)
	mulTN(c.Units, hid, rows, tok, c.Units, s.hidden, hid, 0, grad.postH.w[d*hid:], hid)
	sumRows(rows, s.hidden, grad.postH.b)
	mulNT(rows, c.Units, hid, s.hidden, hid, net.postH.w[d*hid:], hid, 0, gtok, c.Units)
}
