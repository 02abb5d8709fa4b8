package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// SelectionRow is one line of docs/results/selection.json.
type SelectionRow struct {
	Arm         string   `json:"arm"`
	Actor       string   `json:"actor"`
	Agent       string   `json:"agent"`
	MSA         string   `json:"m_sa"`
	Selector    string   `json:"selector"`
	Adaptation  string   `json:"adaptation"`
	Temperature float64  `json:"temperature"`
	Horizon     int      `json:"horizon"`
	Rollouts    int      `json:"rollouts"`
	Trials      int      `json:"trials"`
	Success     *float64 `json:"success"`
	CILow       *float64 `json:"ci_low"`
	CIHigh      *float64 `json:"ci_high"`
	Steps       *float64 `json:"steps"` // a lost episode counts FailureSteps
	StepsLow    *float64 `json:"steps_low"`
	StepsHigh   *float64 `json:"steps_high"`
	NTasks      int      `json:"n_tasks"`
	Seeds       int      `json:"seeds"`
	Different   float64  `json:"different"` // mean number of different first commands imagined
	Nothing     float64  `json:"nothing"`   // share of commands without effect
	// SolvedBy is the share of rows won at trial k or before (Trials > 1).
	SolvedBy []selfassess.Estimate `json:"solved_by,omitempty"`
	Key      string                `json:"key"`
	// Tokens is what a command cost: generated tokens, plans and reflections included,
	// over commands. The compiled results leave it out.
	Tokens float64 `json:"tokens_a_command,omitempty"`
}

// PairedRow is the difference of two arms over the tasks that both played.
type PairedRow struct {
	A       string              `json:"a"`
	B       string              `json:"b"`
	Actor   string              `json:"actor"`
	Success selfassess.Estimate `json:"success"` // A − B
	Steps   selfassess.Estimate `json:"steps"`
	// Solved is the difference of SolvedBy at the last trial, where both have trials.
	Solved *selfassess.Estimate `json:"solved,omitempty"`
	NTasks int                  `json:"n_tasks"`
}

// Selection is the result of an evaluation.
type Selection struct {
	Format string         `json:"format"` // muse/selection@1
	Rows   []SelectionRow `json:"rows"`
	Paired []PairedRow    `json:"paired,omitempty"`
}

// columns are the flattened values of a part: one entry a trial.
type columns struct {
	task, unit         []string // unit: one entry a row
	won, steps, solved []float64
}

func (p *Part) columns() (c columns) {
	for _, r := range p.Rows {
		any := 0.0
		for i, w := range r.Won {
			c.task = append(c.task, r.Game)
			c.won = append(c.won, float64(w))
			n := FailureSteps
			if w == 1 {
				n, any = r.Steps[i], 1
			}
			c.steps = append(c.steps, float64(n))
		}
		c.unit = append(c.unit, r.Game)
		c.solved = append(c.solved, any)
	}
	return c
}

// Tabulate summarises parts, with every arm compared to each of against (arm names).
func Tabulate(parts []*Part, against ...string) Selection {
	boot := selfassess.Bootstrap{Seed: 1}
	s := Selection{Format: "muse/selection@1"}
	for _, p := range parts {
		if len(p.Rows) > 0 {
			r := p.tabulate(boot)
			r.Tokens = p.tokens()
			s.Rows = append(s.Rows, r)
		}
	}
	for _, b := range parts {
		base := len(b.Rows) > 0 && slices.Contains(against, b.Arm)
		for _, a := range parts {
			if !base || a == b || len(a.Rows) == 0 || a.Spec.Agent.Model.Name != b.Spec.Agent.Model.Name {
				continue
			}
			ca, cb := a.columns(), b.columns()
			d := PairedRow{A: a.Arm, B: b.Arm, Actor: a.Spec.Agent.Model.Name}
			d.Success, d.NTasks = selfassess.DiffByTask(ca.task, ca.won, cb.task, cb.won, boot)
			d.Steps, _ = selfassess.DiffByTask(ca.task, ca.steps, cb.task, cb.steps, boot)
			if a.Spec.Trials > 1 && b.Spec.Trials > 1 {
				sol, _ := selfassess.DiffByTask(ca.unit, ca.solved, cb.unit, cb.solved, boot)
				d.Solved = &sol
			}
			if d.NTasks > 0 {
				s.Paired = append(s.Paired, d)
			}
		}
	}
	return s
}

func (p *Part) tabulate(boot selfassess.Bootstrap) SelectionRow {
	c := p.columns()
	won := selfassess.MeanByTask(c.task, c.won, boot)
	steps := selfassess.MeanByTask(c.task, c.steps, boot)
	a := p.Spec.Agent
	r := SelectionRow{
		Arm: p.Arm, Actor: a.Model.Name, Agent: a.Config.Name, MSA: a.Assessor, Selector: a.Selector,
		Adaptation: p.Spec.Adaptation, Temperature: a.Config.Temperature, Horizon: a.Config.Horizon, Rollouts: a.Config.Rollouts, Trials: p.Spec.Trials,
		Success: figure(won.Value), CILow: figure(won.Low), CIHigh: figure(won.High),
		Steps: figure(steps.Value), StepsLow: figure(steps.Low), StepsHigh: figure(steps.High), Key: p.Key,
	}
	tasks, reps := map[string]bool{}, map[uint64]bool{}
	for _, x := range p.Rows {
		tasks[x.Game], reps[x.Rep] = true, true
		r.Different += x.Different / float64(len(p.Rows))
		r.Nothing += x.Failed / float64(len(p.Rows))
	}
	r.NTasks, r.Seeds = len(tasks), len(reps)
	r.Different, r.Nothing = round3(r.Different), round3(r.Nothing)
	for k := 1; p.Spec.Trials > 1 && k <= p.Spec.Trials; k++ {
		solved := make([]float64, len(p.Rows))
		for i, x := range p.Rows {
			for _, w := range x.Won[:min(k, len(x.Won))] {
				solved[i] = max(solved[i], float64(w))
			}
		}
		r.SolvedBy = append(r.SolvedBy, selfassess.MeanByTask(c.unit, solved, boot))
	}
	return r
}

// tokens are the generated tokens a command.
func (p *Part) tokens() float64 {
	tokens, commands := 0, 0
	for _, r := range p.Rows {
		tokens += r.Tokens
		for _, n := range r.Steps {
			commands += n
		}
	}
	if commands == 0 {
		return 0
	}
	return math.Round(10*float64(tokens)/float64(commands)) / 10
}

// String is the table for people.
func (s Selection) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %-14s %5s  %-24s %-22s %5s %5s %5s %6s\n", "agent", "model", "games", "success", "steps (lost = 100)", "seeds", "diff.", "fail", "tokens")
	for _, r := range s.Rows {
		fmt.Fprintf(&b, "%-16s %-14s %5d  %-24s %-22s %5d %5.2f %4.0f%% %6.0f\n", r.Arm, r.Actor, r.NTasks,
			interval(r.Success, r.CILow, r.CIHigh, "%.3f"), interval(r.Steps, r.StepsLow, r.StepsHigh, "%.1f"), r.Seeds, r.Different, 100*r.Nothing, r.Tokens)
		for k, e := range r.SolvedBy {
			fmt.Fprintf(&b, "    solved by trial %d: %s\n", k+1, e)
		}
	}
	for _, p := range s.Paired {
		fmt.Fprintf(&b, "%s − %s (%d tasks): success %+.3f [%+.3f, %+.3f], steps %+.1f [%+.1f, %+.1f]", p.A, p.B, p.NTasks,
			p.Success.Value, p.Success.Low, p.Success.High, p.Steps.Value, p.Steps.Low, p.Steps.High)
		if p.Solved != nil {
			fmt.Fprintf(&b, ", solved %+.3f [%+.3f, %+.3f]", p.Solved.Value, p.Solved.Low, p.Solved.High)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// String is the table for people.
func (r *AssessReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-13s %-7s %-24s %7s %9s %9s %7s %6s %6s\n", "adapted", "chunks", "AUROC", "macro", "accuracy", "base rate", "ECE", "n", "tasks")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "%-13s %-7s %-24s %7s %9s %9s %7s %6d %6d\n", x.Adaptation, x.Position, interval(x.AUROC, x.CILow, x.CIHigh, "%.3f"),
			num(x.AUROCMacro), num(x.Accuracy), num(x.BaseRate), num(x.ECE), x.N, x.Tasks)
	}
	for _, d := range r.Change {
		if math.IsNaN(d.Diff.Value) {
			fmt.Fprintf(&b, "after − before, %s: n/a\n", d.Metric)
			continue
		}
		fmt.Fprintf(&b, "after − before, %s: %+.3f [%+.3f, %+.3f]\n", d.Metric, d.Diff.Value, d.Diff.Low, d.Diff.High)
	}
	return b.String()
}

func interval(v, lo, hi *float64, f string) string {
	if v == nil {
		return "n/a"
	}
	s := fmt.Sprintf(f, *v)
	if lo != nil && hi != nil {
		s += fmt.Sprintf(" ["+f+", "+f+"]", *lo, *hi)
	}
	return s
}

func num(v *float64) string {
	if v == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *v)
}

// figure rounds to four digits; NaN, which JSON lacks, becomes null.
func figure(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = math.Round(v*1e4) / 1e4
	return &v
}
