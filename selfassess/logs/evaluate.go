package logs

import (
	"context"
	"fmt"

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
	// Members are the parts of the model, each alone.
	Members map[string]Member `json:"members"`
	// AUROC and Macro are the paired differences model − n-grams.
	AUROC        selfassess.Estimate        `json:"auroc_gain"`
	Macro        selfassess.Estimate        `json:"auroc_macro_gain"`
	RiskCoverage []selfassess.CoveragePoint `json:"risk_coverage"`
}

// Member are the figures of one part of the model; null where there are none.
type Member struct {
	AUROC selfassess.Estimate `json:"auroc"`
	Macro selfassess.Estimate `json:"auroc_macro"`
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
	Rows       int      `json:"rows"`  // different prefixes learnt from
	Parts      []string `json:"parts"` // of the model, in the order of their weights
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

// held are predictions for rows by fits that never saw the row's group.
type held struct {
	rows  []Row
	fold  []int
	names []string    // of the parts
	z     [][]float64 // (parts, rows) logits
}

// holdOut fits all parts without each fold of a split, once for all positions. The
// n-grams come last.
func holdOut(ctx context.Context, rows []Row, emb selfassess.Embedder, split string, c Config) (h held, err error) {
	h.rows = rows
	parts := []struct {
		name string
		fit  fitter
	}{{"trees", logitsOf(c.fitTrees)}, {"known", logitsOf(c.fitKnown)}, {"head", nil}, {"ngram", ngramLogits}}
	if emb != nil {
		parts[2].fit = c.headLogits(emb)
	}
	for _, p := range parts {
		if p.fit == nil {
			continue
		}
		z, fold, err := crossFit(ctx, rows, groupOf(split), c, split, p.fit)
		if err != nil {
			return h, err
		}
		h.names, h.z, h.fold = append(h.names, p.name), append(h.z, z), fold
	}
	return h, nil
}

// at keeps the rows of one position.
func (h held) at(n int) held {
	out := held{names: h.names, z: make([][]float64, len(h.z))}
	for i := range h.rows {
		if len(h.rows[i].Steps) == n {
			out.rows, out.fold = append(out.rows, h.rows[i]), append(out.fold, h.fold[i])
			for m := range h.z {
				out.z[m] = append(out.z[m], h.z[m][i])
			}
		}
	}
	return out
}

// judge makes the figures at one position under one split. The baseline is the last
// part alone, fitted on this very position, calibrated as the whole is.
func judge(es []Episode, h held, split string, boot selfassess.Bootstrap) Result {
	res := Result{Split: split, Rows: len(h.rows), Members: map[string]Member{}}
	predict := func(z ...[]float64) []selfassess.Prediction {
		p, _ := stackRows(h.rows, z, h.fold)
		return predictions(es, h.rows, p)
	}
	for m, name := range h.names {
		x := selfassess.MetricsOf(predict(h.z[m]), name, selfassess.Bootstrap{Draws: 100, Seed: 1})
		res.Members[name] = Member{x.AUROC, x.AUROCMacro}
	}
	a, b := predict(h.z...), predict(h.z[len(h.z)-1])
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
	return res
}

func groupOf(split string) func(*Row) string {
	if split == SplitModels {
		return func(r *Row) string { return r.Model }
	}
	return func(r *Row) string { return r.Task }
}

// upTo keeps the rows of at most n steps.
func upTo(rows []Row, n int) []Row {
	var out []Row
	for i := range rows {
		if len(rows[i].Steps) <= n {
			out = append(out, rows[i])
		}
	}
	return out
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

	// Held-out tasks at every position: weights, calibration and the table of alerts.
	byTask, err := holdOut(ctx, rows, emb, SplitTasks, c)
	if err != nil {
		return nil, nil, err
	}
	m := &Model{}
	var p []float64
	p, m.stack = stackRows(rows, byTask.z, byTask.fold)
	rep.Alerts, rep.AlertSplit = alerts(es, rows, p, c.Positions), SplitTasks
	m.trees, m.known = c.fitTrees(rows), c.fitKnown(rows)
	m.known.mem.prune()
	if m.ngrams, err = fitNGrams(rows); err != nil {
		return nil, nil, err
	}
	if emb != nil {
		if m.head, err = fitHead(ctx, rows, emb, c.Seed); err != nil {
			return nil, nil, err
		}
	}
	rep.ModelHash, rep.Parts = m.Hash(), byTask.names
	say("fitted; now the figures")

	boot := selfassess.Bootstrap{Seed: c.Seed, Draws: c.Draws}
	for _, split := range []string{SplitTasks, SplitModels} {
		running := byTask
		if split == SplitModels {
			if rep.Models < 2 {
				continue
			}
			if running, err = holdOut(ctx, upTo(rows, Judged[len(Judged)-1]), emb, split, c); err != nil {
				return nil, nil, err
			}
		}
		for _, n := range Judged {
			if at := running.at(n); len(at.rows) > 0 {
				res := judge(es, at, split, boot)
				res.Position = fmt.Sprint(n)
				rep.Results = append(rep.Results, res)
				say("without the judged %s, %s", split, res.line())
			}
		}
	}
	// The end stands in the counts and in the n-grams; embeddings would add nothing.
	whole, err := holdOut(ctx, Running(es, 0), nil, SplitTasks, c)
	if err != nil {
		return nil, nil, err
	}
	res := judge(es, whole, SplitTasks, boot)
	res.Position, res.SeesEnd = Whole, true
	rep.Results = append(rep.Results, res)
	say("without the judged tasks, %s", res.line())
	return m, rep, nil
}
