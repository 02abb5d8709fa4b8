package selfassess

import (
	"math"
)

// Positions at which assessments are reported. A score that sees the end is no
// prediction, hence the first two beside the paper's "all".
const (
	PositionFirst  = "first"  // the first chunk of each episode
	PositionBefore = "before" // all chunks that do not reach the end of their episode
	PositionAll    = "all"    // all chunks, as in the paper
)

// Metrics of one set of predictions, each with its interval over tasks. A success
// counts as y > ½, a decision for success as P ≥ ½.
type Metrics struct {
	Position string `json:"position"`
	N        int    `json:"n"`
	Tasks    int    `json:"tasks"`
	// MixedTasks is the number of tasks with both outcomes: AUROCMacro is over these.
	MixedTasks int      `json:"mixed_tasks"`
	BaseRate   Estimate `json:"base_rate"` // mean label
	Accuracy   Estimate `json:"accuracy"`
	// Majority is the accuracy of always guessing the more frequent outcome.
	Majority   Estimate `json:"majority"`
	Balanced   Estimate `json:"balanced_accuracy"`
	MCC        Estimate `json:"mcc"`
	AUROC      Estimate `json:"auroc_success"` // pooled; the paper's AUROC2
	AUROCMacro Estimate `json:"auroc_macro"`   // mean over mixed tasks
	AUROC2     Estimate `json:"auroc2"`        // type 2: confidence against correctness
	Brier      Estimate `json:"brier"`
	LogLoss    Estimate `json:"log_loss"`
	ECE        Estimate `json:"ece"`       // 15 equal-width bins
	ECECount   Estimate `json:"ece_count"` // 15 bins of equally many rows
	AURC       Estimate `json:"aurc"`      // area under risk–coverage
}

// each lists the estimates in a fixed order with their names.
func (m *Metrics) each() []namedEstimate {
	return []namedEstimate{
		{"base_rate", &m.BaseRate}, {"accuracy", &m.Accuracy}, {"majority", &m.Majority},
		{"balanced_accuracy", &m.Balanced}, {"mcc", &m.MCC}, {"auroc_success", &m.AUROC},
		{"auroc_macro", &m.AUROCMacro}, {"auroc2", &m.AUROC2}, {"brier", &m.Brier}, {"log_loss", &m.LogLoss},
		{"ece", &m.ECE}, {"ece_count", &m.ECECount}, {"aurc", &m.AURC},
	}
}

type namedEstimate struct {
	name string
	est  *Estimate
}

// Evaluation is the full report on a list of predictions.
type Evaluation struct {
	Positions    []Metrics        `json:"positions"` // first, before, all
	Reliability  []ReliabilityBin `json:"reliability"`
	RiskCoverage []CoveragePoint  `json:"risk_coverage"`
	MetaD        MetaD            `json:"meta_d"`
	MRatio       Estimate         `json:"m_ratio"` // null where not estimable
}

// At returns the metrics of a position, the zero value if it is not there.
func (e Evaluation) At(position string) Metrics {
	for _, m := range e.Positions {
		if m.Position == position {
			return m
		}
	}
	return Metrics{}
}

// Evaluate measures predictions at the three positions; reliability, risk–coverage
// and meta-d′ are those of all rows. It reads P, the calibrated probability; see
// [Uncalibrated] for the raw one. Rows of siblings (State not empty) are labelled
// by other means and left out.
func Evaluate(p []Prediction, b Bootstrap) Evaluation {
	p = windowsOnly(p)
	var e Evaluation
	for _, pos := range []string{PositionFirst, PositionBefore, PositionAll} {
		e.Positions = append(e.Positions, MetricsOf(AtPosition(p, pos), pos, b))
	}
	y, prob := columns(p)
	e.Reliability = Reliability(y, prob, ECEBins)
	e.RiskCoverage, _ = RiskCoverage(y, prob)
	e.MetaD = MetaDOf(y, prob)
	e.MRatio = mRatio(p, e.MetaD, b)
	return e
}

// AtPosition keeps the rows of a position.
func AtPosition(p []Prediction, position string) []Prediction {
	out := make([]Prediction, 0, len(p))
	for _, r := range p {
		if position == PositionAll || position == PositionFirst && r.Chunk == 0 || position == PositionBefore && !r.Last {
			out = append(out, r)
		}
	}
	return out
}

// Uncalibrated returns the predictions with the raw probability in the place of P.
func Uncalibrated(p []Prediction) []Prediction {
	out := append([]Prediction(nil), p...)
	for i := range out {
		out[i].P = out[i].Raw
	}
	return out
}

func windowsOnly(p []Prediction) []Prediction {
	out := make([]Prediction, 0, len(p))
	for _, r := range p {
		if r.State == "" {
			out = append(out, r)
		}
	}
	return out
}

func columns(p []Prediction) (y, prob []float64) {
	y, prob = make([]float64, len(p)), make([]float64, len(p))
	for i := range p {
		y[i], prob[i] = p[i].Label, p[i].P
	}
	return y, prob
}

// MetricsOf measures the given rows, whatever their position; name goes to Position.
func MetricsOf(p []Prediction, name string, b Bootstrap) Metrics {
	t := newTable(p)
	m := Metrics{Position: name, N: len(p), Tasks: len(t.names), MixedTasks: t.mixed}
	list := m.each()
	for i, e := range b.Intervals(len(t.names), len(list), t.metrics) {
		*list[i].est = e
	}
	return m
}

// Difference is a paired difference of one metric.
type Difference struct {
	Metric string   `json:"metric"`
	A      float64  `json:"a"`
	B      float64  `json:"b"`
	Diff   Estimate `json:"diff"` // A − B
}

// Compare measures A − B for every metric, over the tasks that both lists have,
// with intervals from resampling the same tasks on both sides. Filter by
// [AtPosition] first for another position than all.
func Compare(a, b []Prediction, boot Bootstrap) []Difference {
	in := func(p []Prediction) map[string]bool {
		m := map[string]bool{}
		for i := range p {
			m[p[i].Task] = true
		}
		return m
	}
	keep := func(p []Prediction, m map[string]bool) (out []Prediction) {
		for _, r := range windowsOnly(p) {
			if m[r.Task] {
				out = append(out, r)
			}
		}
		return out
	}
	a, b = windowsOnly(a), windowsOnly(b)
	ta, tb := newTable(keep(a, in(b))), newTable(keep(b, in(a)))
	var m Metrics
	list := m.each()
	k := len(list)
	va, vb := make([]float64, k), make([]float64, k)
	est := boot.Intervals(len(ta.names), 3*k, func(w, out []float64) {
		ta.metrics(w, va)
		tb.metrics(w, vb)
		for i := range va {
			out[i], out[k+i], out[2*k+i] = va[i]-vb[i], va[i], vb[i]
		}
	})
	out := make([]Difference, k)
	for i := range out {
		out[i] = Difference{Metric: list[i].name, A: est[k+i].Value, B: est[2*k+i].Value, Diff: est[i]}
	}
	return out
}

// table holds what the metrics need so that a bootstrap draw, which only changes
// the weights of tasks, costs one or two passes over the rows.
type table struct {
	names []string
	y     *ranking // by P, hit = success
	conf  *ranking // by |2P − 1|, hit = correct
	lab   []float64
	prob  []float64
	sums  []taskSums
	auroc []float64 // of each task, NaN if it has only one outcome
	mixed int
}

// taskSums are sums over the rows of one task.
type taskSums struct {
	n, label, brier, logLoss float64
	cell                     [2][2]float64 // [success][decision]
	binP, binY, binN         [ECEBins]float64
}

func newTable(p []Prediction) *table {
	t := &table{}
	task := make([]string, len(p))
	for i := range p {
		task[i] = p[i].Task
	}
	names, idx := index(task)
	t.names = names
	t.lab, t.prob = columns(p)
	t.y = newRanking(t.prob, func(i int) bool { return t.lab[i] > 0.5 }, idx)
	t.conf = newRanking(confidences(t.prob), func(i int) bool { return correct(t.lab[i], t.prob[i]) }, idx)
	t.sums = make([]taskSums, len(names))
	byTask := make([][2][]float64, len(names))
	for i, k := range idx {
		s, y, q := &t.sums[k], t.lab[i], t.prob[i]
		s.n++
		s.label += y
		s.brier += (q - y) * (q - y)
		s.logLoss += logLoss1(y, q)
		s.cell[int(bit(y > 0.5))][int(bit(q >= 0.5))]++
		b := widthBin(q, ECEBins)
		s.binP[b] += q
		s.binY[b] += y
		s.binN[b]++
		byTask[k][0] = append(byTask[k][0], y)
		byTask[k][1] = append(byTask[k][1], q)
	}
	t.auroc = make([]float64, len(names))
	for k := range names {
		if t.auroc[k] = AUROC(byTask[k][0], byTask[k][1]); !math.IsNaN(t.auroc[k]) {
			t.mixed++
		}
	}
	return t
}

// metrics writes the values in the order of [Metrics.each] for the given task weights.
func (t *table) metrics(w, out []float64) {
	var s taskSums
	var macro, mixed float64
	for k := range t.sums {
		v, q := w[k], &t.sums[k]
		if v == 0 {
			continue
		}
		s.n += v * q.n
		s.label += v * q.label
		s.brier += v * q.brier
		s.logLoss += v * q.logLoss
		for i := range q.cell {
			for j := range q.cell[i] {
				s.cell[i][j] += v * q.cell[i][j]
			}
		}
		for b := range q.binN {
			s.binP[b] += v * q.binP[b]
			s.binY[b] += v * q.binY[b]
			s.binN[b] += v * q.binN[b]
		}
		if a := t.auroc[k]; !math.IsNaN(a) {
			macro += v * a
			mixed += v
		}
	}
	tn, fp, fn, tp := s.cell[0][0], s.cell[0][1], s.cell[1][0], s.cell[1][1]
	ece := 0.0
	for b := range s.binN {
		ece += math.Abs(s.binP[b]-s.binY[b]) / s.n
	}
	out[0] = s.label / s.n
	out[1] = (tp + tn) / s.n
	out[2] = max(tp+fn, tn+fp) / s.n
	out[3] = (tp/(tp+fn) + tn/(tn+fp)) / 2
	out[4] = (tp*tn - fp*fn) / math.Sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn))
	if (tp+fp)*(tn+fn) == 0 && (tp+fn)*(tn+fp) > 0 {
		out[4] = 0 // constant decisions carry no information
	}
	out[5] = t.y.auroc(w)
	out[6] = macro / mixed
	out[7] = t.conf.auroc(w)
	out[8] = s.brier / s.n
	out[9] = s.logLoss / s.n
	out[10] = ece
	out[11] = t.eceCount(w, s.n)
	out[12] = t.conf.aurc(w)
}

// eceCount is the calibration error with bins of equal weight: rows in the order
// of P go to the bin in which their first unit of weight falls.
func (t *table) eceCount(w []float64, n float64) float64 {
	var dp [ECEBins]float64
	seen := 0.0
	for k, i := range t.y.rows {
		v := t.y.weight(k, w)
		if v == 0 {
			continue
		}
		b := min(int(seen*ECEBins/n), ECEBins-1)
		dp[b] += v * (t.prob[i] - t.lab[i])
		seen += v
	}
	e := 0.0
	for _, d := range dp {
		e += math.Abs(d) / n
	}
	return e
}
