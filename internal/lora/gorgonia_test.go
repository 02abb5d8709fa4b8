package lora

import (
	"math"
	"testing"

	G "gorgonia.org/gorgonia"
	T "gorgonia.org/tensor"
)

// The hand-written gradients of the head's factors are those of a Gorgonia graph:
// −Σ w·log p over z = 15·tanh(h(W + s·A·B)/15), with cached last hidden states h.
func TestHeadAgreesWithGorgonia(t *testing.T) {
	n := small()
	ad, err := New(n, Options{Rank: 2, Alpha: 3, Targets: TargetsHead, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	randomB(ad, 5)
	s := sequence(n, 13, 4)
	g := ad.NewGrads()
	loss, err := CrossEntropy(n, ad, []Sequence{s}, g, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := n.newPass(n.effective(ad), ad)
	f.forward(s.IDs)
	rows, total := s.learnt()
	f.head(rows)
	target := make([]float32, len(rows)*n.Vocab) // weighted one-hot
	for i, r := range rows {
		target[i*n.Vocab+int(s.IDs[r+1])] = s.Weights[r+1] / float32(total)
	}

	graph := G.NewGraph()
	leaf := func(name string, data []float32, r, c int) *G.Node {
		v := T.New(T.WithShape(r, c), T.WithBacking(append([]float32(nil), data...)))
		return G.NewMatrix(graph, T.Float32, G.WithShape(r, c), G.WithName(name), G.WithValue(v))
	}
	x, y := leaf("h", f.sel, len(rows), n.Dim), leaf("target", target, len(rows), n.Vocab)
	w := leaf("w", n.Weights[n.head].Data, n.Dim, n.Vocab)
	a, b := leaf("a", ad.factors[0].a, n.Dim, 2), leaf("b", ad.factors[0].b, 2, n.Vocab)
	scale, cap15 := G.NewConstant(ad.scale()), G.NewConstant(float32(logitCap))
	z := G.Must(G.Add(G.Must(G.Mul(x, w)), G.Must(G.Mul(G.Must(G.Mul(G.Must(G.Mul(x, a)), b)), scale))))
	z = G.Must(G.Mul(G.Must(G.Tanh(G.Must(G.Div(z, cap15)))), cap15))
	// log p = z − log Σ exp z: logits are at most 15, so nothing overflows.
	logZ := G.Must(G.Log(G.Must(G.Sum(G.Must(G.Exp(z)), 1))))
	logP := G.Must(G.BroadcastSub(z, logZ, nil, []byte{1}))
	cost := G.Must(G.Neg(G.Must(G.Sum(G.Must(G.HadamardProd(y, logP))))))
	grads, err := G.Grad(cost, a, b)
	if err != nil {
		t.Fatal(err)
	}
	var c, ga, gb G.Value
	G.Read(cost, &c)
	G.Read(grads[0], &ga)
	G.Read(grads[1], &gb)
	vm := G.NewTapeMachine(graph)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	if got := float64(c.Data().(float32)); math.Abs(got-loss) > 1e-5 {
		t.Errorf("loss %v, Gorgonia's %v", loss, got)
	}
	for i, want := range [][]float32{ga.Data().([]float32), gb.Data().([]float32)} {
		for j, x := range (*g)[i] {
			if math.Abs(float64(x-want[j])) > 1e-5 {
				t.Fatalf("factor %d: gradient %d is %v, Gorgonia's %v", i, j, x, want[j])
			}
		}
	}
}
