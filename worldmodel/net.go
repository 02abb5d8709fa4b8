package worldmodel

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/muse-agent/muse/internal/rng"
)

// float is the element type of weights and graphs: float32 in use, float64 in the
// finite-difference tests.
type float interface{ float32 | float64 }

// layer are the weights of one affine map, block by block: w is (g, in/g, out/g)
// row-major, plain (in, out) for g = 1. With s it is followed by RMSNorm and SiLU.
type layer[T float] struct {
	name            string
	in, out, blocks int // in and out of one block
	w, b, s         []T // b and s over all blocks; s nil = affine only
}

// mlp is a stack of normed layers and an affine output.
type mlp[T float] struct {
	hidden []layer[T]
	out    layer[T]
}

// net are all weights of a model. They lie in one slice, in the order of tensors.
type net[T float] struct {
	cfg     Config
	flat    []T
	tensors []tensorInfo

	enc                 []layer[T]
	inH, inZ, inA       layer[T] // dynin 0–2
	hid, gru            layer[T] // block layers of the cell
	postH, postLogit    layer[T] // posterior from [h, token]
	prior               mlp[T]   // from h
	dec                 mlp[T]
	rew, con, psi       mlp[T]
	actor, critic, slow mlp[T] // slow is the critic's moving average
}

// tensorInfo names a range of net.flat.
type tensorInfo struct {
	name   string
	shape  []int
	at, n  int
	group  group
	fan    int     // fan-in of a weight; 0 for biases and scales
	gain   float64 // scale of the initial weights
	isNorm bool    // starts at 1
}

// group says which loss trains a tensor.
type group int

const (
	groupModel group = iota
	groupActor
	groupCritic
	groupSlow
)

// newNet lays out and allocates the weights, all zero.
func newNet[T float](cfg Config) *net[T] {
	// Two passes over the same walk: the first counts, the second cuts slices.
	n := &net[T]{cfg: cfg}
	n.walk()
	total := 0
	for _, t := range n.tensors {
		total += t.n
	}
	n.flat, n.tensors = make([]T, total), nil
	n.walk()
	return n
}

// walk visits every tensor in a fixed order and sets the layers to its slices.
func (n *net[T]) walk() {
	c, at := n.cfg, 0
	grp := groupModel
	cut := func(name string, fan int, gain float64, norm bool, shape ...int) []T {
		size := 1
		for _, d := range shape {
			size *= d
		}
		n.tensors = append(n.tensors, tensorInfo{name, shape, at, size, grp, fan, gain, norm})
		at += size
		if n.flat == nil {
			return nil
		}
		return n.flat[at-size : at : at]
	}
	affine := func(name string, in, out, blocks int, gain float64) layer[T] {
		l := layer[T]{name: name, in: in, out: out, blocks: blocks}
		if blocks == 1 {
			l.w = cut(name+".w", in, gain, false, in, out)
		} else {
			l.w = cut(name+".w", in, gain, false, blocks, in, out)
		}
		l.b = cut(name+".b", 0, 0, false, blocks*out)
		return l
	}
	normed := func(name string, in, out, blocks int) layer[T] {
		l := affine(name, in, out, blocks, 1)
		l.s = cut(name+".scale", 0, 0, true, blocks*out)
		return l
	}
	stack := func(name string, in, units, layers int) (ls []layer[T]) {
		for i := range layers {
			ls = append(ls, normed(fmt.Sprintf("%s.%d", name, i), in, units, 1))
			in = units
		}
		return ls
	}
	head := func(name string, in, units, layers, out int, gain float64) mlp[T] {
		return mlp[T]{stack(name, in, units, layers), affine(name+".out", units, out, 1, gain)}
	}
	d, g, feat := c.Deter, c.Blocks, c.StateDim()
	n.enc = stack("enc", c.Obs+c.Grid, c.Units, c.EncLayers)
	n.inH = normed("cell.h", d, c.Hidden, 1)
	n.inZ = normed("cell.z", c.latent(), c.Hidden, 1)
	n.inA = normed("cell.a", c.Action, c.Hidden, 1)
	n.hid = normed("cell.hidden", d/g+3*c.Hidden, d/g, g)
	n.gru = affine("cell.gates", d/g, 3*d/g, g, 1)
	n.postH = normed("post.0", d+c.Units, c.Hidden, 1)
	n.postLogit = affine("post.out", c.Hidden, c.latent(), 1, 1)
	n.prior = head("prior", d, c.Hidden, c.PriorLayers, c.latent(), 1)
	n.dec = head("dec", feat, c.Units, c.DecLayers, c.Obs+c.Grid, 1)
	n.rew = head("reward", feat, c.Units, c.HeadLayers, c.rewardOut(), 0)
	n.con = head("continue", feat, c.Units, c.HeadLayers, 1, 1)
	if c.Quantiles > 0 {
		n.psi = head("psi", feat, c.Units, c.HeadLayers, c.Quantiles, 0)
	}
	grp = groupActor
	n.actor = head("actor", feat, c.Units, c.PolicyLayers, 2*c.Action, 0.01)
	grp = groupCritic
	n.critic = head("critic", feat, c.Units, c.PolicyLayers, c.Bins, 0)
	grp = groupSlow
	n.slow = head("slow", feat, c.Units, c.PolicyLayers, c.Bins, 0)
}

// size is the number of trained parameters; the slow critic is a copy and not counted.
func (n *net[T]) size() int {
	total := 0
	for _, t := range n.tensors {
		if t.group != groupSlow {
			total += t.n
		}
	}
	return total
}

// span returns the slice of a tensor.
func (n *net[T]) span(t tensorInfo) []T { return n.flat[t.at : t.at+t.n] }

// init draws the weights: normal, cut off at two deviations, with standard
// deviation 1.1368·gain/√fan-in before the cut; biases 0, norms 1 (DreamerV3).
// Every tensor has a stream of its own name.
func (n *net[T]) init(seed uint64) {
	for _, t := range n.tensors {
		w := n.span(t)
		switch {
		case t.isNorm:
			for i := range w {
				w[i] = 1
			}
		case t.fan > 0 && t.gain > 0:
			r := rng.New(seed, "init", t.name)
			sd := 1.1368 * t.gain / math.Sqrt(float64(t.fan))
			for i := range w {
				w[i] = T(sd * truncNormal(r))
			}
		}
	}
	n.copySlow()
}

// copySlow makes the slow critic equal to the critic.
func (n *net[T]) copySlow() { n.blendSlow(1) }

// blendSlow moves the slow critic towards the critic by rate.
func (n *net[T]) blendSlow(rate float64) {
	var from, to []T
	for _, t := range n.tensors {
		switch t.group {
		case groupCritic:
			if from == nil {
				from = n.flat[t.at:]
			}
		case groupSlow:
			if to == nil {
				to = n.flat[t.at:]
			}
		}
	}
	// The slow critic is last in flat and laid out like the critic.
	k := T(rate)
	for i := range to {
		to[i] += k * (from[i] - to[i])
	}
}

// truncNormal draws a standard normal value within ±2.
func truncNormal(r *rand.Rand) float64 {
	for {
		if x := r.NormFloat64(); math.Abs(x) <= 2 {
			return x
		}
	}
}
