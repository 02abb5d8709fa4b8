package deliberate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
)

// Task is a problem whose answer can be checked: one line of a file for Evaluate.
type Task struct {
	ID      string `json:"id"`
	Problem string `json:"problem"`
	Answer  string `json:"answer"`
}

// EvalConfig of an evaluation.
type EvalConfig struct {
	Config  Config
	Workers int // problems at a time; 0 = 1
	// Check decides whether an answer is right; nil = Same.
	Check func(got, want string) bool
	Draws int // of the bootstrap, 0 = 1000
	// Progress is told of each finished problem, one at a time; may be nil.
	Progress func(Row)
}

// Row is one problem's outcome.
type Row struct {
	ID         string  `json:"id"`
	Alone      bool    `json:"alone"` // the thinker's greedy path is right
	Loop       bool    `json:"loop"`  // the chosen path is right
	Covered    bool    `json:"covered"`
	Answer     string  `json:"answer"`
	Confidence float64 `json:"confidence"`
	Judged     bool    `json:"judged"`
	Paths      int     `json:"paths"`
	Reason     string  `json:"reason"`
	Error      string  `json:"error,omitempty"`

	AloneTokens  int           `json:"alone_tokens"`
	LoopTokens   int           `json:"loop_tokens"`
	JudgeTokens  int           `json:"judge_tokens"`
	AloneTime    time.Duration `json:"-"`
	LoopTime     time.Duration `json:"-"`
	scores       []float64
	rights       []float64
	surePaths    int // finished paths with a score of StopConfidence
	surelyRights int
}

// Report is what Evaluate found.
type Report struct {
	Mode     Mode                `json:"mode"`
	Problems int                 `json:"problems"`
	Failed   int                 `json:"failed"`  // ended in an error; they count as wrong
	Alone    selfassess.Estimate `json:"alone"`   // share right: the greedy path
	Loop     selfassess.Estimate `json:"loop"`    // share right: the loop
	Lift     selfassess.Estimate `json:"lift"`    // difference, paired
	Ceiling  selfassess.Estimate `json:"ceiling"` // share with at least one right path: what a perfect judge would reach
	Fixed    int                 `json:"fixed"`   // wrong alone, right by the loop
	Lost     int                 `json:"lost"`
	P        float64             `json:"mcnemar_p"` // two-sided, exact
	// TokenRatio is thinker tokens of the loop to those alone, WallRatio the same of time.
	TokenRatio float64 `json:"token_ratio"`
	WallRatio  float64 `json:"wall_ratio"`
	// JudgeAUROC is that of path scores for being right, NaN → null where one kind is missing.
	JudgeAUROC *float64 `json:"judge_auroc"`
	Scored     int      `json:"scored_paths"`
	Sure       int      `json:"sure_paths"` // scores ≥ stop_confidence, and how many of them are right
	SureRight  int      `json:"sure_right"`
	Rows       []Row    `json:"rows"`
}

// Evaluate answers every task by the thinker alone (one greedy path) and by the
// loop. Task i has a seed of its own, so Workers changes no text of a repeatable
// model. A task that fails is counted as wrong and named; a cancelled context ends
// the evaluation.
func Evaluate(ctx context.Context, thinker chat.Model, judge Judge, tasks []Task, cfg EvalConfig) (Report, error) {
	if len(tasks) == 0 {
		return Report{}, errors.New("deliberate: no problems to evaluate on")
	}
	if err := cfg.Config.Validate(); err != nil {
		return Report{}, err
	}
	if cfg.Check == nil {
		cfg.Check = Same
	}
	rows := make([]Row, len(tasks))
	slots := make(chan struct{}, max(1, cfg.Workers))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			rows[i] = evaluate(ctx, thinker, judge, tasks[i], i, cfg)
			if cfg.Progress != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				cfg.Progress(rows[i])
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("deliberate: evaluating: %w", context.Cause(ctx))
	}
	return report(rows, cfg), nil
}

func evaluate(ctx context.Context, thinker chat.Model, judge Judge, t Task, i int, cfg EvalConfig) Row {
	row := Row{ID: t.ID}
	c := cfg.Config
	c.Seed = rng.Seed(cfg.Config.Seed, "task", i)
	alone := c
	alone.Mode, alone.Paths, alone.Temperature, alone.Observe, alone.VerifyFinished, alone.Strategy = BestOfN, 1, 0, nil, false, Independent
	start := time.Now()
	first, err := Run(ctx, thinker, nil, Problem{Text: t.Problem}, alone)
	row.AloneTime, row.AloneTokens = time.Since(start), first.Thinker.CompletionTokens
	row.Alone = err == nil && cfg.Check(first.Answer, t.Answer)

	start = time.Now()
	res, err := Run(ctx, thinker, judge, Problem{Text: t.Problem}, c)
	row.LoopTime, row.LoopTokens, row.JudgeTokens = time.Since(start), res.Thinker.CompletionTokens, res.Judge.PromptTokens+res.Judge.CompletionTokens
	row.Paths = len(res.Paths)
	for _, p := range res.Paths {
		if !p.Finished {
			continue
		}
		right := 0.
		if cfg.Check(p.Answer, t.Answer) {
			row.Covered, right = true, 1
		}
		if p.Score != nil {
			row.scores, row.rights = append(row.scores, *p.Score), append(row.rights, right)
			if *p.Score >= c.StopConfidence {
				row.surePaths++
				row.surelyRights += int(right)
			}
		}
	}
	if err != nil {
		row.Error = err.Error()
		return row
	}
	row.Answer, row.Confidence, row.Judged, row.Reason = res.Answer, res.Confidence, res.Judged, res.Reason
	row.Loop = cfg.Check(res.Answer, t.Answer)
	return row
}

func report(rows []Row, cfg EvalConfig) Report {
	r := Report{Mode: cfg.Config.Mode, Problems: len(rows), Rows: rows}
	n := len(rows)
	ids := make([]string, n)
	alone, loop, lift, ceiling := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var ta, tl, wa, wl float64
	var scores, rights []float64
	one := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	for i, x := range rows {
		ids[i] = fmt.Sprint(i)
		alone[i], loop[i], ceiling[i] = one(x.Alone), one(x.Loop), one(x.Covered)
		lift[i] = loop[i] - alone[i]
		switch {
		case x.Loop && !x.Alone:
			r.Fixed++
		case x.Alone && !x.Loop:
			r.Lost++
		}
		if x.Error != "" {
			r.Failed++
		}
		ta, tl = ta+float64(x.AloneTokens), tl+float64(x.LoopTokens)
		wa, wl = wa+x.AloneTime.Seconds(), wl+x.LoopTime.Seconds()
		scores, rights = append(scores, x.scores...), append(rights, x.rights...)
		r.Sure, r.SureRight = r.Sure+x.surePaths, r.SureRight+x.surelyRights
	}
	b := selfassess.Bootstrap{Draws: cfg.Draws, Seed: cfg.Config.Seed}
	r.Alone, r.Loop = selfassess.MeanByTask(ids, alone, b), selfassess.MeanByTask(ids, loop, b)
	r.Lift, r.Ceiling = selfassess.MeanByTask(ids, lift, b), selfassess.MeanByTask(ids, ceiling, b)
	r.P = McNemar(r.Fixed, r.Lost)
	r.TokenRatio, r.WallRatio = ratio(tl, ta), ratio(wl, wa)
	r.Scored = len(scores)
	if a := selfassess.AUROC(rights, scores); !math.IsNaN(a) {
		r.JudgeAUROC = &a
	}
	return r
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// McNemar is the two-sided exact p of b changes one way and c the other: twice the
// smaller tail of a fair binomial, at most 1.
func McNemar(b, c int) float64 {
	n, k := b+c, min(b, c)
	if n == 0 {
		return 1
	}
	sum := 0.
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	for i := range k + 1 {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) - float64(n)*math.Ln2)
	}
	return min(1, 2*sum)
}

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %d problems (%d failed)\n", r.Mode, r.Problems, r.Failed)
	fmt.Fprintf(&b, "  thinker alone     %s\n  loop              %s\n  difference        %s\n  coverage ceiling  %s\n", r.Alone, r.Loop, r.Lift, r.Ceiling)
	fmt.Fprintf(&b, "  fixed %d, lost %d, McNemar p = %.3g; %.2f× thinker tokens, %.2f× wall time\n", r.Fixed, r.Lost, r.P, r.TokenRatio, r.WallRatio)
	if r.JudgeAUROC != nil {
		fmt.Fprintf(&b, "  judge: AUROC %.3f on %d paths; a score at which the loop stops was right %d of %d times\n", *r.JudgeAUROC, r.Scored, r.SureRight, r.Sure)
	}
	return b.String()
}
