package selfassess

import (
	"math"
	"sort"
)

// AUROC is the area under the ROC curve of the score s for the event y > ½, by
// Mann–Whitney with ties counted ½. Of the success predictor's P and the episode's
// outcome this is what the paper calls AUROC2 (section 4.2.1). It is NaN
// unless both outcomes occur.
func AUROC(y, s []float64) float64 {
	return newRanking(s, func(i int) bool { return y[i] > 0.5 }, nil).auroc(nil)
}

// AUROC2 is the area under the type-2 ROC curve in the sense of Fleming & Lau
// (2014): the confidence |2p − 1| as a score for the event that the decision
// p ≥ ½ is correct.
func AUROC2(y, p []float64) float64 {
	return newRanking(confidences(p), func(i int) bool { return correct(y[i], p[i]) }, nil).auroc(nil)
}

// AUROC2FromCounts is the type-2 AUROC of counted confidence ratings: counts as
// in [MetaDFromCounts]. pad is added to each count (metadpy: ½; 0 =
// none).
func AUROC2FromCounts(s1, s2 []float64, pad float64) float64 {
	k := len(s1) / 2
	h, f := make([]float64, k), make([]float64, k) // rating k-1-i … from the highest confidence down
	var hs, fs float64
	for i := range k {
		h[i] = s1[i] + s2[2*k-1-i] + 2*pad // correct with the i-th highest confidence
		f[i] = s2[i] + s1[2*k-1-i] + 2*pad
		hs += h[i]
		fs += f[i]
	}
	area, ch, cf := 0.0, 0.0, 0.0
	for i := range k {
		nh, nf := ch+h[i]/hs, cf+f[i]/fs
		area += (nf - cf) * (nh + ch) / 2
		ch, cf = nh, nf
	}
	return area
}

func confidences(p []float64) []float64 {
	c := make([]float64, len(p))
	for i, v := range p {
		c[i] = math.Abs(2*v - 1)
	}
	return c
}

// correct reports whether the decision p ≥ ½ (paper's threshold) is right.
func correct(y, p float64) bool { return (p >= 0.5) == (y > 0.5) }

// ranking holds rows sorted by an increasing score, so that weighted areas cost
// one pass: the bootstrap changes weights, never the order.
type ranking struct {
	hit  []bool
	tie  []bool // row has the score of the row before it
	task []int  // weight index of each row; nil = all rows weigh 1
	rows []int  // original row numbers
}

func newRanking(score []float64, hit func(i int) bool, task []int) *ranking {
	r := &ranking{rows: make([]int, len(score)), hit: make([]bool, len(score)), tie: make([]bool, len(score))}
	for i := range r.rows {
		r.rows[i] = i
	}
	sort.SliceStable(r.rows, func(a, b int) bool { return score[r.rows[a]] < score[r.rows[b]] })
	if task != nil {
		r.task = make([]int, len(score))
	}
	for k, i := range r.rows {
		r.hit[k] = hit(i)
		r.tie[k] = k > 0 && score[i] == score[r.rows[k-1]]
		if task != nil {
			r.task[k] = task[i]
		}
	}
	return r
}

func (r *ranking) weight(k int, w []float64) float64 {
	if r.task == nil || w == nil {
		return 1
	}
	return w[r.task[k]]
}

// auroc is the weighted area; w are weights of tasks, nil = all 1.
func (r *ranking) auroc(w []float64) float64 {
	var pos, neg, area float64 // totals so far
	var gp, gn float64         // of the present group of ties
	for k, hit := range r.hit {
		if !r.tie[k] {
			area += gp * (neg + gn/2)
			pos, neg = pos+gp, neg+gn
			gp, gn = 0, 0
		}
		if v := r.weight(k, w); hit {
			gp += v
		} else {
			gn += v
		}
	}
	area += gp * (neg + gn/2)
	pos, neg = pos+gp, neg+gn
	if pos == 0 || neg == 0 {
		return math.NaN()
	}
	return area / (pos * neg)
}

// riskCoverage walks from the most confident rows to the least: after each group
// of ties it reports the covered weight and the weight of errors in it. hit = correct.
func (r *ranking) riskCoverage(w []float64, f func(covered, errors, group float64)) {
	var c, e, g float64
	for k := len(r.hit) - 1; k >= 0; k-- {
		v := r.weight(k, w)
		g += v
		if !r.hit[k] {
			e += v
		}
		if !r.tie[k] {
			c += g
			if c > 0 {
				f(c, e, g)
			}
			g = 0
		}
	}
}

// aurc is the area under the risk–coverage curve: the mean, over rows, of the
// error rate among rows at least as confident. Lower is better.
func (r *ranking) aurc(w []float64) float64 {
	var sum, total float64
	r.riskCoverage(w, func(c, e, g float64) { sum += g * e / c; total = c })
	if total == 0 {
		return math.NaN()
	}
	return sum / total
}

// CoveragePoint is one row of a risk–coverage table: acting only on the most
// confident share of rows gives this error rate.
type CoveragePoint struct {
	Coverage   float64 `json:"coverage"`   // share of rows acted on
	Confidence float64 `json:"confidence"` // lowest |2p − 1| among them
	Risk       float64 `json:"risk"`       // share of wrong decisions among them
}

// RiskCoverage returns the table at coverages of about 0.1, 0.2, … 1 (a group of
// equal confidences is never split) and the area under the whole curve.
func RiskCoverage(y, p []float64) ([]CoveragePoint, float64) {
	conf := confidences(p)
	r := newRanking(conf, func(i int) bool { return correct(y[i], p[i]) }, nil)
	var out []CoveragePoint
	n, next, seen := float64(len(p)), 1, 0
	r.riskCoverage(nil, func(c, e, g float64) {
		seen += int(g)
		if c/n < float64(next)/10-1e-12 {
			return
		}
		for next <= 10 && float64(next)/10 <= c/n+1e-12 {
			next++
		}
		out = append(out, CoveragePoint{c / n, conf[r.rows[len(p)-seen]], e / c})
	})
	return out, r.aurc(nil)
}
