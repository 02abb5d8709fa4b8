package selfassess

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// SettingResult is one named setting and how it did; see [SelectDefault].
type SettingResult struct {
	Name    string  `json:"name"` // "history+embedding/sibling"
	Config  Config  `json:"config"`
	Skipped string  `json:"skipped,omitempty"` // why it could not be trained
	Lift    Lift    `json:"lift"`              // held-out tasks
	Chunks  Metrics `json:"chunks"`            // held-out tasks, all chunks, calibrated
	First   Metrics `json:"first"`             // held-out tasks, first chunks
	Report  Report  `json:"report"`
	Model   *Model  `json:"-"` // trained on all tasks
}

// Score is what settings are ranked by: the spread of sibling lift (best −
// lowest). Both ends are made by the same ranking, so their difference says more
// from few states than either alone; the table shows all three.
func (s SettingResult) Score() float64 {
	if s.Skipped != "" || math.IsNaN(s.Lift.Spread.Value) {
		return math.Inf(-1)
	}
	return s.Lift.Spread.Value
}

// Settings returns base with every combination of labels and the given inputs.
func Settings(base Config, inputs ...InputKind) []Config {
	if len(inputs) == 0 {
		inputs = InputKinds()
	}
	var out []Config
	for _, l := range []Labels{LabelsOutcome, LabelsSibling} {
		for _, k := range inputs {
			c := base.With(k)
			c.Labels = l
			out = append(out, c)
		}
	}
	return out
}

// SelectDefault trains every setting on the same data with the same folds by task
// and ranks them by sibling lift on held-out tasks, which predicts what choosing
// by the assessment gains; accuracy over chunks does not. It returns all results
// in the given order and the index of the winner (ties: the first). Settings that
// lack an embedder or hidden states are skipped, saying why. progress may be nil.
func SelectDefault(ctx context.Context, d Data, emb Embedder, settings []Config, b Bootstrap, progress func(SettingResult)) ([]SettingResult, int, error) {
	out := make([]SettingResult, len(settings))
	best := -1
	for i, c := range settings {
		r := SettingResult{Name: c.String(), Config: c}
		if c.Folds < 2 {
			return nil, 0, fmt.Errorf("selfassess: setting %s has %d folds; choosing needs held-out tasks, use at least 2", c, c.Folds)
		}
		m, rep, err := TrainData(ctx, d, emb, c)
		switch {
		case errors.Is(err, ErrEmbedder) || errors.Is(err, ErrHidden) || errors.Is(err, ErrNoRows):
			r.Skipped = err.Error()
		case err != nil:
			return nil, 0, fmt.Errorf("setting %s: %w", c, err)
		default:
			r.Model, r.Report = m, rep
			r.Lift = SiblingLift(rep.OutOfFold, b)
			rows := windowsOnly(rep.OutOfFold)
			r.Chunks = MetricsOf(rows, PositionAll, b)
			r.First = MetricsOf(AtPosition(rows, PositionFirst), PositionFirst, b)
		}
		out[i] = r
		if progress != nil {
			progress(r)
		}
		if !math.IsInf(r.Score(), -1) && (best < 0 || r.Score() > out[best].Score()) {
			best = i
		}
	}
	if best < 0 {
		return out, 0, fmt.Errorf("%w: no setting could be judged by sibling lift; collect siblings first", ErrNoRows)
	}
	return out, best, nil
}
