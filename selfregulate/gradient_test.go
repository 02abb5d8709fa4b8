package selfregulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
)

// bowl is a Latent with closed forms: Σψ = 1 − |s−goal|²/10 near the goal, value = s·1,
// policy mean = first numbers of s, f moves h by the action.
type bowl struct {
	goal []float32
	flat bool // ψ is saturated: no gradient
}

func (b bowl) Latents() (int, int, int) { return 2, 1, 2 }
func (b bowl) ActionDim() int           { return 2 }
func (b bowl) Policy(s, mean, std []float32) {
	for i := range mean {
		mean[i], std[i] = s[i], 0.5
	}
}
func (b bowl) Forward(next, s, a []float32) {
	copy(next, s)
	for i := range a {
		next[i] += 0.1 * a[i]
	}
}
func (b bowl) Imagine(next, s, a []float32, r *rand.Rand) {
	b.Forward(next, s, a)
	k := r.IntN(2)
	next[2], next[3] = float32(1-k), float32(k)
}
func (b bowl) Success(s []float32) float64 {
	sum := 1.0
	for i, v := range s {
		sum -= float64((v-b.goal[i])*(v-b.goal[i])) / 10
	}
	return sum
}
func (b bowl) SuccessGradient(g, s []float32) float64 {
	for i, v := range s {
		g[i] = -2 * (v - b.goal[i]) / 10
		if b.flat {
			g[i] = 0
		}
	}
	return b.Success(s)
}
func (b bowl) ValueGradient(g, s []float32) float64 {
	for i := range g {
		g[i] = 1
	}
	return 0
}

func regulator(t *testing.T, name string, cfg selfregulate.GradientConfig, w selfregulate.Latent) selfregulate.StateRegulator {
	t.Helper()
	r, err := selfregulate.NewStateRegulator(name, cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func inPlace() selfregulate.GradientConfig {
	c := selfregulate.DefaultGradient()
	c.Reading = selfregulate.InPlace
	return c
}

// TestInPlaceByHand follows the steps s ← s + β∇Σψ of a quadratic, whose closed form is a
// geometric approach to the goal.
func TestInPlaceByHand(t *testing.T) {
	w := bowl{goal: []float32{1, -1, .5, .5}}
	c := inPlace()
	c.Beta = 0.5
	state := []float32{0, 0, 1, 0}
	out := regulator(t, selfregulate.StatePsi, c, w).Regulate(state, rng.New(1, "r"))
	keep := math.Pow(1-c.Beta/5, float64(c.Horizon))
	moved := 0.0
	for i, s0 := range []float64{0, 0, 1, 0} {
		g := float64(w.goal[i])
		want := g + (s0-g)*keep
		moved += (want - s0) * (want - s0)
		if math.Abs(float64(out.State[i])-want) > 1e-5 {
			t.Errorf("s[%d] = %g, want %g", i, out.State[i], want)
		}
	}
	tr := out.Trace
	if math.Abs(tr.Moved-math.Sqrt(moved)) > 1e-5 || len(tr.Steps) != c.Horizon {
		t.Errorf("moved %g in %d steps, want %g", tr.Moved, len(tr.Steps), math.Sqrt(moved))
	}
	if math.Abs(tr.Gain-(tr.After-tr.Before)) > 1e-6 || tr.Gain <= 0 || math.Abs(tr.After-w.Success(out.State)) > 1e-6 {
		t.Errorf("gain %g from %g to %g", tr.Gain, tr.Before, tr.After)
	}
	// π is N(s, ½): the KL is ‖Δmean‖²/(2·¼).
	d := math.Hypot(float64(out.Mean[0]), float64(out.Mean[1]))
	if math.Abs(tr.KL-2*d*d) > 1e-4 {
		t.Errorf("KL %g, want %g", tr.KL, 2*d*d)
	}
	if state[2] != 1 || state[0] != 0 {
		t.Error("the state that came in was changed")
	}
}

// TestLiteral: line 10 overwrites h, so without a gradient the state is that of Horizon
// imagined steps and z stays where it was.
func TestLiteral(t *testing.T) {
	w := bowl{goal: []float32{0, 0, 0, 0}}
	state := []float32{1, 2, 1, 0}
	c := selfregulate.DefaultGradient()
	none := regulator(t, selfregulate.StateNone, c, w).Regulate(state, rng.New(2, "r"))
	if none.Trace.Moved != 0 || none.Trace.Gain != 0 || none.State[2] != 1 || none.State[3] != 0 || none.State[0] == 1 {
		t.Errorf("no gradient: %v, %+v", none.State, none.Trace)
	}
	h0 := none.State[0]
	psi := regulator(t, selfregulate.StatePsi, c, w).Regulate(state, rng.New(2, "r"))
	if psi.Trace.Moved == 0 || psi.Trace.Gain <= 0 || psi.State[2] >= 1 {
		t.Errorf("with gradient: %v, %+v", psi.State, psi.Trace)
	}
	if psi.Trace.Moved > c.Beta*float64(c.Horizon)*1 { // ‖∇‖ < 1 here
		t.Errorf("moved %g", psi.Trace.Moved)
	}
	// The same noise: the two rollouts differ by the small steps only.
	if math.Abs(float64(psi.State[0]-h0)) > 0.2 {
		t.Errorf("rollouts of one seed end at %g and %g", h0, psi.State[0])
	}
	c.Resample = true
	if re := regulator(t, selfregulate.StateNone, c, w).Regulate(state, rng.New(2, "r")); re.State[2]+re.State[3] != 1 {
		t.Errorf("resampled z %v", re.State[2:])
	}
}

// TestControls: each control moves as far as ψ would, in its own direction.
func TestControls(t *testing.T) {
	w := bowl{goal: []float32{1, -1, .5, .5}}
	c := inPlace()
	c.Horizon = 1
	state := []float32{0.3, 0.2, 1, 0}
	run := func(name string) selfregulate.Regulated {
		return regulator(t, name, c, w).Regulate(state, rng.New(3, "r"))
	}
	psi := run(selfregulate.StatePsi)
	for _, name := range []string{selfregulate.StateRandom, selfregulate.StateValue} {
		if got := run(name); math.Abs(got.Trace.Moved-psi.Trace.Moved) > 1e-6 || got.Trace.Gain >= psi.Trace.Gain {
			t.Errorf("%s moved %g and gained %g; ψ %g and %g", name, got.Trace.Moved, got.Trace.Gain, psi.Trace.Moved, psi.Trace.Gain)
		}
	}
	off, none, noisy := run(selfregulate.StateOff), run(selfregulate.StateNone), run(selfregulate.StateNoise)
	for i, v := range state {
		if off.State[i] != v || none.State[i] != v || noisy.State[i] != v {
			t.Error("off, none and noise must leave the state where it is")
		}
	}
	if off.Trace.KL != 0 || len(off.Trace.Steps) != 0 {
		t.Errorf("off: %+v", off.Trace)
	}
	if psi.Trace.KL == 0 || math.Abs(noisy.Trace.KL-psi.Trace.KL) > 1e-3*psi.Trace.KL {
		t.Errorf("noise has KL %g, ψ %g", noisy.Trace.KL, psi.Trace.KL)
	}
	if noisy.Mean[0] == none.Mean[0] {
		t.Error("noise did not move the action")
	}
	// A saturated ψ moves nothing, and the trace says so; so do the controls of equal norm.
	w.flat = true
	for _, name := range []string{selfregulate.StatePsi, selfregulate.StateRandom, selfregulate.StateValue, selfregulate.StateNoise} {
		if got := run(name); got.Trace.Moved != 0 || got.Trace.KL != 0 {
			t.Errorf("%s with a flat ψ: %+v", name, got.Trace)
		}
	}
}

func TestGradientOptions(t *testing.T) {
	w := bowl{goal: []float32{3, 3, 3, -3}}
	state := []float32{0, 0, .5, .5}
	c := inPlace()
	c.Unit, c.Beta, c.Anneal, c.Horizon = true, 0.1, 0.5, 3
	out := regulator(t, selfregulate.StatePsi, c, w).Regulate(state, rng.New(4, "r"))
	for i, want := range []float64{0.1, 0.05, 0.025} {
		if math.Abs(out.Trace.Steps[i].Moved-want) > 1e-6 {
			t.Errorf("step %d moved %g, want %g", i, out.Trace.Steps[i].Moved, want)
		}
	}
	c.Project, c.Beta = true, 2
	out = regulator(t, selfregulate.StatePsi, c, w).Regulate(state, rng.New(4, "r"))
	if z := out.State[2:]; z[0] < 0 || z[1] < 0 || math.Abs(float64(z[0]+z[1])-1) > 1e-6 {
		t.Errorf("projected z %v", z)
	}
	c.Keep = true
	out = regulator(t, selfregulate.StatePsi, c, w).Regulate(state, rng.New(4, "r"))
	if out.State[0] != 0 || out.Mean[0] == 0 {
		t.Errorf("keep must carry the old state %v and act from the new one %v", out.State, out.Mean)
	}
	if _, err := selfregulate.NewStateRegulator("rnadom", c, w); err == nil || !strings.Contains(err.Error(), `"random"?`) {
		t.Errorf("no hint: %v", err)
	}
	c.Beta, c.Reading, c.Anneal = -1, "", 2
	if _, err := selfregulate.NewStateRegulator("psi", c, w); err == nil || strings.Count(err.Error(), "selfregulate:") != 3 {
		t.Errorf("want three problems: %v", err)
	}
}

func TestStateRegulatorsAllocateNothing(t *testing.T) {
	w := bowl{goal: []float32{1, -1, .5, .5}}
	state, r := []float32{0, 0, 1, 0}, rng.New(5, "r")
	for _, name := range selfregulate.StateNames() {
		g := regulator(t, name, selfregulate.DefaultGradient(), w)
		if n := testing.AllocsPerRun(10, func() { g.Regulate(state, r) }); n != 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
}

// TestPlanner: from a state whose goal is reached by acting (+1, −1), plans end nearer to
// it than the actor's own and the action points there.
func TestPlanner(t *testing.T) {
	w := bowl{goal: []float32{1, -1, .5, .5}}
	p, err := selfregulate.NewPlanner(selfregulate.DefaultPlan(), w)
	if err != nil {
		t.Fatal(err)
	}
	state := []float32{0, 0, 1, 0}
	out := p.Regulate(state, rng.New(6, "r"))
	if out.Mean[0] < 0.1 || out.Mean[1] > -0.1 || out.Trace.After <= out.Trace.Before || out.Trace.KL <= 0 {
		t.Errorf("action %v, trace %+v", out.Mean, out.Trace)
	}
	first := append([]float32(nil), out.Mean...)
	if again := p.Regulate(state, rng.New(6, "r")); again.Mean[0] != first[0] || again.Mean[1] != first[1] {
		t.Errorf("the same seed gives %v, then %v", first, again.Mean)
	}
	if out.State[0] != 0 || out.State[2] != 1 {
		t.Error("planning must not move the state")
	}
	r := rng.New(7, "r")
	if n := testing.AllocsPerRun(5, func() { p.Regulate(state, r) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if _, err := selfregulate.NewPlanner(selfregulate.PlanConfig{Plans: 1, Elite: 2}, w); err == nil || strings.Count(err.Error(), "selfregulate:") != 2 {
		t.Errorf("want two problems: %v", err)
	}
}

// TestRollouts: the same futures are imagined, the best ends nearer to the goal than the
// lowest, the state stays, nothing is allocated.
func TestRollouts(t *testing.T) {
	w := bowl{goal: []float32{1, -1, .5, .5}}
	c := selfregulate.DefaultRollouts()
	c.Futures, c.Horizon, c.Spread = 16, 1, 1
	state := []float32{0, 0, 1, 0}
	got := map[string]selfregulate.Regulated{}
	for _, name := range selfregulate.RolloutNames() {
		g, err := selfregulate.NewRollouts(name, c, w)
		if err != nil {
			t.Fatal(err)
		}
		out := g.Regulate(state, rng.New(6, "r"))
		if out.State[0] != 0 || out.State[2] != 1 || g.Name() != name || out.Trace.Regulator != name {
			t.Errorf("%s: state %v, trace %+v", name, out.State, out.Trace)
		}
		got[name] = out
		r := rng.New(7, "r")
		if n := testing.AllocsPerRun(5, func() { g.Regulate(state, r) }); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
	best, mid, low := got[selfregulate.RolloutsBest], got[selfregulate.RolloutsRandom], got[selfregulate.RolloutsLowest]
	if !(best.Trace.After >= mid.Trace.After && mid.Trace.After >= low.Trace.After && best.Trace.After > low.Trace.After) || best.Mean[0] <= low.Mean[0] {
		t.Errorf("best %+v\nrandom %+v\nlowest %+v", best, mid, low)
	}
	c.Margin = 100 // more than ψ can gain
	careful, err := selfregulate.NewRollouts(selfregulate.RolloutsBest, c, w)
	if err != nil {
		t.Fatal(err)
	}
	if out := careful.Regulate(state, rng.New(6, "r")); out.Trace.KL != 0 {
		t.Errorf("within the margin: %+v", out)
	}
	held := c
	held.Margin, held.Horizon, held.Hold, held.Spread = 0, 3, 3, 0.5
	h, err := selfregulate.NewRollouts(selfregulate.RolloutsBest, held, w)
	if err != nil {
		t.Fatal(err)
	}
	out := h.Regulate(state, rng.New(6, "r"))
	dream := append([]float32(nil), state...)
	for range held.Hold {
		w.Imagine(dream, dream, out.Mean, rng.New(8, "unused"))
	}
	if got := w.Success(dream); got != out.Trace.After {
		t.Errorf("the held action leads to Σψ %g, the future was scored %g", got, out.Trace.After)
	}
	c.Margin = 0
	c.Futures = 1 // the actor's own way alone
	g, err := selfregulate.NewRollouts(selfregulate.RolloutsBest, c, w)
	if err != nil {
		t.Fatal(err)
	}
	mean, std := make([]float32, 2), make([]float32, 2)
	w.Policy(state, mean, std)
	if out := g.Regulate(state, rng.New(6, "r")); out.Mean[0] != mean[0] || out.Trace.KL != 0 {
		t.Errorf("one future: %+v, the actor's mean is %v", out, mean)
	}
	c.Futures, c.Spread = 0, math.NaN()
	if _, err := selfregulate.NewRollouts(selfregulate.RolloutsBest, c, w); err == nil || strings.Count(err.Error(), "selfregulate:") != 2 {
		t.Errorf("want two problems: %v", err)
	}
	if _, err := selfregulate.NewRollouts("rollouts/worst", selfregulate.DefaultRollouts(), w); err == nil || !strings.Contains(err.Error(), "rollouts/best") {
		t.Errorf("no hint: %v", err)
	}
}

func ExampleNewStateRegulator() {
	w := bowl{goal: []float32{1, -1, .5, .5}} // in use, a simulator of package worldmodel
	cfg := selfregulate.DefaultGradient()
	cfg.Reading = selfregulate.InPlace
	g, err := selfregulate.NewStateRegulator(selfregulate.StatePsi, cfg, w)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := g.Regulate([]float32{0, 0, 1, 0}, rng.New(1, "decision"))
	fmt.Printf("%s: Σψ %.3f to %.3f, ‖Δs‖ %.3f, KL %.4f nats\n", g.Name(), out.Trace.Before, out.Trace.After, out.Trace.Moved, out.Trace.KL)
	// Output: psi/in-place: Σψ 0.750 to 0.769, ‖Δs‖ 0.062, KL 0.0062 nats
}
