package selfassess

import (
	"errors"
	"fmt"
	"sync"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// float is the element type of a graph: float32 in training, float64 in the
// finite-difference tests.
type float interface{ float32 | float64 }

// graph is the training graph of the head for one batch size: mean weighted
// binary cross-entropy (paper, Eq. 7) from logits and its gradients. It works on
// the parameter slices it was given, so an optimiser may change those in place.
// A graph is not safe for concurrent use.
type graph[T float] struct {
	batch, in int
	vm        G.VM
	x, y, w   *G.Node
	xs        []T // (batch, in)
	ys, ws    []T // (batch)
	cost      G.Value
	logits    G.Value
	grads     [4]G.Value // of w1, b1, w2, b2
}

// building serialises construction: Gorgonia keeps global pools of nodes.
var building sync.Mutex

// newGraph builds and compiles the graph for params w1 (in, hidden), b1 (hidden),
// w2 (hidden), b2 (1).
func newGraph[T float](in, hidden, batch int, params [4][]T) (gr *graph[T], err error) {
	building.Lock()
	defer building.Unlock()
	defer recoverTo(&err)
	gr = &graph[T]{batch: batch, in: in, xs: make([]T, batch*in), ys: make([]T, batch), ws: make([]T, batch)}
	dt := tensor.Float32
	if _, ok := any(T(0)).(float64); ok {
		dt = tensor.Float64
	}
	g := G.NewGraph()
	// Every leaf has a name of its own: Gorgonia merges unnamed nodes of one shape.
	leaf := func(name string, data []T, rows, cols int) *G.Node {
		v := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
		return G.NewMatrix(g, dt, G.WithShape(rows, cols), G.WithName(name), G.WithValue(v))
	}
	gr.x, gr.y, gr.w = leaf("x", gr.xs, batch, in), leaf("y", gr.ys, batch, 1), leaf("w", gr.ws, batch, 1)
	w1, b1 := leaf("w1", params[0], in, hidden), leaf("b1", params[1], 1, hidden)
	w2, b2 := leaf("w2", params[2], hidden, 1), leaf("b2", params[3], 1, 1)

	h := G.Must(G.BroadcastAdd(G.Must(G.Mul(gr.x, w1)), b1, nil, []byte{0})) // (batch, hidden)
	h = G.Must(G.Rectify(h))
	z := G.Must(G.BroadcastAdd(G.Must(G.Mul(h, w2)), b2, nil, []byte{0})) // (batch, 1)
	// max(z,0) − z·y + log(1 + e^−|z|): no overflow for any logit.
	soft := G.Must(G.Log1p(G.Must(G.Exp(G.Must(G.Neg(G.Must(G.Abs(z))))))))
	bce := G.Must(G.Add(G.Must(G.Sub(G.Must(G.Rectify(z)), G.Must(G.HadamardProd(z, gr.y)))), soft))
	cost := G.Must(G.Sum(G.Must(G.HadamardProd(bce, gr.w)))) // weights sum to 1 in a batch
	grads, err := G.Grad(cost, w1, b1, w2, b2)               // the only Grad call of this graph
	if err != nil {
		return nil, fmt.Errorf("selfassess: building gradients: %w", err)
	}
	// The tape machine reuses registers: only values that are read out survive.
	outs := G.Nodes{G.Read(cost, &gr.cost), G.Read(z, &gr.logits)}
	for i, n := range grads {
		outs = append(outs, G.Read(n, &gr.grads[i]))
	}
	// Compiling for these outputs alone leaves out the gradient of x, a third of the work.
	prog, regs, err := G.CompileFunction(g, G.Nodes{gr.x, gr.y, gr.w, w1, b1, w2, b2}, outs)
	if err != nil {
		return nil, fmt.Errorf("selfassess: compiling the training graph: %w", err)
	}
	gr.vm = G.NewTapeMachine(g, G.WithPrecompiled(prog, regs))
	return gr, nil
}

// run fills rows into the batch, computes cost and gradients and resets the
// machine. fill writes row i of the batch and returns its label and weight; rows
// from n on are padding with weight 0. The returned slices are valid until the
// next run.
func (gr *graph[T]) run(n int, fill func(i int, x []T) (y, w T)) (cost T, grads [4][]T, err error) {
	defer recoverTo(&err)
	clear(gr.xs)
	clear(gr.ys)
	clear(gr.ws)
	var total T
	for i := range n {
		gr.ys[i], gr.ws[i] = fill(i, gr.xs[i*gr.in:(i+1)*gr.in])
		total += gr.ws[i]
	}
	if total <= 0 {
		return 0, grads, errors.New("selfassess: the weights of a batch sum to 0")
	}
	for i := range n {
		gr.ws[i] /= total
	}
	defer gr.vm.Reset() // without it the next RunAll would return stale values
	for _, in := range []struct {
		node *G.Node
		data []T
	}{{gr.x, gr.xs}, {gr.y, gr.ys}, {gr.w, gr.ws}} {
		v := tensor.New(tensor.WithShape(gr.batch, len(in.data)/gr.batch), tensor.WithBacking(in.data))
		if err := G.Let(in.node, v); err != nil {
			return 0, grads, fmt.Errorf("selfassess: setting the batch: %w", err)
		}
	}
	if err := gr.vm.RunAll(); err != nil {
		return 0, grads, fmt.Errorf("selfassess: running the training graph: %w", err)
	}
	for i, v := range gr.grads {
		d, err := values[T](v)
		if err != nil {
			return 0, grads, err
		}
		grads[i] = d
	}
	c, err := values[T](gr.cost)
	if err != nil {
		return 0, grads, err
	}
	return c[0], grads, nil
}

// close releases the machine.
func (gr *graph[T]) close() { _ = gr.vm.Close() }

// values reads a graph value of any rank as a flat slice.
func values[T float](v G.Value) ([]T, error) {
	if v == nil {
		return nil, errors.New("selfassess: a graph value was not computed")
	}
	switch d := v.Data().(type) {
	case []T:
		return d, nil
	case T:
		return []T{d}, nil
	}
	return nil, fmt.Errorf("selfassess: a graph value is a %T", v.Data())
}

// recoverTo turns a panic of the numeric kernels into an error.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("selfassess: training graph: %v", r)
	}
}
