package logs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/optimize"
)

// NGram is the baseline that every figure stands beside: a logistic regression on
// TF-IDF of word 1-grams and 2-grams of the goal and the steps. The weighting
// is scikit-learn's with sublinear_tf and min_df=2 (words of two characters or more, smoothed IDF,
// rows of length 1), the penalty ½|w|² (its C = 1).
type NGram struct {
	terms map[string]int
	idf   []float64
	w     []float64 // one a term, then the intercept
}

// ngramFile is an NGram as it is stored, terms in the order of their columns.
type ngramFile struct {
	Terms []string  `json:"terms"`
	IDF   []float32 `json:"idf"`
	W     []float32 `json:"w"`
}

// MarshalJSON writes terms, IDF and weights; the numbers as float32.
func (m *NGram) MarshalJSON() ([]byte, error) {
	f := ngramFile{Terms: make([]string, len(m.idf))}
	for t, k := range m.terms {
		f.Terms[k] = t
	}
	for _, v := range m.idf {
		f.IDF = append(f.IDF, float32(v))
	}
	for _, v := range m.w {
		f.W = append(f.W, float32(v))
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *NGram) UnmarshalJSON(b []byte) error {
	var f ngramFile
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("logs: reading n-grams: %w", err)
	}
	if len(f.IDF) != len(f.Terms) || len(f.W) != len(f.Terms)+1 {
		return fmt.Errorf("logs: reading n-grams: %d terms, %d IDF values, %d weights", len(f.Terms), len(f.IDF), len(f.W))
	}
	*m = NGram{terms: make(map[string]int, len(f.Terms))}
	for k, t := range f.Terms {
		m.terms[t] = k
		m.idf = append(m.idf, float64(f.IDF[k]))
	}
	for _, v := range f.W {
		m.w = append(m.w, float64(v))
	}
	return nil
}

type sparse struct {
	at []int32
	v  []float64
}

// words splits as the pattern \b\w\w+\b does.
func words(s string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}), func(w string) bool { return len([]rune(w)) < 2 })
}

// grams counts the 1-grams and 2-grams of a text, in order of first appearance.
func grams(s string) (terms []string, count map[string]float64) {
	count = map[string]float64{}
	add := func(t string) {
		if count[t]++; count[t] == 1 {
			terms = append(terms, t)
		}
	}
	w := words(s)
	for i := range w {
		add(w[i])
		if i > 0 {
			add(w[i-1] + " " + w[i])
		}
	}
	return terms, count
}

// vector is the weighted row of a text.
func (m *NGram) vector(s string) sparse {
	terms, count := grams(s)
	var x sparse
	norm := 0.0
	for _, t := range terms {
		if k, ok := m.terms[t]; ok {
			v := (1 + math.Log(count[t])) * m.idf[k]
			x.at, x.v = append(x.at, int32(k)), append(x.v, v)
			norm += v * v
		}
	}
	if norm > 0 {
		norm = 1 / math.Sqrt(norm)
	}
	for i := range x.v {
		x.v[i] *= norm
	}
	return x
}

// FitNGram fits texts with labels y in [0,1] and weights w.
func FitNGram(texts []string, y, w []float64) (*NGram, error) {
	df := map[string]int{}
	var order []string
	for _, s := range texts {
		terms, _ := grams(s)
		for _, t := range terms {
			if df[t]++; df[t] == 1 {
				order = append(order, t)
			}
		}
	}
	m := &NGram{terms: map[string]int{}}
	for _, t := range order {
		if df[t] >= 2 {
			m.terms[t] = len(m.idf)
			m.idf = append(m.idf, math.Log(float64(1+len(texts))/float64(1+df[t]))+1)
		}
	}
	rows := make([]sparse, len(texts))
	for i, s := range texts {
		rows[i] = m.vector(s)
	}
	k := len(m.idf)
	// loss and its gradient at b; grad may be nil.
	loss := func(b, grad []float64) float64 {
		f := 0.0
		clear(grad)
		for i, r := range rows {
			z := b[k]
			for j, at := range r.at {
				z += b[at] * r.v[j]
			}
			f += w[i] * (max(z, 0) - z*y[i] + math.Log1p(math.Exp(-math.Abs(z))))
			if grad != nil {
				d := w[i] * (sigmoid(z) - y[i])
				for j, at := range r.at {
					grad[at] += d * r.v[j]
				}
				grad[k] += d
			}
		}
		for j := range k {
			f += b[j] * b[j] / 2
			if grad != nil {
				grad[j] += b[j]
			}
		}
		return f
	}
	res, err := optimize.Minimize(optimize.Problem{
		Func: func(b []float64) float64 { return loss(b, nil) },
		Grad: func(grad, b []float64) { loss(b, grad) },
	}, make([]float64, k+1), &optimize.Settings{
		GradientThreshold: 1e-3, MajorIterations: 200,
		Converger: &optimize.FunctionConverge{Relative: 1e-8, Iterations: 5},
	}, &optimize.LBFGS{})
	if res == nil || err != nil && len(res.X) != k+1 {
		return nil, fmt.Errorf("logs: fitting the n-gram baseline: %w", err)
	}
	m.w = res.X
	for i, v := range m.w { // as they are stored: a loaded model gives the same bytes
		m.w[i] = float64(float32(v))
	}
	for i, v := range m.idf {
		m.idf[i] = float64(float32(v))
	}
	return m, nil
}

// Logit is the score of a text.
func (m *NGram) Logit(s string) float64 {
	x := m.vector(s)
	z := m.w[len(m.idf)]
	for j, at := range x.at {
		z += m.w[at] * x.v[j]
	}
	return z
}
