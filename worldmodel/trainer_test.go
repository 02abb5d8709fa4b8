package worldmodel

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// little is a configuration that learns toys in seconds.
func little(obs, action int) Config {
	c, _ := Preset("debug")
	c.Obs, c.Action = obs, action
	c.Deter, c.Hidden, c.Units, c.Stoch, c.Classes, c.Blocks, c.Bins, c.BinLimit = 32, 24, 24, 4, 6, 1, 21, 5
	c.EncLayers, c.DecLayers, c.PolicyLayers = 1, 1, 2
	c.Batch, c.Length, c.Horizon, c.Starts = 8, 8, 6, 16
	c.LR, c.Warmup = 3e-3, 20
	return c
}

// learns marks tests that train for seconds; with -short, and so under the race
// detector, they are left out.
func learns(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("trains for seconds")
	}
}

func trainerOf(t *testing.T, c Config, seed uint64) *Trainer {
	t.Helper()
	m, err := New(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTrainer(m, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// episodes fills a replay with episodes of a toy: play returns step t of an episode after
// action a.
func episodes(t *testing.T, r *Replay, n, length int, rnd *rand.Rand, play func(t int, a []float32) (obs []float32, reward float32)) {
	t.Helper()
	for range n {
		a := make([]float32, r.cfg.Action)
		for i := range length {
			obs, reward := play(i, a)
			if err := r.Add(0, Step{Obs: obs, Action: a, Reward: reward, First: i == 0, Last: i == length-1}); err != nil {
				t.Fatal(err)
			}
			for j := range a {
				a[j] = float32(2*rnd.Float64() - 1)
			}
		}
	}
}

// TestOverfitOneBatch trains on one batch of random numbers: reconstruction, reward and
// ψ must go to almost nothing.
func TestOverfitOneBatch(t *testing.T) {
	learns(t)
	c := little(3, 2)
	c.Batch, c.Length = 4, 4
	c.FreeNats = 4 // leave the latents room: noise can't be predicted
	c.Quantiles = 2
	tr := trainerOf(t, c, 1)
	r := rng.New(1, "batch")
	tr.model.fill(r)
	for i := range tr.model.mask {
		tr.model.mask[i] = 1
	}
	var first, last Metrics
	for i := range 300 {
		for j := range tr.model.u {
			tr.model.u[j] = r.Float32()
		}
		m, err := tr.learn(r, learned{tr.sim})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = m
		}
		last = m
	}
	t.Logf("first %+v", first)
	t.Logf("last  %+v", last)
	if last.Reconstruction > 0.1*first.Reconstruction || last.Reward > 0.1*first.Reward || last.Psi > 0.1*first.Psi {
		t.Errorf("one batch is not overfitted: %+v, at first %+v", last, first)
	}
}

// TestDelayedCue is the pairing test: the observation shows the action before it, and the
// reward is 1 where the action two steps ago was positive. With actions or rewards shifted
// by one, neither can be learned, since actions are independent.
func TestDelayedCue(t *testing.T) {
	learns(t)
	c := little(1, 1)
	c.Quantiles = 0
	r, err := NewReplay(c, 1, 2000)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rng.New(2, "cue")
	var before float32
	episodes(t, r, 100, 10, rnd, func(i int, a []float32) ([]float32, float32) {
		reward := float32(0)
		if i >= 2 && before > 0 {
			reward = 1
		}
		before = a[0]
		return []float32{a[0]}, reward
	})
	tr := trainerOf(t, c, 3)
	rec, rew := 0.0, 0.0
	const n, tail = 300, 40
	for i := range n {
		m, err := tr.Update(r)
		if err != nil {
			t.Fatal(err)
		}
		if i >= n-tail {
			rec += m.Reconstruction / tail
			rew += m.Reward / tail
		}
	}
	// A blind guess leaves the variance: 1/3 less the symlog for the observation, about
	// 0.12 (¼·ln²2) for the reward.
	t.Logf("reconstruction %.4f, reward %.4f", rec, rew)
	if rec > 0.05 || rew > 0.04 {
		t.Errorf("the cue is not learned: reconstruction %g, reward %g", rec, rew)
	}
}

// TestBorders: a sequence that crosses a border gives the state of a fresh start after
// it, and no gradient flows back over it.
func TestBorders(t *testing.T) {
	c := toy()
	m, _ := New(c, 1)
	r := rng.New(8, "borders")
	randomise(m.net, r)
	g, err := newModelGraph(m.net, newNet[float32](c), c.Batch, c.Length)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	g.fill(r)
	clear(g.first)
	b, f, w := c.Batch, c.StateDim(), g.scan.width()
	for i := range b {
		g.first[2*b+i] = 1
	}
	run := func() []float32 {
		if _, err := g.run(); err != nil {
			t.Fatal(err)
		}
		return append([]float32(nil), g.out.outs[2*b*w:]...)
	}
	want := run()
	// Whatever came before, the steps from the border on are the same.
	for i := range 2 * b * (c.Obs + c.Grid) {
		g.obs[i] += 1
	}
	for i := range g.h0 {
		g.h0[i] -= 1
	}
	for i := range 3 * b * c.Action { // the action into the first step too
		g.act[i] += 0.5
	}
	for i, v := range run() {
		if v != want[i] {
			t.Fatalf("number %d of the second episode depends on the first: %g, %g", i, v, want[i])
		}
	}
	// And they are what a Sim computes from nothing.
	s, state := m.NewSim(), make([]float32, f)
	row := 2*b + 1
	for i := range state {
		state[i] = 9
	}
	clear(state)
	copy(s.u, g.u[row*c.Stoch:(row+1)*c.Stoch])
	copy(s.in, g.obs[row*(c.Obs+c.Grid):])
	s.advance(1, state, state, g.act[row*c.Action:(row+1)*c.Action], true)
	s.posterior(1, state)
	for j, v := range state {
		if math.Abs(float64(v-g.out.outs[row*w+j])) > 1e-5 {
			t.Fatalf("state %d at the border is %g, a fresh start gives %g", j, g.out.outs[row*w+j], v)
		}
	}
	// Gradient: with losses after the border only, the encoder sees nothing of before.
	gtok, gout := make([]float32, b*c.Length*c.Units), make([]float32, len(g.out.outs))
	for i := 2 * b * w; i < len(gout); i++ {
		gout[i] = 1
	}
	tok := make([]float32, len(gtok))
	g.scan.forward(tok, g.act, g.first, g.h0, g.z0, g.u, g.out.outs)
	g.scan.backward(tok, g.out.outs, g.first, gout, gtok, newNet[float32](c))
	after := 0.0
	for i, v := range gtok {
		if i < 2*b*c.Units && v != 0 {
			t.Fatalf("the loss of the second episode has a gradient in the first: %g", v)
		}
		after += math.Abs(float64(v))
	}
	if after == 0 {
		t.Error("no gradient at all: the test shows nothing")
	}
}

// point is a known world: a point on a line moves by 0.3 times its bounded action; the
// reward is 1 − |x|. The state begins with x and 1 (a norm layer sees only the direction of
// its input).
type point struct{ f int }

func (p point) imagine(_ *rand.Rand, n int, next, state, action []float32) {
	for i := range n {
		x := state[i*p.f] + 0.3*min(max(action[i], -1), 1)
		clear(next[i*p.f : (i+1)*p.f])
		next[i*p.f], next[i*p.f+1] = min(max(x, -2), 2), 1
	}
}

func (p point) judge(n int, state, reward, cont []float32) {
	for i := range n {
		reward[i] = 1 - abs(state[i*p.f])
		cont[i] = 0.9
	}
}

// TestKnownDynamics trains actor and critic alone, with the true world in place of the
// model: the actor must learn to go to the middle and stay.
func TestKnownDynamics(t *testing.T) {
	learns(t)
	c := little(1, 1)
	c.Starts, c.Quantiles = 32, 0
	tr := trainerOf(t, c, 5)
	world := point{c.StateDim()}
	r := rng.New(5, "point")
	f, w := c.StateDim(), tr.model.scan.width()
	s := tr.m.NewSim()
	score := func() (total float64) {
		mean, std, state := make([]float32, 1), make([]float32, 1), make([]float32, f)
		for start := -2.0; start <= 2; start += 0.25 {
			state[0], state[1] = float32(start), 1
			for range 12 {
				s.Policy(state, mean, std)
				world.imagine(nil, 1, state, state, mean)
			}
			total += math.Abs(float64(state[0])) / 17
		}
		return total
	}
	before := score()
	for range 400 {
		for row := range tr.model.rows() {
			clear(tr.model.out.outs[row*w : row*w+f])
			tr.model.out.outs[row*w], tr.model.out.outs[row*w+1] = float32(4*r.Float64()-2), 1
		}
		clear(tr.grad.flat)
		var m Metrics
		if err := tr.behave(r, world, &m); err != nil {
			t.Fatal(err)
		}
		tr.opt.update(tr.m.net, tr.grad)
		tr.m.net.blendSlow(c.SlowRate)
	}
	after := score()
	t.Logf("distance from the middle after 12 steps: %.3f at first, %.3f trained", before, after)
	if before < 0.5 || after > 0.25 {
		t.Errorf("the actor goes to %.3f from the middle (at first %.3f)", after, before)
	}
	// The critic knows that the middle is worth about 1/(1−0.9) and the edge less.
	state := make([]float32, f)
	state[1] = 1
	middle := s.Value(state)
	state[0] = 2
	if edge := s.Value(state); middle < edge+1 || middle > 12 {
		t.Errorf("value of the middle %g, of the edge %g", middle, edge)
	}
}

// TestDiverged: a loss that is not finite stops training before any weight changes.
func TestDiverged(t *testing.T) {
	c := little(1, 1)
	r, _ := NewReplay(c, 1, 200)
	rnd := rng.New(6, "nan")
	episodes(t, r, 8, 10, rnd, func(i int, a []float32) ([]float32, float32) { return []float32{a[0]}, 1 })
	tr := trainerOf(t, c, 6)
	if _, err := tr.Update(r); err != nil {
		t.Fatal(err)
	}
	good := append([]float32(nil), tr.m.net.flat...)
	at := tr.m.net.rew.out.w
	old := at[0]
	at[0] = float32(math.NaN())
	_, err := tr.Update(r)
	if !errors.Is(err, ErrDiverged) {
		t.Fatalf("a NaN weight: %v, want ErrDiverged", err)
	}
	at[0] = old
	for i, v := range tr.m.net.flat {
		if v != good[i] {
			t.Fatalf("weight %d changed in a failed update", i)
		}
	}
	if tr.Updates() != 1 || tr.opt.step != 1 {
		t.Errorf("%d updates, %d steps of the optimiser, want 1", tr.Updates(), tr.opt.step)
	}
	if _, err := tr.Update(r); err != nil {
		t.Errorf("training does not go on after the repair: %v", err)
	}
	if err := r.Add(0, Step{Obs: []float32{float32(math.Inf(1))}, First: true}); !errors.Is(err, ErrReplay) {
		t.Errorf("an infinite observation: %v, want ErrReplay", err)
	}
}
