package logs

import (
	"context"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/selfassess"
)

// ReportFormat is the format tag of report.json.
const ReportFormat = "muse/logreport@1"

// What is left out when figures are made.
const (
	SplitTasks  = "tasks"  // whole tasks: nothing of the judged task was seen
	SplitModels = "models" // whole players
)

// Whole is the position of figures that see the end of the episode.
const Whole = "whole"

// Result are the figures at one position under one split, beside the baseline's on
// the same episodes.
type Result struct {
	Split    string             `json:"split"`
	Position string             `json:"position"` // "4": after 4 steps, of episodes that still run; "whole"
	SeesEnd  bool               `json:"sees_end"`
	Rows     int                `json:"rows"` // different prefixes
	Model    selfassess.Metrics `json:"model"`
	NGram    selfassess.Metrics `json:"ngram"`
	// Members are pooled AUROC and mean AUROC of tasks of the parts of the model.
	Members map[string][2]float64 `json:"members"`
	// AUROC and Macro are the paired differences model − n-grams.
	AUROC        selfassess.Estimate        `json:"auroc_gain"`
	Macro        selfassess.Estimate        `json:"auroc_macro_gain"`
	RiskCoverage []selfassess.CoveragePoint `json:"risk_coverage"`
}

// Report describes a training: everything in it is of tasks or players that the
// judging fit never saw.
type Report struct {
	Format     string   `json:"format"`
	Config     Config   `json:"config"`
	Embedder   string   `json:"embedder,omitempty"`
	Episodes   int      `json:"episodes"`
	Empty      int      `json:"empty"` // lines without steps, left out
	Tasks      int      `json:"tasks"`
	Models     int      `json:"models"`
	Success    float64  `json:"success"`
	Rows       int      `json:"rows"` // different prefixes learnt from
	ModelHash  string   `json:"model_hash"`
	Results    []Result `json:"results"`
	Alerts     []Alert  `json:"alerts,omitempty"`
	AlertSplit string   `json:"alert_split,omitempty"`
}

// predictions repeats each row's P for each of its episodes.
func predictions(es []Episode, rows []Row, p []float64) []selfassess.Prediction {
	var out []selfassess.Prediction
	for i := range rows {
		for _, e := range rows[i].Episodes {
			out = append(out, selfassess.Prediction{Task: rows[i].Task, Label: float64(bit(es[e].Success)), P: p[i]})
		}
	}
	return out
}

// members are out-of-fold logits of the parts of the model for some rows.
type members struct {
	rows        []Row
	fold        []int
	trees, head []float64 // head is nil without embeddings
}

// crossFitAll fits both parts without each fold of a split, once for all positions.
func crossFitAll(ctx context.Context, rows []Row, emb selfassess.Embedder, split string, c Config) (m members, err error) {
	m.rows = rows
	if m.trees, m.fold, err = crossFit(ctx, rows, groupOf(split), c, split, c.treeLogits); err != nil {
		return m, err
	}
	if emb != nil {
		m.head, _, err = crossFit(ctx, rows, groupOf(split), c, split, c.headLogits(emb))
	}
	return m, err
}

// at keeps the rows of one position.
func (m members) at(n int) members {
	var out members
	for i := range m.rows {
		if len(m.rows[i].Steps) != n {
			continue
		}
		out.rows, out.fold, out.trees = append(out.rows, m.rows[i]), append(out.fold, m.fold[i]), append(out.trees, m.trees[i])
		if m.head != nil {
			out.head = append(out.head, m.head[i])
		}
	}
	return out
}

// judge makes the figures at one position under one split. The baseline learns from
// this very position, its best case.
func judge(ctx context.Context, es []Episode, m members, split string, c Config, boot selfassess.Bootstrap) (Result, error) {
	res := Result{Split: split, Rows: len(m.rows), Members: map[string][2]float64{}}
	predict := func(name string, z []float64) []selfassess.Prediction {
		p, _ := calibrateRows(m.rows, z, m.fold)
		out := predictions(es, m.rows, p)
		x := selfassess.MetricsOf(out, name, selfassess.Bootstrap{Draws: 1, Seed: 1})
		res.Members[name] = [2]float64{x.AUROC.Value, x.AUROCMacro.Value}
		return out
	}
	z, fold, err := crossFit(ctx, m.rows, groupOf(split), c, split, ngramLogits)
	if err != nil {
		return res, err
	}
	b := predictions(es, m.rows, func() []float64 { p, _ := calibrateRows(m.rows, z, fold); return p }())
	a := predict("trees", m.trees)
	if m.head != nil {
		predict("head", m.head)
		predict("head+ngram", mean(m.head, z))
		a = predict("trees+head", mean(m.trees, m.head))
	}
	predict("trees+ngram", mean(m.trees, z))
	res.Model, res.NGram = selfassess.MetricsOf(a, "model", boot), selfassess.MetricsOf(b, "ngram", boot)
	for _, d := range selfassess.Compare(a, b, boot) {
		switch d.Metric {
		case "auroc_success":
			res.AUROC = d.Diff
		case "auroc_macro":
			res.Macro = d.Diff
		}
	}
	y, prob := make([]float64, len(a)), make([]float64, len(a))
	for i := range a {
		y[i], prob[i] = a[i].Label, a[i].P
	}
	res.RiskCoverage, _ = selfassess.RiskCoverage(y, prob)
	return res, nil
}

func groupOf(split string) func(*Row) string {
	if split == SplitModels {
		return func(r *Row) string { return r.Model }
	}
	return func(r *Row) string { return r.Task }
}

// Judged are the positions of the report: after so many steps of episodes that
// still run.
var Judged = []int{4, 8}

// Train fits a model on logged episodes and reports on held-out tasks and, where at
// least two players are named, held-out players. emb may be nil: then the trees
// alone decide. told, if not nil, hears what was done. Equal arguments give equal
// bytes.
func Train(ctx context.Context, es []Episode, emb selfassess.Embedder, c Config, told func(string)) (*Model, *Report, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	if err := needOutcome(es); err != nil {
		return nil, nil, err
	}
	say := func(format string, a ...any) {
		if told != nil {
			told(fmt.Sprintf(format, a...))
		}
	}
	rep := &Report{Format: ReportFormat, Config: c, Episodes: len(es)}
	tasks, models := map[string]bool{}, map[string]bool{}
	for i := range es {
		tasks[es[i].TaskID], models[es[i].Model] = true, true
		rep.Success += float64(bit(es[i].Success)) / float64(len(es))
	}
	rep.Tasks, rep.Models = len(tasks), len(models)
	if emb != nil {
		rep.Embedder = emb.Hash()
	}
	rows := rowsAt(es, c.Positions)
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("%w: no episode has more than %d steps", ErrLog, c.Positions[0])
	}
	rep.Rows = len(rows)
	say("%d episodes of %d tasks by %d players, %d different prefixes", len(es), rep.Tasks, rep.Models, len(rows))

	// Held-out tasks at every position: the calibration and the table of alerts.
	m := &Model{}
	byTask, err := crossFitAll(ctx, rows, emb, SplitTasks, c)
	if err != nil {
		return nil, nil, err
	}
	var p []float64
	p, m.cal = calibrateRows(rows, mean(byTask.trees, byTask.head), byTask.fold)
	rep.Alerts, rep.AlertSplit = alerts(es, rows, p, c.Positions), SplitTasks
	m.trees = c.fitTrees(rows)
	if emb != nil {
		if m.head, err = fitHead(ctx, rows, emb, c.Seed); err != nil {
			return nil, nil, err
		}
	}
	rep.ModelHash = m.Hash()
	say("fitted; now the figures")

	boot := selfassess.Bootstrap{Seed: c.Seed}
	whole := Running(es, 0)
	for _, split := range []string{SplitTasks, SplitModels} {
		running := byTask
		if split == SplitModels {
			if rep.Models < 2 {
				continue
			}
			if running, err = crossFitAll(ctx, rows, emb, split, c); err != nil {
				return nil, nil, err
			}
		}
		for _, n := range append(slices.Clone(Judged), 0) {
			at, name := running.at(n), fmt.Sprint(n)
			if n == 0 {
				// The trees alone: the end stands in the counts, and in the n-grams.
				if at, err = crossFitAll(ctx, whole, nil, split, c); err != nil {
					return nil, nil, err
				}
				name = Whole
			}
			if len(at.rows) == 0 {
				continue
			}
			res, err := judge(ctx, es, at, split, c, boot)
			if err != nil {
				return nil, nil, err
			}
			res.Position, res.SeesEnd = name, n == 0
			rep.Results = append(rep.Results, res)
			say("without the judged %s, %s", split, res.line())
		}
	}
	return m, rep, nil
}
