package gridarm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/muse-agent/muse/envs"
)

// SpecVersion names the rules, starts and observations: equal versions give equal
// bytes for the same task, seed, episode, options and actions.
const SpecVersion = "1.0.0"

// SpecID is the id of a task in specs and records: "gridarm/drawer-open-v1".
func SpecID(t Task) string { return "gridarm/" + t.String() + "-v1" }

// Env plays a task under envs' rules. Actions are []float32 of ActionSize within ±1
// (beyond it they are clipped), observations are []float32 of ObsSize and belong to
// the caller. Success ends nothing by default: it is in Info.Privileged at each step;
// an episode is solved when any step has it. Not safe for concurrent use.
type Env struct {
	world   *World
	seed    uint64
	episode int
	played  bool
	closed  bool
}

var (
	_ envs.Env         = (*Env)(nil)
	_ envs.Snapshotter = (*Env)(nil)
	_ envs.Describer   = (*Env)(nil)
	_ envs.Renderer    = (*Env)(nil)
)

// New makes an environment for a task; call Reset before Step.
func New(t Task, o Options) (*Env, error) {
	w, err := NewWorld(t, o)
	if err != nil {
		return nil, err
	}
	return &Env{world: w}, nil
}

// World is the engine under the environment. It is live. Privileged.
func (e *Env) World() *World { return e.world }

// Task is the task being played.
func (e *Env) Task() Task { return e.world.Task() }

// Options are the effective settings.
func (e *Env) Options() Options { return e.world.opt }

// Steps is the number of decisions taken in this episode.
func (e *Env) Steps() int { return e.world.s.Steps }

// Spec implements envs.Env.
func (e *Env) Spec() envs.Spec {
	o := e.world.opt
	low, high := bounds(o)
	return envs.Spec{
		ID: SpecID(e.Task()), Version: SpecVersion, MaxEpisodeSteps: o.MaxSteps,
		ObservationSpace: envs.Space{Kind: "box", Shape: []int{o.ObsSize()}, Low: low, High: high},
		ActionSpace: envs.Space{Kind: "box", Shape: []int{ActionSize},
			Low: []float32{-1, -1, -1, -1}, High: []float32{1, 1, 1, 1}},
		Settings: map[string]any{
			"reward": RewardVersion, "step_size": o.StepSize, "partially_observable": o.PartiallyObservable,
			"task_channel": string(o.TaskChannel), "hide_task": o.HideTask, "grid": o.Grid, "end_on_success": o.EndOnSuccess,
		},
	}
}

// bounds are the least and the greatest observation.
func bounds(o Options) (low, high []float32) {
	// Handles and held things reach a little beyond the hand's workspace.
	place := func() {
		low, high = append(low, -0.75, 0, -0.05), append(high, 0.75, 1.2, 0.6)
	}
	for range 2 {
		place()
		low, high = append(low, 0), append(high, 1)
		for range 2 {
			place()
			low, high = append(low, -1, -1, -1, -1), append(high, 1, 1, 1, 1)
		}
	}
	place()
	top := float32(1)
	if o.TaskChannel == ChannelID {
		top = float32(TrainingTaskCount)
	}
	for i := len(low); i < o.ObsSize(); i++ {
		if i >= StateSize+o.channelSize() {
			top = 1
		}
		low, high = append(low, 0), append(high, top)
	}
	return low, high
}

// Reset begins an episode. A seed begins that seed's episode 0, without one the next
// episode of the present seed follows (seed 0 at first). Options: "episode", an int,
// and "task", the name of a task to change to.
func (e *Env) Reset(ctx context.Context, o envs.ResetOptions) (envs.Obs, envs.Info, error) {
	if e.closed {
		return nil, envs.Info{}, envs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, envs.Info{}, err
	}
	seed, episode, world := e.seed, 0, e.world
	if o.Seed != nil {
		seed = *o.Seed
	} else if e.played {
		episode = e.episode + 1
	}
	keys := make([]string, 0, len(o.Options))
	for k := range o.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		switch v := o.Options[k].(type) {
		case int:
			if k != "episode" || v < 0 {
				return nil, envs.Info{}, unknownOption(k, v)
			}
			episode = v
		case string:
			if k != "task" {
				return nil, envs.Info{}, unknownOption(k, v)
			}
			t, err := ParseTask(v)
			if err != nil {
				return nil, envs.Info{}, err
			}
			if t != world.Task() {
				if world, err = NewWorld(t, world.opt); err != nil {
					return nil, envs.Info{}, err
				}
			}
		default:
			return nil, envs.Info{}, unknownOption(k, v)
		}
	}
	e.world, e.seed, e.episode, e.played = world, seed, episode, true
	e.world.Reset(seed, episode)
	return e.obs(), e.info(""), nil
}

func unknownOption(k string, v any) error {
	return fmt.Errorf("gridarm: unknown reset option %q = %v (%T); known are \"episode\", an int of 0 or more, and \"task\", a name", k, v, v)
}

// Step takes one decision. Anything but []float32 of ActionSize finite numbers is an
// error and changes nothing, as does a cancelled ctx.
func (e *Env) Step(ctx context.Context, a envs.Action) (envs.Step, error) {
	if e.closed {
		return envs.Step{}, envs.ErrClosed
	}
	if e.world.s.Over {
		return envs.Step{}, envs.ErrResetNeeded
	}
	if err := ctx.Err(); err != nil {
		return envs.Step{}, err
	}
	act, ok := a.([]float32)
	if !ok || len(act) != ActionSize {
		return envs.Step{}, fmt.Errorf("gridarm: an action must be []float32 of %d numbers, got %T of %d", ActionSize, a, len(act))
	}
	for i, x := range act {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return envs.Step{}, fmt.Errorf("gridarm: number %d of the action is %v; it must be finite", i, x)
		}
	}
	r := e.world.Step(act)
	switch {
	case r.Terminated:
		return envs.Terminate(e.obs(), r.Reward, e.info("success")), nil
	case r.Truncated:
		return envs.Truncate(e.obs(), r.Reward, e.info(fmt.Sprintf("limit of %d decisions", e.world.opt.MaxSteps))), nil
	}
	return envs.Continue(e.obs(), r.Reward, e.info("")), nil
}

func (e *Env) obs() envs.Obs {
	o := make([]float32, e.world.ObsSize())
	e.world.Observe(o)
	return o
}

func (e *Env) info(reason string) envs.Info {
	return envs.Info{Privileged: &envs.Privileged{Success: e.world.s.Success, Reason: reason}}
}

// Close implements envs.Env.
func (e *Env) Close() error {
	e.closed = true
	return nil
}

// Snapshot implements envs.Snapshotter; the value is a State.
func (e *Env) Snapshot() (any, error) {
	if e.closed {
		return nil, envs.ErrClosed
	}
	if !e.played {
		return nil, envs.ErrResetNeeded
	}
	return e.world.s, nil
}

// Restore implements envs.Snapshotter; the snapshot must be of the same task.
func (e *Env) Restore(v any) error {
	if e.closed {
		return envs.ErrClosed
	}
	s, ok := v.(State)
	if !ok {
		return fmt.Errorf("gridarm: %T is not a snapshot of this environment", v)
	}
	if err := e.world.SetState(s); err != nil {
		return err
	}
	e.seed, e.episode, e.played = s.Seed, s.Episode, true
	return nil
}

// Describe implements envs.Describer: the full state (privileged).
func (e *Env) Describe() any { return e.world.s }
