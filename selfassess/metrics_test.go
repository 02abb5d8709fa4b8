package selfassess

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.6f, want %.6f", what, got, want)
	}
}

// Golden values: scikit-learn's AUROC example, torchmetrics' calibration error
// examples, metadpy's meta-d′ and AUROC2 (re-computed independently).
func TestGoldenValues(t *testing.T) {
	near(t, "AUROC", AUROC([]float64{0, 0, 1, 1}, []float64{.1, .4, .35, .8}), .75, 1e-12)
	near(t, "AUROC all tied", AUROC([]float64{0, 1, 1}, []float64{.4, .4, .4}), .5, 1e-12)
	if v := AUROC([]float64{1, 1}, []float64{.1, .2}); !math.IsNaN(v) {
		t.Errorf("AUROC of one outcome = %v, want NaN", v)
	}
	near(t, "Brier", Brier([]float64{0, 1, 1, 0}, []float64{.1, .9, .8, .3}), .0375, 1e-12)
	near(t, "log loss", LogLoss([]float64{1, 0}, []float64{.5, .5}), math.Ln2, 1e-12)
	l1, l2, top := ECE([]float64{0, 0, 1, 1, 1}, []float64{.25, .25, .55, .75, .75}, 2)
	near(t, "ECE", l1, .29, 1e-4)
	near(t, "ECE rms", l2, .2918, 1e-4)
	near(t, "ECE max", top, .3167, 1e-4)
	l1, _, _ = ECE([]float64{0, 0, 1, 1, 1}, []float64{1, 1, 1, 1, 0}, 2)
	near(t, "ECE edge", l1, .6, 1e-12)
	near(t, "Φ⁻¹ of Φ(.75)", phiInv(.7733726476), .75, 1e-8)
	lo, hi := Wilson(8, 10)
	near(t, "Wilson low", lo, .4901625, 1e-6)
	near(t, "Wilson high", hi, .9433178, 1e-6)
}

func TestWidthBins(t *testing.T) {
	for k := 1; k <= 15; k++ { // upper edges belong to their own bin
		if b := widthBin(float64(k)/15, 15); b != k-1 {
			t.Errorf("edge %d/15 falls in bin %d", k, b)
		}
	}
	if widthBin(0, 15) != 0 || widthBin(math.Nextafter(1.0/15, 1), 15) != 1 {
		t.Error("0 belongs to bin 0, just above an edge to the next")
	}
}

var (
	metaS1  = []float64{52, 32, 35, 37, 26, 12, 4, 2}
	metaS2  = []float64{2, 5, 15, 22, 33, 38, 40, 45}
	metaS1b = []float64{36, 24, 17, 20, 10, 12, 9, 2}
	metaS2b = []float64{1, 4, 10, 11, 19, 18, 28, 39}
)

func TestMetaDGolden(t *testing.T) {
	near(t, "AUROC2 padded", AUROC2FromCounts(metaS1, metaS2, .5), .727797, 1e-6)
	near(t, "AUROC2", AUROC2FromCounts(metaS1, metaS2, 0), .737016, 1e-6)
	near(t, "AUROC2 b padded", AUROC2FromCounts(metaS1b, metaS2b, .5), .699806, 1e-6)
	near(t, "AUROC2 b", AUROC2FromCounts(metaS1b, metaS2b, 0), .709672, 1e-6)
	for _, c := range []struct {
		name            string
		s1, s2          []float64
		pad             bool
		d, meta, m, log float64
	}{
		{"first padded", metaS1, metaS2, true, 1.535, 1.634, 1.064, -526.3318},
		{"first", metaS1, metaS2, false, 1.5444, 1.6538, 1.0709, -523.1704},
		{"second padded", metaS1b, metaS2b, true, 1.4901, 1.4418, .9676, -346.1827},
		{"second", metaS1b, metaS2b, false, 1.5041, 1.4607, .9712, -343.2143},
	} {
		m, err := MetaDFromCounts(c.s1, c.s2, c.pad)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.name+" d′", m.DPrime, c.d, 1e-3)
		near(t, c.name+" meta-d′", m.MetaD, c.meta, 1e-3)
		near(t, c.name+" M-ratio", m.MRatio, c.m, 1e-3)
		near(t, c.name+" log likelihood", m.LogLik, c.log, 1e-3)
		if !m.Estimable {
			t.Errorf("%s: not estimable: %s", c.name, m.Why)
		}
	}
	flat, err := MetaDFromCounts([]float64{40, 40, 40, 40, 10, 10, 10, 10}, []float64{10, 10, 10, 10, 40, 40, 40, 40}, false)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "uninformative d′", flat.DPrime, 1.6832, 2e-2)
	near(t, "uninformative meta-d′", flat.MetaD, 0, 1e-3)
	near(t, "uninformative AUROC2", AUROC2FromCounts([]float64{40, 40, 40, 40, 10, 10, 10, 10}, []float64{10, 10, 10, 10, 40, 40, 40, 40}, 0), .5, 1e-12)
}

func TestMetaDNotEstimable(t *testing.T) {
	few, _ := MetaDFromCounts([]float64{9, 9, 9, 9, 1, 0, 0, 0}, []float64{0, 0, 0, 1, 9, 9, 9, 9}, true)
	weak, _ := MetaDFromCounts([]float64{9, 9, 9, 9, 9, 9, 9, 9}, []float64{9, 9, 9, 9, 9, 9, 9, 9}, true)
	if few.Estimable || weak.Estimable || few.Why == "" || weak.Why == "" {
		t.Errorf("few errors: %+v; no sensitivity: %+v; both must say why they are not estimable", few, weak)
	}
	if _, err := MetaDFromCounts([]float64{1, 2}, []float64{1, 2}, true); err == nil {
		t.Error("one confidence level must be an error")
	}
	if m := MetaDOf([]float64{1, 1}, []float64{.5, .7}); m.Estimable {
		t.Error("two rows can't be estimable")
	}
}

func TestRiskCoverage(t *testing.T) {
	y := []float64{1, 0, 1, 0}
	p := []float64{.9, .2, .4, .45} // confidences .8 .6 .2 .1; only row 2 is wrong
	pts, area := RiskCoverage(y, p)
	near(t, "AURC", area, (0+0+1.0/3+1.0/4)/4, 1e-12)
	last := pts[len(pts)-1]
	near(t, "coverage", last.Coverage, 1, 1e-12)
	near(t, "risk at full coverage", last.Risk, .25, 1e-12)
	near(t, "confidence at full coverage", last.Confidence, .1, 1e-12)
	if len(pts) != 4 {
		t.Errorf("%d points, want 4: a row of the table for each step of coverage", len(pts))
	}
}

// fake makes predictions of tasks with different difficulty.
func fake(tasks, each int, seed uint64) []Prediction {
	r := rng.New(seed, "fake")
	var out []Prediction
	for k := range tasks {
		ease := r.Float64()
		for i := range each {
			p := min(max(ease+r.NormFloat64()*.2, 0), 1)
			y := 0.0
			if r.Float64() < p {
				y = 1
			}
			out = append(out, Prediction{Task: string(rune('a'+k%26)) + string(rune('a'+k/26)), P: p, Raw: p * p, Label: y, Chunk: i % 5, Last: i%5 == 4})
		}
	}
	return out
}

// The table's metrics must equal the plain functions.
func TestMetricsAgree(t *testing.T) {
	p := fake(30, 20, 1)
	y, q := columns(p)
	m := MetricsOf(p, "all", Bootstrap{Draws: 20})
	e, _, _ := ECE(y, q, ECEBins)
	_, area := RiskCoverage(y, q)
	near(t, "AUROC", m.AUROC.Value, AUROC(y, q), 1e-12)
	near(t, "AUROC2", m.AUROC2.Value, AUROC2(y, q), 1e-12)
	near(t, "Brier", m.Brier.Value, Brier(y, q), 1e-12)
	near(t, "log loss", m.LogLoss.Value, LogLoss(y, q), 1e-9)
	near(t, "ECE", m.ECE.Value, e, 1e-12)
	near(t, "ECE by count", m.ECECount.Value, ECEEqualCount(y, q, ECEBins), 1e-12)
	near(t, "AURC", m.AURC.Value, area, 1e-12)
	if m.MixedTasks == 0 || m.MixedTasks > 30 || m.Tasks != 30 || m.N != 600 {
		t.Errorf("counts are wrong: %+v", m)
	}
	var tp, tn, fp, fn float64
	for i := range y {
		switch {
		case y[i] > .5 && q[i] >= .5:
			tp++
		case y[i] > .5:
			fn++
		case q[i] >= .5:
			fp++
		default:
			tn++
		}
	}
	near(t, "accuracy", m.Accuracy.Value, (tp+tn)/600, 1e-12)
	near(t, "balanced", m.Balanced.Value, (tp/(tp+fn)+tn/(tn+fp))/2, 1e-12)
	near(t, "MCC", m.MCC.Value, (tp*tn-fp*fn)/math.Sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn)), 1e-12)
}

// A weight of 2 must mean the same as the task's rows twice.
func TestWeightsAreCopies(t *testing.T) {
	p := fake(4, 15, 2)
	twice := append([]Prediction(nil), p...)
	for _, r := range p {
		if r.Task == "ba" {
			twice = append(twice, r)
		}
	}
	a, b := make([]float64, 13), make([]float64, 13)
	newTable(p).metrics([]float64{1, 2, 1, 1}, a)
	newTable(twice).metrics([]float64{1, 1, 1, 1}, b)
	var m Metrics
	for i, e := range m.each() {
		// Twice the rows is one task for the macro mean, and bins by count cut a
		// doubled row in another place.
		if e.name == "auroc_macro" || e.name == "ece_count" {
			continue
		}
		near(t, e.name, a[i], b[i], 1e-9)
	}
}

func TestEvaluatePositionsAndJSON(t *testing.T) {
	p := append(fake(10, 20, 3), Prediction{Task: "aa", State: "s", P: .5})
	e := Evaluate(p, Bootstrap{Draws: 50, Seed: 7})
	if n := [3]int{e.At("first").N, e.At("before").N, e.At("all").N}; n != [3]int{40, 160, 200} {
		t.Errorf("rows by position %v", n)
	}
	a := e.At("all").AUROC
	if !(a.Low < a.Value && a.Value < a.High) {
		t.Errorf("interval %v", a)
	}
	if m := e.MRatio; !e.MetaD.Estimable || m.Value != e.MetaD.MRatio || !(m.Low < m.Value && m.Value < m.High) {
		t.Errorf("M-ratio %v of %+v", m, e.MetaD)
	}
	again := Evaluate(p, Bootstrap{Draws: 50, Seed: 7})
	j1, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	j2, _ := json.Marshal(again)
	if string(j1) != string(j2) {
		t.Error("equal seeds must give equal bytes")
	}
	one := MetricsOf([]Prediction{{Task: "a", P: .3, Label: 1}}, "x", Bootstrap{Draws: 5})
	b, err := json.Marshal(one)
	if err != nil {
		t.Fatalf("undefined figures must be null in JSON: %v", err)
	}
	var back Metrics
	if err := json.Unmarshal(b, &back); err != nil || !math.IsNaN(back.AUROC.Value) {
		t.Errorf("read back %v, %v", back.AUROC, err)
	}
	if r := Uncalibrated(p); r[0].P != p[0].Raw {
		t.Error("Uncalibrated must show the raw probability")
	}
}

func TestCompareIsPaired(t *testing.T) {
	a := fake(20, 15, 4)
	same := Compare(a, a, Bootstrap{Draws: 30})
	for _, d := range same {
		if d.Diff.Value != 0 || d.Diff.Low != 0 || d.Diff.High != 0 {
			t.Errorf("%s differs from itself: %+v", d.Metric, d.Diff)
		}
	}
	b := append([]Prediction(nil), a...)
	for i := range b {
		b[i].P = 1 - b[i].P
	}
	for _, d := range Compare(a, b, Bootstrap{Draws: 200}) {
		if d.Metric == "auroc_success" && !(d.Diff.Low > 0) {
			t.Errorf("a good predictor against its opposite: %+v", d)
		}
	}
	est, n := DiffByTask([]string{"a", "b", "c"}, []float64{1, 1, 1}, []string{"a", "b", "x"}, []float64{0, .5, 9}, Bootstrap{Draws: 100})
	near(t, "difference", est.Value, .75, 1e-12)
	if n != 2 {
		t.Errorf("%d common tasks, want 2", n)
	}
}

func TestBootstrapCoverage(t *testing.T) {
	r := rng.New(1, "coverage")
	hit, runs := 0, 200
	for k := range runs {
		task, v := make([]string, 40), make([]float64, 40)
		for i := range v {
			task[i], v[i] = string(rune('A'+i)), r.NormFloat64()
		}
		e := MeanByTask(task, v, Bootstrap{Draws: 300, Seed: uint64(k)})
		if e.Low <= 0 && 0 <= e.High {
			hit++
		}
	}
	if hit < 175 || hit > 199 {
		t.Errorf("the 95 %% interval held the truth %d of %d times", hit, runs)
	}
}

func TestSiblingLift(t *testing.T) {
	rows := []Prediction{
		{Task: "a", State: "1", Action: "x", P: .9, Label: 1},
		{Task: "a", State: "1", Action: "y", P: .2, Label: 0},
		{Task: "b", State: "2", Action: "x", P: .1, Label: 1},
		{Task: "b", State: "2", Action: "y", P: .3, Label: .5},
		{Task: "b", State: "3", Action: "z", P: .3, Label: 1}, // one action only: no decision
		{Task: "b", State: "3", Action: "z", P: .4, Label: 0},
		{Task: "b", P: .4, Label: 0},
	}
	l := SiblingLift(rows, Bootstrap{Draws: 50})
	if l.States != 2 || l.Tasks != 2 {
		t.Fatalf("%+v", l)
	}
	near(t, "random", l.Random.Value, .625, 1e-12)
	near(t, "best", l.Best.Value, (.5-.25)/2, 1e-12)
	near(t, "lowest", l.Lowest.Value, (-.5+.25)/2, 1e-12)
	near(t, "oracle", l.Oracle.Value, (.5+.25)/2, 1e-12)
	for i := range rows {
		rows[i].P = .5
	}
	l = SiblingLift(rows, Bootstrap{Draws: 50})
	near(t, "lift of a constant", l.Best.Value, 0, 1e-12)
	if e := SiblingLift(nil, Bootstrap{}); e.States != 0 || !math.IsNaN(e.Best.Value) {
		t.Errorf("no states: %+v", e)
	}
}

func BenchmarkEvaluate20k(b *testing.B) {
	p := fake(130, 154, 5)
	for b.Loop() {
		Evaluate(p, Bootstrap{Draws: 1000})
	}
}
