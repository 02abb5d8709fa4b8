// Package gated is a text agent that spends its imagined futures only where it
// matters: a deterministic gate looks at the command that plain sampling would send,
// and only where it fires is the full pass of imagining and assessing made. Commands
// that change the world always fire. Source: selective metacognition gating, applied
// to steps (design, section 2).
//
//	plain, _ := reflexion.New(cfg, model, nil, selfregulate.Off)
//	full, _ := reflexion.New(cfg, model, msa, selfregulate.Best)
//	a, err := gated.New(plain, full, gate.Steps{})
//
// Both agents share one carry, so the prefix is kept once, and a skipped step costs
// what plain sampling costs.
package gated

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate/gate"
)

// Events of a trace.
const (
	EventSkipped = "gate: futures skipped: "
	EventFired   = "gate: futures imagined: "
)

// Agent is a reflexion.Agent with a gate. Safe for concurrent use with different
// carries.
type Agent struct {
	plain, full    reflexion.Agent
	steps          gate.Steps
	skipped, fired atomic.Int64
}

// New joins two agents that differ in nothing but their selector.
func New(plain, full reflexion.Agent, s gate.Steps) (*Agent, error) {
	if plain == nil || full == nil {
		return nil, errors.New("gated: a plain and a full agent are needed")
	}
	if plain.Config() != full.Config() {
		return nil, fmt.Errorf("gated: the two agents have different settings (%+v and %+v); they must share them", plain.Config(), full.Config())
	}
	return &Agent{plain: plain, full: full, steps: s}, nil
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

// Act samples one command and, where the gate fires, makes the full pass instead.
// The usage holds both.
func (a *Agent) Act(ctx context.Context, c *reflexion.Carry) (string, reflexion.Trace, error) {
	action, tr, err := a.plain.Act(ctx, c)
	if err != nil {
		return action, tr, err
	}
	commands, answers := make([]string, len(c.Pairs)), make([]string, len(c.Pairs))
	for i, p := range c.Pairs {
		commands[i], answers[i] = p.Action, p.Observation
	}
	d := a.steps.Decide(reflexion.CanonicalAction(action), commands, answers)
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
