package arm

import (
	"fmt"
	"strings"
)

// TrainReportFormat is the format tag of the report of a training.
const TrainReportFormat = "muse/armtrain@1"

// TrainReport is report.json of a training.
type TrainReport struct {
	Format string `json:"format"`
	// Recipe says in words what helped beside the agent's own play.
	Recipe string `json:"recipe"`
	Params int    `json:"params"`
	Last   Point  `json:"last"`
	Best   Point  `json:"best"` // highest mean success; chosen by what it reports, so a little too good
	Curve  []Mark `json:"curve"`
}

// Mark is a [Point] in short.
type Mark struct {
	Round   int     `json:"round"`
	Updates int     `json:"updates"`
	Success float64 `json:"success"`
	Last    float64 `json:"success_last"`
	AUROC   float64 `json:"psi_auroc"`
}

// NewTrainReport sums up a training.
func NewTrainReport(l *Learner) TrainReport {
	r := TrainReport{Format: TrainReportFormat, Recipe: recipe(l.cfg), Params: l.Model().Params()}
	for _, p := range l.curve {
		r.Last = p
		r.Curve = append(r.Curve, Mark{p.Round, p.Updates, p.Success, p.Last, p.AUROC})
		if p.Success >= r.Best.Success {
			r.Best = p
		}
	}
	return r
}

func recipe(c Config) string {
	if c.Scripted+c.Corrupted == 0 {
		return "own play only"
	}
	s := fmt.Sprintf("replay seeded with %d scripted and %d corrupted scripted episodes a task, %d updates on them first", c.Scripted, c.Corrupted, c.Pretrain)
	if c.Model.Imitate > 0 {
		s += fmt.Sprintf("; the actor imitates the script on them, weight %g", c.Model.Imitate)
	}
	return s
}

// String is the report as a table.
func (r TrainReport) String() string {
	var b strings.Builder
	p := r.Last
	fmt.Fprintf(&b, "%s\nround %d, %d own decisions, %d updates, %d parameters\n\n", r.Recipe, p.Round, p.Decisions, p.Updates, r.Params)
	fmt.Fprintf(&b, "%-26s %8s %8s %8s %8s\n", "task", "success", "at end", "time", "return")
	for _, t := range p.Tasks {
		fmt.Fprintf(&b, "%-26s %8.2f %8.2f %8.1f %8.1f\n", t.Task, t.Success, t.Last, t.Time, t.Return)
	}
	fmt.Fprintf(&b, "%-26s %8.2f %8.2f\n", "mean", p.Success, p.Last)
	if p.AUROC > 0 {
		fmt.Fprintf(&b, "ψ: AUROC over steps, macro over the tasks with both outcomes, %.3f\n", p.AUROC)
	}
	fmt.Fprintf(&b, "\n%-26s %8s %8s %8s\n", "own episodes a task", "updates", "success", "at end")
	for _, m := range r.Curve {
		fmt.Fprintf(&b, "%-26d %8d %8.2f %8.2f\n", m.Round, m.Updates, m.Success, m.Last)
	}
	return b.String()
}
