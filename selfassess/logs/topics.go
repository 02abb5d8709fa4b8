package logs

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/muse-agent/muse/internal/rng"
)

// Topics reads a text as a few numbers: its TF-IDF row (as [NGram]'s, of frequent terms)
// on the leading right singular vectors of many such rows. The trees read them beside
// the counts, which alone know nothing of how a player writes. Source: latent semantic
// analysis (Deerwester et al. 1990), by subspace iteration (Halko et al. 2011).
type Topics struct {
	voc NGram     // terms and IDF; it has no weights
	v   []float32 // [terms, n]
	n   int
}

const (
	topicCount = 50
	topicTerms = 20   // rows that a term stands in, at least
	topicRows  = 6000 // that the vectors are of; more change little
	topicExtra = 8    // vectors carried beside, which converge slower
	topicTurns = 3
)

// fitTopics finds the vectors of an even sample of rows; nil where too few terms are
// frequent.
func fitTopics(rows []Row, seed uint64) *Topics {
	var texts []string
	for k, n := 0, min(len(rows), topicRows); k < n; k++ {
		texts = append(texts, rows[k*len(rows)/n].text())
	}
	df := map[string]int{}
	for _, s := range texts {
		terms, _ := grams(s)
		for _, t := range terms {
			df[t]++
		}
	}
	t := &Topics{voc: NGram{terms: map[string]int{}}, n: topicCount}
	for _, term := range sortedTerms(df, topicTerms) {
		t.voc.terms[term] = len(t.voc.idf)
		t.voc.idf = append(t.voc.idf, float64(float32(math.Log(float64(1+len(texts))/float64(1+df[term]))+1)))
	}
	terms, k := len(t.voc.idf), topicCount+topicExtra
	if terms < 2*k || len(texts) < 2*k {
		return nil
	}
	a := make([]sparse, len(texts))
	for i, s := range texts {
		a[i] = t.voc.vector(s)
	}
	r := rng.New(seed, "topics")
	v := mat.NewDense(terms, k, nil)
	for i := range terms {
		for j := range k {
			v.Set(i, j, r.NormFloat64())
		}
	}
	for range topicTurns {
		v = orthonormal(back(a, across(a, v), terms))
	}
	// Within the subspace the vectors are those of the small matrix VᵀAᵀAV.
	y := across(a, v)
	gram := mat.NewSymDense(k, nil)
	gram.SymOuterK(1, y.T())
	var eig mat.EigenSym
	if !eig.Factorize(gram, true) {
		return nil
	}
	var turn, out mat.Dense
	eig.VectorsTo(&turn) // ascending
	out.Mul(v, &turn)
	t.v = make([]float32, terms*t.n)
	for j := range t.n {
		from := k - 1 - j
		top := 0
		for i := range terms {
			if math.Abs(out.At(i, from)) > math.Abs(out.At(top, from)) {
				top = i
			}
		}
		sign := math.Copysign(1, out.At(top, from)) // of the heaviest term: up to here it is arbitrary
		for i := range terms {
			t.v[i*t.n+j] = float32(sign * out.At(i, from))
		}
	}
	return t
}

// sortedTerms are the terms of at least least rows, in order.
func sortedTerms(df map[string]int, least int) []string {
	var out []string
	for t, n := range df {
		if n >= least {
			out = append(out, t)
		}
	}
	sort.Strings(out)
	return out
}

// across is A·v, [rows, k].
func across(a []sparse, v *mat.Dense) *mat.Dense {
	_, k := v.Dims()
	y := mat.NewDense(len(a), k, nil)
	for i, x := range a {
		row := y.RawRowView(i)
		for j, at := range x.at {
			for c, w := range v.RawRowView(int(at)) {
				row[c] += x.v[j] * w
			}
		}
	}
	return y
}

// back is Aᵀ·y, [terms, k].
func back(a []sparse, y *mat.Dense, terms int) *mat.Dense {
	_, k := y.Dims()
	v := mat.NewDense(terms, k, nil)
	for i, x := range a {
		row := y.RawRowView(i)
		for j, at := range x.at {
			to := v.RawRowView(int(at))
			for c, w := range row {
				to[c] += x.v[j] * w
			}
		}
	}
	return v
}

// orthonormal is a basis of the columns of v.
func orthonormal(v *mat.Dense) *mat.Dense {
	n, k := v.Dims()
	var qr mat.QR
	qr.Factorize(v)
	// The first k columns of Q, without the n×n matrix that QTo would make.
	out := mat.NewDense(n, k, nil)
	var r, inv mat.Dense
	qr.RTo(&r)
	if err := inv.Inverse(r.Slice(0, k, 0, k)); err != nil {
		return v // columns that depend on each other: the next turn mixes them anew
	}
	out.Mul(v, &inv)
	return out
}

// write puts the topics of a text into dst, [n].
func (t *Topics) write(dst []float32, text string) {
	clear(dst[:t.n])
	x := t.voc.vector(text)
	for j, at := range x.at {
		w := float32(x.v[j])
		for c, v := range t.v[int(at)*t.n : int(at+1)*t.n] {
			dst[c] += w * v
		}
	}
}

// beside appends the topics of a row to its counts; nil appends nothing.
func (t *Topics) beside(x []float32, r *Row) []float32 {
	if t == nil {
		return x
	}
	out := make([]float32, len(x)+t.n)
	copy(out, x)
	t.write(out[len(x):], r.text())
	return out
}

// topicsFile is a Topics as it is stored, terms in the order of their rows.
type topicsFile struct {
	N     int       `json:"n"`
	Terms []string  `json:"terms"`
	IDF   []float32 `json:"idf"`
	V     []float32 `json:"v"`
}

// MarshalJSON writes terms, IDF and vectors.
func (t *Topics) MarshalJSON() ([]byte, error) {
	f := topicsFile{N: t.n, Terms: make([]string, len(t.voc.idf)), V: t.v}
	for term, k := range t.voc.terms {
		f.Terms[k] = term
	}
	for _, v := range t.voc.idf {
		f.IDF = append(f.IDF, float32(v))
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Topics) UnmarshalJSON(b []byte) error {
	var f topicsFile
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("logs: reading topics: %w", err)
	}
	if f.N < 1 || f.N > 1000 || len(f.IDF) != len(f.Terms) || len(f.V) != f.N*len(f.Terms) {
		return fmt.Errorf("logs: reading topics: %d terms, %d IDF values, %d numbers of %d topics", len(f.Terms), len(f.IDF), len(f.V), f.N)
	}
	*t = Topics{voc: NGram{terms: make(map[string]int, len(f.Terms))}, v: f.V, n: f.N}
	for k, term := range f.Terms {
		t.voc.terms[term] = k
		t.voc.idf = append(t.voc.idf, float64(f.IDF[k]))
	}
	return nil
}
