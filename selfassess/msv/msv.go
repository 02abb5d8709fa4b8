// Package msv is the metacognitive state vector of a node in an ensemble: how it
// feels about a query (ER), how correct it holds itself (CE), how familiar the
// matter is (EM), how much conflicts (CI), and how important it is (PI). Source:
// arXiv 2608.15400, section 2 and table 1.
//
//	v, err := msv.Parse(reply)         // self-reported, 0 to 100
//	x := v.Values(msv.DefaultWeights()) // five numbers in [0,1]
//
// In the source all parts are reported by the model itself. Here a part may also be
// measured (by a judge, an embedder, the disagreement of answers); both are kept,
// and the measured one counts. Values are in [0,1] inside, 0 to 100 for people.
package msv

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Dimension indexes Values.
type Dimension int

const (
	ER Dimension = iota // emotional response
	CE                  // correctness evaluation
	EM                  // experiential matching
	CI                  // conflicting information
	PI                  // problem importance
	Dimensions
)

var names = [Dimensions]string{"ER", "CE", "EM", "CI", "PI"}
var titles = [Dimensions]string{"emotional response", "correctness evaluation", "experiential match", "conflicting information", "problem importance"}

// String is the abbreviation.
func (d Dimension) String() string { return names[d] }

// Title is the name in words.
func (d Dimension) Title() string { return titles[d] }

// Values are the five dimensions, each in [0,1].
type Values [Dimensions]float64

// MarshalJSON writes {"ER": 0.5, …}.
func (v Values) MarshalJSON() ([]byte, error) {
	m := map[string]float64{}
	for d, x := range v {
		m[names[d]] = x
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Values) UnmarshalJSON(b []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("msv: %w", err)
	}
	for d, n := range names {
		v[d] = m[n]
	}
	return nil
}

// Dot is Σ a_k v_k.
func (v Values) Dot(a Values) float64 {
	s := 0.
	for k := range v {
		s += a[k] * v[k]
	}
	return s
}

// Part is one component of a dimension, in [0,1], with the channels it came by.
type Part struct {
	Self     float64  `json:"self"`               // reported by the model
	Measured *float64 `json:"measured,omitempty"` // by an instrument
	By       string   `json:"by,omitempty"`       // which one
}

// Value is the measured value where there is one.
func (p Part) Value() float64 {
	if p.Measured != nil {
		return *p.Measured
	}
	return p.Self
}

// Measure sets the measured channel, clamped to [0,1]. NaN leaves it as it is.
func (p *Part) Measure(x float64, by string) {
	if x != x {
		return
	}
	x = min(max(x, 0), 1)
	p.Measured, p.By = &x, by
}

// Emotion is one affective state: its share ε among all, and where it lies.
type Emotion struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"`   // ε ≥ 0, Σ ε = 1
	Valence float64 `json:"valence"` // 0 unpleasant … 1 pleasant
	Arousal float64 `json:"arousal"` // 0 calm … 1 excited
}

// Vector is the state of a node with all parts.
type Vector struct {
	Emotions []Emotion `json:"emotions"`
	// CE: logical consistency, factual accuracy, contextual fit.
	Logic, Facts, Fit Part
	// EM: similarity to the knowledge base, to earlier responses, cue familiarity.
	Knowledge, History, Cues Part
	// CI: internal inconsistency, disagreement of sources, instability over time.
	Internal, Sources, Time Part
	// PI: consequences, urgency, scope.
	Consequences, Urgency, Scope Part
}

// Weights of the parts; each row is ≥ 0 and sums to 1.
type Weights struct {
	Alpha [3]float64 `json:"alpha"` // CE: logic, facts, fit
	Omega [3]float64 `json:"omega"` // EM: knowledge, history, cues
	Delta [3]float64 `json:"delta"` // CI: internal, sources, time
	Beta  [3]float64 `json:"beta"`  // PI: consequences, urgency, scope
}

// DefaultWeights weighs all parts alike: the source gives no values.
func DefaultWeights() Weights {
	t := [3]float64{1. / 3, 1. / 3, 1. / 3}
	return Weights{t, t, t, t}
}

// Validate reports all rows that are no weights.
func (w Weights) Validate() error {
	var errs []error
	for i, row := range [][3]float64{w.Alpha, w.Omega, w.Delta, w.Beta} {
		sum := row[0] + row[1] + row[2]
		if !(row[0] >= 0 && row[1] >= 0 && row[2] >= 0 && math.Abs(sum-1) < 1e-9) {
			errs = append(errs, fmt.Errorf("msv: weights %s are %v; they must be ≥ 0 and sum to 1", []string{"alpha", "omega", "delta", "beta"}[i], row))
		}
	}
	return errors.Join(errs...)
}

// Valence is ER_v = Σ ε_i v_i; ½ (neutral) without emotions.
func (v *Vector) Valence() float64 {
	if len(v.Emotions) == 0 {
		return .5
	}
	s := 0.
	for _, e := range v.Emotions {
		s += e.Share * e.Valence
	}
	return s
}

// Arousal is Σ ε_i a_i; 0 without emotions.
func (v *Vector) Arousal() float64 {
	s := 0.
	for _, e := range v.Emotions {
		s += e.Share * e.Arousal
	}
	return s
}

// Spread is σ, the standard deviation of valence over the emotions: how mixed they are.
func (v *Vector) Spread() float64 {
	m, s := v.Valence(), 0.
	for _, e := range v.Emotions {
		s += e.Share * (e.Valence - m) * (e.Valence - m)
	}
	return math.Sqrt(s)
}

func weigh(w [3]float64, p ...Part) float64 {
	s := 0.
	for i := range w {
		s += w[i] * p[i].Value()
	}
	return s
}

// Values are the five dimensions (table 1). Of ER it is the valence.
func (v *Vector) Values(w Weights) Values {
	return Values{
		ER: v.Valence(),
		CE: weigh(w.Alpha, v.Logic, v.Facts, v.Fit),
		EM: weigh(w.Omega, v.Knowledge, v.History, v.Cues),
		CI: weigh(w.Delta, v.Internal, v.Sources, v.Time),
		PI: weigh(w.Beta, v.Consequences, v.Urgency, v.Scope),
	}
}

// Uncertainty is 1 − CE, Unfamiliarity 1 − EM.
func (v Values) Uncertainty() float64 { return 1 - v[CE] }

// Unfamiliarity is 1 − EM.
func (v Values) Unfamiliarity() float64 { return 1 - v[EM] }

// Mean is MSV_avg = (1/n) Σ MSV_i, the aggregate of System 1. It is zero for none.
func Mean(vs []Values) Values {
	w := make([]float64, len(vs))
	for i := range w {
		w[i] = 1
	}
	return weighted(vs, w)
}

// MeanByCE is Σ CE_i MSV_i / Σ CE_i, the aggregate of System 2. Where no node has
// any confidence it is the plain mean.
func MeanByCE(vs []Values) Values {
	w, sum := make([]float64, len(vs)), 0.
	for i, v := range vs {
		w[i] = v[CE]
		sum += w[i]
	}
	if sum == 0 {
		return Mean(vs)
	}
	return weighted(vs, w)
}

func weighted(vs []Values, w []float64) Values {
	var out Values
	sum := 0.
	for i, v := range vs {
		for k := range v {
			out[k] += w[i] * v[k]
		}
		sum += w[i]
	}
	if sum > 0 {
		for k := range out {
			out[k] /= sum
		}
	}
	return out
}

// Percentile returns the q-quantile of one dimension with linear interpolation
// between neighbours (numpy's default); NaN for none.
func Percentile(vs []Values, d Dimension, q float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	x := make([]float64, len(vs))
	for i, v := range vs {
		x[i] = v[d]
	}
	slices.Sort(x)
	h := q * float64(len(x)-1)
	i := min(int(h), len(x)-1)
	j := min(i+1, len(x)-1)
	return x[i] + (h-float64(i))*(x[j]-x[i])
}

// Conflict is the conflict signal: the 75th percentile of CI.
func Conflict(vs []Values) float64 { return Percentile(vs, CI, .75) }
