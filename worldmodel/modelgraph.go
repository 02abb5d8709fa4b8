package worldmodel

import (
	G "gorgonia.org/gorgonia"
)

// modelGraph is the loss of the world model over B sequences of T steps (paper, Eq. 2
// with the losses of section 3.1.1), all rows time-major.
type modelGraph[T float] struct {
	*graph[T]
	scan *scan[T]
	out  *fused[T] // packed [h | z | posterior logits] of each row

	obs    []T // (R, Obs+Grid) symlog of the vector | grid as it is
	act    []T // (R, A) the action that led to the row
	first  []T // (R, 1)
	h0     []T // (B, D) stored state before the first step
	z0     []T // (B, S·C)
	u      []T // (R, S) uniform numbers
	reward []T // (R, 1) as received
	cont   []T // (R, 1) (1 − terminal)·γ
	psi    []T // (R, N) labels
	mask   []T // (R, N) 1 where the label is known

	last []bool // (R) not an input: where an episode ends
	// Not inputs either: what an expert would do, for imitation.
	target    []T    // (R, A)
	hasTarget []bool // (R)

	recVec, recGrid, kl T // of the last run
}

// rows is R = T·B.
func (m *modelGraph[T]) rows() int { return m.scan.b * m.scan.t }

func newModelGraph[T float](n, grad *net[T], b, t int) (m *modelGraph[T], err error) {
	building.Lock()
	defer building.Unlock()
	defer recoverTo(&err)
	c := n.cfg
	r, x := b*t, c.Obs+c.Grid
	mk := func(k int) []T { return make([]T, k) }
	m = &modelGraph[T]{graph: beginGraph(n, grad), scan: newScan(n, b, t),
		obs: mk(r * x), act: mk(r * c.Action), first: mk(r), h0: mk(b * c.Deter), z0: mk(b * c.latent()), u: mk(r * c.Stoch),
		reward: mk(r), cont: mk(r), psi: mk(r * c.Quantiles), mask: mk(r * c.Quantiles), last: make([]bool, r),
		target: mk(r * c.Action), hasTarget: make([]bool, r)}
	obs := m.leaf("obs", r, x, m.obs)

	// Encoder: tokens (R, units).
	tok := obs
	for i := range n.enc {
		tok = m.layer(&n.enc[i], &grad.enc[i], tok, 0)
	}
	packed := m.recurrence(tok)

	// Prior logits (R, S·C) from h for all steps at once: nothing in the recurrence needs them.
	prior := m.head(&n.prior, &grad.prior, packed, 0)
	z, d := c.latent(), c.Deter
	sp, sq, gp, gq := mk(z), mk(z), mk(z), mk(z)
	m.loss("kl", 1, G.Nodes{packed, prior}, []bool{true, true}, func(in, g [][]T) T {
		w := m.scan.width()
		var loss T
		loss, m.kl = klLoss(r, c.Stoch, c.Classes, T(c.Unimix), T(c.FreeNats), T(c.ScaleDyn), T(c.ScaleRep),
			in[0][d+z:], w, in[1], g[0][d+z:], g[1], sp, sq, gp, gq)
		if m.scan.soft {
			loss /= 2 // both terms are the same number, each with half of its gradient
		}
		return loss
	})

	// Decoder (R, Obs+Grid): symlog squared error, cells of the grid logistic.
	rec := m.head(&n.dec, &grad.dec, packed, 0)
	m.loss("reconstruction", T(c.recWeight()), G.Nodes{rec, obs}, []bool{true, false}, func(in, g [][]T) T {
		m.recVec, m.recGrid = 0, 0
		for i := range r {
			at, mid, end := i*x, i*x+c.Obs, (i+1)*x
			m.recVec += squaredLoss(1, in[0][at:mid], in[1][at:mid], g[0][at:mid])
			m.recGrid += logisticLoss(1, in[0][mid:end], in[1][mid:end], nil, g[0][mid:end])
		}
		for i := range g[0] {
			g[0][i] /= T(r)
		}
		m.recVec /= T(r)
		m.recGrid /= T(r)
		return m.recVec + m.recGrid
	})

	reward := m.leaf("reward", r, 1, m.reward)
	rew := m.head(&n.rew, &grad.rew, packed, 0)
	bins := newTwoHot[T](c.Bins, c.BinLimit)
	target, p := mk(r), mk(c.Bins)
	m.loss("reward", 1, G.Nodes{rew, reward}, []bool{true, false}, func(in, g [][]T) T {
		if c.Reward == RewardSymlog {
			for i, v := range in[1] {
				target[i] = symlog(v)
			}
			return squaredLoss(r, in[0], target, g[0])
		}
		clear(g[0])
		sum := 0.0
		for i, v := range in[1] {
			y := in[0][i*c.Bins : (i+1)*c.Bins]
			softmax(y, c.Bins, p)
			sum += bins.loss(y, p, v, 1/T(r), g[0][i*c.Bins:(i+1)*c.Bins])
		}
		return T(sum)
	})

	cont := m.leaf("continue", r, 1, m.cont)
	con := m.head(&n.con, &grad.con, packed, 0)
	m.loss("continue", 1, G.Nodes{con, cont}, []bool{true, false}, func(in, g [][]T) T {
		return logisticLoss(r, in[0], in[1], nil, g[0])
	})

	if c.Quantiles > 0 {
		labels, mask := m.leaf("labels", r, c.Quantiles, m.psi), m.leaf("mask", r, c.Quantiles, m.mask)
		psi := m.head(&n.psi, &grad.psi, packed, 0)
		m.loss("psi", T(c.ScalePsi), G.Nodes{psi, labels, mask}, []bool{true, false, false}, func(in, g [][]T) T {
			return logisticLoss(r, in[0], in[1], in[2], g[0])
		})
	}
	if err := m.compile("world model"); err != nil {
		return nil, err
	}
	return m, nil
}

// recurrence is the node of the scan.
func (m *modelGraph[T]) recurrence(tok *G.Node) *G.Node {
	n, s := m.net, m.scan
	c, r := n.cfg, m.rows()
	in := G.Nodes{tok, m.leaf("action", r, c.Action, m.act), m.leaf("first", r, 1, m.first),
		m.leaf("h0", s.b, c.Deter, m.h0), m.leaf("z0", s.b, c.latent(), m.z0), m.leaf("uniform", r, c.Stoch, m.u)}
	data := len(in)
	diff, own := make([]bool, data), make([][]T, data)
	diff[0] = true
	g := m.grad
	for _, l := range []struct{ l, g *layer[T] }{{&n.inH, &g.inH}, {&n.inZ, &g.inZ}, {&n.inA, &g.inA},
		{&n.hid, &g.hid}, {&n.gru, &g.gru}, {&n.postH, &g.postH}, {&n.postLogit, &g.postLogit}} {
		in = append(in, m.layerWeights(l.l)...)
		own = append(own, l.g.w, l.g.b)
		if l.l.s != nil {
			own = append(own, l.g.s)
		}
	}
	for range in[data:] {
		diff = append(diff, true)
	}
	f := newFused("recurrence", r, s.width(), in, diff, own)
	f.forward = func(in [][]T) { s.forward(in[0], in[1], in[2], in[3], in[4], in[5], f.outs) }
	f.backward = func(in [][]T, gy []T) { s.backward(in[0], f.outs, in[2], gy, f.gs[0], g) }
	m.out = f
	return G.Must(G.ApplyOp(f, in...))
}
