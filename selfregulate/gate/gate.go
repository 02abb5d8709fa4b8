// Package gate decides, without any model call, whether a critic is worth a call:
// it skips the critic only for drafts that are provably trivial acknowledgements,
// and fires on every sign of risk and every ambiguity. Source: selective
// metacognition gating (design, section 2).
//
//	g := gate.New(gate.Config{Selective: true})
//	d := g.Decide(gate.Context{Draft: "Got it, scheduling that."})
//	if d.Fire { … call the critic … }
//
// Two guarantees are kept apart. With the flag off the decision is the legacy rule
// and nothing else, byte for byte. With the flag on the critic is skipped only when
// no hard signal is there and the draft is short, without claims, and made of known
// phrases of English, Spanish, German, French or Portuguese.
//
// [Steps] applies the same asymmetry to an acting agent: commands that change the
// world always get the full assessment.
package gate

import (
	"fmt"
	"regexp"
	"slices"
)

// DefaultThreshold is the confidence below which the legacy rule fires.
const DefaultThreshold = .6

// Intent is the verdict of an intent classifier that ran before the draft.
type Intent string

const (
	IntentChat      Intent = "chat"
	IntentAction    Intent = "action"
	IntentAmbiguous Intent = "ambiguous"
)

// Context is everything that is known before the critic's call. Gates get it by
// value, with copies of its lists: nothing they do to it is seen by others.
type Context struct {
	Draft         string   `json:"draft"`
	ToolCalls     []string `json:"tool_calls,omitempty"` // names of the tools used in this turn
	Findings      []string `json:"findings,omitempty"`   // signs of fabrication that were found
	Intent        Intent   `json:"intent,omitempty"`     // "" = not classified
	Confidence    float64  `json:"confidence"`
	Sensitive     *string  `json:"sensitive,omitempty"` // the sensitive topic that was hit; nil = none
	ReadOnlyTools []string `json:"read_only_tools,omitempty"`
	Selective     bool     `json:"selective,omitempty"`
	Patterns      []string `json:"patterns,omitempty"` // own patterns, where given
	Scope         string   `json:"scope,omitempty"`
	RunID         string   `json:"run_id,omitempty"`
}

// Func is a gate of one's own: true = call the critic.
type Func func(Context) (fire bool, err error)

// Config of a gate. The zero value is the legacy rule with DefaultThreshold.
type Config struct {
	Selective bool    // the flag; off by default
	Threshold float64 // of the legacy rule; 0 = DefaultThreshold
	// ReadOnlyTools do not count as acting. Empty: every tool call does. The list
	// never silences the claims signal.
	ReadOnlyTools []string
	// Patterns replace the built-in phrases: regular expressions, matched against the
	// whole draft in lower case. Length and claims are checked all the same.
	Patterns []string
	// Own replaces the predicate and implies Selective: a Func, or a
	// func(Context) bool. One that panics or fails fires. Anything else, nil
	// included, is ignored with a warning.
	Own any
	// Warn gets remarks about the configuration; nil = dropped.
	Warn func(string)
}

// Decision of a gate.
type Decision struct {
	Fire bool `json:"fire"`
	// Reason is the first term that decided.
	Reason string `json:"reason"`
}

// Reasons of decisions.
const (
	ReasonConfidence = "low confidence"
	ReasonSensitive  = "sensitive topic"
	ReasonFindings   = "signs of fabrication"
	ReasonTool       = "a tool that acts was used"
	ReasonIntent     = "action or unclear intent"
	ReasonClaims     = "the draft has claims"
	ReasonNotTrivial = "not a known acknowledgement"
	ReasonTrivial    = "trivial acknowledgement"
	ReasonConfident  = "confident"
	ReasonOwn        = "own gate"
	ReasonOwnFailed  = "own gate failed"
)

// Gate decides. Safe for concurrent use if its own function is.
type Gate struct {
	cfg      Config
	own      Func
	patterns []*regexp.Regexp
	replaced bool
}

// New makes a gate. A mistake in the configuration is a warning and makes the gate
// fire more, never less.
func New(cfg Config) *Gate {
	if cfg.Threshold == 0 {
		cfg.Threshold = DefaultThreshold
	}
	warn := cfg.Warn
	if warn == nil {
		warn = func(string) {}
	}
	g := &Gate{cfg: cfg}
	switch f := cfg.Own.(type) {
	case nil:
	case Func:
		g.own = f
	case func(Context) (bool, error):
		g.own = f
	case func(Context) bool:
		if f != nil {
			g.own = func(c Context) (bool, error) { return f(c), nil }
		}
	default:
		warn(fmt.Sprintf("gate: own gate is a %T and can't be called: ignored", cfg.Own))
	}
	if cfg.Own != nil && g.own == nil {
		warn("gate: no usable own gate: the built-in predicate is used")
	}
	for _, p := range cfg.Patterns {
		g.replaced = true
		re, err := regexp.Compile("^(?:" + p + ")$")
		if err != nil {
			warn(fmt.Sprintf("gate: pattern %q is left out: %v", p, err))
			continue
		}
		g.patterns = append(g.patterns, re)
	}
	return g
}

// Decide applies the predicate. c's own fields Selective, ReadOnlyTools and Patterns
// are overwritten by the gate's configuration.
func (g *Gate) Decide(c Context) Decision {
	if g.own != nil {
		return g.ask(c)
	}
	if !g.cfg.Selective {
		return legacy(c, g.cfg.Threshold)
	}
	if why := g.hard(c); why != "" {
		return Decision{true, why}
	}
	// Length comes before the search for claims: a long draft fires either way, and
	// the cost of a decision stays bounded.
	switch {
	case !short(c.Draft):
		return Decision{true, ReasonNotTrivial}
	case HasClaims(c.Draft):
		return Decision{true, ReasonClaims}
	case !g.trivial(c.Draft):
		return Decision{true, ReasonNotTrivial}
	}
	return Decision{false, ReasonTrivial}
}

// Legacy is the rule that was there before the selective gate: low confidence or a
// sensitive topic.
func Legacy(c Context) Decision { return legacy(c, DefaultThreshold) }

func legacy(c Context, threshold float64) Decision {
	switch {
	case !(c.Confidence >= threshold): // NaN fires
		return Decision{true, ReasonConfidence}
	case c.Sensitive != nil:
		return Decision{true, ReasonSensitive}
	}
	return Decision{false, ReasonConfident}
}

// hard returns the first hard signal but for claims. Low confidence is none: the acknowledgements
// of cold conversations are exactly those with low confidence.
func (g *Gate) hard(c Context) string {
	switch {
	case c.Sensitive != nil:
		return ReasonSensitive
	case len(c.Findings) > 0:
		return ReasonFindings
	case slices.ContainsFunc(c.ToolCalls, func(t string) bool { return !slices.Contains(g.cfg.ReadOnlyTools, t) }):
		return ReasonTool
	case c.Intent == IntentAction || c.Intent == IntentAmbiguous:
		return ReasonIntent
	}
	return ""
}

// trivial is asked about short drafts without claims.
func (g *Gate) trivial(draft string) bool {
	if !g.replaced {
		return acknowledges(draft)
	}
	s := plain(draft)
	return slices.ContainsFunc(g.patterns, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}

// ask calls the own gate; whatever goes wrong fires.
func (g *Gate) ask(c Context) (d Decision) {
	c.Selective, c.ReadOnlyTools, c.Patterns = true, slices.Clone(g.cfg.ReadOnlyTools), slices.Clone(g.cfg.Patterns)
	c.ToolCalls, c.Findings = slices.Clone(c.ToolCalls), slices.Clone(c.Findings)
	if c.Sensitive != nil {
		s := *c.Sensitive
		c.Sensitive = &s
	}
	defer func() {
		if r := recover(); r != nil {
			d = Decision{true, fmt.Sprintf("%s: panic: %v", ReasonOwnFailed, r)}
		}
	}()
	fire, err := g.own(c)
	if err != nil {
		return Decision{true, fmt.Sprintf("%s: %v", ReasonOwnFailed, err)}
	}
	return Decision{fire, ReasonOwn}
}
