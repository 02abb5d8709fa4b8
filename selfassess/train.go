package selfassess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/muse-agent/muse/internal/rng"
)

// ErrNoRows: nothing to train on is left, or a row is malformed.
var ErrNoRows = errors.New("selfassess: no usable training rows")

// Data are the rows a success predictor can be trained on and judged by.
type Data struct {
	// Chunks are non-overlapping chunks of real episodes (paper); training rows of
	// [LabelsOutcome], and the rows on which every setting is calibrated and judged.
	Chunks []Example
	// Windows are sliding windows of the same episodes; training rows of
	// [LabelsSibling] (empty: Chunks are used).
	Windows []Example
	// Siblings are the candidates of decisions with counterfactual outcomes (State
	// set); training rows of [LabelsSibling], and the rows of sibling lift.
	Siblings []Example
}

// Report tells how a model was trained.
type Report struct {
	Config   Config             `json:"config"`
	Rows     int                `json:"rows"` // trained on
	Siblings int                `json:"siblings"`
	Tasks    int                `json:"tasks"`
	Dropped  int                `json:"dropped"` // rows without the hidden states that the input needs
	Epochs   int                `json:"epochs"`  // of the final head
	Final    FitReport          `json:"final"`
	Folds    []FitReport        `json:"folds,omitempty"`
	Scores   []CalibrationScore `json:"calibrations,omitempty"`
	Chosen   string             `json:"calibration"`
	// OutOfFold are predictions by heads that never saw the row's task; their P is
	// calibrated on the other folds only. For [Evaluate] and [SiblingLift].
	OutOfFold []Prediction `json:"-"`
}

// CalibrationScore compares kinds of calibration: each fitted on all but one fold
// and measured on that fold.
type CalibrationScore struct {
	Kind    string  `json:"kind"` // "none" for the plain sigmoid
	LogLoss float64 `json:"log_loss"`
	ECE     float64 `json:"ece"`
}

// Train fits a model (paper, Alg. 2). With [LabelsOutcome] it trains on rows
// without State only; rows with State are then predicted out of fold but never
// trained on. emb may be nil for inputs without embeddings. Equal arguments give
// equal weights. Errors match [ErrNoRows], [ErrEmbedder], [ErrHidden] or the
// context's error.
func Train(ctx context.Context, examples []Example, emb Embedder, cfg Config) (*Model, Report, error) {
	use := make([]bool, len(examples))
	judge := make([]bool, len(examples))
	for i := range examples {
		use[i] = cfg.Labels.uses(examples[i].State != "")
		judge[i] = true
	}
	return train(ctx, examples, use, judge, emb, cfg)
}

// TrainData is [Train] with the rows that cfg.Labels asks for; calibration and
// out-of-fold predictions are those of Chunks and Siblings.
func TrainData(ctx context.Context, d Data, emb Embedder, cfg Config) (*Model, Report, error) {
	var rows []Example
	var use, judge []bool
	add := func(ex []Example, u, j bool) {
		for i := range ex {
			rows = append(rows, ex[i])
			use, judge = append(use, u), append(judge, j)
		}
	}
	sibling := cfg.Labels == LabelsSibling
	add(d.Chunks, cfg.Labels.uses(false) && (!sibling || len(d.Windows) == 0), true)
	if sibling {
		add(d.Windows, true, false)
	}
	add(d.Siblings, cfg.Labels.uses(true), true)
	return train(ctx, rows, use, judge, emb, cfg)
}

// uses reports whether rows of siblings, or of real chunks, are trained on.
func (l Labels) uses(sibling bool) bool {
	if sibling {
		return l.Siblings()
	}
	return l != LabelsCounterfactual
}

// trainer is the state of one training.
type trainer struct {
	cfg        Config
	lay        layout
	ex         []Example
	use, judge []bool
	m          matrix
	task       []int // of each row
	tasks      int
}

func train(ctx context.Context, ex []Example, use, judge []bool, emb Embedder, cfg Config) (*Model, Report, error) {
	rep := Report{Config: cfg}
	if err := cfg.Validate(); err != nil {
		return nil, rep, err
	}
	t, dropped, err := newTrainer(ctx, ex, use, judge, emb, cfg)
	rep.Dropped = dropped
	if err != nil {
		return nil, rep, err
	}
	rep.Tasks = t.tasks
	var rows []int
	for i, u := range t.use {
		if u {
			rows = append(rows, i)
			if t.ex[i].State != "" {
				rep.Siblings++
			}
		}
	}
	rep.Rows = len(rows)
	if cfg.Labels.Siblings() && rep.Siblings == 0 && slices.ContainsFunc(ex, func(e Example) bool { return e.State != "" }) {
		return nil, rep, fmt.Errorf("%w: none of the sibling rows has any, so labels %q can't be learnt; collect siblings with their hidden states or use input %q",
			ErrHidden, cfg.Labels, InputHistoryEmbedding)
	}
	if len(rows) == 0 {
		return nil, rep, fmt.Errorf("%w: %d rows given, none fits labels %q and input %q", ErrNoRows, len(ex), cfg.Labels, cfg.Input)
	}
	var cal Calibration
	var held []int
	epochs := cfg.Epochs
	if folds := min(cfg.Folds, t.tasks); folds >= 2 {
		fold := t.assign("folds", folds)
		logits, reports, err := t.crossFit(ctx, fold, folds)
		if err != nil {
			return nil, rep, err
		}
		rep.Folds = reports
		if cal, err = t.calibrate(&rep, logits, fold, folds); err != nil {
			return nil, rep, err
		}
		best := make([]int, folds)
		for k := range reports {
			best[k] = reports[k].Best
		}
		sort.Ints(best)
		epochs = best[folds/2]
	} else {
		rows, held = t.hold(rows, "final")
	}
	head := newMLP(t.m.in, cfg.Hidden, rng.New(cfg.Seed, "init", "final"))
	head.fitScale(t.m, rows)
	plan := t.plan(len(rows), "final")
	plan.epochs = epochs
	if rep.Final, err = fit(ctx, head, t.m, rows, held, plan); err != nil {
		return nil, rep, err
	}
	rep.Epochs, rep.Chosen = rep.Final.Best, cal.String()
	id := ""
	if t.lay.embed > 0 {
		id = emb.Hash()
	}
	return newModel(cfg, t.lay, head, cal, emb, id), rep, nil
}

// newTrainer checks the rows, drops those without needed hidden states and
// computes all input vectors.
func newTrainer(ctx context.Context, ex []Example, use, judge []bool, emb Embedder, cfg Config) (*trainer, int, error) {
	t := &trainer{cfg: cfg}
	needs := cfg.Input.Uses("hidden")
	hidden, dropped := 0, 0
	var names []string
	for i := range ex {
		e := &ex[i]
		switch {
		case e.Task == "":
			return nil, 0, fmt.Errorf("%w: row %d has no task; folds need the game id", ErrNoRows, i)
		case !(e.Label >= 0 && e.Label <= 1):
			return nil, 0, fmt.Errorf("%w: row %d of %s has label %g, must lie in [0, 1]", ErrNoRows, i, e.Task, e.Label)
		case !(e.Weight >= 0) || math.IsInf(e.Weight, 1):
			return nil, 0, fmt.Errorf("%w: row %d of %s has weight %g, must be 0 or more", ErrNoRows, i, e.Task, e.Weight)
		}
		if needs && len(e.Input.Hidden) == 0 {
			dropped++
			continue
		}
		if needs && hidden == 0 {
			hidden = len(e.Input.Hidden)
		}
		t.ex = append(t.ex, *e)
		t.use, t.judge = append(t.use, use[i]), append(t.judge, judge[i])
		names = append(names, e.Task)
	}
	lay, err := newLayout(cfg.Input, cfg.Text, emb, hidden)
	if err != nil {
		return nil, dropped, err
	}
	t.lay = lay
	distinct, idx := index(names)
	t.task, t.tasks = idx, len(distinct)
	if t.tasks == 1 {
		return nil, dropped, fmt.Errorf("%w: all %d are of one game, %s; early stopping and folds hold games out, so at least 2 are needed", ErrNoRows, len(t.ex), distinct[0])
	}
	t.m, err = lay.matrix(ctx, emb, t.ex)
	return t, dropped, err
}

// matrix computes the input vectors, labels and weights of examples.
func (l layout) matrix(ctx context.Context, emb Embedder, ex []Example) (matrix, error) {
	in := make([]*Input, len(ex))
	m := matrix{in: l.width(), y: make([]float64, len(ex)), w: make([]float64, len(ex))}
	for i := range ex {
		in[i] = &ex[i].Input
		m.y[i], m.w[i] = ex[i].Label, ex[i].Weight
		if m.w[i] == 0 {
			m.w[i] = 1
		}
	}
	var err error
	m.x, err = l.vectors(ctx, emb, in)
	return m, err
}

// plan are the settings for a run on so many rows: few rows are cut into smaller
// batches, so that an epoch has at least 16 updates.
func (t *trainer) plan(rows int, path ...any) fitPlan {
	c := t.cfg
	batch := min(c.Batch, max(8, rows/16))
	return fitPlan{c.Epochs, c.Patience, batch, c.LR, c.WeightDecay, rng.Seed(c.Seed, append([]any{"fit"}, path...)...)}
}

// assign deals tasks in random order to k groups and returns each task's group.
func (t *trainer) assign(name any, k int) []int {
	out := make([]int, t.tasks)
	for i, task := range rng.New(t.cfg.Seed, "assign", name).Perm(t.tasks) {
		out[task] = i % k
	}
	return out
}

// hold splits rows by task for early stopping. With fewer than 4 tasks nothing is held out.
func (t *trainer) hold(rows []int, name any) (train, held []int) {
	present := map[int]bool{}
	for _, i := range rows {
		present[t.task[i]] = true
	}
	if len(present) < 4 {
		return rows, nil
	}
	want := max(1, int(math.Round(t.cfg.Validation*float64(len(present)))))
	out := map[int]bool{}
	for _, task := range rng.New(t.cfg.Seed, "hold", name).Perm(t.tasks) {
		if len(out) < want && present[task] {
			out[task] = true
		}
	}
	for _, i := range rows {
		if out[t.task[i]] {
			held = append(held, i)
		} else {
			train = append(train, i)
		}
	}
	return train, held
}

// crossFit trains one head a fold without that fold's tasks and predicts them:
// the returned logits of all rows are by heads that never saw the row's task.
func (t *trainer) crossFit(ctx context.Context, fold []int, folds int) ([]float64, []FitReport, error) {
	logits := make([]float64, len(t.ex))
	reports, errs := make([]FitReport, folds), make([]error, folds)
	one := func(k int) error {
		var rows, rest []int
		for i := range t.ex {
			if fold[t.task[i]] == k {
				rest = append(rest, i)
			} else if t.use[i] {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			return fmt.Errorf("%w: fold %d of %d has no training rows; use fewer folds or more tasks", ErrNoRows, k+1, folds)
		}
		rows, held := t.hold(rows, k)
		head := newMLP(t.m.in, t.cfg.Hidden, rng.New(t.cfg.Seed, "init", k))
		head.fitScale(t.m, rows)
		var err error
		if reports[k], err = fit(ctx, head, t.m, rows, held, t.plan(len(rows), k)); err != nil {
			return fmt.Errorf("fold %d of %d: %w", k+1, folds, err)
		}
		for i, z := range logitsOf(head, t.m, rest) {
			logits[rest[i]] = z
		}
		return nil
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, t.cfg.Workers))
	for k := range folds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[k] = one(k)
		})
	}
	wg.Wait()
	return logits, reports, errors.Join(errs...)
}

// minWindows is the number of real rows from which calibration ignores siblings:
// those lie at chosen states, where the base rate is another.
const minWindows = 200

// calibrate compares the kinds of calibration on out-of-fold logits, fits the best
// on all of them and fills the report.
func (t *trainer) calibrate(rep *Report, logits []float64, fold []int, folds int) (Calibration, error) {
	windows := 0
	for i := range t.ex {
		if t.judge[i] && t.ex[i].State == "" {
			windows++
		}
	}
	on := func(i int) bool { return t.judge[i] && (t.ex[i].State == "" || windows < minWindows) }
	gather := func(keep func(i int) bool) (z, y []float64) {
		for i := range t.ex {
			if on(i) && keep(i) {
				z, y = append(z, logits[i]), append(y, t.m.y[i])
			}
		}
		return z, y
	}
	best, lowest := "", math.Inf(1)
	var bestMaps []Calibration
	for _, kind := range calibrationKinds {
		var y, p []float64
		maps := make([]Calibration, folds)
		for k := range folds {
			z, l := gather(func(i int) bool { return fold[t.task[i]] != k })
			c, err := fitCalibration(kind, z, l)
			if err != nil {
				return Calibration{}, err
			}
			maps[k] = c
			z, l = gather(func(i int) bool { return fold[t.task[i]] == k })
			for i := range z {
				y, p = append(y, l[i]), append(p, c.Apply(z[i]))
			}
		}
		loss := LogLoss(y, p)
		e, _, _ := ECE(y, p, ECEBins)
		rep.Scores = append(rep.Scores, CalibrationScore{Calibration{Kind: kind}.name(), loss, e})
		if bestMaps == nil || loss < lowest-1e-4 { // a more flexible map must earn its place
			best, lowest, bestMaps = kind, loss, maps
		}
	}
	for i := range t.ex {
		if t.judge[i] {
			a := Assessment{P: bestMaps[fold[t.task[i]]].Apply(logits[i]), Raw: sigmoid(logits[i])}
			rep.OutOfFold = append(rep.OutOfFold, predictionOf(&t.ex[i], a))
		}
	}
	z, y := gather(func(int) bool { return true })
	return fitCalibration(best, z, y)
}
