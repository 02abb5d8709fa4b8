package reflexion

import (
	"context"
	"fmt"
	"time"

	"github.com/muse-agent/muse/internal/llm"
)

// Drafter is an agent that can write the commands of its futures without the
// futures: a gate can look at them before anything else is spent. The agents of New
// are drafters; with a deterministic model draft i is the first command of the
// future i that Act would imagine at the same carry.
type Drafter interface {
	Agent
	// Draft returns Config().Rollouts candidates that end after their command. The trace
	// has their cost and events, and no choice.
	Draft(ctx context.Context, c *Carry) ([]Candidate, Trace, error)
}

// Draft implements Drafter. Ends may be claimed, as in a future; such a draft is not
// valid.
func (a *agent) Draft(ctx context.Context, c *Carry) ([]Candidate, Trace, error) {
	var tr Trace
	if err := ctx.Err(); err != nil {
		return nil, tr, fmt.Errorf("reflexion: before command %d: %w", len(c.Pairs)+1, err)
	}
	start := time.Now()
	r := a.request(c)
	r.N, r.Until = a.cfg.Rollouts, llm.UntilAction
	out, u, err := a.sample(ctx, c, r)
	tr.Events = append(c.takeEvents(), tr.Events...)
	tr.Usage = u.Add(c.takeUsage())
	tr.RolloutMillis = millis(start)
	if err != nil {
		return nil, tr, err
	}
	if len(out) < r.N {
		tr.Events = append(tr.Events, fmt.Sprintf("%d of %d drafts received", len(out), r.N))
	}
	drafts := make([]Candidate, 0, len(out))
	for _, o := range out {
		cand := a.candidate(o, r, nil, &tr)
		cand.Same = sameAs(drafts, cand)
		drafts = append(drafts, cand)
	}
	return drafts, tr, nil
}
