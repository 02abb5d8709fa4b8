package reflexion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
)

// ErrStates: the agent's model doesn't show hidden states.
var ErrStates = errors.New("reflexion: the model has no hidden states")

// StateReader is implemented by agents that can read an episode again as their
// model saw it, in the same pieces. It gives the hidden states of real pairs, which
// a self-assessment with input "hidden" needs beside those of imagined ones.
type StateReader interface {
	// Read begins an episode with these reflections and this plan; nothing is
	// sampled. Close the reading.
	Read(t Task, reflections []string, plan string) *Reading
}

// Reading is an episode that is being read. Not safe for concurrent use.
type Reading struct {
	a *agent
	c *Carry
}

var _ StateReader = (*agent)(nil)

// Read implements [StateReader].
func (a *agent) Read(t Task, reflections []string, plan string) *Reading {
	return &Reading{a, &Carry{Task: t, Reflections: slices.Clone(newest(reflections, a.cfg.Reflections)), Plan: plan}}
}

// Next reads the next real pair and returns its hidden states. Where the prompt
// doesn't fit, the oldest pairs are dropped from it, as in play. Errors match
// [ErrStates] where the model has none.
func (r *Reading) Next(ctx context.Context, p llm.Pair) (llm.States, error) {
	st, err := r.a.read(ctx, r.c, p)
	if err != nil {
		return st, fmt.Errorf("reflexion: hidden states of command %d: %w", len(r.c.Pairs)+1, err)
	}
	r.c.Pairs = append(r.c.Pairs, p)
	return st, nil
}

// Close releases the session.
func (r *Reading) Close() error { return r.c.drop() }

// read appends one pair to the carry's session and returns its states.
func (a *agent) read(ctx context.Context, c *Carry, p llm.Pair) (llm.States, error) {
	for {
		s, err := a.session(ctx, c)
		if err != nil {
			return llm.States{}, err
		}
		r, ok := s.(llm.StateReader)
		if !ok {
			return llm.States{}, fmt.Errorf("%w: %s", ErrStates, a.model.Info().Name)
		}
		if a.forgotten(p) { // its states, but not its text
			f, err := s.Fork(ctx)
			if err != nil {
				return llm.States{}, err
			}
			st, _, err := f.(llm.StateReader).AppendStates(ctx, a.tmpl.Pair(p))
			return st, errors.Join(err, f.Close())
		}
		st, _, err := r.AppendStates(ctx, a.tmpl.Pair(p))
		if errors.Is(err, llm.ErrContext) && c.trim() {
			if err := c.drop(); err != nil {
				return llm.States{}, err
			}
			continue
		}
		return st, err
	}
}
