package gridarm

import (
	"fmt"
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

func TestTolerance(t *testing.T) {
	for _, c := range []struct{ x, bound, margin, want float64 }{
		{.05, .05, 1, 1}, {.04, .05, 1, 1}, {1.05, .05, 1, .1}, {.55, .05, 1, 1 / (9*.25 + 1)}, {.06, .05, 0, 0},
	} {
		if got := tolerance(c.x, c.bound, c.margin); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("tolerance(%v, %v, %v) = %v, want %v", c.x, c.bound, c.margin, got, c.want)
		}
	}
}

func TestHamacher(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{{1, 1, 1}, {1, .3, .3}, {0, .5, 0}, {0, 0, 0}, {.5, .5, 1. / 3}} {
		if got := hamacher(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("hamacher(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// play returns the sum of rewards of an episode and whether it was solved.
func play(w *World, seed uint64, p Policy) (total float64, solved bool) {
	obs, a := make([]float32, w.ObsSize()), make([]float32, ActionSize)
	w.ResetInto(seed, 0, obs)
	for !w.Over() {
		p(obs, a)
		total += w.StepInto(a, obs).Reward
	}
	return total, w.s.Solved
}

// hovers are policies that go somewhere of interest and stay there.
func hovers(s *State) map[string]Policy {
	ps := map[string]Policy{}
	for name, aim := range map[string]func(v view) vec{
		"start":        func(view) vec { return handStart },
		"object":       func(v view) vec { return v.obj },
		"over object":  func(v view) vec { return add(v.obj, vec{0, 0, .08}) },
		"before":       func(v view) vec { return add(v.obj, vec{0, -.06, 0}) },
		"left":         func(v view) vec { return add(v.obj, vec{-.06, 0, 0}) },
		"under":        func(v view) vec { return add(v.obj, vec{0, 0, -.04}) },
		"first place":  func(view) vec { return s.Obj0 },
		"goal":         func(v view) vec { return v.goal },
		"over goal":    func(v view) vec { return add(v.goal, vec{0, 0, .08}) },
		"half way":     func(v view) vec { return lerp(v.obj, v.goal, .5) },
		"beside goal":  func(v view) vec { return add(v.goal, vec{.09, 0, 0}) },
		"before goal":  func(v view) vec { return add(v.goal, vec{0, -.09, 0}) },
		"fixed object": func(v view) vec { return v.obj2 },
	} {
		for _, effort := range []float64{-1, 0, 1} {
			st := stage{aim: aim, effort: effort}
			ps[fmt.Sprintf("%s, effort %v", name, effort)] = func(obs, a []float32) {
				v := look(obs)
				st.act(v, a)
			}
		}
	}
	return ps
}

// The scripted policy earns more than any that hovers without solving the task, and
// more than random play: there is no place where it pays to wait.
func TestHoveringDoesNotPay(t *testing.T) {
	for _, task := range Tasks() {
		w, err := NewWorld(task, Options{})
		if err != nil {
			t.Fatal(err)
		}
		share := .75
		if task == Reach {
			share = .95 // its reward is nothing but closeness
		}
		for seed := range uint64(5) {
			want, solved := play(w, seed, Scripted(task))
			if !solved || want < 700 {
				t.Errorf("%s, seed %d: the script earns %.1f of at most 1000", task, seed, want)
			}
			best, at := 0.0, ""
			for name, p := range hovers(&w.s) {
				if got, solved := play(w, seed, p); !solved && (got > best || got == best && name < at) {
					best, at = got, name
				}
			}
			if best > share*want {
				t.Errorf("%s, seed %d: hovering at %q earns %.1f, the script %.1f", task, seed, at, best, want)
			}
			r := rng.New(seed, "random")
			if got, _ := play(w, seed, Corruption{Noise: 1}.Policy(task, r)); got > share*want {
				t.Errorf("%s, seed %d: random play earns %.1f, the script %.1f", task, seed, got, want)
			}
		}
	}
}

// Success and the highest reward are different events in the tasks whose success
// radius is wider than that of the reward, as in the original.
func TestSuccessIsWiderThanTheReward(t *testing.T) {
	for _, task := range []Task{PickPlace, PushWall, PushBack, PlateSlide} {
		w, _ := NewWorld(task, Options{})
		w.Reset(1, 0)
		s := &w.s
		s.Obj = add(s.Goal, vec{.06, 0, 0})
		if !w.spec.holds(s) || w.spec.reward(s) >= 10 {
			t.Errorf("%s, 6 cm from the goal: success %v, reward %v", task, w.spec.holds(s), w.spec.reward(s))
		}
		s.Obj = add(s.Goal, vec{.049, 0, 0})
		if !w.spec.holds(s) || w.spec.reward(s) != 10 {
			t.Errorf("%s, 4.9 cm from the goal: success %v, reward %v", task, w.spec.holds(s), w.spec.reward(s))
		}
		s.Obj = add(s.Goal, vec{.071, 0, 0})
		if w.spec.holds(s) {
			t.Errorf("%s, 7.1 cm from the goal: success", task)
		}
	}
}
