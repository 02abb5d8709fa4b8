// Package gated is a text agent that spends its imagined futures only where it
// matters: a deterministic gate looks at drafted commands, and only where it fires is
// the full pass of imagining and assessing made. Source: selective metacognition
// gating, applied to steps (design, section 2).
//
//	full, _ := reflexion.New(cfg, model, msa, selfregulate.Best)
//	a, err := gated.NewStakes(full.(reflexion.Drafter), gate.Stakes{})
//
// [NewStakes] drafts the commands of all futures and skips the futures where the
// drafts lead to one world: there any choice has the same outcome. [New] looks at the
// one command of plain sampling; commands that change the world always fire:
//
//	plain, _ := reflexion.New(cfg, model, nil, selfregulate.Off)
//	a, err := gated.New(plain, full, gate.Steps{})
//
// A carry belongs to whichever agent acts, so the prefix is kept once.
package gated

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/gate"
)

// Events of a trace.
const (
	EventSkipped = "gate: futures skipped: "
	EventFired   = "gate: futures imagined: "
)

// ReasonGate is the reason of a choice that the gate made, without any assessment.
const ReasonGate = "gate"

// Agent is a reflexion.Agent with a gate. Safe for concurrent use with different
// carries.
type Agent struct {
	full           reflexion.Agent
	draft          draft
	skipped, fired atomic.Int64
}

// draft asks the gate at a carry. Where it doesn't fire, action and trace are those of
// the step; else the trace has what asking cost.
type draft func(ctx context.Context, c *reflexion.Carry, commands, answers []string) (action string, tr reflexion.Trace, d gate.Decision, err error)

// New joins two agents that differ in nothing but their selector: the plain one's
// command is sent, unless the gate fires.
func New(plain, full reflexion.Agent, s gate.Steps) (*Agent, error) {
	if plain == nil || full == nil {
		return nil, errors.New("gated: a plain and a full agent are needed")
	}
	if plain.Config() != full.Config() {
		return nil, fmt.Errorf("gated: the two agents have different settings (%+v and %+v); they must share them", plain.Config(), full.Config())
	}
	return &Agent{full: full, draft: func(ctx context.Context, c *reflexion.Carry, commands, answers []string) (string, reflexion.Trace, gate.Decision, error) {
		action, tr, err := plain.Act(ctx, c)
		if err != nil {
			return "", tr, gate.Decision{}, err
		}
		return action, tr, s.Decide(reflexion.CanonicalAction(action), commands, answers), nil
	}}, nil
}

// ReasonFirst and ReasonLater are the reasons of [First].
const (
	ReasonFirst = "one of the first commands"
	ReasonLater = "a later command"
)

// First joins a plain and a full agent so that the first n commands of an episode get
// the full pass: a control that spends a fixed number of futures, wherever they matter.
func First(plain, full reflexion.Agent, n int) (*Agent, error) {
	a, err := New(plain, full, gate.Steps{})
	if err != nil {
		return nil, err
	}
	a.draft = func(ctx context.Context, c *reflexion.Carry, commands, _ []string) (string, reflexion.Trace, gate.Decision, error) {
		if len(commands) < n {
			return "", reflexion.Trace{}, gate.Decision{Fire: true, Reason: ReasonFirst}, nil
		}
		action, tr, err := plain.Act(ctx, c)
		return action, tr, gate.Decision{Reason: ReasonLater}, err
	}
	return a, nil
}

// NewStakes makes an agent that drafts before it imagines. A step that is skipped
// costs its drafts (about eight tokens each), a step that fires the drafts too.
func NewStakes(full reflexion.Drafter, s gate.Stakes) (*Agent, error) {
	if full == nil {
		return nil, errors.New("gated: an agent that drafts is needed")
	}
	return &Agent{full: full, draft: func(ctx context.Context, c *reflexion.Carry, commands, answers []string) (string, reflexion.Trace, gate.Decision, error) {
		drafts, tr, err := full.Draft(ctx, c)
		if err != nil {
			return "", tr, gate.Decision{}, err
		}
		texts := make([]string, len(drafts))
		for i, x := range drafts {
			if x.Valid {
				texts[i] = x.Pairs[0].Action
			}
		}
		d, take := s.Decide(texts, commands, answers)
		if d.Fire {
			return "", tr, d, nil
		}
		first := drafts[take].Pairs[0]
		tr.Candidates, tr.Thoughts = drafts, first.Thoughts
		tr.Choice = selfregulate.Choice{Index: take, Reason: ReasonGate}
		return reflexion.EnvAction(first.Action, full.Config().Dialect), tr, d, nil
	}}, nil
}

// Counts are the steps so far for which the futures were skipped, and imagined.
func (a *Agent) Counts() (skipped, fired int) {
	return int(a.skipped.Load()), int(a.fired.Load())
}

// Config is that of both agents.
func (a *Agent) Config() reflexion.Config { return a.full.Config() }

// Begin opens an episode.
func (a *Agent) Begin(ctx context.Context, t reflexion.Task, reflections []string, seed uint64) (*reflexion.Carry, llm.Usage, error) {
	return a.full.Begin(ctx, t, reflections, seed)
}

// Act asks the gate and, where it fires, makes the full pass. The usage holds both.
func (a *Agent) Act(ctx context.Context, c *reflexion.Carry) (string, reflexion.Trace, error) {
	commands, answers := make([]string, len(c.Pairs)), make([]string, len(c.Pairs))
	for i, p := range c.Pairs {
		commands[i], answers[i] = p.Action, p.Observation
	}
	action, tr, d, err := a.draft(ctx, c, commands, answers)
	if err != nil {
		return "", tr, err
	}
	if !d.Fire {
		a.skipped.Add(1)
		tr.Events = append(tr.Events, EventSkipped+d.Reason)
		return action, tr, nil
	}
	a.fired.Add(1)
	action, full, err := a.full.Act(ctx, c)
	full.Usage = tr.Usage.Add(full.Usage)
	full.Events = append(append(tr.Events, EventFired+d.Reason), full.Events...)
	full.Cut += tr.Cut
	full.RolloutMillis += tr.RolloutMillis
	return action, full, err
}

// Observe appends what the environment answered.
func (a *Agent) Observe(ctx context.Context, c *reflexion.Carry, action string, tr reflexion.Trace, obs string) error {
	return a.full.Observe(ctx, c, action, tr, obs)
}

// Reflect writes a reflection.
func (a *Agent) Reflect(ctx context.Context, c *reflexion.Carry) (string, llm.Usage, error) {
	return a.full.Reflect(ctx, c)
}

// Close releases the carry's session.
func (a *Agent) Close(c *reflexion.Carry) error { return a.full.Close(c) }
