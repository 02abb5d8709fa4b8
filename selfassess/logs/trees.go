package logs

import (
	"math"
	"slices"

	"github.com/muse-agent/muse/internal/rng"
)

// Trees are gradient-boosted regression trees for the logistic loss (Friedman 2001)
// with histograms of at most 64 values a count: the reader of a row's counts.
type Trees struct {
	Base  float64  `json:"base"` // logit of the base rate
	Nodes [][]Node `json:"trees"`
}

// Node is an inner node or, with Feature −1, a leaf.
type Node struct {
	Feature int     `json:"f"`
	Limit   float32 `json:"l,omitempty"` // x ≤ Limit goes to Left, else to Left+1
	Left    int     `json:"n,omitempty"`
	Value   float64 `json:"v,omitempty"` // of a leaf: what is added to the logit
}

// TreeConfig are the settings of [FitTrees].
type TreeConfig struct {
	Trees     int     `json:"trees"`
	Depth     int     `json:"depth"`
	Rate      float64 `json:"rate"`       // shrinkage
	L2        float64 `json:"l2"`         // on leaf values
	MinWeight float64 `json:"min_weight"` // least weight of a leaf
	// Rows and Columns are the shares that each tree sees, drawn by Seed (stochastic
	// boosting, Friedman 2002); 0 means all.
	Rows    float64 `json:"rows"`
	Columns float64 `json:"columns"`
	Seed    uint64  `json:"seed"`
}

// DefaultTrees returns the settings that are used everywhere: usual ones. Slower steps and
// shares of rows and columns came from one comparison of two settings on the published
// logs (docs/logs.md); nothing else was searched for.
func DefaultTrees() TreeConfig {
	return TreeConfig{Trees: 200, Depth: 4, Rate: 0.05, L2: 5, MinWeight: 20, Rows: 0.7, Columns: 0.5, Seed: 1}
}

const maxBins = 64

// Logit is the sum of all trees for one row of counts.
func (t *Trees) Logit(x []float32) float64 {
	z := t.Base
	for _, tree := range t.Nodes {
		z += leaf(tree, x)
	}
	return z
}

// limits returns the ascending upper bounds of the bins of one column.
func limits(col []float32) []float32 {
	s := slices.Clone(col)
	slices.Sort(s)
	u := slices.Compact(slices.Clone(s))
	if len(u) <= maxBins {
		return u
	}
	out := make([]float32, 0, maxBins)
	for b := 1; b <= maxBins; b++ {
		v := s[len(s)*b/maxBins-1]
		if len(out) == 0 || v > out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}

type sums struct{ g, h, w float64 }

// FitTrees fits rows x (n, features) with labels y in [0,1] and weights w. Equal
// arguments give equal trees.
func FitTrees(x [][]float32, y, w []float64, c TreeConfig) *Trees {
	n, features := len(x), len(x[0])
	edges, bins := make([][]float32, features), make([][]uint8, features)
	col := make([]float32, n)
	for f := range features {
		for i := range x {
			col[i] = x[i][f]
		}
		edges[f] = limits(col)
		bins[f] = make([]uint8, n)
		for i := range x {
			k, _ := slices.BinarySearch(edges[f], col[i])
			bins[f][i] = uint8(min(k, len(edges[f])-1))
		}
	}
	var sw, sy float64
	for i := range y {
		sw += w[i]
		sy += w[i] * y[i]
	}
	p := (sy + 0.5) / (sw + 1)
	t := &Trees{Base: math.Log(p / (1 - p))}
	z := make([]float64, n)
	for i := range z {
		z[i] = t.Base
	}
	b := &booster{c: c, bins: bins, edges: edges, g: make([]float64, n), h: make([]float64, n), w: w}
	rows, rest := make([]int32, 0, n), make([]int32, 0, n)
	for k := range c.Trees {
		r := rng.New(c.Seed, "tree", k)
		rows, rest = rows[:0], rest[:0]
		for i := range z {
			p := sigmoid(z[i])
			b.g[i], b.h[i] = w[i]*(y[i]-p), w[i]*p*(1-p)
			if c.Rows <= 0 || c.Rows >= 1 || r.Float64() < c.Rows {
				rows = append(rows, int32(i))
			} else {
				rest = append(rest, int32(i))
			}
		}
		b.columns = r.Perm(features)
		if c.Columns > 0 && c.Columns < 1 {
			b.columns = b.columns[:max(1, int(math.Ceil(c.Columns*float64(features))))]
		}
		slices.Sort(b.columns) // ties between columns go to the first
		b.nodes = []Node{{}}
		b.grow(0, rows, c.Depth, z)
		t.Nodes = append(t.Nodes, b.nodes)
		for _, i := range rest {
			z[i] += leaf(b.nodes, x[i])
		}
	}
	return t
}

// leaf is the value of the leaf that x falls into.
func leaf(tree []Node, x []float32) float64 {
	i := 0
	for tree[i].Feature >= 0 {
		n := &tree[i]
		i = n.Left
		if x[n.Feature] > n.Limit {
			i++
		}
	}
	return tree[i].Value
}

type booster struct {
	c       TreeConfig
	bins    [][]uint8
	edges   [][]float32
	g, h, w []float64
	columns []int // that the present tree may split on
	nodes   []Node
}

// grow splits node at on rows, or makes it a leaf and adds its value to z.
func (b *booster) grow(at int, rows []int32, depth int, z []float64) {
	var all sums
	for _, i := range rows {
		all.g += b.g[i]
		all.h += b.h[i]
		all.w += b.w[i]
	}
	f, bin := -1, 0
	if depth > 0 && all.w >= 2*b.c.MinWeight {
		f, bin = b.best(rows, all)
	}
	if f < 0 {
		v := b.c.Rate * all.g / (all.h + b.c.L2)
		b.nodes[at] = Node{Feature: -1, Value: v}
		for _, i := range rows {
			z[i] += v
		}
		return
	}
	// A stable partition keeps sums, and so bytes, independent of the splits above.
	left, right := make([]int32, 0, len(rows)), make([]int32, 0, len(rows))
	for _, i := range rows {
		if int(b.bins[f][i]) <= bin {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	l := len(b.nodes)
	b.nodes[at] = Node{Feature: f, Limit: b.edges[f][bin], Left: l}
	b.nodes = append(b.nodes, Node{}, Node{})
	b.grow(l, left, depth-1, z)
	b.grow(l+1, right, depth-1, z)
}

// best finds the split with the largest gain, −1 when none gains.
func (b *booster) best(rows []int32, all sums) (feature, bin int) {
	score := func(s sums) float64 { return s.g * s.g / (s.h + b.c.L2) }
	parent, top := score(all), 1e-9
	feature = -1
	var hist [maxBins]sums
	for _, f := range b.columns {
		bins, k := b.bins[f], len(b.edges[f])
		if k < 2 {
			continue
		}
		clear(hist[:k])
		for _, i := range rows {
			s := &hist[bins[i]]
			s.g += b.g[i]
			s.h += b.h[i]
			s.w += b.w[i]
		}
		var l sums
		for j := range k - 1 {
			l.g += hist[j].g
			l.h += hist[j].h
			l.w += hist[j].w
			if l.w < b.c.MinWeight || all.w-l.w < b.c.MinWeight {
				continue
			}
			if gain := score(l) + score(sums{all.g - l.g, all.h - l.h, all.w - l.w}) - parent; gain > top {
				feature, bin, top = f, j, gain
			}
		}
	}
	return feature, bin
}

// sigmoid is stable for large |z|.
func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
