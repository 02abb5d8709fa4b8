package gridarm

import (
	"fmt"
	"math"

	"github.com/muse-agent/muse/internal/rng"
)

// The workspace of the hand, metres. The table is 1.0 × 0.8 m, its top is z = 0; the
// foot of the arm stands at the origin, before it.
var (
	handLow  = vec{-0.5, 0.2, 0.02}
	handHigh = vec{0.5, 1.0, 0.5}
	// handStart is where the hand begins every episode, open.
	handStart = vec{0, 0.6, 0.2}
)

// World is the bare engine of one task, with a limit of decisions and rewards. It is
// not safe for concurrent use. Step and Observe allocate nothing.
type World struct {
	spec *spec
	opt  Options
	s    State
}

// Result is what a decision brought, beside the new observation.
type Result struct {
	Reward     float64 // 0 to 10
	Success    bool    // the goal predicate holds now (privileged)
	Terminated bool    // only with EndOnSuccess
	Truncated  bool    // the limit is reached
}

// Done reports whether the episode is over. It says nothing about success.
func (r Result) Done() bool { return r.Terminated || r.Truncated }

// NewWorld makes an engine for a task; call Reset before Step.
func NewWorld(t Task, o Options) (*World, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("gridarm: there is no task number %d; expected %d to %d", int(t), int(Reach), int(lastTask))
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &World{spec: &specs[t], opt: o.filled()}
	w.s.Task, w.s.Over = t, true
	return w, nil
}

// Task is the task being played.
func (w *World) Task() Task { return w.s.Task }

// Options are the effective settings.
func (w *World) Options() Options { return w.opt }

// ObsSize is the length of an observation.
func (w *World) ObsSize() int { return w.opt.ObsSize() }

// State is the present state, a copy.
func (w *World) State() State { return w.s }

// SetState puts the world into a state of the same task, also one of another World, or
// one that was written as JSON.
func (w *World) SetState(s State) error {
	if s.Task != w.s.Task {
		return fmt.Errorf("gridarm: the state is of task %s, this world plays %s", s.Task, w.s.Task)
	}
	w.s = s
	w.s.nSolids = 0
	if w.spec.solids != nil {
		w.spec.solids(&w.s)
	}
	return nil
}

// Success reports whether the goal predicate holds now (privileged).
func (w *World) Success() bool { return w.s.Success }

// Steps is the number of decisions taken in this episode.
func (w *World) Steps() int { return w.s.Steps }

// Over reports whether a Reset is needed before the next Step.
func (w *World) Over() bool { return w.s.Over }

// Reset begins an episode: the same seed, task and episode number give the same
// bytes, whatever was played before.
func (w *World) Reset(seed uint64, episode int) {
	t := w.s.Task
	w.s = State{Task: t, Seed: seed, Episode: episode, Hand: handStart, Open: 1}
	s := &w.s
	w.spec.place(s, rng.New(seed, "gridarm", w.spec.name, episode))
	s.Obj2, s.Goal, s.Q = snapVec(s.Obj2), snapVec(s.Goal), snap(s.Q)
	if w.spec.solids != nil {
		w.spec.solids(s)
	}
	if j := w.spec.joint; j != nil {
		s.Obj = j.at(s.Obj2, s.Q)
	}
	s.Obj = snapVec(s.Obj)
	s.Hand0, s.Obj0, s.Q0 = s.Hand, s.Obj, s.Q
	s.Success = w.spec.holds(s)
	s.frame(&s.Frames[0])
	s.Frames[1] = s.Frames[0]
}

// Step takes one decision: dx, dy, dz and the effort of the fingers. Numbers beyond
// ±1 are clipped, NaN counts as 0. After the end of an episode, and before the first
// Reset, it panics: that is a fault of the caller.
func (w *World) Step(a []float32) Result {
	s := &w.s
	if s.Over {
		panic("gridarm: Step without Reset")
	}
	_ = a[ActionSize-1]
	d := vec{unit(a[0]), unit(a[1]), unit(a[2])}
	d = scale(d, w.opt.StepSize)
	s.Effort = unit(a[3])
	s.Touch = false
	if b := w.spec.body; b != nil {
		w.fingers(b)
		if s.Held {
			w.carry(b, d)
		} else {
			w.push(b, d)
		}
		w.fall(b)
	} else {
		s.Open = clip(s.Open-s.Effort*fingerRate, 0, 1)
		w.work(w.spec.joint, d)
	}
	s.Hand, s.Obj, s.Open, s.Q = snapVec(s.Hand), snapVec(s.Obj), snap(s.Open), snap(s.Q)

	s.Frames[1] = s.Frames[0]
	s.frame(&s.Frames[0])
	s.Steps++
	s.Success = w.spec.holds(s)
	s.Solved = s.Solved || s.Success
	r := Result{Reward: snap(clip(w.spec.reward(s), 0, 10)), Success: s.Success}
	switch {
	case w.opt.EndOnSuccess && s.Success:
		r.Terminated = true
	case s.Steps >= w.opt.MaxSteps:
		r.Truncated = true
	}
	s.Over = r.Done()
	return r
}

// unit is an action's number, within ±1.
func unit(a float32) float64 {
	x := float64(a)
	if math.IsNaN(x) {
		return 0
	}
	return clip(x, -1, 1)
}

// Observe writes the present observation into dst, which has ObsSize numbers.
func (w *World) Observe(dst []float32) {
	s := &w.s
	_ = dst[w.opt.ObsSize()-1]
	copy(dst, s.Frames[0][:])
	copy(dst[ObsPrev:], s.Frames[1][:])
	if w.opt.PartiallyObservable {
		put(dst[ObsGoal:], vec{})
	} else {
		put(dst[ObsGoal:], s.Goal)
	}
	id := s.Task.Channel()
	if w.opt.HideTask {
		id = 0
	}
	n := w.opt.channelSize()
	switch w.opt.TaskChannel {
	case ChannelID:
		dst[ObsTask] = float32(id)
	case ChannelOneHot:
		clear(dst[ObsTask : ObsTask+n])
		dst[ObsTask+id] = 1
	}
	if w.opt.Grid {
		w.grid(dst[ObsTask+n:])
	}
}

// StepInto is Step and Observe in one.
func (w *World) StepInto(a, obs []float32) Result {
	r := w.Step(a)
	w.Observe(obs)
	return r
}

// ResetInto is Reset and Observe in one.
func (w *World) ResetInto(seed uint64, episode int, obs []float32) {
	w.Reset(seed, episode)
	w.Observe(obs)
}
