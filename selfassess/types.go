package selfassess

import (
	"context"

	"github.com/muse-agent/muse/internal/llm"
)

// Pair is one action and the observation that followed (imagined or real).
type Pair = llm.Pair

// Input is what a success predictor sees of one future: never anything privileged.
type Input struct {
	Task     string    // I: the goal sentence, "put a clean mug in shelf."
	Plan     string    // P^e: the plan written at the start of the episode, may be empty
	Pairs    []Pair    // τ: the assessed pairs, imagined or a window of the real episode
	History  []Pair    // the real pairs before Pairs; used by counting features only
	WinClaim bool      // the generator ended the rollout with "[end: won]"
	Hidden   []float32 // hidden states of the generator, nil where unknown
	Limit    int       // the episode's command limit (50)
}

// Assessment is the prediction for one Input.
type Assessment struct {
	// P is the calibrated probability, in [0,1], that the episode succeeds within its limit.
	P float64 `json:"p"`
	// Raw is the uncalibrated probability (sigmoid of the head's logit).
	Raw float64 `json:"raw"`
}

// Assessor predicts success. Implementations are safe for concurrent use and
// deterministic: equal inputs give equal bytes, alone or in a batch.
type Assessor interface {
	// Assess returns one Assessment an Input, in order.
	Assess(ctx context.Context, in []Input) ([]Assessment, error)
	// Name identifies the assessor in records: "msa/history+embedding/sibling@<hash>".
	Name() string
}

// Embedder turns texts into L2-normalised vectors of Dim entries (MiniLM: 384).
// Safe for concurrent use; the caller must not write to the returned rows.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dim() int
	Hash() string // of the weights; part of cache keys and records
}

// Labels names where training labels come from.
type Labels string

const (
	LabelsOutcome Labels = "outcome" // every chunk gets the episode's outcome (paper, Alg. 3)
	LabelsSibling Labels = "sibling" // also counterfactual outcomes of sibling first actions
	// LabelsCounterfactual are the sibling rows of LabelsSibling alone: nothing is
	// learnt of real chunks, whose outcome says little about which sibling to take.
	LabelsCounterfactual Labels = "counterfactual"
)

// Siblings reports whether training needs sibling rows.
func (l Labels) Siblings() bool { return l == LabelsSibling || l == LabelsCounterfactual }

// InputKind names what the head sees, joined by "+": "embedding" (paper),
// "history+embedding", "history", "history+hidden".
type InputKind string

// Example is one training row.
type Example struct {
	Input  Input
	Label  float64 // in [0,1]: outcome, or mean outcome of a sibling's continuations
	Weight float64 // 0 is read as 1
	Task   string  // game id: folds and macro metrics group by it
	// Position of the chunk: index from the start, and whether it is the episode's last.
	Chunk int
	Last  bool
	// State groups siblings: equal non-empty State = candidates of one decision.
	State string
}
