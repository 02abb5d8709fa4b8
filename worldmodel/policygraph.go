package worldmodel

import (
	"math"

	G "gorgonia.org/gorgonia"
)

// The actor's distribution is a normal with mean tanh(x) and a deviation between
// minStd and maxStd (DreamerV3's bounded normal).
const (
	minStd = 0.1
	maxStd = 1.0
)

// policyOf turns the actor's outputs x(2A) into mean and deviation (A each).
func policyOf[T float](x, mean, std []T) {
	a := len(mean)
	for j := range mean {
		mean[j] = tanh(x[j])
		std[j] = (maxStd-minStd)*sigmoid(x[a+j]+2) + minStd
	}
}

// actorLoss is Σ_rows −k·log π(a) − w·η·H[π], where k is weight·advantage and w the
// weight of a row, both already divided by the number of rows. g gets the gradient.
func actorLoss[T float](a int, x, act, k, w []T, entropy T, g []T) T {
	var sum float64
	const halfLog2Pi = 0.9189385332046727
	for r := range k {
		row, gr, ar := x[r*2*a:(r+1)*2*a], g[r*2*a:(r+1)*2*a], act[r*a:(r+1)*a]
		var logp, ent T
		for j := range a {
			m := tanh(row[j])
			sg := sigmoid(row[a+j] + 2)
			s := (maxStd-minStd)*sg + minStd
			d := (ar[j] - m) / s
			ls := log(s)
			logp -= d*d/2 + ls + halfLog2Pi
			ent += ls + 0.5 + halfLog2Pi
			gr[j] = -k[r] * d / s * (1 - m*m)
			gr[a+j] = (-k[r]*(d*d-1)/s - w[r]*entropy/s) * (maxStd - minStd) * sg * (1 - sg)
		}
		sum -= float64(k[r]*logp + w[r]*entropy*ent)
	}
	return T(sum)
}

// policyGraph is the loss of actor and critic over detached states: time-batched,
// no gradient through the rollout (REINFORCE). The first actorRows states are
// imagined and train both; the rest are replayed and train the critic only.
type policyGraph[T float] struct {
	*graph[T]
	actorRows, criticRows int

	feat   []T // (criticRows, F)
	act    []T // (actorRows, A) as sampled
	k, w   []T // (actorRows, 1) weight·advantage and weight, divided by the rows
	ret    []T // (criticRows, 1) λ-returns
	slow   []T // (criticRows, 1) the slow critic's values
	weight []T // (criticRows, 1) divided by the rows

	// Imitation: the actor sees the replayed states too. Empty without it.
	target []T // (criticRows − actorRows, A)
	copied []T // (criticRows − actorRows, 1) weights of the rows with a target
}

func newPolicyGraph[T float](n, grad *net[T], actorRows, criticRows int) (p *policyGraph[T], err error) {
	building.Lock()
	defer building.Unlock()
	defer recoverTo(&err)
	c := n.cfg
	f := c.StateDim()
	mk := func(k int) []T { return make([]T, k) }
	p = &policyGraph[T]{graph: beginGraph(n, grad), actorRows: actorRows, criticRows: criticRows,
		feat: mk(criticRows * f), act: mk(actorRows * c.Action), k: mk(actorRows), w: mk(actorRows),
		ret: mk(criticRows), slow: mk(criticRows), weight: mk(criticRows)}

	rows := actorRows
	if c.Imitate > 0 {
		rows = criticRows
	}
	x := p.head(&n.actor, &grad.actor, p.leaf("imagined", rows, f, p.feat[:rows*f]), 0)
	in := G.Nodes{x, p.leaf("action", actorRows, c.Action, p.act), p.leaf("advantage", actorRows, 1, p.k), p.leaf("weight", actorRows, 1, p.w)}
	p.loss("actor", 1, in, []bool{true, false, false, false}, func(in, g [][]T) T {
		clear(g[0][2*c.Action*actorRows:])
		return actorLoss(c.Action, in[0], in[1], in[2], in[3], T(c.Entropy), g[0])
	})
	if c.Imitate > 0 {
		k := criticRows - actorRows
		p.target, p.copied = mk(k*c.Action), mk(k)
		none := mk(k)
		at := 2 * c.Action * actorRows
		in = G.Nodes{x, p.leaf("target", k, c.Action, p.target), p.leaf("copied", k, 1, p.copied)}
		p.loss("imitation", 1, in, []bool{true, false, false}, func(in, g [][]T) T {
			clear(g[0][:at])
			return actorLoss(c.Action, in[0][at:], in[1], in[2], none, 0, g[0][at:])
		})
	}

	v := p.head(&n.critic, &grad.critic, p.leaf("states", criticRows, f, p.feat), 0)
	bins, probs := newTwoHot[T](c.Bins, c.BinLimit), mk(c.Bins)
	in = G.Nodes{v, p.leaf("return", criticRows, 1, p.ret), p.leaf("slow", criticRows, 1, p.slow), p.leaf("critic weight", criticRows, 1, p.weight)}
	p.loss("critic", 1, in, []bool{true, false, false, false}, func(in, g [][]T) T {
		clear(g[0])
		sum := 0.0
		for r, w := range in[3] {
			y, gy := in[0][r*c.Bins:(r+1)*c.Bins], g[0][r*c.Bins:(r+1)*c.Bins]
			softmax(y, c.Bins, probs)
			sum += bins.loss(y, probs, in[1][r], w, gy) + bins.loss(y, probs, in[2][r], w, gy)
		}
		return T(sum)
	})
	if err := p.compile("actor and critic"); err != nil {
		return nil, err
	}
	return p, nil
}

// normalKL is KL(N(m0, s0) ‖ N(m1, s1)) of independent numbers, in nats.
func normalKL(m0, s0, m1, s1 []float32) float64 {
	kl := 0.0
	for i := range m0 {
		a, b, d := float64(s0[i]), float64(s1[i]), float64(m0[i]-m1[i])
		kl += math.Log(b/a) + (a*a+d*d)/(2*b*b) - 0.5
	}
	return kl
}
