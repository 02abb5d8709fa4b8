package worldmodel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/muse-agent/muse/internal/rng"
)

// ErrDiverged is matched when training must stop: a loss or gradient is not finite, or
// a loss has exploded. The weights are those before the failed update.
var ErrDiverged = errors.New("worldmodel: training diverged")

// Metrics describes one update. Losses are those before it.
type Metrics struct {
	Update         int     `json:"update"` // from 1
	Loss           float64 `json:"loss"`   // of the world model, weighted
	Reconstruction float64 `json:"reconstruction"`
	Reward         float64 `json:"reward"`
	Continue       float64 `json:"continue"`
	Psi            float64 `json:"psi"`    // Σ of the N cross-entropies, over all rows
	KL             float64 `json:"kl"`     // nats, before free bits
	Actor          float64 `json:"actor"`  // loss
	Critic         float64 `json:"critic"` // loss
	Entropy        float64 `json:"entropy"`
	Imitation      float64 `json:"imitation,omitempty"` // loss, weighted
	Return         float64 `json:"return"`              // mean imagined λ-return
	Value          float64 `json:"value"`               // mean imagined value
	Range          float64 `json:"range"`               // that scales advantages
	GradNorm       float64 `json:"grad_norm"`
}

// Trainer trains a model from a replay. It is not safe for concurrent use; several
// trainers of different models may run side by side. Equal models, seeds, replays and
// numbers of updates give equal bytes.
type Trainer struct {
	m       *Model
	seed    uint64
	updates int
	returns float64 // moving range of the returns
	usual   float64 // running mean of the world-model loss, for Diverge
	opt     *optimizer
	grad    *net[float32]
	model   *modelGraph[float32]
	policy  *policyGraph[float32]
	sim     *Sim // of rollouts
	roll    *rollout
	starts  []int
	replays *Sim // one state at a time, for values of replayed steps
	boot    []float32
}

// NewTrainer prepares the training of m, which it changes in place. seed decides about
// all draws.
func NewTrainer(m *Model, seed uint64) (*Trainer, error) {
	c := m.cfg
	rows := c.Batch * c.Length
	n := rows
	if c.Starts > 0 {
		n = c.Starts
	}
	t := &Trainer{m: m, seed: seed, opt: newOptimizer(c, len(m.net.flat)), grad: newNet[float32](c),
		sim: m.newSim(n), roll: newRollout(c, n), starts: make([]int, rows), replays: m.newSim(rows), boot: make([]float32, rows)}
	var err error
	if t.model, err = newModelGraph(m.net, t.grad, c.Batch, c.Length); err != nil {
		return nil, err
	}
	if t.policy, err = newPolicyGraph(m.net, t.grad, c.Horizon*n, c.Horizon*n+rows); err != nil {
		return nil, err
	}
	return t, nil
}

// Model returns the model that is trained.
func (t *Trainer) Model() *Model { return t.m }

// Updates is the number of updates done so far.
func (t *Trainer) Updates() int { return t.updates }

// SetRate trains on at a constant learning rate, whatever the Config says: for a task that
// is new to a model whose own training has ended.
func (t *Trainer) SetRate(lr float64) { t.opt.lr, t.opt.warmup, t.opt.decay = lr, 0, 0 }

// Close releases the graphs.
func (t *Trainer) Close() error {
	t.model.close()
	t.policy.close()
	return nil
}

// Update draws a batch, trains world model, actor and critic on it once, and writes
// the new latent states back into the replay. On an error that matches [ErrDiverged]
// weights and optimiser are as before.
func (t *Trainer) Update(r *Replay) (Metrics, error) { return t.UpdateMixed(r, nil, 1) }

// UpdateMixed is [Trainer.Update] with the share of the sequences, rounded, from r and
// the others from old: a new task beside the replay of the training tasks. old may be
// nil if share is 1.
func (t *Trainer) UpdateMixed(r, old *Replay, share float64) (Metrics, error) {
	c := t.m.cfg
	rnd := rng.New(t.seed, "update", t.updates)
	own := min(max(int(math.Round(share*float64(c.Batch))), 0), c.Batch)
	parts := []struct {
		r    *Replay
		n    int
		seqs []sequence
	}{{r: r, n: own}, {r: old, n: c.Batch - own}}
	at := 0
	for i := range parts {
		p := &parts[i]
		if p.n == 0 {
			continue
		}
		if p.r == nil {
			return Metrics{}, fmt.Errorf("worldmodel: %d of %d sequences come from a replay that is nil", p.n, c.Batch)
		}
		if !c.sameSizes(p.r.cfg) {
			return Metrics{}, errors.New("worldmodel: the replay was made for a model of other sizes; make it from the model's Config")
		}
		var err error
		if p.seqs, err = p.r.draw(rnd, p.n, c.Length); err != nil {
			return Metrics{}, err
		}
		p.r.load(p.seqs, t.model, at)
		at += p.n
	}
	for i := range t.model.u {
		t.model.u[i] = rnd.Float32()
	}
	m, err := t.learn(rnd, learned{t.sim})
	if err != nil {
		return m, err
	}
	at = 0
	for _, p := range parts {
		p.r.store(p.seqs, t.model, at)
		at += p.n
	}
	return m, nil
}

// sameSizes reports whether steps and states of two configurations fit each other.
func (c Config) sameSizes(o Config) bool {
	return c.Obs == o.Obs && c.Grid == o.Grid && c.Action == o.Action && c.Quantiles == o.Quantiles &&
		c.Deter == o.Deter && c.Stoch == o.Stoch && c.Classes == o.Classes && (c.Imitate > 0) == (o.Imitate > 0)
}

// learn is Update for leaves that are filled in already.
func (t *Trainer) learn(rnd *rand.Rand, d dynamics) (Metrics, error) {
	g := t.model
	cost, err := g.run()
	if err != nil {
		return Metrics{}, err
	}
	m := Metrics{Update: t.updates + 1, Loss: float64(cost), Reconstruction: g.lossOf("reconstruction"), Reward: g.lossOf("reward"),
		Continue: g.lossOf("continue"), Psi: g.lossOf("psi"), KL: float64(g.kl)}
	if err := t.healthy(m); err != nil {
		return m, err
	}
	before := t.returns
	if err := t.behave(rnd, d, &m); err != nil {
		t.returns = before
		return m, err
	}
	// A loss that is not finite has gradients that are not, which the optimiser refuses.
	if m.GradNorm = t.opt.update(t.m.net, t.grad); bad(m.GradNorm) {
		t.returns = before
		return m, t.diverged("gradient norm %g, actor loss %g, critic loss %g", m.GradNorm, m.Actor, m.Critic)
	}
	t.m.net.blendSlow(t.m.cfg.SlowRate)
	t.updates++
	t.usual += (m.Loss - t.usual) * max(0.01, 1/float64(t.updates))
	return m, nil
}

func bad(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

func (t *Trainer) diverged(format string, a ...any) error {
	return fmt.Errorf("%w in update %d: %s; the weights are those before it. Go back to the last checkpoint and lower lr (%g) or agc (%g)",
		ErrDiverged, t.updates+1, fmt.Sprintf(format, a...), t.m.cfg.LR, t.m.cfg.AGC)
}

// healthy refuses losses that are not finite or far above the usual.
func (t *Trainer) healthy(m Metrics) error {
	if bad(m.Loss) {
		return t.diverged("world-model loss %g (reconstruction %g, reward %g, continue %g, ψ %g, KL %g)", m.Loss, m.Reconstruction, m.Reward, m.Continue, m.Psi, m.KL)
	}
	if k := t.m.cfg.Diverge; k > 0 && t.updates >= 100 && m.Loss > k*t.usual {
		return t.diverged("world-model loss %g, usually %g (reconstruction %g, reward %g, continue %g, ψ %g, KL %g)", m.Loss, t.usual, m.Reconstruction, m.Reward, m.Continue, m.Psi, m.KL)
	}
	return nil
}

// behave imagines from the states of the batch and computes the gradients of actor
// and critic (DreamerV3; paper, section 3.1: horizon 15).
func (t *Trainer) behave(rnd *rand.Rand, d dynamics, m *Metrics) error {
	c, o, p := t.m.cfg, t.roll, t.policy
	f, rows, w := c.StateDim(), t.model.rows(), t.model.scan.width()
	for i := range t.starts {
		t.starts[i] = i
	}
	if o.n < rows { // a random subset, in random order
		for i := range o.n {
			j := i + rnd.IntN(rows-i)
			t.starts[i], t.starts[j] = t.starts[j], t.starts[i]
		}
	}
	for i, row := range t.starts[:o.n] {
		copy(o.states[i*f:(i+1)*f], t.model.out.outs[row*w:])
	}
	o.run(t.sim, d, rnd)

	t.returns += c.ReturnEMA * (o.spread() - t.returns)
	scale := max(1, t.returns)
	n := o.n * o.h
	copy(p.feat, o.states[:n*f])
	copy(p.act, o.actions)
	for i := range n {
		p.w[i] = o.weight[i] / float32(n)
		p.k[i] = p.w[i] * (o.ret[i] - o.value[i]) / float32(scale)
		p.ret[i], p.slow[i], p.weight[i] = o.ret[i], o.slow[i], p.w[i]
	}
	t.replayed(n)
	t.imitate()
	if _, err := p.run(); err != nil {
		return err
	}
	m.Actor, m.Critic, m.Imitation = p.lossOf("actor"), p.lossOf("critic"), p.lossOf("imitation")
	m.Entropy, m.Return, m.Value, m.Range = o.entropy, o.returns, o.val, scale
	return nil
}

// imitate fills in the expert's actions on replayed states; each has the same weight.
func (t *Trainer) imitate() {
	c, p, g := t.m.cfg, t.policy, t.model
	if c.Imitate == 0 {
		return
	}
	n := 0
	for _, has := range g.hasTarget {
		if has {
			n++
		}
	}
	copy(p.target, g.target)
	for r, has := range g.hasTarget {
		p.copied[r] = 0
		if has {
			p.copied[r] = float32(c.Imitate) / float32(n)
		}
	}
}

// replayed fills the critic's rows from n on: λ-returns along the real sequence,
// bootstrapped with the imagined return of each step (its value where none was
// imagined).
func (t *Trainer) replayed(n int) {
	c, p, g := t.m.cfg, t.policy, t.model
	f, rows, w, b := c.StateDim(), g.rows(), g.scan.width(), c.Batch
	feat := p.feat[n*f:]
	for r := range rows {
		copy(feat[r*f:(r+1)*f], g.out.outs[r*w:])
	}
	t.replays.values(&t.m.net.slow, rows, feat, p.slow[n:])
	t.replays.values(&t.m.net.critic, rows, feat, t.boot)
	for i, row := range t.starts[:t.roll.n] {
		t.boot[row] = t.roll.ret[i]
	}
	share := float32(c.ReplayVal) / float32(b*max(c.Length-1, 1))
	for r := rows - 1; r >= 0; r-- {
		next := r + b
		if next >= rows {
			p.ret[n+r], p.weight[n+r] = t.boot[r], 0 // nothing follows
			continue
		}
		after := t.boot[next]
		if next+b < rows && !g.last[next] {
			after = float32(1-c.Lambda)*t.boot[next] + float32(c.Lambda)*p.ret[n+next]
		}
		p.ret[n+r] = g.reward[next] + g.cont[next]*after
		p.weight[n+r] = share
		if g.last[r] {
			p.weight[n+r] = 0 // the next step belongs to another episode
		}
	}
}
