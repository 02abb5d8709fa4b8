package reflexion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/search"
)

// ReasonSearch is the reason of a choice by tree search.
const ReasonSearch = "search"

// searcher is the agent that regulates by tree search; all but Act is the plain agent's.
type searcher struct{ *agent }

// NewSearch makes an agent that chooses each command by tree search over imagined
// futures (paper, section 3.1.2, option 2) with the settings cfg.Search. A node is the
// transcript and the imagined pairs after it; its futures are cfg.Horizon pairs long and
// are assessed with the imagined pairs as history, so that M_sa sees at every depth what
// it was trained on. The first futures of the root are those of best rollout.
//
// The budget counts tokens that are generated and, where the backend keeps the prefix,
// imagined pairs that are read again.
func NewSearch(cfg Config, m llm.Model, assessor selfassess.Assessor, opts ...Option) (Agent, error) {
	if err := cfg.Search.Validate(); err != nil {
		return nil, err
	}
	// Best checks what a search needs as well: an assessor that fits model and settings.
	a, err := New(cfg, m, assessor, selfregulate.Best, opts...)
	if err != nil {
		return nil, err
	}
	return &searcher{a.(*agent)}, nil
}

// Act searches, and takes the first command of the best arm's best future.
func (a *searcher) Act(ctx context.Context, c *Carry) (string, Trace, error) {
	var tr Trace
	if err := ctx.Err(); err != nil {
		return "", tr, fmt.Errorf("reflexion: before command %d: %w", len(c.Pairs)+1, err)
	}
	first, err := a.searched(ctx, c, &tr)
	tr.Events = append(c.takeEvents(), tr.Events...)
	tr.Usage = tr.Usage.Add(c.takeUsage())
	if err != nil {
		return "", tr, err
	}
	tr.Thoughts = first.Thoughts
	return EnvAction(first.Action, a.cfg.Dialect), tr, nil
}

func (a *searcher) searched(ctx context.Context, c *Carry, tr *Trace) (first llm.Pair, err error) {
	start := time.Now()
	w := &imagination{a: a.agent, c: c, tr: tr}
	defer func() { err = errors.Join(err, w.close()) }()
	t := search.New(a.cfg.Search, w, &branch{}, a.request(c).Seed)
	if err := t.Run(ctx); err != nil {
		return llm.Pair{}, fmt.Errorf("reflexion: choosing command %d: %w", len(c.Pairs)+1, err)
	}
	tr.RolloutMillis += millis(start) - w.assessMillis
	tr.AssessMillis += w.assessMillis
	s := t.Summary()
	tr.Search = &s
	if b := a.cfg.Search.Tokens; b > 0 && s.Tokens > b {
		tr.Events = append(tr.Events, fmt.Sprintf("search: %d tokens where %d were allowed", s.Tokens, b))
	}
	if action, ok := t.Best(); ok {
		at := -1
		for i, cand := range tr.Candidates {
			if cand.Valid && cand.Pairs[0].Action == action && (at < 0 || cand.Assessed.P > tr.Candidates[at].Assessed.P) {
				at = i
			}
		}
		tr.Choice = selfregulate.Choice{Index: at, Reason: ReasonSearch}
		return tr.Candidates[at].Pairs[0], nil
	}
	// No future has a command: do what plain sampling would do.
	tr.Choice = selfregulate.Choice{Reason: selfregulate.ReasonNoneValid}
	tr.Events = append(tr.Events, selfregulate.EventNoneValid)
	start = time.Now()
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

// branch is a node: imagined pairs after the real transcript. The root has none.
type branch struct {
	up      *branch
	pairs   []llm.Pair // all imagined pairs from the root
	tokens  int        // bound for reading the last pair again
	session llm.Session
}

// imagination is the search's world: language model and M_sa.
type imagination struct {
	a            *agent
	c            *Carry
	tr           *Trace
	open         []llm.Session
	assessMillis float64
}

// close closes the forks of the tree.
func (w *imagination) close() error {
	var errs []error
	for _, s := range slices.Backward(w.open) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Imagine implements search.World.
func (w *imagination) Imagine(ctx context.Context, b *branch, n, tokens int, seed uint64) ([]search.Future[*branch], int, error) {
	a, c := w.a, w.c
	r := a.request(c)
	r.N, r.Until, r.Pairs, r.Seed = n, llm.UntilPairs, a.cfg.Horizon, seed
	caps := a.model.Info().Caps
	r.Hidden = caps.HiddenSize > 0
	history := slices.Concat(c.Pairs, b.pairs)
	var recall func([]llm.Pair, string) (string, bool)
	if a.cfg.Recall {
		if recall = RecallFrom(history, c.Task.Known...); a.cfg.Foresee {
			recall = ForeseeFrom(c.Task.Room, history, c.Task.Known...)
		}
		r.Recall = recall
	}
	if caps.Recall { // the backend does it while it generates
		recall = nil
	}
	used, err := w.grow(ctx, b, tokens)
	if err != nil || b.up != nil && b.session == nil {
		return nil, used, err
	}
	if tokens > 0 {
		// What is left bounds every future; the default of a backend is the bound above.
		if r.MaxTokens = min((tokens-used)/n, pairTokens*a.cfg.Horizon); r.MaxTokens < 1 {
			return nil, used, nil
		}
	}
	var out []llm.Completion
	var u llm.Usage
	if b.up == nil {
		out, u, err = a.sample(ctx, c, r)
	} else if out, u, err = b.session.Sample(ctx, r); errors.Is(err, llm.ErrContext) {
		return nil, used, nil
	}
	w.tr.Usage = w.tr.Usage.Add(u)
	used += u.CompletionTokens
	if err != nil {
		return nil, used, fmt.Errorf("imagining %d futures after %d real and %d imagined commands: %w", n, len(c.Pairs), len(b.pairs), err)
	}
	return w.assess(ctx, b, history, out, r, recall, used)
}

// assess makes futures of completions.
func (w *imagination) assess(ctx context.Context, b *branch, history []llm.Pair, out []llm.Completion, r llm.Request, recall func([]llm.Pair, string) (string, bool), used int) ([]search.Future[*branch], int, error) {
	a := w.a
	cands := make([]Candidate, len(out))
	inputs := make([]selfassess.Input, len(out))
	for i, o := range out {
		cands[i] = a.candidate(o, r, recall, w.tr)
		inputs[i] = a.input(w.c, cands[i])
		inputs[i].History = history
	}
	start := time.Now()
	ps, err := a.assessor.Assess(ctx, inputs)
	w.assessMillis += millis(start)
	if err != nil {
		return nil, used, fmt.Errorf("assessing %d futures with %s: %w", len(inputs), a.assessor.Name(), err)
	}
	if len(ps) != len(inputs) {
		return nil, used, fmt.Errorf("%w: %s gave %d assessments of %d futures", selfregulate.ErrAssessment, a.assessor.Name(), len(ps), len(inputs))
	}
	fs := make([]search.Future[*branch], len(cands))
	for i, cand := range cands {
		p := ps[i]
		if b.up == nil { // the record holds the root's futures
			cand.Assessed, cand.Same = &p, sameAs(w.tr.Candidates, cand)
			w.tr.Candidates = append(w.tr.Candidates, cand)
		}
		fs[i].Value = p.P
		if !cand.Valid {
			continue
		}
		first := cand.Pairs[0]
		fs[i].Action, fs[i].Outcome = first.Action, first.Observation
		fs[i].Next = &branch{up: b, pairs: append(slices.Clone(b.pairs), first), tokens: out[i].Tokens + out[i].ForcedTokens}
		// An end claimed after the first pair, or a pair that was cut off: nothing follows.
		fs[i].Ended = first.Observation == "" || len(cand.Pairs) == 1 && cand.Claim != ""
	}
	return fs, used, nil
}

// grow opens the session of a node: a fork of the one above that has read the node's
// last pair. It leaves the session nil where the context or the budget is full.
func (w *imagination) grow(ctx context.Context, b *branch, tokens int) (used int, err error) {
	if b.up == nil || b.session != nil {
		return 0, nil
	}
	counted := w.a.model.Info().Caps.Prefix
	if counted && tokens > 0 && tokens <= b.tokens {
		return 0, nil
	}
	from := b.up.session
	if b.up.up == nil {
		if from, err = w.a.session(ctx, w.c); err != nil {
			return 0, err
		}
	}
	f, err := from.Fork(ctx)
	if err != nil {
		return 0, fmt.Errorf("forking the transcript: %w", err)
	}
	w.open = append(w.open, f)
	u, err := f.Append(ctx, w.a.tmpl.Pair(b.pairs[len(b.pairs)-1]))
	w.tr.Usage = w.tr.Usage.Add(u)
	if counted {
		used = u.PromptTokens
	}
	if errors.Is(err, llm.ErrContext) {
		return used, nil
	}
	if err != nil {
		return used, fmt.Errorf("reading an imagined pair: %w", err)
	}
	b.session = f
	return used, nil
}
