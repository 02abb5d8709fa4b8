package deliberate

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/internal/llm/chat"
)

// stepwise extends one prefix by the best of several short continuations until a
// path ends, the judge is sure enough to have the rest written greedily, or the
// tokens are used up: then the best prefix is the result, marked as unfinished.
func (r *run) stepwise(ctx context.Context) error {
	if err := r.t.Probe(ctx, chat.Prefix); err != nil {
		return fmt.Errorf("deliberate: mode %s: %w", Stepwise, err)
	}
	at := -1 // the chosen path so far
	steps := (r.cfg.MaxTokens + r.cfg.StepTokens - 1) / r.cfg.StepTokens
	for step := range steps {
		w := wish{origin: OriginStep, parent: at, maxTokens: min(r.cfg.StepTokens, r.cfg.MaxTokens-step*r.cfg.StepTokens)}
		if at >= 0 {
			w.prefix = r.res.Paths[at].Text
		}
		wishes := make([]wish, r.cfg.Paths)
		for i := range wishes {
			wishes[i] = w
		}
		ids, err := r.write(ctx, wishes)
		if err != nil {
			if at < 0 || ctx.Err() != nil {
				return err
			}
			r.note(EventLost, -1, "%v", err)
			break
		}
		best, err := r.step(ctx, ids)
		if err != nil {
			return err
		}
		at = best
		p := r.res.Paths[at]
		if p.Finished {
			r.choose(at, "finished after %d steps", step+1)
			return nil
		}
		left := r.cfg.MaxTokens - (step+1)*r.cfg.StepTokens
		if s := scoreOf(p.Score); s >= r.cfg.CommitConfidence && left > 0 {
			r.note(EventBranch, at, "score %.3f ≥ %.3g: the rest is written at once", s, r.cfg.CommitConfidence)
			ids, err := r.write(ctx, []wish{{origin: OriginCommit, parent: at, prefix: p.Text, maxTokens: left, greedy: true}})
			if err == nil {
				c := &r.res.Paths[ids[0]]
				c.Score = p.Score // the judge's word about its beginning
				at = c.ID
			} else if ctx.Err() != nil {
				return err
			}
			break
		}
	}
	if r.res.Paths[at].Finished {
		r.choose(at, "the rest was written after score %.3f", scoreOf(r.res.Paths[at].Score))
		return nil
	}
	r.choose(at, "tokens are used up: the best beginning, unfinished")
	return nil
}

// step chooses among continuations. Finished ones outrank the others; equal texts
// are judged once, and a single one not at all.
func (r *run) step(ctx context.Context, ids []int) (int, error) {
	var pool []int
	done := false
	for _, id := range ids {
		done = done || r.res.Paths[id].Finished
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if p := r.res.Paths[id]; p.Lost == "" && p.Finished == done && !seen[p.Text] {
			seen[p.Text] = true
			pool = append(pool, id)
		}
	}
	if len(pool) == 1 {
		return pool[0], nil
	}
	c := make([]Candidate, len(pool))
	for i, id := range pool {
		p := r.res.Paths[id]
		c[i] = Candidate{KindPartial, p.Text, ""}
		if done {
			c[i] = Candidate{KindPath, p.Text, p.Answer}
		}
	}
	s, err := r.score(ctx, c)
	if err != nil {
		return 0, err
	}
	for i, id := range pool {
		r.scored(id, s[i])
		r.res.Paths[id].Combined = r.res.Paths[id].Score
	}
	best, _ := r.best(pool)
	return best, nil
}
