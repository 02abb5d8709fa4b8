package selfassess

import (
	"math"
	"sort"
)

// Lift says what choosing by the assessment gains at single decisions: the real
// outcome of the chosen sibling minus the mean of its siblings.
type Lift struct {
	States int `json:"states"` // with at least 2 different first actions
	Tasks  int `json:"tasks"`
	// Random is the mean outcome of the siblings: what blind choice gets.
	Random Estimate `json:"random"`
	// Best and Lowest are outcome differences to Random of the highest and lowest P.
	Best   Estimate `json:"best"`
	Lowest Estimate `json:"lowest"`
	// Spread is Best − Lowest.
	Spread Estimate `json:"spread"`
	// Oracle is the difference of the sibling with the best outcome; inflated by
	// the noise of few continuations.
	Oracle Estimate `json:"oracle"`
}

// SiblingLift groups predictions by State and measures the lift over states with
// at least two different first actions; rows without State are ignored. Labels
// are mean outcomes of each sibling's continuations. Among equal P it takes the
// mean outcome, the expectation of an arbitrary choice.
func SiblingLift(p []Prediction, b Bootstrap) Lift {
	groups := map[string][]int{}
	var states []string
	for i := range p {
		if s := p[i].State; s != "" {
			if groups[s] == nil {
				states = append(states, s)
			}
			groups[s] = append(groups[s], i)
		}
	}
	sort.Strings(states)
	var task []string
	var rows [][4]float64 // random, best, lowest, oracle
	for _, s := range states {
		g := groups[s]
		distinct := false
		for _, i := range g[1:] {
			distinct = distinct || p[i].Action != p[g[0]].Action
		}
		if !distinct {
			continue
		}
		task = append(task, p[g[0]].Task)
		rows = append(rows, liftOf(p, g))
	}
	names, idx := index(task)
	sums := make([][5]float64, len(names))
	for i, t := range idx {
		for j, v := range rows[i] {
			sums[t][j] += v
		}
		sums[t][4]++
	}
	est := b.Intervals(len(names), 5, func(w, out []float64) {
		var s [5]float64
		for t := range w {
			for j, v := range sums[t] {
				s[j] += w[t] * v
			}
		}
		n := s[4]
		out[0], out[1], out[2], out[3], out[4] = s[0]/n, s[1]/n, s[2]/n, (s[1]-s[2])/n, s[3]/n
	})
	return Lift{States: len(rows), Tasks: len(names), Random: est[0], Best: est[1], Lowest: est[2], Spread: est[3], Oracle: est[4]}
}

func liftOf(p []Prediction, g []int) [4]float64 {
	hi, lo, top, mean := math.Inf(-1), math.Inf(1), math.Inf(-1), 0.0
	for _, i := range g {
		hi, lo = max(hi, p[i].P), min(lo, p[i].P)
		top = max(top, p[i].Label)
		mean += p[i].Label / float64(len(g))
	}
	pick := func(v float64) float64 {
		s, n := 0.0, 0.0
		for _, i := range g {
			if p[i].P == v {
				s += p[i].Label
				n++
			}
		}
		return s/n - mean
	}
	return [4]float64{mean, pick(hi), pick(lo), top - mean}
}
