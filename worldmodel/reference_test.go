package worldmodel

import (
	"fmt"
	"math"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/muse-agent/muse/internal/rng"
)

// reference builds the same formulas from Gorgonia's primitives, avoiding its known
// faults (no slices, no reshapes, no softmax, no inverse square root).
type reference struct {
	g      *G.ExprGraph
	leaves map[string]*G.Node
	n      int
}

func (r *reference) leaf(name string, rows, cols int, data []float64) *G.Node {
	v := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(append([]float64(nil), data...)))
	n := G.NewMatrix(r.g, tensor.Float64, G.WithShape(rows, cols), G.WithName(name), G.WithValue(v))
	r.leaves[name] = n
	return n
}

// full is a constant matrix.
func (r *reference) full(rows, cols int, v float64) *G.Node {
	data := make([]float64, rows*cols)
	for i := range data {
		data[i] = v
	}
	r.n++
	return r.leaf(fmt.Sprintf("constant %d", r.n), rows, cols, data)
}

// weights makes the leaves of a layer once and reuses them after.
func (r *reference) weights(l *layer[float64]) (w, b, s *G.Node) {
	if n := r.leaves[l.name+".w"]; n != nil {
		return n, r.leaves[l.name+".b"], r.leaves[l.name+".scale"]
	}
	w, b = r.leaf(l.name+".w", l.in, l.out, l.w), r.leaf(l.name+".b", 1, l.out, l.b)
	if l.s != nil {
		s = r.leaf(l.name+".scale", 1, l.out, l.s)
	}
	return w, b, s
}

func (r *reference) affine(x, w, b *G.Node) *G.Node {
	return G.Must(G.BroadcastAdd(G.Must(G.Mul(x, w)), b, nil, []byte{0}))
}

// norm is SiLU(RMS(x)·s); the mean of a row is a product with a column of 1/n.
func (r *reference) norm(x, s *G.Node) *G.Node {
	rows, cols := x.Shape()[0], x.Shape()[1]
	sq := G.Must(G.Mul(G.Must(G.Square(x)), r.full(cols, 1, 1/float64(cols))))
	root := G.Must(G.Sqrt(G.Must(G.Add(sq, r.full(rows, 1, normEps)))))
	x = G.Must(G.BroadcastHadamardDiv(x, root, nil, []byte{1}))
	x = G.Must(G.BroadcastHadamardProd(x, s, nil, []byte{0}))
	return G.Must(G.HadamardProd(x, G.Must(G.Sigmoid(x))))
}

func (r *reference) layer(l *layer[float64], x *G.Node) *G.Node {
	w, b, s := r.weights(l)
	x = r.affine(x, w, b)
	if s == nil {
		return x
	}
	return r.norm(x, s)
}

// grads runs the graph of Σ cost and returns cost and the gradients of the named leaves.
func (r *reference) grads(t *testing.T, cost *G.Node, names []string) (float64, map[string][]float64) {
	t.Helper()
	var wrt G.Nodes
	for _, n := range names {
		wrt = append(wrt, r.leaves[n])
	}
	gs, err := G.Grad(cost, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	vals := make([]G.Value, len(gs))
	var cv G.Value
	G.Read(cost, &cv)
	for i, n := range gs {
		G.Read(n, &vals[i])
	}
	vm := G.NewTapeMachine(r.g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for i, n := range names {
		d, err := values[float64](vals[i])
		if err != nil {
			t.Fatal(err)
		}
		out[n] = d
	}
	c, err := values[float64](cv)
	if err != nil {
		t.Fatal(err)
	}
	return c[0], out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// TestScanAgainstPrimitives compares the recurrence, forward and backward, with an
// unrolled graph of Gorgonia's primitives (one block, probabilities in place of samples).
func TestScanAgainstPrimitives(t *testing.T) {
	c := toy()
	c.Blocks, c.Batch, c.Length = 1, 2, 3
	n, grad := newNet[float64](c), newNet[float64](c)
	r := rng.New(11, "primitives")
	randomise(n, r)
	random := func(k int) []float64 {
		x := make([]float64, k)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	b, steps, d, z := c.Batch, c.Length, c.Deter, c.latent()
	rows := b * steps
	s := newScan(n, b, steps)
	s.soft = true
	tok, act, h0, z0 := random(rows*c.Units), random(rows*c.Action), random(b*d), random(b*z)
	first, u, out := make([]float64, rows), make([]float64, rows*c.Stoch), make([]float64, rows*s.width())
	first[b+1] = 1
	k := random(rows * s.width()) // weights of the outputs in the cost
	s.forward(tok, act, first, h0, z0, u, out)
	gtok := make([]float64, len(tok))
	s.backward(tok, out, first, k, gtok, grad)
	want := 0.0
	for i, v := range out {
		want += k[i] * v
	}

	ref := &reference{g: G.NewGraph(), leaves: map[string]*G.Node{}}
	h, zz := ref.leaf("h0", b, d, h0), ref.leaf("z0", b, z, z0)
	group := make([]float64, z*z) // sums the classes of a latent
	for i := range z {
		for j := range z {
			if i/c.Classes == j/c.Classes {
				group[i*z+j] = 1
			}
		}
	}
	groups := ref.leaf("groups", z, z, group)
	// The gates' weights are cut in three leaves, since slices are not trusted.
	var gw, gb [3]*G.Node
	cols := func(i, rows int, m []float64) (x []float64) {
		for r := range rows {
			x = append(x, m[r*3*d+i*d:r*3*d+(i+1)*d]...)
		}
		return x
	}
	for i := range 3 {
		gw[i] = ref.leaf(fmt.Sprintf("gates.w%d", i), d, d, cols(i, d, n.gru.w))
		gb[i] = ref.leaf(fmt.Sprintf("gates.b%d", i), 1, d, cols(i, 1, n.gru.b))
	}
	var cost *G.Node
	names := []string{"gates.w0", "gates.w1", "gates.w2", "gates.b0", "gates.b1", "gates.b2"}
	for step := range steps {
		at := step * b
		keep := make([]float64, b)
		a := make([]float64, b*c.Action)
		for i := range b {
			keep[i] = 1 - first[at+i]
			for j := range c.Action {
				v := act[(at+i)*c.Action+j] * keep[i]
				a[i*c.Action+j] = v / math.Max(1, math.Abs(v))
			}
		}
		kn := ref.leaf(fmt.Sprintf("keep %d", step), b, 1, keep)
		h = G.Must(G.BroadcastHadamardProd(h, kn, nil, []byte{1}))
		zz = G.Must(G.BroadcastHadamardProd(zz, kn, nil, []byte{1}))
		x0, x1 := ref.layer(&n.inH, h), ref.layer(&n.inZ, zz)
		x2 := ref.layer(&n.inA, ref.leaf(fmt.Sprintf("action %d", step), b, c.Action, a))
		v := ref.layer(&n.hid, G.Must(G.Concat(1, h, x0, x1, x2)))
		var gate [3]*G.Node
		for i := range gate {
			gate[i] = ref.affine(v, gw[i], gb[i])
		}
		rr := G.Must(G.Sigmoid(gate[0]))
		cc := G.Must(G.Tanh(G.Must(G.HadamardProd(rr, gate[1]))))
		uu := G.Must(G.Sigmoid(G.Must(G.Sub(gate[2], ref.full(b, d, 1)))))
		h = G.Must(G.Add(G.Must(G.HadamardProd(uu, G.Must(G.Sub(cc, h)))), h))
		tk := ref.leaf(fmt.Sprintf("token %d", step), b, c.Units, tok[at*c.Units:(at+b)*c.Units])
		names = append(names, fmt.Sprintf("token %d", step))
		post := ref.layer(&n.postH, G.Must(G.Concat(1, h, tk)))
		logits := ref.layer(&n.postLogit, post)
		e := G.Must(G.Exp(logits))
		p := G.Must(G.HadamardDiv(e, G.Must(G.Mul(e, groups))))
		zz = G.Must(G.Add(G.Must(G.HadamardProd(p, ref.full(b, z, 1-c.Unimix))), ref.full(b, z, c.Unimix/float64(c.Classes))))
		row := G.Must(G.Concat(1, h, zz, logits))
		kk := ref.leaf(fmt.Sprintf("k %d", step), b, s.width(), k[at*s.width():(at+b)*s.width()])
		term := G.Must(G.Sum(G.Must(G.HadamardProd(row, kk))))
		if cost == nil {
			cost = term
		} else {
			cost = G.Must(G.Add(cost, term))
		}
	}
	type pair struct {
		name string
		got  []float64
	}
	pairs := []pair{}
	for _, l := range []struct{ l, g *layer[float64] }{{&n.inH, &grad.inH}, {&n.inZ, &grad.inZ}, {&n.inA, &grad.inA}, {&n.hid, &grad.hid}, {&n.postH, &grad.postH}, {&n.postLogit, &grad.postLogit}} {
		pairs = append(pairs, pair{l.l.name + ".w", l.g.w}, pair{l.l.name + ".b", l.g.b})
		if l.l.s != nil {
			pairs = append(pairs, pair{l.l.name + ".scale", l.g.s})
		}
	}
	for i := range 3 {
		pairs = append(pairs, pair{fmt.Sprintf("gates.w%d", i), cols(i, d, grad.gru.w)}, pair{fmt.Sprintf("gates.b%d", i), cols(i, 1, grad.gru.b)})
	}
	for step := range steps {
		at := step * b * c.Units
		pairs = append(pairs, pair{fmt.Sprintf("token %d", step), gtok[at : at+b*c.Units]})
	}
	names = names[:0]
	for _, p := range pairs {
		names = append(names, p.name)
	}
	got, grads := ref.grads(t, cost, names)
	if !near(got, want) {
		t.Fatalf("Σ k·out = %g, primitives %g", want, got)
	}
	for _, p := range pairs {
		for i, v := range grads[p.name] {
			if !near(p.got[i], v) {
				t.Errorf("∂/∂%s[%d] = %g, primitives %g", p.name, i, p.got[i], v)
				break
			}
		}
	}
}

// TestSuccessGradientAgainstGorgonia compares the hand-written ∇_s Σψ (paper, Eq. 5) with
// the gradient of a graph of primitives.
func TestSuccessGradientAgainstGorgonia(t *testing.T) {
	c := toy()
	m, _ := New(c, 1)
	r := rng.New(12, "eq5")
	randomise(m.net, r)
	n := newNet[float64](c)
	for i, v := range m.net.flat {
		n.flat[i] = float64(v)
	}
	state, s32 := make([]float64, c.StateDim()), make([]float32, c.StateDim())
	for i := range state {
		s32[i] = float32(r.NormFloat64())
		state[i] = float64(s32[i])
	}
	ref := &reference{g: G.NewGraph(), leaves: map[string]*G.Node{}}
	x := ref.leaf("state", 1, len(state), state)
	for i := range n.psi.hidden {
		x = ref.layer(&n.psi.hidden[i], x)
	}
	cost := G.Must(G.Sum(G.Must(G.Sigmoid(ref.layer(&n.psi.out, x)))))
	want, grads := ref.grads(t, cost, []string{"state"})
	g := make([]float32, len(s32))
	got := m.NewSim().SuccessGradient(g, s32)
	if math.Abs(got-want) > 1e-5 {
		t.Errorf("Σψ = %g, graph %g", got, want)
	}
	for i, v := range grads["state"] {
		if math.Abs(float64(g[i])-v) > 1e-5 {
			t.Errorf("∂Σψ/∂s[%d] = %g, graph %g", i, g[i], v)
		}
	}
}
