// Package envs is the vocabulary that all environments and agents of muse share.
//
// The words are Gymnasium's: an [Env] is reset, then stepped; a [Step] says
// whether the episode was terminated (by its rules) or truncated (by a limit).
// Success is neither of these: it is a privileged value in [Info.Privileged],
// which agents never see (see [Info.Public]).
package envs

import (
	"context"
	"errors"
	"time"
)

// ErrResetNeeded is returned by Step before the first Reset and after an episode has ended.
var ErrResetNeeded = errors.New("envs: Reset is needed before Step")

// ErrClosed is returned by Reset and Step after Close.
var ErrClosed = errors.New("envs: environment is closed")

// Action and Obs are texts in text games and []float32 in continuous environments.
type (
	// Action is what an agent sends: string (Text space) or []float32 (Box space).
	Action any
	// Obs is what an environment shows: string or []float32. The environment owns
	// slices only until the next Step; copy what you keep.
	Obs any
)

// Spec is the constant description of an environment.
type Spec struct {
	ID               string         `json:"id"`                // "textworld/alfworld-v1"
	Version          string         `json:"version"`           // of the rules: equal versions give equal bytes
	MaxEpisodeSteps  int            `json:"max_episode_steps"` // 0 = no limit
	ObservationSpace Space          `json:"observation_space"`
	ActionSpace      Space          `json:"action_space"`
	Settings         map[string]any `json:"settings,omitempty"` // effective settings, named in every record
}

// ResetOptions choose the next episode.
type ResetOptions struct {
	Seed    *uint64        // nil keeps the environment's present random stream
	Options map[string]any // environment specific; unknown keys are an error
}

// Info travels beside observations.
type Info struct {
	// Extra holds what an agent may see beside the observation (for example the
	// admissible commands, when the run asks for them).
	Extra map[string]any `json:"extra,omitempty"`
	// Privileged is for labelling and evaluation only.
	Privileged *Privileged `json:"privileged,omitempty"`
	// Elapsed is the time the environment itself needed; zero when not measured.
	Elapsed time.Duration `json:"-"`
}

// Privileged are values that no agent may read.
type Privileged struct {
	Success bool   `json:"success"`          // the goal predicate holds now, nothing else
	Reason  string `json:"reason,omitempty"` // why the episode ended, or why a command had no effect
	Dead    string `json:"dead,omitempty"`   // non-empty: the goal can't be reached any more, and why
}

// Success reports whether the goal was reached, false when nothing privileged is present.
func (i Info) Success() bool { return i.Privileged != nil && i.Privileged.Success }

// Public returns the info without privileged values: what is handed to an agent.
func (i Info) Public() Info { i.Privileged = nil; return i }

// Step is the result of one action.
type Step struct {
	Obs        Obs     `json:"obs"`
	Reward     float64 `json:"reward"`
	Terminated bool    `json:"terminated"` // the task itself ended
	Truncated  bool    `json:"truncated"`  // a limit ended the episode
	Info       Info    `json:"info"`
}

// Done reports whether the episode is over. It says nothing about success.
func (s Step) Done() bool { return s.Terminated || s.Truncated }

// Continue, Terminate and Truncate build the three kinds of Step.
func Continue(o Obs, reward float64, i Info) Step { return Step{Obs: o, Reward: reward, Info: i} }

// Terminate builds the Step that ends an episode by its rules.
func Terminate(o Obs, reward float64, i Info) Step {
	return Step{Obs: o, Reward: reward, Terminated: true, Info: i}
}

// Truncate builds the Step that ends an episode by a limit.
func Truncate(o Obs, reward float64, i Info) Step {
	return Step{Obs: o, Reward: reward, Truncated: true, Info: i}
}

// Env is one environment. An Env is not safe for concurrent use; make one a
// goroutine. A cancelled ctx leaves the environment in the state before the call.
type Env interface {
	Spec() Spec
	Reset(ctx context.Context, o ResetOptions) (Obs, Info, error)
	Step(ctx context.Context, a Action) (Step, error)
	Close() error // idempotent
}

// Optional abilities. Test for them with a type assertion.
type (
	// Admissible lists the actions that have an effect now, in a fixed order.
	Admissible interface{ Admissible() []string }
	// Expert proposes the next action of a player that knows the whole state
	// (privileged: never given to an agent). ok is false when the goal can't be
	// reached any more; why then says so.
	Expert interface {
		ExpertAction() (action string, ok bool, why string)
	}
	// Snapshotter saves and restores the full state. A snapshot stays valid when
	// the environment moves on and may be restored into any Env of the same game.
	Snapshotter interface {
		Snapshot() (any, error)
		Restore(any) error
	}
	// Describer dumps the full state as a JSON-ready value (privileged).
	Describer interface{ Describe() any }
	// Renderer draws the state as text.
	Renderer interface{ Render() string }
)

// Space describes a set of values.
type Space struct {
	Kind      string    `json:"kind"`            // "text", "box", "discrete"
	Shape     []int     `json:"shape,omitempty"` // box
	Low       []float32 `json:"low,omitempty"`
	High      []float32 `json:"high,omitempty"`
	N         int       `json:"n,omitempty"`          // discrete
	MaxLength int       `json:"max_length,omitempty"` // text, in bytes
}
