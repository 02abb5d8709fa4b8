package deliberate

import (
	"context"
	"fmt"
	"math"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
)

// Assessor is a judge made of a success predictor: candidates are text trajectories
// ("> go to desk 1", then what was seen), the problem is their goal. A text without
// any command can't be assessed and scores 0: it does nothing. Safe for concurrent
// use.
type Assessor struct {
	MSA   selfassess.Assessor
	Limit int // the episode's command limit, 0 = 50
	// Input makes the predictor's input; nil parses the text by llm.ParseRollout.
	Input func(problem, text string) (selfassess.Input, bool)
}

// Identity names the predictor; it is never a thinker.
func (j *Assessor) Identity() string { return j.MSA.Name() }

// Score assesses all candidates in one batch.
func (j *Assessor) Score(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	v := Verdict{Scores: make([]float64, len(c))}
	var (
		in []selfassess.Input
		of []int
	)
	for i, x := range c {
		make := j.Input
		if make == nil {
			make = j.parse
		}
		if x.Kind == KindProblem {
			v.Scores[i] = math.NaN() // it knows nothing of a task without a trajectory
			continue
		}
		if p, ok := make(problem, x.Text); ok {
			in, of = append(in, p), append(of, i)
		}
	}
	if len(in) == 0 {
		return v, nil
	}
	out, err := j.MSA.Assess(ctx, in)
	if err != nil {
		return Verdict{}, fmt.Errorf("deliberate: assessing %d trajectories with %s: %w", len(in), j.MSA.Name(), err)
	}
	if len(out) != len(in) {
		return Verdict{}, fmt.Errorf("%w: %s gave %d assessments of %d trajectories", ErrVerdict, j.MSA.Name(), len(out), len(in))
	}
	for k, i := range of {
		v.Scores[i] = out[k].P
	}
	return v, nil
}

func (j *Assessor) parse(problem, text string) (selfassess.Input, bool) {
	limit := j.Limit
	if limit == 0 {
		limit = 50
	}
	p := llm.Parse(text)
	return selfassess.Input{Task: problem, Plan: p.Plan, Pairs: p.Pairs, WinClaim: p.Claim == "won", Limit: limit}, len(p.Pairs) > 0
}

// Calibrated maps a judge's scores through a calibration that was fitted to its
// logits: raw margins of judges are not usable for abstaining.
type Calibrated struct {
	Judge       Judge
	Calibration selfassess.Calibration
}

// Identity is the judge's, "" where it has none.
func (c *Calibrated) Identity() string {
	if j, ok := c.Judge.(interface{ Identity() string }); ok {
		return j.Identity()
	}
	return ""
}

// Score calibrates the judge's scores.
func (c *Calibrated) Score(ctx context.Context, problem string, cs []Candidate) (Verdict, error) {
	v, err := c.Judge.Score(ctx, problem, cs)
	for i, s := range v.Scores {
		if s == s {
			s = min(max(s, 1e-6), 1-1e-6)
			v.Scores[i] = c.Calibration.Apply(math.Log(s / (1 - s)))
		}
	}
	return v, err
}
