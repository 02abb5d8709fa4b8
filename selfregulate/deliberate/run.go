package deliberate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
)

// Run answers one problem. judge may be nil only for one path of best_of_n, which
// is not judged. With an error the result holds what was made until then.
//
// A path lost to the network is tried again within its budget and else left out:
// the run fails only when no path finishes, or when the judge can't judge at all.
// A judge that is away for a while is replaced by a vote of the answers, and
// Result.Judged says so. Cancellation ends all calls; no goroutine is left behind.
func Run(ctx context.Context, thinker chat.Model, judge Judge, p Problem, cfg Config) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if thinker == nil {
		return Result{}, errors.New("deliberate: no thinker given")
	}
	if p.Text == "" {
		return Result{}, errors.New("deliberate: the problem is empty")
	}
	if judge == nil && !(cfg.Mode == BestOfN && cfg.Paths == 1) {
		return Result{}, fmt.Errorf("deliberate: mode %s needs a judge and none is given", cfg.Mode)
	}
	if err := CheckJudge(thinker, judge, cfg); err != nil {
		return Result{}, err
	}
	if _, ok := judge.(Chooser); cfg.Strategy == Choice && !ok {
		return Result{}, fmt.Errorf("deliberate: strategy %s needs a judge that compares; use strategy %s", Choice, Independent)
	}
	if g, ok := judge.(interface{ Ready(context.Context) error }); ok {
		// A judge that is away may come back; one that can't judge never will.
		if err := g.Ready(ctx); errors.Is(err, chat.ErrUnable) {
			return Result{}, fmt.Errorf("deliberate: the judge can't judge: %w; use the vote judge, or another server", err)
		}
	}
	r := &run{t: thinker, j: judge, p: p, cfg: cfg, res: Result{Chosen: -1}}
	var err error
	switch cfg.Mode {
	case Adaptive:
		err = r.adaptive(ctx)
	case BestOfN:
		err = r.bestOfN(ctx)
	case Stepwise:
		err = r.stepwise(ctx)
	case Race:
		err = r.race(ctx)
	}
	if err != nil {
		return r.res, err
	}
	return r.res, r.verify(ctx)
}

// CheckJudge enforces the one rule, as Run does: the judge must not be the thinker,
// nor the model that paths are escalated to. Its error matches ErrSelfJudge.
func CheckJudge(thinker chat.Model, judge Judge, cfg Config) error {
	j, ok := judge.(interface{ Identity() string })
	if !ok || cfg.AllowSelfJudge {
		return nil
	}
	for _, t := range []chat.Model{thinker, cfg.Escalate} {
		if t != nil && t.Identity() == j.Identity() {
			return fmt.Errorf("%w (%s): grading oneself measures worse than no judge; choose another model or server, or allow it explicitly", ErrSelfJudge, j.Identity())
		}
	}
	return nil
}

// run is one deliberation.
type run struct {
	t   chat.Model
	j   Judge
	p   Problem
	cfg Config

	mu  sync.Mutex // guards res and Observe
	res Result
}

// event notes what happened.
func (r *run) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind != EventPiece {
		r.res.Events = append(r.res.Events, e)
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(e)
	}
}

func (r *run) note(kind string, path int, format string, a ...any) {
	r.event(Event{Kind: kind, Path: path, Note: fmt.Sprintf(format, a...)})
}

// wish describes a path to be written.
type wish struct {
	origin    Origin
	parent    int
	hint      string
	system    string // "" = the default
	addition  string // behind the problem
	prefix    string
	maxTokens int
	greedy    bool
	model     chat.Model // nil = the thinker
}

// write makes paths, all at the same time, and returns their ids in order of the
// wishes. Lost ones are there too, with the reason.
func (r *run) write(ctx context.Context, wishes []wish) ([]int, error) {
	ids := r.begin(wishes)
	var wg sync.WaitGroup
	errs := make([]error, len(wishes))
	paths := make([]Path, len(wishes))
	usage := make([]llm.Usage, len(wishes))
	for i, w := range wishes {
		wg.Go(func() {
			paths[i], usage[i], errs[i] = r.one(ctx, ids[i], w, nil)
			r.settle(paths[i], errs[i])
		})
	}
	wg.Wait()
	for _, u := range usage {
		r.res.Thinker = r.res.Thinker.Add(u)
	}
	if err := ctx.Err(); err != nil {
		return ids, fmt.Errorf("deliberate: writing paths: %w", context.Cause(ctx))
	}
	lost := 0
	for _, err := range errs {
		if err != nil {
			lost++
		}
	}
	if lost == len(wishes) {
		return ids, fmt.Errorf("deliberate: all %d paths are lost, the first: %w", lost, errs[0])
	}
	return ids, nil
}

// begin makes room for the paths, so that ids depend on no timing.
func (r *run) begin(wishes []wish) []int {
	ids := make([]int, len(wishes))
	for i, w := range wishes {
		ids[i] = len(r.res.Paths)
		r.res.Paths = append(r.res.Paths, Path{ID: ids[i], Parent: w.parent, Origin: w.origin, Hint: w.hint})
		r.event(Event{Kind: EventBegin, Path: ids[i], Note: string(w.origin)})
	}
	return ids
}

// settle puts a path into its place.
func (r *run) settle(p Path, err error) {
	r.mu.Lock()
	r.res.Paths[p.ID] = p
	r.mu.Unlock()
	if err != nil {
		r.note(EventLost, p.ID, "%v", err)
		return
	}
	note := p.Answer
	if !p.Finished {
		note = "unfinished"
	}
	r.note(EventPath, p.ID, "%s", note)
}

// one writes one path, again where that may help. emit may be nil; restart is then
// never told. The error is that of the last try.
func (r *run) one(ctx context.Context, id int, w wish, s *stream) (Path, llm.Usage, error) {
	p := Path{ID: id, Parent: w.parent, Origin: w.origin, Hint: w.hint}
	var total llm.Usage
	for try := 0; ; try++ {
		reply, err := r.ask(ctx, id, try, w, s)
		total = total.Add(reply.Usage)
		p.Tokens += reply.Tokens
		p.Retries = try
		if err == nil {
			r.fill(&p, w, reply)
			return p, total, nil
		}
		if try >= r.cfg.PathRetries || ctx.Err() != nil || !passing(err) {
			p.Lost = err.Error()
			p.Text = w.prefix + reply.Text
			return p, total, err
		}
		if s != nil {
			s.restart()
		}
	}
}

func (r *run) ask(ctx context.Context, id, try int, w wish, s *stream) (chat.Reply, error) {
	system, m := w.system, w.model
	if system == "" {
		system = defaultSystem
	}
	if m == nil {
		m = r.t
	}
	addition := w.addition
	if w.hint != "" {
		addition += "\n" + w.hint
	}
	req := chat.Request{Messages: r.cfg.messages(r.p, system, addition), Prefix: w.prefix, MaxTokens: w.maxTokens,
		Temperature: r.cfg.Temperature, Seed: rng.Seed(r.cfg.Seed, "path", id, try)}
	if w.greedy {
		req.Temperature = 0
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = r.cfg.MaxTokens
	}
	if s != nil {
		req.Emit = s.emit
	}
	return m.Ask(ctx, req)
}

// fill reads a reply. Servers name wrong ends: a path that names its answer is
// finished, one that used all its tokens without naming any is not.
func (r *run) fill(p *Path, w wish, reply chat.Reply) {
	p.Text = w.prefix + reply.Text
	if r.cfg.KeepReasoning && w.prefix == "" {
		p.Text = chat.JoinThinking(reply.Text, reply.Reasoning)
	}
	whole := w.prefix + reply.Text
	_, named := marked(whole)
	limit := w.maxTokens
	if limit == 0 {
		limit = r.cfg.MaxTokens
	}
	ended := reply.Finish == chat.FinishStop && reply.Tokens < limit
	if w.origin == OriginSketch {
		return // an outline is never finished
	}
	p.Answer = r.answer(whole)
	p.Finished = p.Answer != "" && (ended || named)
}

func (r *run) answer(text string) string {
	if r.cfg.Answer != nil {
		return r.cfg.Answer(text)
	}
	return FinalAnswer(text)
}

// passing says whether an error may go away by itself.
func passing(err error) bool {
	if errors.Is(err, llm.ErrContext) || errors.Is(err, chat.ErrUnable) {
		return false
	}
	var e *llm.Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 500 {
		return e.Status == 408 || e.Status == 429
	}
	return true
}

// score asks the judge about candidates. Unknown scores are NaN. A judge that lacks
// an ability, or answers nonsense, is an error; one that is away is an event.
func (r *run) score(ctx context.Context, c []Candidate) ([]float64, error) {
	return r.judge(ctx, c, r.j.Score)
}

func (r *run) judge(ctx context.Context, c []Candidate, ask func(context.Context, string, []Candidate) (Verdict, error)) ([]float64, error) {
	v, err := ask(ctx, r.p.judged(), c)
	r.mu.Lock()
	r.res.Judge = r.res.Judge.Add(v.Usage)
	r.mu.Unlock()
	for _, n := range v.Notes {
		r.note(EventJudgeLost, -1, "%s", n)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("deliberate: judging: %w", context.Cause(ctx))
		}
		if !passing(err) {
			return nil, fmt.Errorf("deliberate: judging %d candidates: %w", len(c), err)
		}
		r.note(EventJudgeLost, -1, "%v", err)
		v.Scores = make([]float64, len(c))
		for i := range v.Scores {
			v.Scores[i] = math.NaN()
		}
	}
	if len(v.Scores) != len(c) {
		return nil, fmt.Errorf("%w: %d scores of %d candidates", ErrVerdict, len(v.Scores), len(c))
	}
	for i, s := range v.Scores {
		if s < 0 || s > 1 {
			return nil, fmt.Errorf("%w: score %v of candidate %d; a probability is expected", ErrVerdict, s, i)
		}
	}
	return v.Scores, nil
}

// scored writes a score into a path and tells of it.
func (r *run) scored(id int, s float64) {
	if math.IsNaN(s) {
		return
	}
	r.mu.Lock()
	r.res.Paths[id].Score = &s
	r.mu.Unlock()
	r.event(Event{Kind: EventScore, Path: id, Score: &s})
}

func scoreOf(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}
