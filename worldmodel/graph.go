package worldmodel

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// graph is one Gorgonia graph over the weights of net with its gradients in grad. It
// is not safe for concurrent use; graphs of different nets are independent.
type graph[T float] struct {
	net, grad *net[T]
	g         *G.ExprGraph
	vm        G.VM
	inputs    G.Nodes
	lets      []let
	weights   map[string]*G.Node
	params    G.Nodes // the weights that the graph uses, in order of use
	names     []string

	losses  []string
	terms   G.Nodes
	scales  []T
	values  []G.Value // of each loss
	cost    G.Value
	readers []G.Value // of the gradients
}

type let struct {
	node  *G.Node
	value *tensor.Dense
}

func beginGraph[T float](n, grad *net[T]) *graph[T] {
	return &graph[T]{net: n, grad: grad, g: G.NewGraph(), weights: map[string]*G.Node{}}
}

// leaf is an input of rows × cols over data, which the caller fills before a run.
func (gr *graph[T]) leaf(name string, rows, cols int, data []T) *G.Node {
	v := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	n := G.NewMatrix(gr.g, dtype[T](), G.WithShape(rows, cols), G.WithName(name), G.WithValue(v))
	gr.inputs = append(gr.inputs, n)
	gr.lets = append(gr.lets, let{n, v})
	return n
}

// weight is the node of a named tensor; a graph uses each tensor once.
func (gr *graph[T]) weight(name string) *G.Node {
	if gr.weights[name] != nil {
		panic("weight " + name + " is used twice in one graph")
	}
	for _, t := range gr.net.tensors {
		if t.name == name {
			v := tensor.New(tensor.WithShape(t.shape...), tensor.WithBacking(gr.net.span(t)))
			n := G.NewTensor(gr.g, dtype[T](), len(t.shape), G.WithShape(t.shape...), G.WithName(name), G.WithValue(v))
			gr.weights[name] = n
			gr.params = append(gr.params, n)
			gr.names = append(gr.names, name)
			gr.inputs = append(gr.inputs, n)
			return n
		}
	}
	panic("no weight " + name)
}

// layerWeights are the nodes of a layer's tensors.
func (gr *graph[T]) layerWeights(l *layer[T]) G.Nodes {
	ns := G.Nodes{gr.weight(l.name + ".w"), gr.weight(l.name + ".b")}
	if l.s != nil {
		ns = append(ns, gr.weight(l.name+".scale"))
	}
	return ns
}

// layer applies l to the columns [col, col+in) of x: one node. The gradient of x is
// left out if x is an input.
func (gr *graph[T]) layer(l, gl *layer[T], x *G.Node, col int) *G.Node {
	in := append(G.Nodes{x}, gr.layerWeights(l)...)
	rows, ldx, width := x.Shape()[0], x.Shape()[1], l.out*l.blocks
	diff := []bool{!x.IsVar() || x.Op() != nil, true, true}
	own := [][]T{nil, gl.w, gl.b}
	if l.s != nil {
		diff, own = append(diff, true), append(own, gl.s)
	}
	f := newFused(l.name, rows, width, in, diff, own)
	back := func(in [][]T, gy []T) {
		var gx []T
		if diff[0] {
			gx = f.gs[0]
			if ldx != l.in*l.blocks {
				clear(gx)
			}
			gx = gx[col:]
		}
		l.affineBack(rows, in[0][col:], ldx, gy, 0, gx, ldx, f.gs[1], f.gs[2])
	}
	if l.s == nil {
		f.forward = func(in [][]T) { l.affine(rows, in[0][col:], ldx, f.outs) }
		f.backward = back
	} else {
		cache, pre := newNormCache[T](rows, width), make([]T, rows*width)
		f.forward = func(in [][]T) { l.normed(rows, in[0][col:], ldx, f.outs, cache) }
		f.backward = func(in [][]T, gy []T) {
			clear(f.gs[3])
			l.normBack(rows, gy, cache, pre, f.gs[3])
			back(in, pre)
		}
	}
	return G.Must(G.ApplyOp(f, in...))
}

// head applies a whole stack with its output layer.
func (gr *graph[T]) head(m, gm *mlp[T], x *G.Node, col int) *G.Node {
	for i := range m.hidden {
		x = gr.layer(&m.hidden[i], &gm.hidden[i], x, col)
		col = 0
	}
	return gr.layer(&m.out, &gm.out, x, col)
}

// loss adds a scalar term. compute reads the inputs, fills one gradient for each
// differentiable input and returns the loss; the backward pass scales them by the
// term's weight.
func (gr *graph[T]) loss(name string, scale T, in G.Nodes, diff []bool, compute func(in, g [][]T) T) {
	f := newFused[T](name, 1, 1, in, diff, nil)
	raw := make([][]T, len(in))
	for i, g := range f.gs {
		raw[i] = make([]T, len(g))
	}
	f.forward = func(in [][]T) { f.outs[0] = compute(in, raw) }
	f.backward = func(_ [][]T, gy []T) {
		for i, g := range f.gs {
			for j, v := range raw[i] {
				g[j] = gy[0] * v
			}
		}
	}
	gr.losses = append(gr.losses, name)
	gr.scales = append(gr.scales, scale)
	gr.terms = append(gr.terms, G.Must(G.ApplyOp(f, in...)))
}

// compile sums the losses, differentiates once and builds the machine.
func (gr *graph[T]) compile(name string) error {
	cost := G.Must(G.ApplyOp(&total[T]{name: name, weights: gr.scales}, gr.terms...))
	grads, err := G.Grad(cost, gr.params...) // the only Grad call of this graph
	if err != nil {
		return fmt.Errorf("worldmodel: building gradients of %s: %w", name, err)
	}
	// The tape machine reuses registers: only values that are read out survive.
	gr.values, gr.readers = make([]G.Value, len(gr.terms)), make([]G.Value, len(grads))
	outs := G.Nodes{G.Read(cost, &gr.cost)}
	for i, n := range gr.terms {
		outs = append(outs, G.Read(n, &gr.values[i]))
	}
	for i, n := range grads {
		outs = append(outs, G.Read(n, &gr.readers[i]))
	}
	prog, regs, err := G.CompileFunction(gr.g, gr.inputs, outs)
	if err != nil {
		return fmt.Errorf("worldmodel: compiling %s: %w", name, err)
	}
	gr.vm = G.NewTapeMachine(gr.g, G.WithPrecompiled(prog, regs))
	return nil
}

// run computes the losses of the filled leaves and leaves the gradients in gr.grad.
func (gr *graph[T]) run() (cost T, err error) {
	defer recoverTo(&err)
	defer gr.vm.Reset() // without it the next RunAll would return stale values
	for _, l := range gr.lets {
		if err := G.Let(l.node, l.value); err != nil {
			return 0, fmt.Errorf("worldmodel: setting a batch: %w", err)
		}
	}
	if err := gr.vm.RunAll(); err != nil {
		return 0, fmt.Errorf("worldmodel: running the graph: %w", err)
	}
	for i, v := range gr.readers {
		d, err := values[T](v)
		if err != nil {
			return 0, fmt.Errorf("gradient of %s: %w", gr.names[i], err)
		}
		// A tensor is used once, so its gradient is the buffer of its operation.
		if want := gr.gradient(gr.names[i]); &d[0] != &want[0] {
			copy(want, d)
		}
	}
	c, err := values[T](gr.cost)
	if err != nil {
		return 0, err
	}
	return c[0], nil
}

// gradient is the slice of a tensor's gradient.
func (gr *graph[T]) gradient(name string) []T {
	for _, t := range gr.grad.tensors {
		if t.name == name {
			return gr.grad.span(t)
		}
	}
	panic("no weight " + name)
}

// lossOf is the value of a named term in the last run.
func (gr *graph[T]) lossOf(name string) float64 {
	for i, n := range gr.losses {
		if n == name {
			if d, err := values[T](gr.values[i]); err == nil {
				return float64(d[0])
			}
		}
	}
	return 0
}

func (gr *graph[T]) close() { _ = gr.vm.Close() }
