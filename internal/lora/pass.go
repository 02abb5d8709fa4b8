package lora

import "math"

// attentionRows is how many queries are worked on at once: what lies beyond the
// last of them is never computed.
const attentionRows = 64

// acts are what one block keeps for the backward pass, for T tokens.
type acts struct {
	n1, qkv, qk, rot, v, y, n2, u, a []float32
	s1, sqk, s2                      []float32
	p                                []float32 // attention [heads, T, T], zero above the diagonal
}

// pass is the work space of one sequence. Not safe for concurrent use.
type pass struct {
	n        *Net
	w        [][]float32 // effective weights, as Net.Weights
	t        int
	x        []float32 // [T, d] the residual stream, at the end the last block's output
	layers   []acts
	hid      []float32 // [T, d] normalised last states
	sh       []float32
	cos, sin []float32
	from     int // blocks below it need no gradient, and keep nothing
	stop     int // blocks from it on are left out; the number of blocks = none
	rows     []int
	logits   []float32 // [rows, vocab], capped
	sel      []float32 // [rows, d]
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// forward reads ids from the first token on (ids[0] is the start token).
func (f *pass) forward(ids []int32) {
	n, t, d := f.n, len(ids), f.n.Dim
	f.room(t)
	at := func(i int) int { // the token before the first is 0
		if i < 0 {
			return 0
		}
		return int(ids[i])
	}
	for i := range t {
		row := f.x[i*d : (i+1)*d]
		e0, e1, e2 := n.embed[0][at(i)*d:], n.embed[1][at(i-1)*d:], n.embed[2][at(i-2)*d:]
		for j := range row {
			row[j] = e0[j] + e1[j] + e2[j]
		}
	}
	rms(f.x, f.x, d, f.sh)
	f.blocks(0)
}

// room makes space for t tokens.
func (f *pass) room(t int) {
	d := f.n.Dim
	f.t = t
	if len(f.cos) < t*f.n.HeadDim/2 {
		f.cos, f.sin = rope(max(t, 512), f.n.HeadDim)
	}
	f.x, f.hid, f.sh = grow(f.x, t*d), grow(f.hid, t*d), grow(f.sh, t)
	if f.layers == nil {
		f.layers = make([]acts, len(f.n.layers))
	}
}

// blocks computes those from first on, and the normalised last states.
func (f *pass) blocks(first int) {
	for i := first; i < f.stop; i++ {
		f.block(i)
	}
	rms(f.hid, f.x, f.n.Dim, f.sh)
}

// resume is forward for a sequence that was prepared for f.from, and returns where
// its learnt rows are then.
func (f *pass) resume(s Sequence, rows []int) []int {
	if f.from < len(f.n.layers) {
		f.room(len(s.IDs))
		copy(f.x, s.below)
		f.blocks(f.from)
		return rows
	}
	f.room(len(rows))
	copy(f.x, s.below)
	f.blocks(f.stop)
	here := make([]int, len(rows))
	for i := range here {
		here[i] = i
	}
	return here
}

func (f *pass) block(i int) {
	n, t, d, hd := f.n, f.t, f.n.Dim, f.n.HeadDim
	l := n.layers[i]
	a := &f.layers[max(i, f.from)] // blocks without gradient share one space
	both, kv, mlp := n.Heads+n.KVHeads, n.KVHeads, n.Weights[l.up].Out
	a.n1, a.s1 = grow(a.n1, t*d), grow(a.s1, t)
	a.qkv, a.qk, a.rot, a.sqk = grow(a.qkv, t*both*hd), grow(a.qk, t*both*hd), grow(a.rot, t*both*hd), grow(a.sqk, t*both)
	a.v, a.y = grow(a.v, t*kv*hd), grow(a.y, t*d)
	a.p = grow(a.p, n.Heads*t*t)
	rms(a.n1, f.x, d, a.s1)
	mul(false, false, t, both*hd, d, 1, a.n1, d, f.w[l.qk], both*hd, 0, a.qkv, both*hd)
	mul(false, false, t, kv*hd, d, 1, a.n1, d, f.w[l.v], kv*hd, 0, a.v, kv*hd)
	rms(a.qk, a.qkv, hd, a.sqk)
	rotate(a.rot, a.qk, both, hd, f.cos, f.sin, 1)
	scale := float32(attentionScale / math.Sqrt(float64(hd)))
	group := n.Heads / kv
	for h := range n.Heads {
		q, k, v := a.rot[h*hd:], a.rot[(n.Heads+h/group)*hd:], a.v[h/group*hd:]
		p := a.p[h*t*t : (h+1)*t*t]
		for r0 := 0; r0 < t; r0 += attentionRows {
			r1 := min(r0+attentionRows, t)
			mul(false, true, r1-r0, r1, hd, scale, q[r0*both*hd:], both*hd, k, both*hd, 0, p[r0*t:], t)
			for r := r0; r < r1; r++ {
				softmax(p[r*t : r*t+r+1])
				clear(p[r*t+r+1 : r*t+r1])
			}
			mul(false, false, r1-r0, hd, r1, 1, p[r0*t:], t, v, kv*hd, 0, a.y[r0*d+h*hd:], d)
		}
	}
	mul(false, false, t, d, d, 1, a.y, d, f.w[l.out], d, 1, f.x, d)

	a.n2, a.s2, a.u, a.a = grow(a.n2, t*d), grow(a.s2, t), grow(a.u, t*mlp), grow(a.a, t*mlp)
	rms(a.n2, f.x, d, a.s2)
	mul(false, false, t, mlp, d, 1, a.n2, d, f.w[l.up], mlp, 0, a.u, mlp)
	for j, x := range a.u {
		x = max(x, 0)
		a.u[j], a.a[j] = x, x*x
	}
	mul(false, false, t, d, mlp, 1, a.a, mlp, f.w[l.down], d, 1, f.x, d)
}

func softmax(s []float32) {
	top := s[0]
	for _, x := range s {
		top = max(top, x)
	}
	var sum float32
	for i, x := range s {
		e := float32(math.Exp(float64(x - top)))
		s[i] = e
		sum += e
	}
	inv := 1 / sum
	for i := range s {
		s[i] *= inv
	}
}

// head computes the logits after the tokens at rows: they foretell the token that follows.
func (f *pass) head(rows []int) {
	n, d := f.n, f.n.Dim
	f.rows = rows
	f.sel, f.logits = grow(f.sel, len(rows)*d), grow(f.logits, len(rows)*n.Vocab)
	for i, r := range rows {
		copy(f.sel[i*d:(i+1)*d], f.hid[r*d:(r+1)*d])
	}
	mul(false, false, len(rows), n.Vocab, d, 1, f.sel, d, f.w[n.head], n.Vocab, 0, f.logits, n.Vocab)
	for i, z := range f.logits {
		f.logits[i] = float32(logitCap * math.Tanh(float64(z)/logitCap))
	}
}

// backward takes the gradient of the loss with respect to the logits of head
// (overwritten) and adds the gradients of the adapter's factors to g.
func (f *pass) backward(dz []float32, ad *Adapter, g *Grads) {
	n, t, d, hd := f.n, f.t, f.n.Dim, f.n.HeadDim
	for i, z := range f.logits { // through the cap: 1 − (z/cap)²
		dz[i] *= 1 - z*z/(logitCap*logitCap)
	}
	ad.grad(n.head, f.sel, dz, len(f.rows), g)
	if f.from >= len(n.layers) {
		return
	}
	dsel := make([]float32, len(f.rows)*d)
	mul(false, true, len(f.rows), d, n.Vocab, 1, dz, n.Vocab, f.w[n.head], n.Vocab, 0, dsel, d)
	dx := make([]float32, t*d)
	for i, r := range f.rows {
		for j, x := range dsel[i*d : (i+1)*d] {
			dx[r*d+j] += x
		}
	}
	rmsBack(dx, f.hid, d, f.sh)
	both, kv := n.Heads+n.KVHeads, n.KVHeads
	group := n.Heads / kv
	scale := float32(attentionScale / math.Sqrt(float64(hd)))
	var du, dn, dy, dqk, drot, dv, dp []float32
	for i := len(n.layers) - 1; i >= f.from; i-- {
		l, a := n.layers[i], &f.layers[i]
		mlp := n.Weights[l.up].Out
		ad.grad(l.down, a.a, dx, t, g)
		du, dn = grow(du, t*mlp), grow(dn, t*d)
		mul(false, true, t, mlp, d, 1, dx, d, f.w[l.down], d, 0, du, mlp)
		for j := range du {
			du[j] *= 2 * a.u[j]
		}
		ad.grad(l.up, a.n2, du, t, g)
		mul(false, true, t, d, mlp, 1, du, mlp, f.w[l.up], mlp, 0, dn, d)
		rmsBack(dn, a.n2, d, a.s2)
		for j := range dx {
			dx[j] += dn[j]
		}

		ad.grad(l.out, a.y, dx, t, g)
		dy = grow(dy, t*d)
		mul(false, true, t, d, d, 1, dx, d, f.w[l.out], d, 0, dy, d)
		drot, dv, dp = grow(drot, t*both*hd), grow(dv, t*kv*hd), grow(dp, attentionRows*t)
		clear(drot)
		clear(dv)
		for h := range n.Heads {
			q, k, v := a.rot[h*hd:], a.rot[(n.Heads+h/group)*hd:], a.v[h/group*hd:]
			p := a.p[h*t*t : (h+1)*t*t]
			for r0 := 0; r0 < t; r0 += attentionRows {
				r1 := min(r0+attentionRows, t)
				m := r1 - r0
				dyh := dy[r0*d+h*hd:]
				mul(false, true, m, r1, hd, 1, dyh, d, v, kv*hd, 0, dp, t)
				mul(true, false, r1, hd, m, 1, p[r0*t:], t, dyh, d, 1, dv[h/group*hd:], kv*hd)
				for r := range m { // softmax: dS = P∘(dP − Σ P·dP)
					ps, ds := p[(r0+r)*t:(r0+r)*t+r1], dp[r*t:r*t+r1]
					var dot float32
					for j, x := range ps {
						dot += x * ds[j]
					}
					for j, x := range ps {
						ds[j] = x * (ds[j] - dot)
					}
				}
				mul(false, false, m, hd, r1, scale, dp, t, k, both*hd, 1, drot[r0*both*hd+h*hd:], both*hd)
				mul(true, false, r1, hd, m, scale, dp, t, q[r0*both*hd:], both*hd, 1, drot[(n.Heads+h/group)*hd:], both*hd)
			}
		}
		dqk = grow(dqk, t*both*hd)
		rotate(dqk, drot, both, hd, f.cos, f.sin, -1)
		rmsBack(dqk, a.qk, hd, a.sqk)
		ad.grad(l.qk, a.n1, dqk, t, g)
		ad.grad(l.v, a.n1, dv, t, g)
		if i == f.from {
			return
		}
		mul(false, true, t, d, both*hd, 1, dqk, both*hd, f.w[l.qk], both*hd, 0, dn, d)
		mul(false, true, t, d, kv*hd, 1, dv, kv*hd, f.w[l.v], kv*hd, 1, dn, d)
		rmsBack(dn, a.n1, d, a.s1)
		for j := range dx {
			dx[j] += dn[j]
		}
	}
}
