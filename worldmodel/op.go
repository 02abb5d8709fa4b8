package worldmodel

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"sync"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fused is an operation of a Gorgonia graph with a hand-written forward and backward
// pass. Its buffers are allocated once, with the graph.
//
// Gorgonia's operations are functions of one result, so the backward pass is an
// operation of its own that fills all gradients (fusedBack), and one more operation a
// gradient hands it on (fusedPick). None of them writes into its inputs, and each
// has a name of its own, as Gorgonia merges nodes whose hashes are equal.
type fused[T float] struct {
	name  string
	out   *tensor.Dense
	outs  []T
	grads []*tensor.Dense // one an input; nil where no gradient is wanted
	gs    [][]T
	// forward reads in and fills outs. backward reads in, outs and gy = ∂L/∂outs
	// and fills gs.
	forward  func(in [][]T)
	backward func(in [][]T, gy []T)
	in       [][]T // scratch
}

// newFused makes an operation with a result of rows × cols. inputs are the nodes it
// will be applied to; those with diff get a gradient buffer, or the one given in own.
func newFused[T float](name string, rows, cols int, inputs G.Nodes, diff []bool, own [][]T) *fused[T] {
	f := &fused[T]{name: name, outs: make([]T, rows*cols), grads: make([]*tensor.Dense, len(inputs)),
		gs: make([][]T, len(inputs)), in: make([][]T, len(inputs)+2)}
	f.out = tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(f.outs))
	for i, n := range inputs {
		if !diff[i] {
			continue
		}
		if own != nil && own[i] != nil {
			f.gs[i] = own[i]
		} else {
			f.gs[i] = make([]T, n.Shape().TotalSize())
		}
		f.grads[i] = tensor.New(tensor.WithShape(n.Shape().Clone()...), tensor.WithBacking(f.gs[i]))
	}
	return f
}

// values views the inputs of an operation as slices.
func (f *fused[T]) values(in []G.Value) ([][]T, error) {
	for i, v := range in {
		d, err := values[T](v)
		if err != nil {
			return nil, fmt.Errorf("input %d of %s: %w", i, f.name, err)
		}
		f.in[i] = d
	}
	return f.in[:len(in)], nil
}

func (f *fused[T]) Arity() int { return len(f.grads) }

func (f *fused[T]) Type() hm.Type {
	return opType(len(f.grads), G.TensorType{Dims: 2, Of: dtype[T]()})
}

func (f *fused[T]) InferShape(...G.DimSizer) (tensor.Shape, error) { return f.out.Shape(), nil }

func (f *fused[T]) Do(in ...G.Value) (G.Value, error) {
	v, err := f.values(in)
	if err != nil {
		return nil, err
	}
	f.forward(v)
	return f.out, nil
}

func (f *fused[T]) ReturnsPtr() bool      { return false }
func (f *fused[T]) CallsExtern() bool     { return false }
func (f *fused[T]) OverwritesInput() int  { return -1 }
func (f *fused[T]) String() string        { return f.name }
func (f *fused[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, f.name) }
func (f *fused[T]) Hashcode() uint32      { return hashOf(f.name) }

// DiffWRT implements gorgonia.SDOp.
func (f *fused[T]) DiffWRT(int) []bool {
	d := make([]bool, len(f.grads))
	for i, g := range f.grads {
		d[i] = g != nil
	}
	return d
}

// SymDiff implements gorgonia.SDOp.
func (f *fused[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	args := append(append(G.Nodes{}, in...), out, grad)
	done, err := G.ApplyOp(&fusedBack[T]{fused: f, token: tensor.New(tensor.WithShape(1, 1), tensor.WithBacking(make([]T, 1)))}, args...)
	if err != nil {
		return nil, err
	}
	gs := make(G.Nodes, len(in))
	for i := range in {
		if f.grads[i] == nil {
			continue
		}
		if gs[i], err = G.ApplyOp(&fusedPick[T]{fused: f, i: i}, done); err != nil {
			return nil, err
		}
	}
	return gs, nil
}

// fusedBack runs the backward pass; its result only orders the picks after it.
type fusedBack[T float] struct {
	*fused[T]
	token *tensor.Dense
}

func (b *fusedBack[T]) Arity() int { return len(b.grads) + 2 }
func (b *fusedBack[T]) Type() hm.Type {
	return opType(len(b.grads)+2, G.TensorType{Dims: 2, Of: dtype[T]()})
}
func (b *fusedBack[T]) InferShape(...G.DimSizer) (tensor.Shape, error) { return b.token.Shape(), nil }
func (b *fusedBack[T]) Do(in ...G.Value) (G.Value, error) {
	v, err := b.values(in)
	if err != nil {
		return nil, err
	}
	b.backward(v[:len(v)-2], v[len(v)-1])
	return b.token, nil
}
func (b *fusedBack[T]) String() string        { return b.name + " backward" }
func (b *fusedBack[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, b.String()) }
func (b *fusedBack[T]) Hashcode() uint32      { return hashOf(b.String()) }
func (b *fusedBack[T]) DiffWRT(n int) []bool  { return make([]bool, n) }
func (b *fusedBack[T]) SymDiff(G.Nodes, *G.Node, *G.Node) (G.Nodes, error) {
	return nil, errors.New("worldmodel: no second derivatives")
}

// fusedPick returns the gradient of input i.
type fusedPick[T float] struct {
	*fused[T]
	i int
}

func (p *fusedPick[T]) Arity() int { return 1 }
func (p *fusedPick[T]) Type() hm.Type {
	return opType(1, G.TensorType{Dims: p.grads[p.i].Dims(), Of: dtype[T]()})
}
func (p *fusedPick[T]) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return p.grads[p.i].Shape(), nil
}
func (p *fusedPick[T]) Do(...G.Value) (G.Value, error) { return p.grads[p.i], nil }
func (p *fusedPick[T]) String() string                 { return fmt.Sprintf("%s gradient %d", p.name, p.i) }
func (p *fusedPick[T]) WriteHash(h hash.Hash)          { fmt.Fprint(h, p.String()) }
func (p *fusedPick[T]) Hashcode() uint32               { return hashOf(p.String()) }
func (p *fusedPick[T]) DiffWRT(n int) []bool           { return make([]bool, n) }
func (p *fusedPick[T]) SymDiff(G.Nodes, *G.Node, *G.Node) (G.Nodes, error) {
	return nil, errors.New("worldmodel: no second derivatives")
}

// total is the weighted sum of scalar losses, the one cost of a graph.
type total[T float] struct {
	name    string
	weights []T
}

func (s *total[T]) Arity() int                                     { return len(s.weights) }
func (s *total[T]) Type() hm.Type                                  { return opType(len(s.weights), dtype[T]()) }
func (s *total[T]) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }
func (s *total[T]) Do(in ...G.Value) (G.Value, error) {
	var sum T
	for i, v := range in {
		d, err := values[T](v)
		if err != nil {
			return nil, err
		}
		sum += s.weights[i] * d[0]
	}
	if is32[T]() {
		return G.NewF32(float32(sum)), nil
	}
	return G.NewF64(float64(sum)), nil
}
func (s *total[T]) ReturnsPtr() bool      { return false }
func (s *total[T]) CallsExtern() bool     { return false }
func (s *total[T]) OverwritesInput() int  { return -1 }
func (s *total[T]) String() string        { return s.name }
func (s *total[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, s.name) }
func (s *total[T]) Hashcode() uint32      { return hashOf(s.name) }
func (s *total[T]) DiffWRT(n int) []bool {
	d := make([]bool, n)
	for i := range d {
		d[i] = true
	}
	return d
}
func (s *total[T]) SymDiff(in G.Nodes, _, _ *G.Node) (gs G.Nodes, err error) {
	for i, n := range in {
		// The total is the root: its own gradient is 1.
		w := tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]T{s.weights[i]}))
		gs = append(gs, G.NewMatrix(n.Graph(), dtype[T](), G.WithShape(1, 1), G.WithName(fmt.Sprintf("%s weight %d", s.name, i)), G.WithValue(w)))
	}
	return gs, nil
}

// opType is the type of an operation of n arguments of any kind.
func opType(n int, result hm.Type) hm.Type {
	t := make([]hm.Type, 0, n+1)
	for i := range n {
		t = append(t, hm.TypeVariable('α'+rune(i))) // 'b' is Gorgonia's own
	}
	return hm.NewFnType(append(t, result)...)
}

func dtype[T float]() tensor.Dtype {
	if is32[T]() {
		return tensor.Float32
	}
	return tensor.Float64
}

func hashOf(name string) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, name)
	return h.Sum32()
}

// values reads a graph value of any rank as a flat slice.
func values[T float](v G.Value) ([]T, error) {
	if v == nil {
		return nil, errors.New("worldmodel: a graph value was not computed")
	}
	switch d := v.Data().(type) {
	case []T:
		return d, nil
	case T:
		return []T{d}, nil
	}
	return nil, fmt.Errorf("worldmodel: a graph value is a %T", v.Data())
}

// building serialises construction: Gorgonia keeps global pools of nodes.
var building sync.Mutex

// recoverTo turns a panic of the numeric kernels into an error.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("worldmodel: training graph: %v", r)
	}
}
