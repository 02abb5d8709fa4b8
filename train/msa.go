package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/selfassess"
)

// Names of the files that training self-assessment leaves in its run folder.
const (
	FileMSA       = "msa.safetensors"
	FileMSAReport = "report.json"
)

// MSAReport is report.json of `muse train selfassess`: how the model was trained
// and how well it does on tasks that it didn't see (out of fold).
type MSAReport struct {
	Model    string                     `json:"model"`
	Hash     string                     `json:"hash"`
	Episodes int                        `json:"episodes"`
	Success  float64                    `json:"success"`
	States   int                        `json:"sibling_states"`
	Training selfassess.Report          `json:"training"`
	Held     selfassess.Evaluation      `json:"held_out"`
	Lift     *selfassess.Lift           `json:"sibling_lift,omitempty"`
	Settings []selfassess.SettingResult `json:"settings,omitempty"` // with --choose
}

// MSAData builds the training rows from collected episodes and sibling states.
func MSAData(es []*Episode, gs []*SiblingGame) (selfassess.Data, error) {
	sib, err := SiblingExamples(gs)
	return selfassess.Data{Chunks: Chunks(es), Windows: Windows(es), Siblings: sib}, err
}

// TrainSelfAssess trains M_sa by one setting, or by the best of several (by
// sibling lift on held-out tasks) when settings has more than one, and writes
// checkpoint and report into the run folder; r may be nil: nothing is written. told may
// be nil.
func TrainSelfAssess(ctx context.Context, r *Run, es []*Episode, gs []*SiblingGame, emb selfassess.Embedder, settings []selfassess.Config, told func(selfassess.SettingResult)) (*selfassess.Model, *MSAReport, error) {
	if len(settings) == 0 {
		return nil, nil, fmt.Errorf("train: no setting of the self-assessment given")
	}
	d, err := MSAData(es, gs)
	if err != nil {
		return nil, nil, err
	}
	return trainMSA(ctx, r, es, gs, d, emb, settings, told)
}

// trainMSA is TrainSelfAssess for rows that are already made.
func trainMSA(ctx context.Context, r *Run, es []*Episode, gs []*SiblingGame, d selfassess.Data, emb selfassess.Embedder, settings []selfassess.Config, told func(selfassess.SettingResult)) (m *selfassess.Model, rep *MSAReport, err error) {
	rep = &MSAReport{Episodes: len(es)}
	for _, g := range gs {
		rep.States += len(g.States)
	}
	for _, e := range es {
		if e.Success {
			rep.Success++
		}
	}
	if len(es) > 0 {
		rep.Success = round3(rep.Success / float64(len(es)))
	}
	var actor selfassess.Actor
	if slices.ContainsFunc(settings, func(c selfassess.Config) bool { return c.Input.Uses("hidden") }) {
		if actor, err = actorOf(es, gs); err != nil {
			return nil, nil, err
		}
	}
	boot := selfassess.Bootstrap{Seed: settings[0].Seed}
	if len(settings) > 1 {
		all, best, err := selfassess.SelectDefault(ctx, d, emb, settings, boot, told)
		if err != nil {
			return nil, nil, fmt.Errorf("train: %w", err)
		}
		m, rep.Training, rep.Settings = all[best].Model, all[best].Report, all
	} else if m, rep.Training, err = selfassess.TrainData(ctx, d, emb, settings[0]); err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	m = m.Tie(actor)
	rep.Model, rep.Hash = m.Name(), m.Hash()
	rep.Held = selfassess.Evaluate(rep.Training.OutOfFold, boot)
	if len(gs) > 0 {
		l := selfassess.SiblingLift(rep.Training.OutOfFold, boot)
		rep.Lift = &l
	}
	if r == nil {
		return m, rep, nil
	}
	if err := m.Save(r.Path(FileMSA)); err != nil {
		return nil, nil, err
	}
	// The report comes last: where it stands, the checkpoint is whole.
	return m, rep, r.WriteJSON(FileMSAReport, rep)
}

// Lines describes the report for people.
func (r *MSAReport) Lines() []string {
	out := []string{fmt.Sprintf("%s: %d episodes (success %.2f), %d sibling states, %d rows of %d tasks, %d epochs, calibration %s",
		r.Model, r.Episodes, r.Success, r.States, r.Training.Rows, r.Training.Tasks, r.Training.Epochs, r.Training.Chosen)}
	for _, m := range r.Held.Positions {
		if m.N == 0 { // trained without folds
			continue
		}
		out = append(out, fmt.Sprintf("held-out tasks, %-6s chunks (%d): AUROC %s, macro %s, accuracy %s (base rate %.3f), ECE %.3f",
			m.Position, m.N, m.AUROC, m.AUROCMacro, m.Accuracy, m.BaseRate.Value, m.ECE.Value))
	}
	if l := r.Lift; l != nil {
		out = append(out, fmt.Sprintf("sibling lift, %d states: best %s, lowest %s", l.States, l.Best, l.Lowest))
	}
	return out
}
