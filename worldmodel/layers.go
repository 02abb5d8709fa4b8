package worldmodel

// normEps keeps RMSNorm finite (DreamerV3, second generation).
const normEps = 1e-4

// normCache is what the backward pass of RMSNorm and SiLU needs, a row each.
type normCache[T float] struct {
	xhat []T // (n, width) x·rsqrt(mean x² + ε)
	sig  []T // (n, width) σ(xhat·scale)
	inv  []T // (n) rsqrt(mean x² + ε)
}

func newNormCache[T float](rows, width int) normCache[T] {
	return normCache[T]{make([]T, rows*width), make([]T, rows*width), make([]T, rows)}
}

// from is the cache of rows from k on.
func (c normCache[T]) from(k, width int) normCache[T] {
	return normCache[T]{c.xhat[k*width:], c.sig[k*width:], c.inv[k:]}
}

// affine computes y(n, g·out) = x(n, g·in)·w + b, block by block. x has stride ldx.
func (l *layer[T]) affine(n int, x []T, ldx int, y []T) {
	width := l.out * l.blocks
	for r := range n {
		copy(y[r*width:(r+1)*width], l.b)
	}
	for k := range l.blocks {
		mulNN(n, l.out, l.in, x[k*l.in:], ldx, l.w[k*l.in*l.out:], l.out, 1, y[k*l.out:], width)
	}
}

// normed computes y = SiLU(RMS(affine(x))·s) and fills the cache.
func (l *layer[T]) normed(n int, x []T, ldx int, y []T, c normCache[T]) {
	l.affine(n, x, ldx, y)
	l.norm(n, y, c)
}

// norm replaces y(n, g·out) by SiLU(RMS(y)·s); the mean runs over all blocks.
func (l *layer[T]) norm(n int, y []T, c normCache[T]) {
	width := len(l.s)
	if fused32 && is32[T]() && n > 1 {
		normRows(n, width, as[float32](y), as[float32](l.s), as[float32](c.xhat), as[float32](c.sig), as[float32](c.inv))
		return
	}
	for r := range n {
		row := y[r*width : (r+1)*width]
		inv := 1 / sqrt(dot(row, row)/T(width)+normEps)
		c.inv[r] = inv
		xhat, sig := c.xhat[r*width:(r+1)*width], c.sig[r*width:(r+1)*width]
		for j, v := range row {
			v *= inv
			xhat[j] = v
			v *= l.s[j]
			sg := sigmoid(v)
			sig[j] = sg
			row[j] = v * sg
		}
	}
}

// normBack turns gy = ∂L/∂y into gx = ∂L/∂(affine output) and adds to gs. gx may
// be gy.
func (l *layer[T]) normBack(n int, gy []T, c normCache[T], gx, gs []T) {
	width := len(l.s)
	for r := range n {
		g, xhat, sig := gy[r*width:(r+1)*width], c.xhat[r*width:(r+1)*width], c.sig[r*width:(r+1)*width]
		out := gx[r*width : (r+1)*width]
		var mean T
		for j, v := range g {
			x, sg := xhat[j], sig[j]
			d := v * sg * (1 + x*l.s[j]*(1-sg)) // SiLU' = σ(1 + v(1−σ))
			if gs != nil {
				gs[j] += d * x
			}
			d *= l.s[j]
			mean += d * x
			out[j] = d
		}
		mean /= T(width)
		inv := c.inv[r]
		for j := range out {
			out[j] = inv * (out[j] - xhat[j]*mean)
		}
	}
}

// affineBack computes from gy(n, g·out): gx = gy·wᵀ (if gx is not nil; added to it
// with beta 1), gw = xᵀ·gy and gb = Σ gy (if gw is not nil).
func (l *layer[T]) affineBack(n int, x []T, ldx int, gy []T, beta T, gx []T, ldgx int, gw, gb []T) {
	width := l.out * l.blocks
	for k := range l.blocks {
		w := l.w[k*l.in*l.out : (k+1)*l.in*l.out]
		if gx != nil {
			mulNT(n, l.in, l.out, gy[k*l.out:], width, w, l.out, beta, gx[k*l.in:], ldgx)
		}
		if gw != nil {
			mulTN(l.in, l.out, n, x[k*l.in:], ldx, gy[k*l.out:], width, 0, gw[k*l.in*l.out:], l.out)
		}
	}
	if gb != nil {
		sumRows(n, gy, gb)
	}
}

// sumRows writes the column sums of x(n, len(out)) to out.
func sumRows[T float](n int, x, out []T) {
	clear(out)
	w := len(out)
	for r := range n {
		for j, v := range x[r*w : (r+1)*w] {
			out[j] += v
		}
	}
}

// stack is the scratch of an mlp for a number of rows.
type stack[T float] struct {
	y     [][]T // output of each hidden layer
	cache []normCache[T]
}

func newStack[T float](rows int, hidden []layer[T]) *stack[T] {
	s := &stack[T]{}
	for _, l := range hidden {
		s.y = append(s.y, make([]T, rows*l.out))
		s.cache = append(s.cache, newNormCache[T](rows, l.out))
	}
	return s
}

// forward runs the hidden layers and returns the last one's output (n, units).
func (s *stack[T]) forward(hidden []layer[T], n int, x []T, ldx int) []T {
	for i := range hidden {
		hidden[i].normed(n, x, ldx, s.y[i], s.cache[i])
		x, ldx = s.y[i], hidden[i].out
	}
	return x
}

// run is forward followed by the output layer into out(n, m.out.out).
func (s *stack[T]) run(m *mlp[T], n int, x []T, ldx int, out []T) {
	h := s.forward(m.hidden, n, x, ldx)
	m.out.affine(n, h, m.out.in, out)
}

// back takes gout(n, m.out.out) of a preceding run back to the input: gx(n, in of
// the first layer). It needs no weight gradients and overwrites the stack.
func (s *stack[T]) back(m *mlp[T], n int, gout, gx []T) {
	last := len(m.hidden) - 1
	g := s.y[last]
	m.out.affineBack(n, nil, 0, gout, 0, g, m.out.in, nil, nil)
	for i := last; i >= 0; i-- {
		l := &m.hidden[i]
		l.normBack(n, g, s.cache[i], g, nil)
		to := gx
		if i > 0 {
			to = s.y[i-1]
		}
		l.affineBack(n, nil, 0, g, 0, to, l.in, nil, nil)
		g = to
	}
}
