package worldmodel

// cell is the block GRU f: h' = f(h, z, a) with the caches of its backward pass
// (DreamerV3, second generation; paper, Eq. 1 "recurrent model"). Row r of every
// buffer belongs to one application; a sequence uses T·B rows, acting one.
//
//	x0 = SiLU(RMS(h)), x1 of z, x2 of a
//	v  = SiLU(RMS(BlockLinear[h_k, x0, x1, x2]))
//	r, c, u = BlockLinear(v);  r = σ(r);  c = tanh(r·c);  u = σ(u−1)
//	h' = u·c + (1−u)·h
type cell[T float] struct {
	net  *net[T]
	h, z []T // (rows, D), (rows, S·C) inputs, reset where an episode begins
	a    []T // (rows, A) bounded actions

	y0, y1, y2             []T // (rows, U)
	x                      []T // (rows, 3U) their concatenation
	v                      []T // (rows, D)
	gates                  []T // (rows, 3D) pre-activations, by block [r, c, u]; in the backward pass their gradients
	r, c, u                []T // (rows, D)
	cache0, cache1, cache2 normCache[T]
	cacheV                 normCache[T]

	// Gradients of pre-activations, kept for the weight gradients.
	g0, g1, g2, gv []T
	gx             []T // (rows, 3U)
}

func newCell[T float](n *net[T], rows int, backward bool) *cell[T] {
	d, u := n.cfg.Deter, n.cfg.Hidden
	mk := func(w int) []T { return make([]T, rows*w) }
	c := &cell[T]{net: n, h: mk(d), z: mk(n.cfg.latent()), a: mk(n.cfg.Action),
		y0: mk(u), y1: mk(u), y2: mk(u), x: mk(3 * u), v: mk(d), gates: mk(3 * d), r: mk(d), c: mk(d), u: mk(d),
		cache0: newNormCache[T](rows, u), cache1: newNormCache[T](rows, u), cache2: newNormCache[T](rows, u),
		cacheV: newNormCache[T](rows, d)}
	if backward {
		c.g0, c.g1, c.g2, c.gv, c.gx = mk(u), mk(u), mk(u), mk(d), mk(3*u)
	}
	return c
}

// actions prepares rows [k, k+n) from raw actions: each number is bounded by its
// own size where that is above 1, then goes through its layer.
func (c *cell[T]) actions(k, n int, a []T) {
	w := c.net.cfg.Action
	in := c.a[k*w : (k+n)*w]
	for i, v := range a[:n*w] {
		in[i] = v / max(1, abs(v))
	}
	u := c.net.cfg.Hidden
	c.net.inA.normed(n, in, w, c.y2[k*u:], c.cache2.from(k, u))
}

// step computes rows [k, k+n) of h' from rows of c.h, c.z and prepared actions.
func (c *cell[T]) step(k, n int, next []T) {
	net := c.net
	d, u, g := net.cfg.Deter, net.cfg.Hidden, net.cfg.Blocks
	h, z := c.h[k*d:(k+n)*d], c.z[k*net.cfg.latent():(k+n)*net.cfg.latent()]
	net.inH.normed(n, h, d, c.y0[k*u:], c.cache0.from(k, u))
	net.inZ.normed(n, z, net.cfg.latent(), c.y1[k*u:], c.cache1.from(k, u))
	x := c.x[k*3*u : (k+n)*3*u]
	for r := range n {
		copy(x[r*3*u:], c.y0[(k+r)*u:(k+r+1)*u])
		copy(x[r*3*u+u:], c.y1[(k+r)*u:(k+r+1)*u])
		copy(x[r*3*u+2*u:], c.y2[(k+r)*u:(k+r+1)*u])
	}
	v := c.v[k*d : (k+n)*d]
	for r := range n {
		copy(v[r*d:], net.hid.b)
	}
	w := d / g // width of a block
	for b := range g {
		wb := net.hid.w[b*net.hid.in*w:]
		mulNN(n, w, w, h[b*w:], d, wb, w, 1, v[b*w:], d)
		mulNN(n, w, 3*u, x, 3*u, wb[w*w:], w, 1, v[b*w:], d)
	}
	net.hid.norm(n, v, c.cacheV.from(k, d))
	gates := c.gates[k*3*d : (k+n)*3*d]
	net.gru.affine(n, v, d, gates)
	if fused32 && is32[T]() && n > 1 {
		for b := range g {
			gateRows(n, w, d, as[float32](gates[b*3*w:]), as[float32](h[b*w:]), as[float32](next[b*w:]),
				as[float32](c.r[k*d+b*w:]), as[float32](c.c[k*d+b*w:]), as[float32](c.u[k*d+b*w:]))
		}
		return
	}
	for r := range n {
		for b := range g {
			at := r*d + b*w
			gr := gates[r*3*d+b*3*w:]
			gc, gu := gr[w:2*w], gr[2*w:3*w]
			cr, cc, cu := c.r[k*d+at:], c.c[k*d+at:], c.u[k*d+at:]
			for j := range w {
				rj := sigmoid(gr[j])
				cj := tanh(rj * gc[j])
				uj := sigmoid(gu[j] - 1)
				cr[j], cc[j], cu[j] = rj, cj, uj
				next[at+j] = uj*cj + (1-uj)*h[at+j]
			}
		}
	}
}

// back takes gh(n, D) = ∂L/∂h' of rows [k, k+n) to gh = ∂L/∂h and gz = ∂L/∂z, keeps
// the gradients of the pre-activations for [cell.weights] and adds those of the norms to
// grad. It overwrites the gates.
func (c *cell[T]) back(k, n int, gh, gz []T, grad *net[T]) {
	net := c.net
	d, u, g := net.cfg.Deter, net.cfg.Hidden, net.cfg.Blocks
	w := d / g
	gates, h := c.gates[k*3*d:(k+n)*3*d], c.h[k*d:(k+n)*d]
	for r := range n {
		for b := range g {
			at := r*d + b*w
			gr := gates[r*3*d+b*3*w:]
			gc, gu := gr[w:2*w], gr[2*w:3*w]
			cr, cc, cu := c.r[k*d+at:], c.c[k*d+at:], c.u[k*d+at:]
			for j := range w {
				q, rj, cj, uj := gh[at+j], cr[j], cc[j], cu[j]
				arg := q * uj * (1 - cj*cj) // ∂L/∂(r·c)
				gr[j] = arg * gc[j] * rj * (1 - rj)
				gc[j] = arg * rj
				gu[j] = q * (cj - h[at+j]) * uj * (1 - uj)
				gh[at+j] = q * (1 - uj)
			}
		}
	}
	gv := c.gv[k*d : (k+n)*d]
	net.gru.affineBack(n, nil, 0, gates, 0, gv, d, nil, nil)
	net.hid.normBack(n, gv, c.cacheV.from(k, d), gv, grad.hid.s)
	gx := c.gx[k*3*u : (k+n)*3*u]
	for b := range g {
		wb := net.hid.w[b*net.hid.in*w:]
		mulNT(n, w, w, gv[b*w:], d, wb, w, 1, gh[b*w:], d)
		beta := T(1)
		if b == 0 {
			beta = 0
		}
		mulNT(n, 3*u, w, gv[b*w:], d, wb[w*w:], w, beta, gx, 3*u)
	}
	g0, g1, g2 := c.g0[k*u:(k+n)*u], c.g1[k*u:(k+n)*u], c.g2[k*u:(k+n)*u]
	for r := range n {
		copy(g0[r*u:], gx[r*3*u:r*3*u+u])
		copy(g1[r*u:], gx[r*3*u+u:r*3*u+2*u])
		copy(g2[r*u:], gx[r*3*u+2*u:r*3*u+3*u])
	}
	net.inH.normBack(n, g0, c.cache0.from(k, u), g0, grad.inH.s)
	net.inZ.normBack(n, g1, c.cache1.from(k, u), g1, grad.inZ.s)
	net.inH.affineBack(n, nil, 0, g0, 1, gh, d, nil, nil)
	net.inZ.affineBack(n, nil, 0, g1, 0, gz, net.cfg.latent(), nil, nil)
}

// weights finishes the gradients over all n rows after the last back: one matrix
// product a weight, whatever the number of steps.
func (c *cell[T]) weights(n int, grad *net[T]) {
	net := c.net
	d, u, g := net.cfg.Deter, net.cfg.Hidden, net.cfg.Blocks
	net.inA.normBack(n, c.g2, c.cache2, c.g2, grad.inA.s)
	net.inH.affineBack(n, c.h, d, c.g0, 0, nil, 0, grad.inH.w, grad.inH.b)
	net.inZ.affineBack(n, c.z, net.cfg.latent(), c.g1, 0, nil, 0, grad.inZ.w, grad.inZ.b)
	net.inA.affineBack(n, c.a, net.cfg.Action, c.g2, 0, nil, 0, grad.inA.w, grad.inA.b)
	w := d / g
	for b := range g {
		wb := grad.hid.w[b*net.hid.in*w:]
		mulTN(w, w, n, c.h[b*w:], d, c.gv[b*w:], d, 0, wb, w)
		mulTN(3*u, w, n, c.x, 3*u, c.gv[b*w:], d, 0, wb[w*w:], w)
	}
	sumRows(n, c.gv, grad.hid.b)
	net.gru.affineBack(n, c.v, d, c.gates, 0, nil, 0, grad.gru.w, grad.gru.b)
}
