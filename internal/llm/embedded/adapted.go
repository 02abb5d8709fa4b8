package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/muse-agent/muse/internal/lora"
)

// Encoder is implemented by the models of this package: their tokens, for training.
type Encoder interface {
	// Tokens of a text that follows a line's end or the start; safe for concurrent use.
	Tokens(text string) ([]int32, error)
	// Start is the token before every text.
	Start() int32
}

// Base is a model's network without an adapter.
type Base struct {
	Spec  Spec
	Hash  string // as in llm.Info
	Graph []byte // the ONNX file; read only
}

// Read finds a model as [Open] does and returns its network, in every build.
func Read(nameOrDir string) (Base, error) {
	f, err := load(nameOrDir)
	return Base{Spec: f.spec, Hash: f.hash, Graph: f.graph}, err
}

// adapt puts an adapter into the graph and returns the model's new name; the hash
// becomes that of model and adapter together.
func (f *files) adapt(path string) (name string, err error) {
	ad, hash, err := lora.Load(path)
	if err != nil {
		return "", fmt.Errorf("embedded: %w (make one with `muse train sft` or `muse train dpo`)", err)
	}
	if ad.Model != f.hash {
		return "", fmt.Errorf("embedded: %s: %w: it was made for %s (%.12s), this is %s (%.12s); choose the model with --model, or another adapter",
			path, lora.ErrModel, ad.Base, ad.Model, f.spec.Name, f.hash)
	}
	if f.graph, err = lora.Merge(f.graph, ad); err != nil {
		return "", fmt.Errorf("embedded: %s: %w", path, err)
	}
	sum := sha256.Sum256([]byte(f.hash + hash))
	f.hash = hex.EncodeToString(sum[:])
	return "embedded/" + f.spec.Name + "+" + ad.Name, nil
}
