package gridarm

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/rng"
)

// overlap is how deep the extent around p is in a solid, 0 when it isn't.
func (s *State) overlap(p, lo, hi vec) float64 {
	worst := 0.0
	for _, b := range s.solids[:s.nSolids] {
		depth := math.Inf(1)
		for k := range 3 {
			depth = min(depth, p[k]+hi[k]-b.lo[k], b.hi[k]-p[k]-lo[k])
		}
		worst = max(worst, depth)
	}
	return worst
}

// drive plays n decisions that are random, or by the script, or long runs of one
// action, and calls check after each.
func drive(t *rapid.T, w *World, check func(a []float32, r Result)) {
	obs, a, last := make([]float32, w.ObsSize()), make([]float32, ActionSize), make([]float32, ActionSize)
	policy := Scripted(w.Task())
	w.ResetInto(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 3).Draw(t, "episode"), obs)
	r := rng.New(rapid.Uint64().Draw(t, "actions"))
	share := r.Float64()
	for !w.Over() {
		switch {
		case r.Float64() < share:
			policy(obs, a)
		case r.Float64() < .5:
			copy(a, last)
		default:
			for k := range a {
				a[k] = 2.4*r.Float32() - 1.2
			}
		}
		copy(last, a)
		res := w.StepInto(a, obs)
		check(a, res)
	}
}

// Whatever is done: the observation stays in its space, the reward between 0 and 10,
// the hand in its workspace and nothing inside a solid.
func TestNothingLeavesItsBounds(t *testing.T) {
	for _, task := range Tasks() {
		for _, o := range []Options{{TaskChannel: ChannelOneHot}, {Grid: true, StepSize: maxStepSize, MaxSteps: 60}} {
			w, err := NewWorld(task, o)
			if err != nil {
				t.Fatal(err)
			}
			low, high := bounds(w.opt)
			obs := make([]float32, w.ObsSize())
			t.Run(task.String(), rapid.MakeCheck(func(t *rapid.T) {
				drive(t, w, func(a []float32, r Result) {
					w.Observe(obs)
					seen := obs[:min(len(obs), StateSize+TrainingTaskCount+1)]
					if w.Over() {
						seen = obs // the raster too
					}
					for i, x := range seen {
						if !(x >= low[i] && x <= high[i]) {
							t.Fatalf("observation %d is %v, its space goes from %v to %v; %+v", i, x, low[i], high[i], w.s)
						}
					}
					if !(r.Reward >= 0 && r.Reward <= 10) {
						t.Fatalf("reward %v", r.Reward)
					}
					if d := w.s.overlap(w.s.Hand, handLo, handHi); d > 1e-5 {
						t.Fatalf("the hand is %v m in a solid: %+v", d, w.s)
					}
					if b := w.spec.body; b != nil {
						if d := w.s.overlap(w.s.Obj, b.lo, b.hi); d > 1e-5 {
							t.Fatalf("the %s is %v m in a solid: %+v", b.class, d, w.s)
						}
						if bottom := w.s.Obj[2] + b.lo[2]; bottom < -1e-6 {
							t.Fatalf("the %s is %v m in the table", b.class, -bottom)
						}
					}
				})
			}))
		}
	}
}

// Nothing moves a body but a touch.
func TestOnlyTouchedThingsMove(t *testing.T) {
	for _, task := range Tasks() {
		w, err := NewWorld(task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(task.String(), rapid.MakeCheck(func(t *rapid.T) {
			var before State
			drive(t, w, func(a []float32, r Result) {
				s := w.s
				j := w.spec.joint
				if before.Steps == s.Steps-1 && before.Steps > 0 && !s.Touch {
					switch {
					case j == nil && (s.Obj[0] != before.Obj[0] || s.Obj[1] != before.Obj[1]):
						t.Fatalf("untouched, the body went from %v to %v", before.Obj, s.Obj)
					case j != nil && (s.Q > before.Q || s.Q < before.Q && j.spring == 0):
						t.Fatalf("untouched, the joint went from %v to %v", before.Q, s.Q)
					}
				}
				before = s
			})
		}))
	}
}

// A state restored into another world goes on as the first did.
func TestSnapshotsAreExact(t *testing.T) {
	for _, task := range Tasks() {
		w, _ := NewWorld(task, Options{})
		v, _ := NewWorld(task, Options{})
		x, y := make([]float32, w.ObsSize()), make([]float32, w.ObsSize())
		rapid.Check(t, func(t *rapid.T) {
			v.Reset(rapid.Uint64().Draw(t, "other"), 0)
			var saved State
			saved.Task = task
			drive(t, w, func(a []float32, r Result) {
				if saved.Steps > 0 {
					if err := v.SetState(saved); err != nil {
						t.Fatal(err)
					}
					if got := v.Step(a); got != r {
						t.Fatalf("result %+v, want %+v", got, r)
					}
					w.Observe(x)
					v.Observe(y)
					if !slices.Equal(x, y) || v.s != w.s {
						t.Fatalf("states differ:\n%+v\n%+v", v.s, w.s)
					}
				}
				saved = w.State()
			})
		})
	}
}
