package textworld

import (
	"context"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/envs"
)

// DefaultMaxSteps is ALFWorld's limit of commands an episode.
const DefaultMaxSteps = 50

// ThinkAnswer is what think lines get: the words of ReAct's harness, not of the game.
const ThinkAnswer = "OK."

// SpecID and SpecVersion name the environment and its rules: equal versions give
// equal bytes for the same game, dialect and commands.
const (
	SpecID      = "textworld/alfworld-v1"
	SpecVersion = "1.0.0"
)

// ExtraAdmissible is the key of the admissible commands in envs.Info.Extra.
const ExtraAdmissible = "admissible_commands"

// Options are the settings of an Env; the zero value is the default.
type Options struct {
	// Dialect is the wording; empty means that of the game (DialectMove but for
	// files of the first release). DialectFriendly accepts near misses.
	Dialect Dialect
	// MaxSteps is the limit of commands an episode, effective or not; 0 means 50.
	MaxSteps int
	// ThinkCost says what a line that starts with "think:" costs. 0: nothing, the
	// harness answers it. 1: one command, as in ReAct's original harness. The
	// answer is ThinkAnswer either way, and the game never sees the line.
	ThinkCost int
	// ListAdmissible puts the admissible commands into Info.Extra.
	ListAdmissible bool
}

func (o Options) filled(g *Game) Options {
	if o.Dialect == "" {
		o.Dialect = g.Dialect()
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	return o
}

// Validate reports a setting that no game can be played with.
func (o Options) Validate() error {
	switch {
	case o.Dialect != "" && o.Dialect != DialectMove && o.Dialect != DialectPut && o.Dialect != DialectFriendly:
		return fmt.Errorf("textworld: unknown dialect %q; expected %q, %q or %q", o.Dialect, DialectMove, DialectPut, DialectFriendly)
	case o.MaxSteps < 0:
		return fmt.Errorf("textworld: MaxSteps is %d; expected 0 (the default %d) or more", o.MaxSteps, DefaultMaxSteps)
	case o.ThinkCost < 0 || o.ThinkCost > 1:
		return fmt.Errorf("textworld: ThinkCost is %d; expected 0 (free) or 1 (a command)", o.ThinkCost)
	}
	return nil
}

// Env plays one game under envs' rules: success, truncation and the reason are
// separate. The reward is 1 on the winning step, else 0. A win ends the episode
// (Terminated), also on the last allowed command; the limit without a win ends it
// as Truncated. Actions are strings. Not safe for concurrent use.
type Env struct {
	game   *Game
	opt    Options
	world  *World
	steps  int // commands counted so far
	live   bool
	closed bool
	full   fullHand
}

var (
	_ envs.Env         = (*Env)(nil)
	_ envs.Admissible  = (*Env)(nil)
	_ envs.Snapshotter = (*Env)(nil)
	_ envs.Describer   = (*Env)(nil)
	_ envs.Renderer    = (*Env)(nil)
)

// New makes an environment for a game; call Reset before Step. Invalid options
// are reported by Reset.
func New(g *Game, o Options) *Env { return &Env{game: g, opt: o.filled(g)} }

// Game is the game being played.
func (e *Env) Game() *Game { return e.game }

// World is the engine under the environment, nil before the first Reset. It is
// live: commands sent to it bypass the step count. Privileged.
func (e *Env) World() *World { return e.world }

// Options are the effective settings.
func (e *Env) Options() Options { return e.opt }

// Steps is the number of commands counted in this episode.
func (e *Env) Steps() int { return e.steps }

// Spec implements envs.Env.
func (e *Env) Spec() envs.Spec {
	return envs.Spec{
		ID: SpecID, Version: SpecVersion, MaxEpisodeSteps: e.opt.MaxSteps,
		ObservationSpace: envs.Space{Kind: "text", MaxLength: 8192},
		ActionSpace:      envs.Space{Kind: "text", MaxLength: 1024},
		Settings: map[string]any{
			"dialect": string(e.opt.Dialect), "think_cost": e.opt.ThinkCost, "list_admissible": e.opt.ListAdmissible,
		},
	}
}

// Reset starts the game anew; the observation is the full opening text. The game
// is deterministic, so the seed changes nothing. The only option is "game", the
// id of an embedded game to change to.
func (e *Env) Reset(ctx context.Context, o envs.ResetOptions) (envs.Obs, envs.Info, error) {
	if e.closed {
		return nil, envs.Info{}, envs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, envs.Info{}, err
	}
	if err := e.opt.Validate(); err != nil {
		return nil, envs.Info{}, err
	}
	for _, k := range sortedKeys(o.Options) {
		id, ok := o.Options[k].(string)
		if k != "game" || !ok {
			return nil, envs.Info{}, fmt.Errorf("textworld: unknown reset option %q (%T); known is \"game\", a string", k, o.Options[k])
		}
		g, err := Open(id)
		if err != nil {
			return nil, envs.Info{}, err
		}
		e.game, e.world = g, nil
	}
	if e.world == nil {
		e.world = NewWorld(e.game, e.opt.Dialect)
	} else {
		e.world.restart()
	}
	e.steps, e.live = 0, true
	return e.world.Intro(), e.info(""), nil
}

// Step sends one line to the game. Anything but a string is an error and changes
// nothing, as does a cancelled ctx. A command with no effect costs a step like any
// other; Info.Privileged.Reason then says why. Info.Privileged.Dead says why the goal
// can't be reached any more, given any number of commands (see [World.DeadEnd]).
func (e *Env) Step(ctx context.Context, a envs.Action) (envs.Step, error) {
	if e.closed {
		return envs.Step{}, envs.ErrClosed
	}
	if !e.live {
		return envs.Step{}, envs.ErrResetNeeded
	}
	if err := ctx.Err(); err != nil {
		return envs.Step{}, err
	}
	cmd, ok := a.(string)
	if !ok {
		return envs.Step{}, fmt.Errorf("textworld: an action must be a string, got %T", a)
	}
	obs, reason := ThinkAnswer, ""
	if IsThink(cmd) {
		e.steps += e.opt.ThinkCost
	} else {
		var effect bool
		if e.opt.Dialect == DialectFriendly {
			if obs, effect = e.world.friendly(cmd); !effect {
				reason = e.world.Reason(e.world.understand(cmd))
			}
		} else if obs, effect = e.world.Do(cmd); !effect {
			reason = e.world.Reason(cmd)
		}
		e.steps++
	}
	switch {
	case e.world.Won():
		e.live = false
		return envs.Terminate(obs, 1, e.info("won")), nil
	case e.steps >= e.opt.MaxSteps:
		e.live = false
		return envs.Truncate(obs, 0, e.info(fmt.Sprintf("limit of %d commands", e.opt.MaxSteps))), nil
	}
	return envs.Continue(obs, 0, e.info(reason)), nil
}

// IsThink reports whether a line is a thought of a ReAct agent, not a command.
func IsThink(line string) bool { return strings.HasPrefix(trim(line), "think:") }

func (e *Env) info(reason string) envs.Info {
	i := envs.Info{Privileged: &envs.Privileged{Success: e.world.Won(), Reason: reason, Dead: e.full.deadEnd(e.world)}}
	if e.opt.ListAdmissible {
		i.Extra = map[string]any{ExtraAdmissible: e.Admissible()}
	}
	return i
}

// Admissible implements envs.Admissible: the commands that have an effect now,
// sorted as strings; nil before the first Reset.
func (e *Env) Admissible() []string {
	if e.world == nil {
		return nil
	}
	return e.world.AppendAdmissible(nil)
}

// Close implements envs.Env.
func (e *Env) Close() error {
	e.closed, e.live = true, false
	return nil
}

// Clone returns an independent environment in the same state.
func (e *Env) Clone() *Env {
	n := *e
	if e.world != nil {
		n.world = e.world.Clone()
	}
	return &n
}

// snapshot is the state that Snapshot hands out.
type snapshot struct {
	game  *Game
	world *World
	steps int
	live  bool
}

// Snapshot implements envs.Snapshotter.
func (e *Env) Snapshot() (any, error) {
	if e.closed {
		return nil, envs.ErrClosed
	}
	if e.world == nil {
		return nil, envs.ErrResetNeeded
	}
	return &snapshot{e.game, e.world.Clone(), e.steps, e.live}, nil
}

// Restore implements envs.Snapshotter; the snapshot must be of the same game and
// dialect.
func (e *Env) Restore(s any) error {
	if e.closed {
		return envs.ErrClosed
	}
	p, ok := s.(*snapshot)
	if !ok {
		return fmt.Errorf("textworld: %T is not a snapshot of this environment", s)
	}
	if p.game != e.game && p.game.Hash() != e.game.Hash() {
		return fmt.Errorf("textworld: the snapshot is of game %s, this environment plays %s", p.game.ID(), e.game.ID())
	}
	if p.world.put != (e.opt.Dialect == DialectPut) {
		return fmt.Errorf("textworld: the snapshot speaks the dialect %q, this environment %q", p.world.Dialect(), e.opt.Dialect)
	}
	if e.world == nil {
		e.world = p.world.Clone()
	} else {
		e.world.CopyFrom(p.world)
	}
	e.steps, e.live = p.steps, p.live
	return nil
}
