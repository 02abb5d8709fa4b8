package lora

import (
	"fmt"
	"math"
)

// Constants of the network (train/embedded/model.py).
const (
	logitCap       = 15
	attentionScale = 2.4
	ropeBase       = 10_000
	epsilon        = 1e-6
)

// Weight is one matrix of the network; a row is an input: y = x·W.
type Weight struct {
	Name    string // as in the ONNX file: "qk_0", "v_0", "out_0", "up_0", "down_0", "head"
	In, Out int
	Data    []float32 // [In, Out]
}

// layer are the weights of one block, by index into Net.Weights.
type layer struct{ qk, v, out, up, down int }

// Net is the embedded model's network. Read only once made: safe for concurrent use.
type Net struct {
	Dim, Vocab, HeadDim, Heads, KVHeads int
	Weights                             []Weight // blocks in order, each qk, v, out, up, down; then the head
	embed                               [3][]float32
	layers                              []layer
	head                                int
}

// ReadNet reads the network from an ONNX file of train/embedded (graph.py says
// what is in it). headDim is the width of one attention head.
func ReadNet(graph []byte, headDim int) (*Net, error) {
	ts, err := initialisers(graph)
	if err != nil {
		return nil, err
	}
	n := &Net{HeadDim: headDim}
	get := func(name string) (Weight, error) {
		t, ok := ts[name]
		if !ok {
			return Weight{}, fmt.Errorf("lora: the ONNX file has no initialiser %q: is it a model of train/embedded?", name)
		}
		if len(t.dims) != 2 {
			return Weight{}, fmt.Errorf("lora: initialiser %q has shape %v, want two axes", name, t.dims)
		}
		data, err := t.floats()
		return Weight{Name: name, In: t.dims[0], Out: t.dims[1], Data: data}, err
	}
	for i := range n.embed {
		w, err := get(fmt.Sprintf("embed_%d", i))
		if err != nil {
			return nil, err
		}
		n.Vocab, n.Dim, n.embed[i] = w.In, w.Out, w.Data
	}
	add := func(name string) (int, error) {
		w, err := get(name)
		n.Weights = append(n.Weights, w)
		return len(n.Weights) - 1, err
	}
	for i := 0; ; i++ {
		if _, ok := ts[fmt.Sprintf("qk_%d", i)]; !ok {
			break
		}
		var l layer
		for _, p := range []struct {
			name string
			at   *int
		}{{"qk", &l.qk}, {"v", &l.v}, {"out", &l.out}, {"up", &l.up}, {"down", &l.down}} {
			if *p.at, err = add(fmt.Sprintf("%s_%d", p.name, i)); err != nil {
				return nil, err
			}
		}
		n.layers = append(n.layers, l)
	}
	if n.head, err = add("head"); err != nil {
		return nil, err
	}
	return n, n.sizes()
}

// sizes derives the numbers of heads and checks that all shapes belong together.
func (n *Net) sizes() error {
	if len(n.layers) == 0 || n.HeadDim <= 0 || n.HeadDim%2 != 0 {
		return fmt.Errorf("lora: %d blocks and heads of width %d: no network of train/embedded", len(n.layers), n.HeadDim)
	}
	l := n.layers[0]
	n.KVHeads = n.Weights[l.v].Out / n.HeadDim
	n.Heads = n.Weights[l.qk].Out/n.HeadDim - n.KVHeads
	if n.KVHeads < 1 || n.Heads < 1 || n.Heads%n.KVHeads != 0 || n.Heads*n.HeadDim != n.Dim {
		return fmt.Errorf("lora: %d query and %d key/value heads of width %d do not fit width %d", n.Heads, n.KVHeads, n.HeadDim, n.Dim)
	}
	kv, q := n.KVHeads*n.HeadDim, (n.Heads+n.KVHeads)*n.HeadDim
	for _, l := range n.layers {
		mlp := n.Weights[l.up].Out
		for _, c := range []struct{ at, in, out int }{{l.qk, n.Dim, q}, {l.v, n.Dim, kv}, {l.out, n.Dim, n.Dim}, {l.up, n.Dim, mlp}, {l.down, mlp, n.Dim}} {
			if w := n.Weights[c.at]; w.In != c.in || w.Out != c.out {
				return fmt.Errorf("lora: %s has shape [%d, %d], want [%d, %d]", w.Name, w.In, w.Out, c.in, c.out)
			}
		}
	}
	if w := n.Weights[n.head]; w.In != n.Dim || w.Out != n.Vocab {
		return fmt.Errorf("lora: head has shape [%d, %d], want [%d, %d]", w.In, w.Out, n.Dim, n.Vocab)
	}
	return nil
}

// Layers is the number of blocks.
func (n *Net) Layers() int { return len(n.layers) }

// rms writes x/√(mean(x²)+ε) of each row [rows, d] to y, and the factors to scale.
func rms(y, x []float32, d int, scale []float32) {
	for r := range len(x) / d {
		xs, ys := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		var sum float32
		for _, v := range xs {
			sum += v * v
		}
		s := float32(1 / math.Sqrt(float64(sum/float32(d))+epsilon))
		scale[r] = s
		for i, v := range xs {
			ys[i] = v * s
		}
	}
}

// rmsBack turns g, the gradient of y = rms(x), into that of x, in place:
// dx = scale·(g − y·(g·y)/d).
func rmsBack(g, y []float32, d int, scale []float32) {
	for r := range len(g) / d {
		gs, ys := g[r*d:(r+1)*d], y[r*d:(r+1)*d]
		var dot float32
		for i, v := range gs {
			dot += v * ys[i]
		}
		dot /= float32(d)
		for i := range gs {
			gs[i] = scale[r] * (gs[i] - ys[i]*dot)
		}
	}
}

// rope is the table of cos and sin, [T, hd/2] each.
func rope(t, headDim int) (cos, sin []float32) {
	half := headDim / 2
	cos, sin = make([]float32, t*half), make([]float32, t*half)
	for j := range half {
		f := math.Pow(ropeBase, -float64(2*j)/float64(headDim))
		for p := range t {
			s, c := math.Sincos(float64(p) * f)
			cos[p*half+j], sin[p*half+j] = float32(c), float32(s)
		}
	}
	return cos, sin
}

// rotate turns each of the heads of x [T, heads, hd]; sign −1 turns back.
func rotate(y, x []float32, heads, hd int, cos, sin []float32, sign float32) {
	half := hd / 2
	for r := range len(x) / hd {
		p := r / heads
		c, s := cos[p*half:(p+1)*half], sin[p*half:(p+1)*half]
		xs, ys := x[r*hd:(r+1)*hd], y[r*hd:(r+1)*hd]
		for j := range half {
			a, b := xs[j], xs[j+half]
			ys[j], ys[j+half] = a*c[j]-sign*b*s[j], b*c[j]+sign*a*s[j]
		}
	}
}
