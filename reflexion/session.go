package reflexion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
)

// eventTrimmed is the event of a prompt that no longer holds the oldest pairs.
const eventTrimmed = "history trimmed"

// Fork returns an independent copy of the episode so far, for playing on from
// here in another way (sibling labels). Close both.
func (c *Carry) Fork(ctx context.Context) (*Carry, error) {
	f := *c
	f.Reflections = slices.Clone(c.Reflections)
	f.Pairs = slices.Clone(c.Pairs)
	f.events = slices.Clone(c.events)
	f.Lucid = nil // built again when it is needed
	if c.Session != nil {
		s, err := c.Session.Fork(ctx)
		if err != nil {
			return nil, fmt.Errorf("reflexion: forking the episode after %d commands: %w", len(c.Pairs), err)
		}
		f.Session = s
	}
	return &f, nil
}

// drop closes the session; the next use builds it again.
func (c *Carry) drop() error {
	if c.Session == nil {
		return nil
	}
	err := c.Session.Close()
	c.Session = nil
	return err
}

// trim gives up the oldest quarter of the pairs in the prompt, so that the next
// overflow is some steps away. It reports whether there was anything to give up.
func (c *Carry) trim() bool {
	n := len(c.Pairs) - c.From
	if n == 0 {
		return false
	}
	c.From += max(1, n/4)
	if !slices.Contains(c.events, eventTrimmed) {
		c.events = append(c.events, eventTrimmed)
	}
	return true
}

// session returns the carry's session and builds it where there is none: from
// task, reflections, plan and pairs, in the same pieces as in live play, so that a
// resumed episode has the same cache. What doesn't fit is trimmed from the front.
func (a *agent) session(ctx context.Context, c *Carry) (llm.Session, error) {
	for {
		if c.Session != nil {
			// The newest pair stays, as long as it fits at all.
			if !a.crowded(c.Session) || len(c.Pairs)-c.From < 2 || !c.trim() {
				return c.Session, nil
			}
			if err := c.drop(); err != nil {
				return nil, fmt.Errorf("reflexion: closing a full session: %w", err)
			}
		}
		s, err := a.build(ctx, c)
		if errors.Is(err, llm.ErrContext) && c.trim() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reflexion: opening the prompt on %s: %w", a.model.Info().Name, err)
		}
		c.Session = s
	}
}

// pairTokens is the room kept for one imagined pair, the backends' own default.
const pairTokens = 64

// crowded reports whether the prefix leaves too little room for a rollout. The rule
// is the same for every selector, so that Off and candidate 0 see the same prefix;
// without it a backend would cut futures short when the context ends.
func (a *agent) crowded(s llm.Session) bool {
	limit := a.model.Info().Caps.Context
	return limit > 0 && s.Len()+min(pairTokens*a.cfg.Horizon, limit/4) > limit
}

func (a *agent) build(ctx context.Context, c *Carry) (llm.Session, error) {
	s, err := a.model.Open(ctx, a.tmpl.Prompt(c.Task, c.Reflections))
	if err != nil {
		return nil, err
	}
	pieces := make([]string, 0, 1+len(c.Pairs)-c.From)
	if c.Plan != "" {
		pieces = append(pieces, llm.RenderPlan(c.Plan))
	}
	for _, p := range c.Pairs[c.From:] {
		if a.forgotten(p) {
			continue
		}
		pieces = append(pieces, a.tmpl.Pair(p))
	}
	for _, piece := range pieces {
		u, err := s.Append(ctx, piece)
		c.usage = c.usage.Add(u)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// sample draws continuations of the carry's prefix. A full context is answered by
// a shorter history, until the request fits.
func (a *agent) sample(ctx context.Context, c *Carry, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	var total llm.Usage
	for {
		s, err := a.session(ctx, c)
		if err != nil {
			return nil, total, err
		}
		out, u, err := s.Sample(ctx, r)
		total = total.Add(u)
		if err == nil && len(out) == 0 {
			err = errors.New("the model returned no continuation")
		}
		if errors.Is(err, llm.ErrContext) && c.trim() {
			if err := c.drop(); err != nil {
				return nil, total, fmt.Errorf("reflexion: closing a full session: %w", err)
			}
			continue
		}
		if err != nil {
			return nil, total, fmt.Errorf("reflexion: sampling %d continuations from %s after %d commands: %w", r.N, a.model.Info().Name, len(c.Pairs), err)
		}
		return out, total, nil
	}
}
