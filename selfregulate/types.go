// Package selfregulate turns assessments into choices: the component M_sr of the
// paper (section 3.1.2).
//
// A [Selector] looks at the candidates of one decision and names one: [Best] is the
// paper's "best rollout"; [Lowest] and [Random] are the controls reported beside
// it; [Off] is plain sampling. They are implementations of one interface, not flags
// inside one. [Regulate] is the whole step: ask the assessor, refuse what is no
// probability, select, and say why.
package selfregulate

import (
	"math/rand/v2"

	"github.com/muse-agent/muse/selfassess"
)

// Candidate is one imagined future as a selector sees it.
type Candidate struct {
	Valid      bool // parses into at least one action; invalid ones can't be chosen unless all are
	Assessed   bool
	Assessment selfassess.Assessment
}

// Choice is a selector's answer.
type Choice struct {
	Index  int    `json:"index"`
	Reason string `json:"reason"` // "best", "lowest", "random", "off", "none valid"
}

// Selector chooses among candidates. Implementations are stateless and safe for
// concurrent use; randomness comes only from r. Ties go to the lower index.
type Selector interface {
	Name() string
	// NeedsRollouts is false for Off: one sample is enough.
	NeedsRollouts() bool
	// NeedsAssessment is false for Off and Random: the assessor is not asked.
	NeedsAssessment() bool
	Select(r *rand.Rand, c []Candidate) Choice
}
