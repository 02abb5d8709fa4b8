package deliberate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// finished returns the ids of finished paths, in order.
func (r *run) finished() []int {
	var ids []int
	for _, p := range r.res.Paths {
		if p.Finished && p.Lost == "" && !p.Cancelled {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// judgePaths scores those of the paths that have no score yet, and every distinct
// bare answer of the finished ones; then it combines the two.
func (r *run) judgePaths(ctx context.Context, ids []int) error {
	if r.cfg.Strategy == Choice {
		return r.compare(ctx, ids)
	}
	var (
		c       []Candidate
		of      []int
		answers []string
	)
	for _, id := range ids {
		if p := r.res.Paths[id]; p.Score == nil {
			c, of = append(c, Candidate{KindPath, p.Text, p.Answer}), append(of, id)
		}
	}
	paths := len(c)
	known := map[string]*float64{}
	for _, id := range ids {
		p := r.res.Paths[id]
		key := normal(p.Answer)
		if p.OnAnswer != nil {
			known[key] = p.OnAnswer
		}
	}
	if r.cfg.AnswerPrior > 0 && r.cfg.Mode == Adaptive {
		for _, id := range ids {
			p := r.res.Paths[id]
			if key := normal(p.Answer); known[key] == nil && !slices.Contains(answers, key) {
				answers = append(answers, key)
				c = append(c, Candidate{KindAnswer, "Final answer: " + p.Answer, p.Answer})
			}
		}
	}
	if len(c) > 0 {
		scores, err := r.score(ctx, c)
		if err != nil {
			return err
		}
		for i, id := range of {
			r.scored(id, scores[i])
		}
		for i, key := range answers {
			if s := scores[paths+i]; s == s {
				known[key] = &s
			}
		}
	}
	for _, id := range ids {
		p := &r.res.Paths[id]
		p.OnAnswer = known[normal(p.Answer)]
		if p.Score == nil {
			continue
		}
		sum := *p.Score
		if p.OnAnswer != nil {
			sum += r.cfg.AnswerPrior * *p.OnAnswer
		}
		p.Combined = &sum
	}
	return nil
}

// compare asks one question about all paths.
func (r *run) compare(ctx context.Context, ids []int) error {
	if len(ids) > maxChoices {
		r.note(EventBranch, -1, "only the first %d of %d paths are compared", maxChoices, len(ids))
		ids = ids[:maxChoices]
	}
	c := make([]Candidate, len(ids))
	for i, id := range ids {
		c[i] = Candidate{KindPath, r.res.Paths[id].Text, r.res.Paths[id].Answer}
	}
	shares, err := r.judge(ctx, c, r.j.(Chooser).Choose)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if s := shares[i]; s == s {
			r.res.Paths[id].Combined = &s
			r.event(Event{Kind: EventScore, Path: id, Score: &s, Note: "share of the choice"})
		}
	}
	return nil
}

// best returns the id of the best of the paths: the highest combined score, the
// first among equals. Without any score it is the first path of the most frequent
// answer; voted is then true.
func (r *run) best(ids []int) (id int, voted bool) {
	id = -1
	for _, i := range ids {
		if c := r.res.Paths[i].Combined; c != nil && (id < 0 || *c > *r.res.Paths[id].Combined) {
			id = i
		}
	}
	if id >= 0 {
		return id, false
	}
	votes := map[string]int{}
	for _, i := range ids {
		votes[normal(r.res.Paths[i].Answer)]++
	}
	return slices.MaxFunc(ids, func(a, b int) int { // the first of equals
		return cmp.Compare(votes[normal(r.res.Paths[a].Answer)], votes[normal(r.res.Paths[b].Answer)])
	}), true
}

// choose ends the run with a path.
func (r *run) choose(id int, format string, a ...any) {
	p := r.res.Paths[id]
	r.res.Chosen, r.res.Answer, r.res.Text, r.res.Finished = id, p.Answer, p.Text, p.Finished
	r.res.Reason = fmt.Sprintf(format, a...)
	if p.Score != nil {
		r.res.Confidence, r.res.Judged = *p.Score, true
	} else if p.Combined != nil {
		r.res.Confidence, r.res.Judged = *p.Combined, true
	}
	r.note(EventChosen, id, "%s", r.res.Reason)
}

// chooseBest ends the run with the best finished path.
func (r *run) chooseBest(ids []int) error {
	if len(ids) == 0 {
		return fmt.Errorf("%w: %d paths were written, none came to an answer within %d tokens; raise max_tokens", ErrNoPath, len(r.res.Paths), r.cfg.MaxTokens)
	}
	id, voted := r.best(ids)
	switch {
	case len(ids) == 1 && r.res.Paths[id].Combined == nil:
		r.choose(id, "the only finished path; it was not judged")
	case voted:
		r.choose(id, "the judge gave no score: the most frequent answer of %d paths", len(ids))
	case r.cfg.Strategy == Choice:
		r.choose(id, "chosen among %d finished paths", len(ids))
	default:
		r.choose(id, "highest score of %d finished paths", len(ids))
	}
	return nil
}

// verify asks two questions about a finished winner. The answers are noted; they
// change nothing, as margins of judges are not to be trusted uncalibrated.
func (r *run) verify(ctx context.Context) error {
	if !r.cfg.VerifyFinished || !r.res.Finished || r.j == nil {
		return nil
	}
	s, err := r.score(ctx, []Candidate{{KindComplete, r.res.Text, r.res.Answer}, {KindPath, r.res.Text, r.res.Answer}})
	if err != nil {
		return err
	}
	if s[0] == s[0] && s[1] == s[1] {
		r.res.Verify = &Verify{s[0], s[1]}
		r.note(EventVerify, r.res.Chosen, "complete %.2f, correct %.2f", s[0], s[1])
	}
	return nil
}
