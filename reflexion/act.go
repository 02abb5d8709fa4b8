package reflexion

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// fallbackAction is sent when a model writes no command at all: it is always
// possible and changes nothing.
const fallbackAction = "look"

// Events of a trace, beside those of selfregulate.
const (
	eventEndClaim = "end claimed before a command: sampled again with ends forbidden"
	eventNoAction = "no command in the output: " + fallbackAction + " is sent"
)

// Act is one pass propose → assess → regulate (paper Alg. 4, lines 9–11).
// With a selector that needs no rollouts it is one sample. Seeds are named by
// the episode's seed and the step, so Off plays candidate 0's first command.
func (a *agent) Act(ctx context.Context, c *Carry) (string, Trace, error) {
	var tr Trace
	if err := ctx.Err(); err != nil {
		return "", tr, fmt.Errorf("reflexion: before command %d: %w", len(c.Pairs)+1, err)
	}
	var (
		first llm.Pair
		err   error
	)
	if a.selector.NeedsRollouts() {
		first, err = a.regulated(ctx, c, &tr)
	} else {
		first, err = a.plain(ctx, c, &tr)
	}
	tr.Events = append(c.takeEvents(), tr.Events...)
	tr.Usage = tr.Usage.Add(c.takeUsage())
	if err != nil {
		return "", tr, err
	}
	tr.Thoughts = first.Thoughts
	return EnvAction(first.Action, a.cfg.Dialect), tr, nil
}

func (a *agent) request(c *Carry) llm.Request {
	return llm.Request{N: 1, Temperature: a.cfg.Temperature, Until: llm.UntilAction, Seed: rng.Seed(c.Seed, "step", len(c.Pairs))}
}

// plain samples one command: the agent without metacognition.
func (a *agent) plain(ctx context.Context, c *Carry, tr *Trace) (llm.Pair, error) {
	start := time.Now()
	cand, err := a.first(ctx, c, tr)
	tr.RolloutMillis += millis(start)
	if err != nil {
		return llm.Pair{}, err
	}
	d, err := selfregulate.Regulate(ctx, a.selector, nil, []selfassess.Input{a.input(c, cand)}, []bool{cand.Valid}, a.rand(c))
	if err != nil {
		return llm.Pair{}, err
	}
	tr.Candidates, tr.Choice = []Candidate{cand}, d.Choice
	tr.Events = append(tr.Events, d.Events...)
	if !cand.Valid {
		tr.Events = append(tr.Events, eventNoAction)
		return llm.Pair{Action: fallbackAction}, nil
	}
	return cand.Pairs[0], nil
}

// first draws the first sample that has a command. Ends are allowed at first and
// forbidden in a second draw when the model claims one: together that is sampling
// with ends forbidden, and where no end is claimed it is candidate 0 to the byte.
func (a *agent) first(ctx context.Context, c *Carry, tr *Trace) (Candidate, error) {
	r := a.request(c)
	for {
		out, u, err := a.sample(ctx, c, r)
		tr.Usage = tr.Usage.Add(u)
		if err != nil {
			return Candidate{}, err
		}
		cand := a.candidate(out[0], r, nil, tr)
		if cand.Valid || r.ForbidEnd {
			return cand, nil
		}
		tr.Events = append(tr.Events, eventEndClaim)
		r.ForbidEnd = true
	}
}

// regulated imagines K futures, has them assessed and takes the first command of
// the chosen one. The imagined rest of it is thrown away. Where all are doubtful it
// thinks again (doubt.go); then the choice is among all that were imagined.
func (a *agent) regulated(ctx context.Context, c *Carry, tr *Trace) (llm.Pair, error) {
	var (
		futures []selfassess.Input
		valid   []bool
		d       selfregulate.Decision
	)
	for round := 0; ; round++ {
		more, err := a.imagine(ctx, c, tr, round)
		if err != nil {
			return llm.Pair{}, err
		}
		for _, cand := range more {
			futures, valid = append(futures, a.input(c, cand)), append(valid, cand.Valid)
		}
		start := time.Now()
		d, err = selfregulate.Regulate(ctx, a.selector, a.assessor, futures, valid, a.rand(c))
		if a.selector.NeedsAssessment() {
			tr.AssessMillis += millis(start)
		}
		if err != nil {
			return llm.Pair{}, fmt.Errorf("reflexion: choosing command %d: %w", len(c.Pairs)+1, err)
		}
		if round == a.cfg.Rethink || !a.doubtful(c, tr.Candidates, d.Candidates) {
			break
		}
	}
	for i := range d.Candidates {
		if d.Candidates[i].Assessed {
			tr.Candidates[i].Assessed = &d.Candidates[i].Assessment
		}
	}
	tr.Choice = d.Choice
	tr.Events = append(tr.Events, d.Events...)
	if d.Choice.Reason != selfregulate.ReasonNoneValid {
		return tr.Candidates[d.Choice.Index].Pairs[0], nil
	}
	// No future has a command: do what plain sampling would do.
	start := time.Now()
	cand, err := a.first(ctx, c, tr)
	tr.RolloutMillis += millis(start)
	if err != nil {
		return llm.Pair{}, err
	}
	if !cand.Valid {
		tr.Events = append(tr.Events, eventNoAction)
		return llm.Pair{Action: fallbackAction}, nil
	}
	return cand.Pairs[0], nil
}

// imagine draws K futures and appends them to the trace.
func (a *agent) imagine(ctx context.Context, c *Carry, tr *Trace, round int) ([]Candidate, error) {
	start := time.Now()
	defer func() { tr.RolloutMillis += millis(start) }()
	r := a.request(c)
	r.N, r.Until, r.Pairs = a.cfg.Rollouts, llm.UntilPairs, a.cfg.Horizon
	caps := a.model.Info().Caps
	r.Hidden = caps.HiddenSize > 0
	var recall func([]llm.Pair, string) (string, bool)
	if a.cfg.Recall {
		recall = a.memory(c)
		r.Recall = recall
	}
	if caps.Recall { // the backend does it while it generates
		recall = nil
	}
	if round > 0 {
		a.again(c, &r, round)
	}
	out, u, err := a.sampleFrom(ctx, c, r, round > 0 && a.cfg.Forget == ForgetDoubt)
	tr.Usage = tr.Usage.Add(u)
	if err != nil {
		return nil, err
	}
	if len(out) < r.N {
		tr.Events = append(tr.Events, fmt.Sprintf("%d of %d rollouts received", len(out), r.N))
	}
	from := len(tr.Candidates)
	for _, o := range out {
		cand := a.candidate(o, r, recall, tr)
		cand.Same, cand.Round = sameAs(tr.Candidates, cand), round
		tr.Candidates = append(tr.Candidates, cand)
	}
	return tr.Candidates[from:], nil
}

// candidate parses one continuation. recall is nil where the backend applied it.
func (a *agent) candidate(o llm.Completion, r llm.Request, recall func([]llm.Pair, string) (string, bool), tr *Trace) Candidate {
	cut := llm.Cut(o.Text, r)
	if cut.Foreign || o.Foreign {
		tr.Cut++
	}
	pairs, claim, ok := a.tmpl.Parse(cut.Text)
	if recall != nil {
		for i := range pairs {
			// A model that foresees a failure knows more than the memory does.
			if pairs[i].Observation == llm.NothingHappens {
				continue
			}
			if seen, ok := recall(pairs[:i], pairs[i].Action); ok {
				pairs[i].Observation = seen
			}
		}
	}
	return Candidate{Pairs: pairs, Claim: claim, Valid: ok, Tokens: o.Tokens, Same: -1, Hidden: o.Hidden}
}

// sameAs returns the index of the first of earlier that begins with c's command.
func sameAs(earlier []Candidate, c Candidate) int {
	if len(c.Pairs) == 0 {
		return -1
	}
	return slices.IndexFunc(earlier, func(e Candidate) bool { return len(e.Pairs) > 0 && e.Pairs[0].Action == c.Pairs[0].Action })
}

// input is what M_sa sees of a future: the task, the plan, the imagined pairs and
// the real history; never anything privileged.
func (a *agent) input(c *Carry, cand Candidate) selfassess.Input {
	return selfassess.Input{
		Task: c.Task.Goal, Plan: c.Plan, Pairs: cand.Pairs, History: c.Pairs,
		WinClaim: cand.Claim == "won", Hidden: cand.Hidden, Limit: a.cfg.Limit,
	}
}

func (a *agent) rand(c *Carry) *rand.Rand { return rng.New(c.Seed, "select", len(c.Pairs)) }

func millis(since time.Time) float64 { return float64(time.Since(since)) / float64(time.Millisecond) }
