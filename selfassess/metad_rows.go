package selfassess

import "math"

// cells are counts of one stimulus: response "failure" with confidence K … 1, then
// "success" with confidence 1 … K.
type cells [2 * metaRatings]float64

// metaCells gives each row its stimulus (0 failure, 1 success) and its cell:
// response P ≥ ½, confidence |P − ½| in four bins of equally many rows.
func metaCells(y, p []float64) (stimulus, cell []int) {
	stimulus, cell = make([]int, len(p)), make([]int, len(p))
	rank := newRanking(confidences(p), func(int) bool { return true }, nil)
	rating := 0
	for k, i := range rank.rows {
		if !rank.tie[k] {
			rating = k * metaRatings / len(p) // equal confidences share a rating
		}
		cell[i] = metaRatings - 1 - rating
		if p[i] >= 0.5 {
			cell[i] = metaRatings + rating
		}
		if y[i] > 0.5 {
			stimulus[i] = 1
		}
	}
	return stimulus, cell
}

// MetaDOf counts continuous predictions (stimulus: success, response: P ≥ ½,
// confidence: |P − ½| in four bins of equally many rows) and fits meta-d′.
func MetaDOf(y, p []float64) MetaD {
	var counts [2]cells
	stim, cell := metaCells(y, p)
	for i := range p {
		counts[stim[i]][cell[i]]++
	}
	return metaOf(counts)
}

func metaOf(counts [2]cells) MetaD {
	m, err := MetaDFromCounts(counts[0][:], counts[1][:], true)
	if err != nil { // can't happen: the lists have the right lengths
		return MetaD{Why: err.Error()}
	}
	return m
}

// metaDraws bounds the bootstrap of M-ratio: each draw is a fit.
const metaDraws = 200

// mRatio is the M-ratio with its interval over tasks; the bins of confidence stay
// those of all rows.
func mRatio(p []Prediction, m MetaD, b Bootstrap) Estimate {
	if !m.Estimable {
		return Estimate{math.NaN(), math.NaN(), math.NaN()}
	}
	y, prob := columns(p)
	task := make([]string, len(p))
	for i := range p {
		task[i] = p[i].Task
	}
	names, idx := index(task)
	stim, cell := metaCells(y, prob)
	counts := make([][2]cells, len(names))
	for i, t := range idx {
		counts[t][stim[i]][cell[i]]++
	}
	b.Draws = min(b.draws(), metaDraws)
	return b.Interval(len(names), func(w []float64) float64 {
		var sum [2]cells
		for t, c := range counts {
			for s := range c {
				for k, v := range c[s] {
					sum[s][k] += w[t] * v
				}
			}
		}
		if m := metaOf(sum); m.Estimable {
			return m.MRatio
		}
		return math.NaN()
	})
}
