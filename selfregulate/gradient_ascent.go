package selfregulate

import (
	"math"
	"math/rand/v2"
)

// along writes the direction of a step at state to grad, with the norm of ∇_s Σψ, and
// returns Σψ. A second slice is scratch.
type along func(w Latent, grad, scratch, state []float32, r *rand.Rand) float64

func alongPsi(w Latent, grad, _, state []float32, _ *rand.Rand) float64 {
	return w.SuccessGradient(grad, state)
}

func alongRandom(w Latent, grad, scratch, state []float32, r *rand.Rand) float64 {
	sum := w.SuccessGradient(scratch, state)
	for i := range grad {
		grad[i] = float32(r.NormFloat64())
	}
	rescale(grad, norm(scratch))
	return sum
}

func alongValue(w Latent, grad, scratch, state []float32, _ *rand.Rand) float64 {
	sum := w.SuccessGradient(scratch, state)
	want := norm(scratch)
	w.ValueGradient(grad, state)
	rescale(grad, want)
	return sum
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// rescale gives x the norm want; a zero vector stays zero.
func rescale(x []float32, want float64) {
	n := norm(x)
	if n == 0 {
		return
	}
	k := float32(want / n)
	for i := range x {
		x[i] *= k
	}
}

// ascent is Algorithm 1 with any direction, or none.
type ascent struct {
	name  string
	cfg   GradientConfig
	w     Latent
	along along

	deter, classes int

	state, grad, scratch, moved []float32
	action, mean, std           []float32
	mean0, std0                 []float32 // policy at the state that came in
	meanB, stdB                 []float32 // policy before a gradient step
	steps                       []StateStep

	// One stream for the rollout and one for random directions, seeded anew by each
	// call: regulators that differ only in direction then imagine with the same noise.
	pcg, pcgDir *rand.PCG
	rnd, rndDir *rand.Rand
}

func newAscent(name string, cfg GradientConfig, w Latent, dir along) *ascent {
	deter, stoch, classes := w.Latents()
	mk := func(n int) []float32 { return make([]float32, n) }
	s, a := deter+stoch*classes, w.ActionDim()
	g := &ascent{name: name, cfg: cfg, w: w, along: dir, deter: deter, classes: classes,
		state: mk(s), grad: mk(s), scratch: mk(s), moved: mk(s), action: mk(a), mean: mk(a), std: mk(a), mean0: mk(a), std0: mk(a), meanB: mk(a), stdB: mk(a),
		steps: make([]StateStep, 0, cfg.Horizon), pcg: rand.NewPCG(0, 0), pcgDir: rand.NewPCG(0, 0)}
	g.rnd, g.rndDir = rand.New(g.pcg), rand.New(g.pcgDir)
	return g
}

func (g *ascent) Name() string { return g.name }

func (g *ascent) Regulate(state []float32, r *rand.Rand) Regulated {
	return g.run(state, r.Uint64())
}

// run is Algorithm 1; the numbers of its lines are in the comments.
func (g *ascent) run(state []float32, seed uint64) Regulated {
	g.pcg.Seed(seed, 1)
	g.pcgDir.Seed(seed, 2)
	w, c := g.w, g.cfg
	tr := StateTrace{Regulator: g.name, Before: w.Success(state)}
	copy(g.state, state) // 4–7: z comes from the posterior, which has seen the observation
	clear(g.moved)
	g.steps = g.steps[:0]
	w.Policy(g.state, g.mean0, g.std0)
	copy(g.mean, g.mean0)
	copy(g.std, g.std0)
	beta := c.Beta
	for range c.Horizon { // 8
		if c.Reading == Literal {
			draw(g.action, g.mean, g.std, g.rnd) // 9
			if c.Resample {
				w.Imagine(g.state, g.state, g.action, g.rnd)
			} else {
				w.Forward(g.state, g.state, g.action) // 10
			}
		}
		var st StateStep
		if g.along == nil {
			st.Before = w.Success(g.state)
			st.After = st.Before
			w.Policy(g.state, g.mean, g.std)
		} else {
			if c.Reading == Literal {
				w.Policy(g.state, g.meanB, g.stdB)
			} else {
				copy(g.meanB, g.mean)
				copy(g.stdB, g.std)
			}
			st.Before = g.along(w, g.grad, g.scratch, g.state, g.rndDir)
			if c.Unit {
				rescale(g.grad, 1)
			}
			st.Moved = g.step(float32(beta)) // 11
			st.After = w.Success(g.state)
			w.Policy(g.state, g.mean, g.std)
			st.KL = normalKL(g.meanB, g.stdB, g.mean, g.std)
			beta *= c.Anneal
		}
		tr.Gain += st.After - st.Before
		g.steps = append(g.steps, st)
	}
	tr.After = tr.Before
	if n := len(g.steps); n > 0 {
		tr.After = g.steps[n-1].After
	}
	tr.Moved = norm(g.moved)
	tr.KL = normalKL(g.mean0, g.std0, g.mean, g.std)
	tr.Steps = g.steps
	if c.Keep {
		copy(g.state, state)
	}
	return Regulated{State: g.state, Mean: g.mean, Std: g.std, Trace: tr}
}

// step adds β·grad to the state, adds what it really moved to g.moved, and returns its length.
func (g *ascent) step(beta float32) float64 {
	copy(g.scratch, g.state)
	for i, v := range g.grad {
		g.state[i] += beta * v
	}
	if g.cfg.Project {
		project(g.state[g.deter:], g.classes)
	}
	sum := 0.0
	for i, v := range g.state {
		d := v - g.scratch[i]
		g.moved[i] += d
		sum += float64(d) * float64(d)
	}
	return math.Sqrt(sum)
}

// project makes each group of z a distribution again.
func project(z []float32, classes int) {
	for at := 0; at < len(z); at += classes {
		g := z[at : at+classes]
		var sum float32
		for j, v := range g {
			g[j] = max(v, 0)
			sum += g[j]
		}
		if sum > 0 {
			for j := range g {
				g[j] /= sum
			}
		}
	}
}

func draw(action, mean, std []float32, r *rand.Rand) {
	for i := range action {
		action[i] = mean[i] + std[i]*float32(r.NormFloat64())
	}
}

// normalKL is KL(N(m0, s0) ‖ N(m1, s1)) over independent numbers, in nats.
func normalKL(m0, s0, m1, s1 []float32) float64 {
	kl := 0.0
	for i := range m0 {
		a, b, d := float64(s0[i]), float64(s1[i]), float64(m0[i])-float64(m1[i])
		kl += math.Log(b/a) + (a*a+d*d)/(2*b*b) - 0.5
	}
	return max(kl, 0) // rounding
}

// noise is the control that changes the policy as much as ψ would, in a direction that
// knows nothing: it shifts the mean of the unregulated policy until the KL is that of the
// ψ step.
type noise struct {
	name      string
	base, psi *ascent
}

func (n *noise) Name() string { return n.name }

func (n *noise) Regulate(state []float32, r *rand.Rand) Regulated {
	seed := r.Uint64()
	out := n.base.run(state, seed)
	ref := n.psi.run(state, seed)
	want := normalKL(out.Mean, out.Std, ref.Mean, ref.Std)
	// For equal deviations KL = Σ (δ/σ)²/2: a random direction in units of σ.
	dir := n.psi.action
	for i := range dir {
		dir[i] = float32(r.NormFloat64())
	}
	rescale(dir, math.Sqrt(2*want))
	for i := range dir {
		out.Mean[i] += dir[i] * out.Std[i]
	}
	out.Trace.KL = normalKL(n.base.mean0, n.base.std0, out.Mean, out.Std)
	return out
}
