package selfassess

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"github.com/muse-agent/muse/internal/rng"
)

// Estimate is a figure with its 95 % interval by bootstrap over tasks. A figure
// that can't be computed (say an AUROC without a failure) is NaN, null in JSON.
type Estimate struct {
	Value float64
	Low   float64
	High  float64
}

// String is "0.912 [0.887, 0.934]".
func (e Estimate) String() string {
	if math.IsNaN(e.Value) {
		return "n/a"
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Value, e.Low, e.High)
}

type estimateJSON struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// MarshalJSON writes {"value":…,"low":…,"high":…} with null for NaN.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(estimateJSON{finite(e.Value), finite(e.Low), finite(e.High)})
}

// finite is the value for JSON: nil, written as null, where it is NaN or infinite.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Estimate) UnmarshalJSON(b []byte) error {
	var j estimateJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("selfassess: reading an estimate: %w", err)
	}
	p := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	*e = Estimate{p(j.Value), p(j.Low), p(j.High)}
	return nil
}

// Bootstrap says how intervals are drawn. Tasks are the units: all rows of a task
// are drawn together, since they are far from independent.
type Bootstrap struct {
	Draws int    // 0 = 1000
	Seed  uint64 // equal seeds give equal intervals
}

func (b Bootstrap) draws() int {
	if b.Draws <= 0 {
		return 1000
	}
	return b.Draws
}

// Resample draws clusters with replacement: f is called once per draw with the
// number of times each of the n clusters was drawn (reused between calls). The
// counts depend on n and the seed only, so that two statistics of the same
// clusters are paired when resampled with equal seeds.
func (b Bootstrap) Resample(n int, f func(draw int, counts []float64)) {
	if n == 0 {
		return
	}
	r := rng.New(b.Seed, "bootstrap", n)
	counts := make([]float64, n)
	for d := range b.draws() {
		clear(counts)
		for range n {
			counts[r.IntN(n)]++
		}
		f(d, counts)
	}
}

// Interval computes the percentile interval of a statistic of clusters. stat gets
// the weight of each of n clusters (all 1 for the value itself) and may return
// NaN where it is undefined; such draws are left out.
func (b Bootstrap) Interval(n int, stat func(weights []float64) float64) Estimate {
	return b.Intervals(n, 1, func(w, out []float64) { out[0] = stat(w) })[0]
}

// Intervals is [Bootstrap.Interval] for k statistics at once; stat writes them to out.
func (b Bootstrap) Intervals(n, k int, stat func(weights, out []float64)) []Estimate {
	est := make([]Estimate, k)
	out := make([]float64, k)
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	stat(ones, out)
	draws := make([][]float64, k)
	for i := range est {
		est[i] = Estimate{out[i], math.NaN(), math.NaN()}
		draws[i] = make([]float64, 0, b.draws())
	}
	b.Resample(n, func(_ int, w []float64) {
		stat(w, out)
		for i, v := range out {
			if !math.IsNaN(v) {
				draws[i] = append(draws[i], v)
			}
		}
	})
	for i := range est {
		if sort.Float64s(draws[i]); len(draws[i]) > 0 && !math.IsNaN(est[i].Value) {
			est[i].Low, est[i].High = quantile(draws[i], 0.025), quantile(draws[i], 0.975)
		}
	}
	return est
}

// quantile interpolates linearly in sorted values.
func quantile(s []float64, q float64) float64 {
	h := q * float64(len(s)-1)
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// MeanByTask is the mean over tasks of each task's mean value, with its interval:
// for success rates and steps. task[i] belongs to value[i].
func MeanByTask(task []string, value []float64, b Bootstrap) Estimate {
	names, idx := index(task)
	sum, n := make([]float64, len(names)), make([]float64, len(names))
	for i, t := range idx {
		sum[t] += value[i]
		n[t]++
	}
	return b.Interval(len(names), func(w []float64) float64 {
		s, k := 0.0, 0.0
		for t := range w {
			s += w[t] * sum[t] / n[t]
			k += w[t]
		}
		return s / k
	})
}

// DiffByTask is the paired difference A − B of task means over the tasks that
// both have, with its interval, and the number of those tasks.
func DiffByTask(taskA []string, a []float64, taskB []string, b []float64, boot Bootstrap) (Estimate, int) {
	mean := func(task []string, v []float64) map[string]float64 {
		sum, n := map[string]float64{}, map[string]float64{}
		for i, t := range task {
			sum[t] += v[i]
			n[t]++
		}
		for t := range sum {
			sum[t] /= n[t]
		}
		return sum
	}
	ma, mb := mean(taskA, a), mean(taskB, b)
	names, _ := index(taskA)
	var task []string
	var diff []float64
	for _, t := range names {
		if v, ok := mb[t]; ok {
			task = append(task, t)
			diff = append(diff, ma[t]-v)
		}
	}
	return MeanByTask(task, diff, boot), len(task)
}

// index returns the distinct names in sorted order and each element's position in them.
func index(s []string) (names []string, idx []int) {
	pos := map[string]int{}
	for _, v := range s {
		if _, ok := pos[v]; !ok {
			pos[v] = 0
			names = append(names, v)
		}
	}
	sort.Strings(names)
	for i, v := range names {
		pos[v] = i
	}
	idx = make([]int, len(s))
	for i, v := range s {
		idx[i] = pos[v]
	}
	return names, idx
}
