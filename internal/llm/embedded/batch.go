//go:build cgo && native

package embedded

import (
	"fmt"

	"github.com/muse-agent/muse/internal/onnx"
)

// minRows is the smallest number of rows (continuations, or tokens of a prefix)
// in one run. With ONNX Runtime 1.24 one row gives the same bits alone as among
// others, as the weights are packed and every product takes the same kernel
// (TestRowsAreIndependent). Should a library use a matrix-vector path for a
// single row, 2 restores that at little cost.
const minRows = 1

// batch is the scratch space of one running call: buffers and tensor headers
// are reused from step to step and from call to call.
type batch struct {
	spec    Spec
	rows, n int // rows and new tokens a row
	width   int // suffix tokens of room

	ids            []int64     // [rows, n+2]
	pos            []int64     // [1]; on its own, as cgo may not see the struct's pointers
	suffixMask     []float32   // [width]
	suffix         [][]float32 // 2·layers of [rows, kvHeads, width, headDim]
	fresh          [][]float32 // 2·layers of [rows, kvHeads, n, headDim]
	logits, hidden []float32   // [rows, n, vocab], [rows, n, d]
	in, out        []onnx.Tensor
	dims           []int64 // backing of all shapes

	sampler sampler
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(s[:cap(s)], make([]T, n-cap(s))...)
	}
	return s[:n]
}

// shape sets the sizes of the next runs. Contents of suffix buffers stay only if
// rows shrink and width is unchanged; see widen.
func (b *batch) shape(rows, n, width int) {
	s := b.spec
	b.rows, b.n, b.width = rows, n, width
	b.ids = grow(b.ids, rows*(n+2))
	b.logits = grow(b.logits, rows*n*s.Vocab)
	b.hidden = grow(b.hidden, rows*n*s.Dim)
	b.suffixMask = grow(b.suffixMask, width)
	for i := range b.fresh {
		b.fresh[i] = grow(b.fresh[i], rows*s.KVHeads*n*s.HeadDim)
		b.suffix[i] = grow(b.suffix[i], rows*s.KVHeads*width*s.HeadDim)
	}
}

// widen makes room for more suffix tokens and keeps the first used ones.
func (b *batch) widen(width, used int) {
	s, old := b.spec, b.width
	b.width = width
	b.suffixMask = grow(b.suffixMask, width)
	for i := used; i < width; i++ {
		b.suffixMask[i] = masked
	}
	blocks := b.rows * s.KVHeads
	for i := range b.suffix {
		buf := grow(b.suffix[i], blocks*width*s.HeadDim)
		for r := blocks - 1; r >= 0; r-- { // from behind: the blocks move apart
			to := buf[r*width*s.HeadDim : (r+1)*width*s.HeadDim]
			copy(to, buf[r*old*s.HeadDim:][:used*s.HeadDim])
			clear(to[used*s.HeadDim:])
		}
		b.suffix[i] = buf
	}
}

// keep moves row from to row to.
func (b *batch) keep(to, from int) {
	if to == from {
		return
	}
	n := b.spec.KVHeads * b.width * b.spec.HeadDim
	for i := range b.suffix {
		copy(b.suffix[i][to*n:(to+1)*n], b.suffix[i][from*n:(from+1)*n])
	}
}

// push appends the fresh keys and values (n = 1) at suffix position at.
func (b *batch) push(at int) {
	hd := b.spec.HeadDim
	for i := range b.suffix {
		for r := range b.rows * b.spec.KVHeads {
			copy(b.suffix[i][(r*b.width+at)*hd:][:hd], b.fresh[i][r*hd:][:hd])
		}
	}
	b.suffixMask[at] = 0
}

// run computes logits, hidden and fresh for ids, over a prefix and the suffixes.
// pos is the position of the first new token.
func (b *batch) run(net *onnx.Session, prefix *cache, pos int) error {
	s := b.spec
	b.pos[0] = int64(pos)
	b.dims = b.dims[:0]
	shape := func(d ...int) []int64 {
		from := len(b.dims)
		for _, x := range d {
			b.dims = append(b.dims, int64(x))
		}
		return b.dims[from:len(b.dims):len(b.dims)]
	}
	if cap(b.dims) < 64+24*s.Layers {
		b.dims = make([]int64, 0, 64+24*s.Layers)
	}
	b.in[0] = onnx.Tensor{Shape: shape(b.rows, b.n+2), I64: b.ids}
	b.in[1] = onnx.Tensor{Shape: shape(1), I64: b.pos}
	b.in[2] = onnx.Tensor{Shape: shape(prefix.size), F32: prefix.mask}
	b.in[3] = onnx.Tensor{Shape: shape(b.width), F32: b.suffixMask}
	b.out[0] = onnx.Tensor{Shape: shape(b.rows, b.n, s.Vocab), F32: b.logits}
	b.out[1] = onnx.Tensor{Shape: shape(b.rows, b.n, s.Dim), F32: b.hidden}
	pre := shape(1, s.KVHeads, prefix.size, s.HeadDim)
	suf := shape(b.rows, s.KVHeads, b.width, s.HeadDim)
	fresh := shape(b.rows, s.KVHeads, b.n, s.HeadDim)
	for i := range b.suffix {
		b.in[4+2*i] = onnx.Tensor{Shape: pre, F32: prefix.kv[i]}
		b.in[5+2*i] = onnx.Tensor{Shape: suf, F32: b.suffix[i]}
		b.out[2+i] = onnx.Tensor{Shape: fresh, F32: b.fresh[i]}
	}
	if err := net.Run(b.in, b.out); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}
