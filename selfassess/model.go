package selfassess

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
)

// Model is the trained M_sa: an [Assessor] that is immutable and safe for
// concurrent use (if its embedder is). Make one by [Train], [Adapt] or [Load].
type Model struct {
	cfg    Config
	lay    layout
	head   *mlp
	cal    Calibration
	emb    Embedder
	embID  string // hash of the embedder it was trained with
	digest string
	actor  Actor // whose hidden states it reads; zero where it reads none, or an old file doesn't say
}

// newModel wires the parts and computes the hash that names the model.
func newModel(cfg Config, lay layout, head *mlp, cal Calibration, emb Embedder, embID string) *Model {
	m := &Model{cfg: cfg, lay: lay, head: head, cal: cal, emb: emb, embID: embID}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%+v\x00%s", cfg, FeatureVersion, cfg.Text, embID)
	for _, p := range append([][]float32{head.mean, head.scale}, head.params()...) {
		b := make([]byte, 0, 4*len(p))
		for _, v := range p {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		h.Write(b)
	}
	c, _ := json.Marshal(cal) // finite floats and strings: can't fail
	h.Write(c)
	m.digest = hex.EncodeToString(h.Sum(nil))
	return m
}

// Config returns the settings the model was trained with.
func (m *Model) Config() Config { return m.cfg }

// Calibration returns the map from raw to calibrated probabilities.
func (m *Model) Calibration() Calibration { return m.cal }

// Hash identifies weights, calibration and embedder (hex, 64 digits).
func (m *Model) Hash() string { return m.digest }

// Name implements [Assessor]: "msa/history+embedding/sibling@" and 8 digits of the hash.
func (m *Model) Name() string { return "msa/" + m.cfg.String() + "@" + m.digest[:8] }

// Assess implements [Assessor]. Its errors match [ErrHidden] or [ErrEmbedder], or
// come from the embedder.
func (m *Model) Assess(ctx context.Context, in []Input) ([]Assessment, error) {
	ptr := make([]*Input, len(in))
	for i := range in {
		ptr[i] = &in[i]
	}
	x, err := m.lay.vectors(ctx, m.emb, ptr)
	if err != nil {
		return nil, err
	}
	out := make([]Assessment, len(in))
	for i, z := range m.head.logits(x) {
		out[i] = Assessment{P: m.cal.Apply(z), Raw: sigmoid(z)}
	}
	return out, nil
}

// Predict assesses examples and pairs each assessment with its label, for [Evaluate].
func (m *Model) Predict(ctx context.Context, ex []Example) ([]Prediction, error) {
	in := make([]Input, len(ex))
	for i := range ex {
		in[i] = ex[i].Input
	}
	a, err := m.Assess(ctx, in)
	if err != nil {
		return nil, err
	}
	out := make([]Prediction, len(ex))
	for i := range ex {
		out[i] = predictionOf(&ex[i], a[i])
	}
	return out, nil
}
