package train

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// The adaptations that self-assessment is judged under.
const (
	AdaptNone  = "none"         // as trained
	AdaptTask  = "task"         // on the adaptation episodes of the same task
	AdaptOther = "another task" // control: on those of the next task
	AdaptMean  = "mean outcome" // control: no model, the mean outcome of the adaptation episodes
)

// AssessRow is one line of docs/results/assessment.json.
type AssessRow struct {
	Actor      string   `json:"actor"`
	MSA        string   `json:"m_sa"`
	Adaptation string   `json:"adaptation"`
	Position   string   `json:"position"`
	AUROC      *float64 `json:"auroc"`
	CILow      *float64 `json:"ci_low"` // of auroc
	CIHigh     *float64 `json:"ci_high"`
	AUROCMacro *float64 `json:"auroc_macro"`
	Accuracy   *float64 `json:"accuracy"`
	BaseRate   *float64 `json:"base_rate"`
	Majority   *float64 `json:"majority"`
	ECE        *float64 `json:"ece"`
	Brier      *float64 `json:"brier"`
	N          int      `json:"n"`
	Tasks      int      `json:"n_tasks"`
	Mixed      int      `json:"mixed_tasks"`
}

// AssessReport judges M_sa on the test episodes of an adapt run.
type AssessReport struct {
	Rows []AssessRow `json:"rows"`
	// Change are the paired differences task − none over all chunks.
	Change []ChangeRow `json:"change,omitempty"`
}

// ChangeRow is the paired difference of one metric.
type ChangeRow struct {
	Metric string              `json:"metric"`
	After  *float64            `json:"after"`
	Before *float64            `json:"before"`
	Diff   selfassess.Estimate `json:"diff"`
}

// OfArm returns the episodes of one arm, all of them for "".
func OfArm(es []*Episode, arm string) []*Episode {
	var out []*Episode
	for _, e := range es {
		if arm == "" || e.Arm == arm {
			out = append(out, e)
		}
	}
	return out
}

// ErrIncomplete: some tasks were tested but not adapted to.
var ErrIncomplete = errors.New("train: test episodes without adaptation episodes")

// CompleteTasks returns the episodes of tasks that have both adaptation and test
// episodes, and the sorted names of the tested tasks that were not adapted to.
func CompleteTasks(es []*Episode) (kept []*Episode, lack []string) {
	adapt, test := map[string]bool{}, map[string]bool{}
	for _, e := range es {
		switch e.Phase {
		case "adapt":
			adapt[e.Task] = true
		case "test", "eval":
			test[e.Task] = true
		}
	}
	for t := range test {
		if !adapt[t] {
			lack = append(lack, t)
		}
	}
	sort.Strings(lack)
	for _, e := range es {
		if adapt[e.Task] && test[e.Task] {
			kept = append(kept, e)
		}
	}
	return kept, lack
}

// someOf names the first tasks of a list and counts the rest.
func someOf(tasks []string) string {
	const most = 3
	if len(tasks) <= most {
		return strings.Join(tasks, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(tasks[:most], ", "), len(tasks)-most)
}

// AssessAdaptation measures m on the chunks of test episodes, as trained, adapted
// to each task, and adapted to another one: a pure function of the run's episodes,
// so that any M_sa can be judged on any run. Only episodes of arm are read ("" =
// of all arms). For an M_sa with input "hidden" the episodes must have been read by
// [ReadStates].
//
// Without any adaptation episodes it measures m as trained only. Where some tasks have
// them and others don't, it is an error that matches [ErrIncomplete]: rows over other
// tasks than those before adaptation would be no comparison; see [CompleteTasks].
func AssessAdaptation(ctx context.Context, es []*Episode, arm string, m *selfassess.Model, replay *selfassess.Replay, c selfassess.AdaptConfig) (*AssessReport, error) {
	adapt, test := map[string][]*Episode{}, map[string][]*Episode{}
	actor, hash := "", ""
	for _, e := range OfArm(es, arm) {
		switch e.Phase {
		case "adapt":
			adapt[e.Task] = append(adapt[e.Task], e)
		case "test", "eval":
			test[e.Task] = append(test[e.Task], e)
			by := e.Agent.Model
			if actor != "" && by.Hash != hash {
				return nil, fmt.Errorf("train: the test episodes are of two actors, %s and %s; assess the runs of one, or one agent (--agent)", actor, by.Name)
			}
			actor, hash = by.Name, by.Hash
			if err := m.CheckActor(selfassess.Actor{Name: actor, Hash: hash}); err != nil {
				return nil, fmt.Errorf("train: assessing episode %s: %w", e.ID, err)
			}
		}
	}
	var tasks []string
	for t := range test {
		tasks = append(tasks, t)
	}
	sort.Strings(tasks)
	if len(tasks) == 0 {
		return nil, errors.New("train: no test episodes to assess; run `muse adapt` or `muse eval` first")
	}
	complete := len(adapt) > 0
	if _, lack := CompleteTasks(OfArm(es, arm)); complete && len(lack) > 0 {
		return nil, fmt.Errorf("%w: %s; finish the run that adapts (the same command continues it); if its file was changed, adapt anew in another folder, or leave these tasks out (`muse assess --skip-incomplete`)", ErrIncomplete, someOf(lack))
	}
	adapted := make([]*selfassess.Model, len(tasks))
	for i, t := range tasks {
		if !complete { // as trained only
			break
		}
		var err error
		if adapted[i], err = adaptTo(ctx, m, replay, t, adapt[t], c); err != nil {
			return nil, err
		}
	}
	preds := map[string][]selfassess.Prediction{}
	predict := func(name string, m *selfassess.Model, rows []selfassess.Example) error {
		p, err := m.Predict(ctx, rows)
		preds[name] = append(preds[name], p...)
		return err
	}
	for i, t := range tasks {
		rows := Chunks(test[t])
		if err := predict(AdaptNone, m, rows); err != nil {
			return nil, err
		}
		if !complete {
			continue
		}
		if err := predict(AdaptTask, adapted[i], rows); err != nil {
			return nil, err
		}
		if len(tasks) > 1 {
			if err := predict(AdaptOther, adapted[(i+1)%len(tasks)], rows); err != nil {
				return nil, err
			}
		}
		mean := 0.0
		for _, e := range adapt[t] {
			if e.Success {
				mean += 1 / float64(len(adapt[t]))
			}
		}
		for _, x := range preds[AdaptNone][len(preds[AdaptNone])-len(rows):] {
			x.P, x.Raw = mean, mean
			preds[AdaptMean] = append(preds[AdaptMean], x)
		}
	}
	boot := selfassess.Bootstrap{Seed: 1}
	rep := &AssessReport{}
	for _, name := range []string{AdaptNone, AdaptTask, AdaptOther, AdaptMean} {
		if len(preds[name]) == 0 {
			continue
		}
		for _, x := range selfassess.Evaluate(preds[name], boot).Positions {
			rep.Rows = append(rep.Rows, assessRow(actor, m.Name(), name, x))
		}
	}
	if complete {
		for _, d := range selfassess.Compare(preds[AdaptTask], preds[AdaptNone], boot) {
			rep.Change = append(rep.Change, ChangeRow{d.Metric, figure(d.A), figure(d.B), d.Diff})
		}
	}
	return rep, nil
}

func assessRow(actor, msa, adaptation string, x selfassess.Metrics) AssessRow {
	return AssessRow{
		Actor: actor, MSA: msa, Adaptation: adaptation, Position: x.Position,
		AUROC: figure(x.AUROC.Value), CILow: figure(x.AUROC.Low), CIHigh: figure(x.AUROC.High),
		AUROCMacro: figure(x.AUROCMacro.Value), Accuracy: figure(x.Accuracy.Value), BaseRate: figure(x.BaseRate.Value),
		Majority: figure(x.Majority.Value), ECE: figure(x.ECE.Value), Brier: figure(x.Brier.Value),
		N: x.N, Tasks: x.Tasks, Mixed: x.MixedTasks,
	}
}
