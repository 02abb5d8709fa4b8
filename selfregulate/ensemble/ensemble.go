// Package ensemble answers a query with several models whose metacognitive states
// decide how: quickly and side by side (System 1), or in turn, each in a role of its
// own (System 2). Source: arXiv 2608.15400, sections 2.1 and 2.2.
//
//	e, err := ensemble.New(nodes, ensemble.Default())
//	res, err := e.Answer(ctx, ensemble.Query{Text: "How does the FFT work?"})
//
// Five phases: every node rates the query (a state vector, see package msv); roles
// are assigned by their fitness; the aggregate is held against thresholds, which
// chooses the system and names its reason; the query is answered; the contributions
// are put together, weighted by the states. A control graph of fixed topology and
// changing activation accompanies them.
package ensemble

import (
	"context"
	"errors"
	"fmt"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfassess/msv"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// Role of a node.
type Role int

const (
	Expert Role = iota // Domain Expert
	Critic
	Evaluator
	Synthesizer
	Generalist
	Roles
)

var roleNames = [Roles]string{"Domain Expert", "Critic", "Evaluator", "Synthesizer", "Generalist"}

// String is the role's name.
func (r Role) String() string { return roleNames[r] }

// MarshalText writes the name.
func (r Role) MarshalText() ([]byte, error) { return []byte(roleNames[r]), nil }

// UnmarshalText reads a name.
func (r *Role) UnmarshalText(b []byte) error {
	for i, n := range roleNames {
		if n == string(b) {
			*r = Role(i)
			return nil
		}
	}
	return fmt.Errorf("ensemble: no role %q", b)
}

// Node is one member.
type Node struct {
	Name  string
	Model chat.Model
}

// Thresholds of the choice between the systems, on 0 to 100. The source names none;
// these are ours.
type Thresholds struct {
	CE float64 `json:"ce"` // System 2 below this mean confidence
	EM float64 `json:"em"` // below this mean familiarity
	CI float64 `json:"ci"` // above this 75th percentile of conflict
	PI float64 `json:"pi"` // above this mean importance
}

// Config of an ensemble. Start from Default.
type Config struct {
	Thresholds Thresholds  `json:"thresholds"`
	Weights    msv.Weights `json:"weights"`
	// System 2 stops early after two confidences in a row above EarlyConfidence, or
	// when a critic or evaluator sees less conflict than EarlyConflict (0 to 100).
	EarlyConfidence float64 `json:"early_confidence"`
	EarlyConflict   float64 `json:"early_conflict"`
	Graph           Control `json:"graph"`
	Temperature     float64 `json:"temperature"`
	MaxTokens       int     `json:"max_tokens"`
	RatingTokens    int     `json:"rating_tokens"`
	Retries         int     `json:"retries"` // of an unreadable rating, with its error as feedback
	Seed            uint64  `json:"seed"`

	// Measured channels; nil = self-reports only.
	Embedder selfassess.Embedder `json:"-"` // EM: similarity of the query to Memory
	Memory   []string            `json:"-"` // what is known, one text an entry
	Judge    deliberate.Judge    `json:"-"` // CE: the judge's word on the quick answer
	// Observe sees every event as it happens, one at a time. It must not call back.
	Observe func(Event) `json:"-"`
}

// Default returns the settings of the design: System 2 if mean CE < 70, mean EM < 50,
// the 75th percentile of CI > 40, or mean PI > 75; early stop at 85 and 20.
func Default() Config {
	return Config{
		Thresholds: Thresholds{70, 50, 40, 75}, Weights: msv.DefaultWeights(), EarlyConfidence: 85, EarlyConflict: 20,
		Graph: DefaultControl(), Temperature: .7, MaxTokens: 1024, RatingTokens: 400, Retries: 2, Seed: 1,
	}
}

// Validate reports all problems at once, or nil.
func (c Config) Validate() error {
	errs := []error{c.Weights.Validate(), c.Graph.Validate()}
	for _, p := range []struct {
		name string
		v    float64
	}{
		{"thresholds.ce", c.Thresholds.CE}, {"thresholds.em", c.Thresholds.EM}, {"thresholds.ci", c.Thresholds.CI}, {"thresholds.pi", c.Thresholds.PI},
		{"early_confidence", c.EarlyConfidence}, {"early_conflict", c.EarlyConflict},
	} {
		if !(p.v >= 0 && p.v <= 100) {
			errs = append(errs, fmt.Errorf("ensemble: %s is %v; it must lie between 0 and 100", p.name, p.v))
		}
	}
	if !(c.Temperature >= 0) || c.MaxTokens < 1 || c.RatingTokens < 1 || c.Retries < 0 {
		errs = append(errs, fmt.Errorf("ensemble: temperature %v, max_tokens %d, rating_tokens %d, retries %d: limits must be positive, the others not negative",
			c.Temperature, c.MaxTokens, c.RatingTokens, c.Retries))
	}
	return errors.Join(errs...)
}

// Query is what is asked.
type Query struct {
	Text    string
	History []chat.Message
	// Emit, when set, gets the final text at the end of the run, in one piece or
	// several.
	Emit func(piece string) error
}

// State is what phase 1 found about one node.
type State struct {
	Node   string     `json:"node"`
	Rated  bool       `json:"rated"`
	Vector msv.Vector `json:"vector"`
	Values msv.Values `json:"values"` // 0 to 1
	Quick  string     `json:"quick_answer,omitempty"`
	Error  string     `json:"error,omitempty"` // why there is no rating
	Role   Role       `json:"role"`
}

// Contribution is one node's output in phase 4.
type Contribution struct {
	Node       string  `json:"node"`
	Role       Role    `json:"role"`
	Text       string  `json:"text"`
	Confidence float64 `json:"confidence"`      // 0 to 100, −1 where it was not said
	Conflict   float64 `json:"conflict"`        // 0 to 100, −1 where it was not said
	Weight     float64 `json:"weight"`          // share in the synthesis
	Cluster    int     `json:"cluster"`         // members that were merged into it, 1 = none
	Error      string  `json:"error,omitempty"` // why there is no text
	index      int     // of the node
}

// Result is an answer with all that led to it.
type Result struct {
	Text          string         `json:"text"`
	System        int            `json:"system"` // 1 or 2
	Reason        string         `json:"reason"` // the threshold that decided, in words
	Aggregate     msv.Values     `json:"aggregate"`
	Conflict      float64        `json:"conflict"` // 75th percentile of CI, 0 to 1
	States        []State        `json:"states"`
	Contributions []Contribution `json:"contributions"`
	Disagreement  bool           `json:"disagreement"` // the synthesis shows it instead of forcing a consensus
	EarlyStop     string         `json:"early_stop,omitempty"`
	Synthesis     string         `json:"synthesis"` // how the text was put together
	Graph         Snapshot       `json:"graph"`     // at the end
	History       []Snapshot     `json:"history"`
	Usage         llm.Usage      `json:"usage"`
}

// Event is one step of a run, for people who watch.
type Event struct {
	Phase        int           `json:"phase"` // 1 to 5
	Kind         string        `json:"kind"`  // "state", "roles", "system", "contribution", "synthesis", "note"
	Note         string        `json:"note,omitempty"`
	State        *State        `json:"state,omitempty"`
	Contribution *Contribution `json:"contribution,omitempty"`
	Result       *Result       `json:"result,omitempty"` // "roles", "system": what is known so far
}

// Ensemble answers queries. Safe for concurrent use when its models are.
type Ensemble struct {
	nodes []Node
	cfg   Config
}

// maxNodes bounds an ensemble.
const maxNodes = 64

// ErrNoNode: no node gave an answer.
var ErrNoNode = errors.New("ensemble: no node answered")

// New checks nodes and settings; nothing is sent.
func New(nodes []Node, cfg Config) (*Ensemble, error) {
	errs := []error{cfg.Validate()}
	if len(nodes) == 0 || len(nodes) > maxNodes {
		errs = append(errs, fmt.Errorf("ensemble: %d nodes; between 1 and %d are needed", len(nodes), maxNodes))
	}
	seen := map[string]bool{}
	for i, n := range nodes {
		if n.Model == nil || n.Name == "" || seen[n.Name] {
			errs = append(errs, fmt.Errorf("ensemble: node %d (%q) needs a model, and a name of its own", i, n.Name))
		}
		seen[n.Name] = true
	}
	if len(cfg.Memory) > 0 && cfg.Embedder == nil {
		errs = append(errs, errors.New("ensemble: a memory needs an embedder"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Ensemble{nodes, cfg}, nil
}

// Answer runs the five phases. A node that is lost is left out and named; the run
// fails when none is left. With an error the result holds what was made until then.
func (e *Ensemble) Answer(ctx context.Context, q Query) (Result, error) {
	if q.Text == "" {
		return Result{}, errors.New("ensemble: the query is empty")
	}
	r := &run{Ensemble: e, q: q}
	for _, phase := range []func(context.Context) error{r.rate, r.assign, r.decide, r.execute, r.synthesize} {
		if err := ctx.Err(); err != nil {
			return r.res, fmt.Errorf("ensemble: %w", context.Cause(ctx))
		}
		if err := phase(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return r.res, fmt.Errorf("ensemble: %w", err)
		}
	}
	return r.res, nil
}
