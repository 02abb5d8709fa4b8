package selfassess

import (
	"errors"
	"fmt"
	"strings"
)

// The input kinds. "embedding" is M(I) ‖ M(τ, P^e) of the paper's Alg. 2.
const (
	InputEmbedding              InputKind = "embedding"
	InputHistory                InputKind = "history"
	InputHistoryEmbedding       InputKind = "history+embedding"
	InputHistoryHidden          InputKind = "history+hidden"
	InputHistoryEmbeddingHidden InputKind = "history+embedding+hidden"
)

// InputKinds lists all input kinds, the paper's first.
func InputKinds() []InputKind {
	return []InputKind{InputEmbedding, InputHistory, InputHistoryEmbedding, InputHistoryHidden, InputHistoryEmbeddingHidden}
}

// Uses reports whether the kind has the part "embedding", "history" or "hidden".
func (k InputKind) Uses(part string) bool {
	for p := range strings.SplitSeq(string(k), "+") {
		if p == part {
			return true
		}
	}
	return false
}

// ParseInputKind checks a name given by a user.
func ParseInputKind(s string) (InputKind, error) {
	names := make([]string, 0, 5)
	for _, k := range InputKinds() {
		if string(k) == s {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("selfassess: unknown input %q; use one of %s", s, strings.Join(names, ", "))
}

// ParseLabels checks a name given by a user.
func ParseLabels(s string) (Labels, error) {
	if l := Labels(s); l == LabelsOutcome || l.Siblings() {
		return l, nil
	}
	return "", fmt.Errorf("selfassess: unknown labels %q; use %s, %s or %s", s, LabelsOutcome, LabelsSibling, LabelsCounterfactual)
}

// Config are the settings of one success predictor and of its training. It is
// stored in checkpoints. See [Default] and [Paper].
type Config struct {
	Input  InputKind   `json:"input"`
	Labels Labels      `json:"labels"`
	Text   TextOptions `json:"text"`
	// Hidden is the width of the head's one hidden layer.
	Hidden int `json:"hidden"`

	Epochs      int     `json:"epochs"`       // at most
	Patience    int     `json:"patience"`     // epochs without a clearly better held-out loss before stopping
	Validation  float64 `json:"validation"`   // share of the training tasks held out for early stopping
	Batch       int     `json:"batch"`        // rows an update, fewer where an epoch would have less than 16 updates
	LR          float64 `json:"lr"`           // AdamW
	WeightDecay float64 `json:"weight_decay"` // AdamW, decoupled
	// Folds is the number of folds by task for out-of-fold predictions, on which
	// the calibration is fitted. The final head is then trained on all rows for
	// the folds' median best number of epochs. 0 = no folds, no calibration:
	// early stopping on held-out tasks decides.
	Folds int    `json:"folds"`
	Seed  uint64 `json:"seed"`
	// Workers is the number of folds trained at the same time; it does not change
	// results. 0 = 1.
	Workers int `json:"-"`
}

// Default returns the settings that learn to choose between candidates, for any
// actor: counting features beside the embeddings, sibling labels. See [DefaultFor].
func Default() Config {
	return Config{
		Input: InputHistoryEmbedding, Labels: LabelsSibling, Text: TextOptions{Plan: true},
		Hidden: 256, Epochs: 30, Patience: 3, Validation: 0.15, Batch: 128, LR: 1e-3, WeightDecay: 1e-2,
		Folds: 5, Seed: 1,
	}
}

// DefaultFor returns [Default], or for an actor that shows its hidden states the
// setting that wins sibling lift on held-out training tasks with such an actor:
// they stand in the embedding's place (docs/results).
func DefaultFor(hidden bool) Config {
	c := Default()
	if hidden {
		c = c.With(InputHistoryHidden)
	}
	return c
}

// With returns c for another input, with the learning rate that suits it: hidden
// states are fitted after one epoch at 1e-3, too coarse to stop at the best point.
func (c Config) With(k InputKind) Config {
	c.Input, c.LR = k, 1e-3
	if k.Uses("hidden") {
		c.LR = 3e-4
	}
	return c
}

// Paper returns the paper's own row: embeddings only, outcome labels.
func Paper() Config {
	c := Default()
	c.Input, c.Labels = InputEmbedding, LabelsOutcome
	return c
}

// String is the short name of the setting: "history+embedding/sibling".
func (c Config) String() string { return string(c.Input) + "/" + string(c.Labels) }

// Validate reports all problems at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("selfassess: "+format, a...))
		}
	}
	if _, err := ParseInputKind(string(c.Input)); err != nil {
		errs = append(errs, err)
	}
	if _, err := ParseLabels(string(c.Labels)); err != nil {
		errs = append(errs, err)
	}
	bad(c.Text.Context >= 0, "text.context is %d, must be 0 or more", c.Text.Context)
	bad(c.Hidden >= 1 && c.Hidden <= 1<<16, "hidden is %d, must lie between 1 and %d", c.Hidden, 1<<16)
	bad(c.Epochs >= 1, "epochs is %d, must be 1 or more", c.Epochs)
	bad(c.Patience >= 1, "patience is %d, must be 1 or more", c.Patience)
	bad(c.Validation > 0 && c.Validation < 1, "validation is %g, must lie between 0 and 1", c.Validation)
	bad(c.Batch >= 1, "batch is %d, must be 1 or more", c.Batch)
	bad(c.LR > 0, "lr is %g, must be above 0", c.LR)
	bad(c.WeightDecay >= 0, "weight_decay is %g, must be 0 or more", c.WeightDecay)
	bad(c.Folds == 0 || c.Folds >= 2, "folds is %d, must be 0 or at least 2", c.Folds)
	return errors.Join(errs...)
}
