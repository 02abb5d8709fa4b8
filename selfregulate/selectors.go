package selfregulate

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/muse-agent/muse/internal/nearest"
)

// The reasons a [Choice] may carry.
const (
	ReasonBest      = "best"
	ReasonLowest    = "lowest"
	ReasonRandom    = "random"
	ReasonOff       = "off"
	ReasonNoneValid = "none valid"
)

// The four selectors. Best is the paper's regulator of the language-model half
// (section 3.1.2, "best rollout"); Lowest and Random are its controls; Off is
// plain sampling, the agent without metacognition.
var (
	Best   Selector = extreme{name: ReasonBest, better: func(a, b float64) bool { return a > b }}
	Lowest Selector = extreme{name: ReasonLowest, better: func(a, b float64) bool { return a < b }}
	Random Selector = random{}
	Off    Selector = off{}
)

// All lists the selectors in the order of the paper's table.
func All() []Selector { return []Selector{Off, Lowest, Random, Best} }

// Names lists the names that [ByName] knows, in the order of [All].
func Names() []string {
	all := All()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name()
	}
	return names
}

// ByName returns the selector called name: "best", "lowest", "random" or "off".
// The error for any other name suggests the nearest one.
func ByName(name string) (Selector, error) {
	for _, s := range All() {
		if s.Name() == name {
			return s, nil
		}
	}
	near, _ := nearest.Of(name, Names())
	return nil, fmt.Errorf("selfregulate: no selector %q; did you mean %q? (known: %s)", name, near, strings.Join(Names(), ", "))
}

// extreme takes the assessed valid candidate with the most extreme P.
type extreme struct {
	name   string
	better func(a, b float64) bool // strict, so that ties stay with the lower index
}

func (e extreme) Name() string          { return e.name }
func (e extreme) NeedsRollouts() bool   { return true }
func (e extreme) NeedsAssessment() bool { return true }

func (e extreme) Select(_ *rand.Rand, c []Candidate) Choice {
	at := -1
	for i := range c {
		// A NaN is never better than anything, but it would win as the first; skip it.
		if p := c[i].Assessment.P; !c[i].Valid || !c[i].Assessed || p != p {
			continue
		}
		if at < 0 || e.better(c[i].Assessment.P, c[at].Assessment.P) {
			at = i
		}
	}
	if at < 0 {
		return Choice{Index: 0, Reason: ReasonNoneValid}
	}
	return Choice{Index: at, Reason: e.name}
}

// random takes each valid candidate with equal chance. Since the candidates are
// independent draws, this is plain sampling that pays for its rollouts.
type random struct{}

func (random) Name() string          { return ReasonRandom }
func (random) NeedsRollouts() bool   { return true }
func (random) NeedsAssessment() bool { return false }

func (random) Select(r *rand.Rand, c []Candidate) Choice {
	n := 0
	for i := range c {
		if c[i].Valid {
			n++
		}
	}
	if n == 0 {
		return Choice{Index: 0, Reason: ReasonNoneValid}
	}
	k := r.IntN(n)
	for i := range c {
		if !c[i].Valid {
			continue
		}
		if k == 0 {
			return Choice{Index: i, Reason: ReasonRandom}
		}
		k--
	}
	panic("selfregulate: unreachable: fewer valid candidates than counted")
}

// off takes the first sample, whatever it is worth.
type off struct{}

func (off) Name() string          { return ReasonOff }
func (off) NeedsRollouts() bool   { return false }
func (off) NeedsAssessment() bool { return false }

func (off) Select(_ *rand.Rand, c []Candidate) Choice {
	if len(c) == 0 || !c[0].Valid {
		return Choice{Index: 0, Reason: ReasonNoneValid}
	}
	return Choice{Index: 0, Reason: ReasonOff}
}
