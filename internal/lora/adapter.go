package lora

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/rng"
)

// Targets says which matrices an adapter changes.
type Targets string

// The choices, from few to many.
const (
	TargetsHead Targets = "head" // the output layer
	TargetsLast Targets = "last" // the last block and the output layer
	TargetsAll  Targets = "all"  // every block and the output layer
)

// Options of a new adapter.
type Options struct {
	Rank    int     `json:"rank"`
	Alpha   float64 `json:"alpha"` // the update is scaled by Alpha/Rank; 0 = 2·Rank
	Targets Targets `json:"targets"`
	Seed    uint64  `json:"seed"`
}

// DefaultOptions are rank 8, alpha 16, all matrices.
func DefaultOptions() Options { return Options{Rank: 8, Alpha: 16, Targets: TargetsAll, Seed: 1} }

// maxRank is more than any matrix of the network has rows or columns to fill.
const maxRank = 256

// Validate reports all problems at once, or nil.
func (o Options) Validate() error {
	var errs []error
	if o.Rank < 1 || o.Rank > maxRank {
		errs = append(errs, fmt.Errorf("lora: rank is %d; it must lie between 1 and %d", o.Rank, maxRank))
	}
	if !(o.Alpha >= 0) || math.IsInf(o.Alpha, 0) {
		errs = append(errs, fmt.Errorf("lora: alpha is %v; it must be a finite number ≥ 0 (0 = twice the rank)", o.Alpha))
	}
	if !slices.Contains([]Targets{TargetsHead, TargetsLast, TargetsAll}, o.Targets) {
		errs = append(errs, fmt.Errorf("lora: targets is %q; it must be head, last or all", o.Targets))
	}
	return errors.Join(errs...)
}

// factor are A [in, rank] and B [rank, out] of one matrix.
type factor struct {
	name    string
	in, out int
	a, b    []float32
}

// Adapter is a low-rank change of a network. B begins at zero: a new adapter
// changes nothing. Not safe for concurrent use while it is trained.
type Adapter struct {
	Name  string // short, part of the adapted model's name: "sft", "dpo"
	Model string // hash of the base model (graph and tokenizer), as in its records
	Base  string // the base's name, for people
	Rank  int
	Alpha float64
	// Recipe is free text for people and records: command, data, settings, seed (JSON).
	Recipe  string
	factors []factor
	at      map[int]int // index in Net.Weights → factor; nil for one that was loaded
}

// New makes an adapter for a network; A is drawn with variance 1/in.
func New(n *Net, o Options) (*Adapter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Alpha == 0 {
		o.Alpha = 2 * float64(o.Rank)
	}
	ad := &Adapter{Rank: o.Rank, Alpha: o.Alpha, at: map[int]int{}}
	first := 0
	switch o.Targets {
	case TargetsHead:
		first = n.head
	case TargetsLast:
		first = n.layers[len(n.layers)-1].qk
	}
	for i := first; i < len(n.Weights); i++ {
		w := n.Weights[i]
		f := factor{name: w.Name, in: w.In, out: w.Out, a: make([]float32, w.In*o.Rank), b: make([]float32, o.Rank*w.Out)}
		r := rng.New(o.Seed, "lora", w.Name)
		for j := range f.a {
			f.a[j] = float32(r.NormFloat64() / math.Sqrt(float64(w.In)))
		}
		ad.at[i] = len(ad.factors)
		ad.factors = append(ad.factors, f)
	}
	return ad, nil
}

// bind ties a loaded adapter to a network.
func (ad *Adapter) bind(n *Net) error {
	at := map[int]int{}
	for j, f := range ad.factors {
		i := slices.IndexFunc(n.Weights, func(w Weight) bool { return w.Name == f.name })
		if i < 0 {
			return fmt.Errorf("%w: the network has no matrix %q", ErrModel, f.name)
		}
		if w := n.Weights[i]; w.In != f.in || w.Out != f.out {
			return fmt.Errorf("%w: %s is [%d, %d] in the adapter and [%d, %d] in the network", ErrModel, f.name, f.in, f.out, w.In, w.Out)
		}
		at[i] = j
	}
	ad.at = at
	return nil
}

// Targets names the matrices that are changed.
func (ad *Adapter) Targets() []string {
	var names []string
	for _, f := range ad.factors {
		names = append(names, f.name)
	}
	return names
}

// Params is the number of trained numbers.
func (ad *Adapter) Params() int {
	n := 0
	for _, f := range ad.factors {
		n += len(f.a) + len(f.b)
	}
	return n
}

// String describes the adapter in one line.
func (ad *Adapter) String() string {
	return fmt.Sprintf("%s for %s: rank %d, alpha %g, %d parameters in %s", ad.Name, ad.Base, ad.Rank, ad.Alpha, ad.Params(), strings.Join(ad.Targets(), " "))
}

func (ad *Adapter) scale() float32 { return float32(ad.Alpha / float64(ad.Rank)) }

// delta is scale·A·B, [in, out].
func (ad *Adapter) delta(f factor) []float32 {
	d := make([]float32, f.in*f.out)
	mul(false, false, f.in, f.out, ad.Rank, ad.scale(), f.a, ad.Rank, f.b, f.out, 0, d, f.out)
	return d
}

// effective are the network's weights with the adapter's added; nil adds nothing.
func (n *Net) effective(ad *Adapter) [][]float32 {
	w := make([][]float32, len(n.Weights))
	for i := range n.Weights {
		w[i] = n.Weights[i].Data
		if ad == nil {
			continue
		}
		if j, ok := ad.at[i]; ok {
			d := ad.delta(ad.factors[j])
			for k, x := range w[i] {
				d[k] += x
			}
			w[i] = d
		}
	}
	return w
}

// lowest is the first block that the adapter changes, the number of blocks for none.
func (n *Net) lowest(ad *Adapter) int {
	for i, l := range n.layers {
		for _, w := range []int{l.qk, l.v, l.out, l.up, l.down} {
			if _, ok := ad.at[w]; ok {
				return i
			}
		}
	}
	return len(n.layers)
}

// Grads are gradients of an adapter's factors, A then B of each in turn.
type Grads [][]float32

// NewGrads makes room for the gradients of an adapter.
func (ad *Adapter) NewGrads() *Grads {
	var g Grads
	for _, f := range ad.factors {
		g = append(g, make([]float32, len(f.a)), make([]float32, len(f.b)))
	}
	return &g
}

// Zero clears the gradients.
func (g *Grads) Zero() {
	for _, s := range *g {
		clear(s)
	}
}

func (g *Grads) add(o *Grads) {
	for i, s := range *g {
		for j, x := range (*o)[i] {
			s[j] += x
		}
	}
}

// AddScaled adds c times another set of gradients of the same adapter.
func (g *Grads) AddScaled(o *Grads, c float64) {
	for i, s := range *g {
		for j, x := range (*o)[i] {
			s[j] += float32(c) * x
		}
	}
}

// params are the trained numbers, in the order of Grads.
func (ad *Adapter) params() [][]float32 {
	var p [][]float32
	for _, f := range ad.factors {
		p = append(p, f.a, f.b)
	}
	return p
}

// grad adds the gradients of one matrix's factors, given its inputs x [rows, in]
// and the gradient dy [rows, out] of its outputs: dB = s·(xA)ᵀ·dy, dA = s·xᵀ·(dy·Bᵀ).
func (ad *Adapter) grad(weight int, x, dy []float32, rows int, g *Grads) {
	j, ok := ad.at[weight]
	if !ok {
		return
	}
	f, r, s := ad.factors[j], ad.Rank, ad.scale()
	low := make([]float32, rows*r)
	mul(false, false, rows, r, f.in, 1, x, f.in, f.a, r, 0, low, r)
	mul(true, false, r, f.out, rows, s, low, r, dy, f.out, 1, (*g)[2*j+1], f.out)
	mul(false, true, rows, r, f.out, 1, dy, f.out, f.b, f.out, 0, low, r)
	mul(true, false, f.in, r, rows, s, x, f.in, low, r, 1, (*g)[2*j], r)
}
