package deliberate

import (
	"context"
	"errors"
	"math"
	"slices"
)

// adaptive is the source's default pipeline: one greedy path, and more in the
// measure of the judge's doubt.
func (r *run) adaptive(ctx context.Context) error {
	doubt := 1.
	hard, err := r.triage(ctx, &doubt)
	if err != nil {
		return err
	}
	if !hard {
		done, err := r.greedy(ctx, &doubt)
		if err != nil || done {
			return err
		}
	}
	best := -1
	for round := range r.cfg.MaxRounds {
		n := Extra(doubt, r.cfg.MinPaths, r.cfg.MaxPaths)
		r.note(EventBranch, best, "%d more paths: doubt %.2f", n, doubt)
		if err := r.branch(ctx, n, best); err != nil {
			// Paths of before are still good for an answer.
			if ctx.Err() != nil || len(r.finished()) == 0 || errors.Is(err, ErrVerdict) {
				return err
			}
			r.note(EventLost, -1, "%v", err)
		}
		ids := r.finished()
		if len(ids) == 0 {
			continue
		}
		if len(ids) > 1 || r.res.Paths[ids[0]].Score != nil {
			if err := r.judgePaths(ctx, ids); err != nil {
				return err
			}
		}
		best, _ = r.best(ids)
		if s := scoreOf(r.res.Paths[best].Score); s >= r.cfg.StopConfidence {
			break
		} else if s == s {
			doubt = 1 - s
		}
		if round+1 < r.cfg.MaxRounds {
			continue
		}
		if err := r.escalate(ctx); err != nil {
			return err
		}
	}
	return r.chooseBest(r.finished())
}

// Extra is the number of further paths at a doubt of u: round(min + u (max − min)).
func Extra(u float64, min, max int) int {
	return int(math.Round(float64(min) + u*float64(max-min)))
}

// triage has the bare problem rated; a hard one needs no greedy attempt.
func (r *run) triage(ctx context.Context, doubt *float64) (hard bool, err error) {
	if !r.cfg.Triage {
		return false, nil
	}
	s, err := r.score(ctx, []Candidate{{Kind: KindProblem}})
	if err != nil || s[0] != s[0] {
		return false, err
	}
	hard = s[0] < r.cfg.TriageHard
	note := "a greedy path first"
	if hard {
		*doubt, note = 1-s[0], "hard: no greedy path"
	}
	r.event(Event{Kind: EventTriage, Path: -1, Score: &s[0], Note: note})
	return hard, nil
}

// greedy writes and judges the first path; done means that it is the answer.
func (r *run) greedy(ctx context.Context, doubt *float64) (done bool, err error) {
	ids, err := r.write(ctx, []wish{{origin: OriginGreedy, parent: -1, greedy: true}})
	if err != nil {
		if ctx.Err() != nil || !passing(err) {
			return false, err
		}
		return false, nil // the sampled paths may have more luck
	}
	p := r.res.Paths[ids[0]]
	if !p.Finished {
		return false, nil
	}
	s, err := r.score(ctx, []Candidate{{KindPath, p.Text, p.Answer}})
	if err != nil {
		return false, err
	}
	r.scored(p.ID, s[0])
	if s[0] != s[0] {
		return false, nil
	}
	*doubt = 1 - s[0]
	if s[0] >= r.cfg.StopConfidence {
		r.choose(p.ID, "greedy path: score %.3f ≥ %.3g", s[0], r.cfg.StopConfidence)
		return true, nil
	}
	return false, nil
}

// branch writes n more paths: plain ones, or outlines of which the better half is
// written out. best is the path to start from, -1 = none.
func (r *run) branch(ctx context.Context, n, best int) error {
	wishes := make([]wish, n)
	for i := range wishes {
		w := wish{origin: OriginSample, parent: -1}
		if best >= 0 {
			w.origin, w.parent, w.addition = OriginBranch, best, fromBest(r.res.Paths[best].Text)
		}
		if r.cfg.DiversityHints {
			w.hint = hints[i%len(hints)]
		}
		if r.cfg.SketchTokens > 0 {
			w.origin, w.system, w.maxTokens = OriginSketch, sketchSystem, r.cfg.SketchTokens
		}
		wishes[i] = w
	}
	ids, err := r.write(ctx, wishes)
	if err != nil {
		return err
	}
	if r.cfg.SketchTokens > 0 {
		if ids, err = r.expand(ctx, ids); err != nil {
			return err
		}
	}
	r.split(ids)
	return nil
}

// expand keeps the better half of the outlines and has them written out.
func (r *run) expand(ctx context.Context, ids []int) ([]int, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return r.res.Paths[id].Lost != "" })
	c := make([]Candidate, len(ids))
	for i, id := range ids {
		c[i] = Candidate{Kind: KindSketch, Text: r.res.Paths[id].Text}
	}
	s, err := r.score(ctx, c)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		r.scored(id, s[i])
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		x, y := scoreOf(r.res.Paths[a].Score), scoreOf(r.res.Paths[b].Score)
		switch {
		case x > y || x == x && y != y:
			return -1
		case x < y || x != x && y == y:
			return 1
		}
		return 0
	})
	keep := ids[:(len(ids)+1)/2]
	slices.Sort(keep)
	var wishes []wish
	for _, id := range keep {
		wishes = append(wishes, wish{origin: OriginExpanded, parent: id, addition: fromSketch(r.res.Paths[id].Text), hint: r.res.Paths[id].Hint})
	}
	return r.write(ctx, wishes)
}

// split turns paths with several approaches into several paths. The parent stays,
// but can't win: its parts can.
func (r *run) split(ids []int) {
	if !r.cfg.Split {
		return
	}
	for _, id := range ids {
		p := r.res.Paths[id]
		if !p.Finished {
			continue
		}
		parts := splitApproaches(p.Text)
		for _, text := range parts {
			child := Path{ID: len(r.res.Paths), Parent: id, Origin: OriginSplit, Text: text, Answer: r.answer(text), Finished: true}
			r.res.Paths = append(r.res.Paths, child)
			r.note(EventPath, child.ID, "split off path %d: %s", id, child.Answer)
		}
		if len(parts) > 0 {
			r.res.Paths[id].Finished = false
		}
	}
}

// escalate has a stronger model write one path.
func (r *run) escalate(ctx context.Context) error {
	if r.cfg.Escalate == nil {
		return nil
	}
	if _, err := r.write(ctx, []wish{{origin: OriginEscalated, parent: -1, greedy: true, model: r.cfg.Escalate}}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil // noted as lost; the other paths are still there
	}
	return r.judgePaths(ctx, r.finished())
}

// bestOfN writes all paths at once and has them judged.
func (r *run) bestOfN(ctx context.Context) error {
	wishes := make([]wish, r.cfg.Paths)
	for i := range wishes {
		wishes[i] = wish{origin: OriginSample, parent: -1}
		if r.cfg.DiversityHints {
			wishes[i].hint = hints[i%len(hints)]
		}
	}
	ids, err := r.write(ctx, wishes)
	if err != nil {
		return err
	}
	r.split(ids)
	ids = r.finished()
	if len(ids) > 1 {
		if err := r.judgePaths(ctx, ids); err != nil {
			return err
		}
	}
	return r.chooseBest(ids)
}
