package selfregulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/muse-agent/muse/selfassess"
)

// ErrAssessment is matched by errors about an assessment that can't be compared:
// NaN, outside [0,1], or not one for each candidate.
var ErrAssessment = errors.New("selfregulate: unusable assessment")

// EventNoneValid is the event of a decision in which no candidate was valid.
const EventNoneValid = "no valid candidate"

// Decision is one regulated choice with all that led to it.
type Decision struct {
	Choice     Choice
	Candidates []Candidate // one a future, in order
	Events     []string    // EventNoneValid or none
}

// Regulate is one pass of the loop assess → select (paper, Fig. 1): it asks the
// assessor about every future, invalid ones included, if the selector needs that,
// and lets the selector choose. valid[i] tells whether future i has an action.
// When none is valid the first sample is chosen and the event recorded.
//
// a may be nil when the selector needs no assessment. An assessment that is NaN or
// outside [0,1] is refused with an error that matches [ErrAssessment]: choosing by
// it would silently turn a broken predictor into a preference.
func Regulate(ctx context.Context, s Selector, a selfassess.Assessor, futures []selfassess.Input, valid []bool, r *rand.Rand) (Decision, error) {
	if len(futures) == 0 {
		return Decision{}, errors.New("selfregulate: no futures to choose among; ask the world model for at least one")
	}
	if len(valid) != len(futures) {
		return Decision{}, fmt.Errorf("selfregulate: %d futures but %d validity flags", len(futures), len(valid))
	}
	d := Decision{Candidates: make([]Candidate, len(futures))}
	for i := range d.Candidates {
		d.Candidates[i].Valid = valid[i]
	}
	if s.NeedsAssessment() {
		if err := assess(ctx, s, a, futures, d.Candidates); err != nil {
			return Decision{}, err
		}
	}
	d.Choice = s.Select(r, d.Candidates)
	if d.Choice.Index < 0 || d.Choice.Index >= len(futures) {
		return Decision{}, fmt.Errorf("selfregulate: selector %q chose %d of %d futures", s.Name(), d.Choice.Index, len(futures))
	}
	if d.Choice.Reason == ReasonNoneValid {
		d.Events = append(d.Events, EventNoneValid)
	}
	return d, nil
}

func assess(ctx context.Context, s Selector, a selfassess.Assessor, futures []selfassess.Input, c []Candidate) error {
	if a == nil {
		return fmt.Errorf("selfregulate: selector %q needs an assessor and none is given; train one or choose %q or %q", s.Name(), ReasonRandom, ReasonOff)
	}
	out, err := a.Assess(ctx, futures)
	if err != nil {
		return fmt.Errorf("selfregulate: assessing %d futures with %s: %w", len(futures), a.Name(), err)
	}
	if len(out) != len(futures) {
		return fmt.Errorf("%w: %s gave %d assessments of %d futures", ErrAssessment, a.Name(), len(out), len(futures))
	}
	for i, o := range out {
		// The comparison is written so that NaN fails it.
		if !(o.P >= 0 && o.P <= 1) {
			return fmt.Errorf("%w: %s says P = %v of future %d; a probability is expected", ErrAssessment, a.Name(), o.P, i)
		}
		c[i].Assessed, c[i].Assessment = true, o
	}
	return nil
}
