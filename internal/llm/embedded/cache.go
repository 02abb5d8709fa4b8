//go:build cgo && native

package embedded

import "sync/atomic"

const (
	// block is the granularity of prefix buffers in tokens. The graph sees the whole
	// buffer, its tail masked: equal lengths then always mean equal arithmetic.
	block = 64
	// suffixBlock is the same for the suffixes of continuations.
	suffixBlock = 32
	// masked is added to the scores of positions that hold nothing.
	masked = -1e9
)

// cache holds the keys and values of a prefix. Forks share it until one writes.
type cache struct {
	kv     [][]float32 // 2·layers buffers [kvHeads, size, headDim]: k0, v0, k1, v1, …
	mask   []float32   // [size], additive
	len    int         // tokens held
	size   int         // tokens of room, a multiple of block
	shared atomic.Bool
}

func newCache(s Spec, size int) *cache {
	c := &cache{kv: make([][]float32, 2*s.Layers), mask: make([]float32, size), size: size}
	for i := range c.kv {
		c.kv[i] = make([]float32, s.KVHeads*size*s.HeadDim)
	}
	for i := range c.mask {
		c.mask[i] = masked
	}
	return c
}

// writable returns a cache that holds the same, has room for n more tokens and
// belongs to the caller alone.
func (c *cache) writable(s Spec, n int) *cache {
	size := (c.len + n + block - 1) / block * block
	if !c.shared.Load() && size <= c.size {
		return c
	}
	d := newCache(s, max(size, c.size))
	d.len = c.len
	for i, src := range c.kv {
		for h := range s.KVHeads {
			copy(d.kv[i][h*d.size*s.HeadDim:], src[h*c.size*s.HeadDim:][:c.len*s.HeadDim])
		}
	}
	copy(d.mask, c.mask[:c.len])
	return d
}

// put appends n tokens from fresh buffers [kvHeads, width, headDim] (width ≥ n).
func (c *cache) put(s Spec, fresh [][]float32, n, width int) {
	for i, src := range fresh {
		for h := range s.KVHeads {
			copy(c.kv[i][(h*c.size+c.len)*s.HeadDim:], src[h*width*s.HeadDim:][:n*s.HeadDim])
		}
	}
	for i := range n {
		c.mask[c.len+i] = 0
	}
	c.len += n
}
