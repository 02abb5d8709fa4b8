package selfassess

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/muse-agent/muse/internal/safetensors"
)

// CheckpointFormat is the format tag of saved models.
const CheckpointFormat = "muse/msa@1"

// ErrCheckpoint is matched when a file is not a readable checkpoint of a success predictor.
var ErrCheckpoint = errors.New("selfassess: not a usable checkpoint")

// Save writes the model to path as safetensors, atomically: tensors mean, scale
// (in), w1 (in, hidden), b1, w2 (hidden), b2 (1); config, calibration, feature
// version and embedder hash as metadata, and the actor of a model that is tied to one.
// Equal models give equal bytes.
func (m *Model) Save(path string) error {
	cfg, err := json.Marshal(m.cfg)
	if err != nil {
		return fmt.Errorf("selfassess: saving %s: %w", path, err)
	}
	cal, err := json.Marshal(m.cal)
	if err != nil {
		return fmt.Errorf("selfassess: saving %s: %w", path, err)
	}
	h := m.head
	f := &safetensors.File{
		Tensors: []safetensors.Tensor{
			{Name: "mean", Shape: []int{h.in}, F32: h.mean},
			{Name: "scale", Shape: []int{h.in}, F32: h.scale},
			{Name: "w1", Shape: []int{h.in, h.hidden}, F32: h.w1},
			{Name: "b1", Shape: []int{h.hidden}, F32: h.b1},
			{Name: "w2", Shape: []int{h.hidden}, F32: h.w2},
			{Name: "b2", Shape: []int{1}, F32: h.b2},
		},
		Metadata: map[string]string{
			"format": CheckpointFormat, "features": FeatureVersion, "config": string(cfg), "calibration": string(cal),
			"embedder": m.embID, "embedding": strconv.Itoa(m.lay.embed), "hidden_states": strconv.Itoa(m.lay.hidden),
			"hash": m.digest,
		},
	}
	if m.actor != (Actor{}) { // not part of the hash: the weights are the same without it
		f.Metadata["actor"], f.Metadata["actor_hash"] = m.actor.Name, m.actor.Hash
	}
	if err := safetensors.Save(path, f); err != nil {
		return fmt.Errorf("selfassess: saving the model: %w", err)
	}
	return nil
}

// Load reads what [Model.Save] wrote. emb must be the embedder of the training
// (by its hash); it may be nil for inputs without embeddings. Errors match
// [ErrCheckpoint] or [ErrEmbedder].
func Load(path string, emb Embedder) (*Model, error) {
	f, err := safetensors.Load(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; train again with \"muse train selfassess\"", ErrCheckpoint, err)
	}
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s: %s; train again with \"muse train selfassess\"", ErrCheckpoint, path, fmt.Sprintf(format, a...))
	}
	md := f.Metadata
	if md["format"] != CheckpointFormat {
		return nil, bad("format is %q, this version reads %q", md["format"], CheckpointFormat)
	}
	if md["features"] != FeatureVersion {
		return nil, bad("counting features are %q, this version has %q", md["features"], FeatureVersion)
	}
	var cfg Config
	if err := json.Unmarshal([]byte(md["config"]), &cfg); err != nil {
		return nil, bad("config: %v", err)
	}
	if err := cfg.Validate(); err != nil {
		return nil, bad("config: %v", err)
	}
	var cal Calibration
	if err := json.Unmarshal([]byte(md["calibration"]), &cal); err != nil {
		return nil, bad("calibration: %v", err)
	}
	if err := cal.validate(); err != nil {
		return nil, bad("%v", err)
	}
	lay := layout{kind: cfg.Input, text: cfg.Text}
	if cfg.Input.Uses("history") {
		lay.count = NumFeatures
	}
	for _, p := range []struct {
		key string
		to  *int
	}{{"embedding", &lay.embed}, {"hidden_states", &lay.hidden}} {
		v, err := strconv.Atoi(md[p.key])
		if err != nil || v < 0 || v > 1<<20 || (v > 0) != cfg.Input.Uses(map[string]string{"embedding": "embedding", "hidden_states": "hidden"}[p.key]) {
			return nil, bad("%s is %q, which does not fit input %q", p.key, md[p.key], cfg.Input)
		}
		*p.to = v
	}
	if lay.embed > 0 {
		if emb == nil {
			return nil, fmt.Errorf("%w: %s needs sentence embeddings (embedder %s), but none are available; build with the native libraries or use a model with input %q", ErrEmbedder, path, short(md["embedder"]), InputHistory)
		}
		if emb.Hash() != md["embedder"] || emb.Dim() != lay.embed {
			return nil, fmt.Errorf("%w: %s was trained with embedder %s (%d values), here is %s (%d values); use that embedder or train again", ErrEmbedder, path, short(md["embedder"]), lay.embed, short(emb.Hash()), emb.Dim())
		}
	}
	h := &mlp{in: lay.width(), hidden: cfg.Hidden}
	for _, p := range []struct {
		name  string
		to    *[]float32
		shape []int
	}{{"mean", &h.mean, []int{h.in}}, {"scale", &h.scale, []int{h.in}}, {"w1", &h.w1, []int{h.in, h.hidden}},
		{"b1", &h.b1, []int{h.hidden}}, {"w2", &h.w2, []int{h.hidden}}, {"b2", &h.b2, []int{1}}} {
		v, err := f.Float32(p.name, p.shape...)
		if err != nil {
			return nil, bad("%v", err)
		}
		for _, x := range v {
			if x != x || math.IsInf(float64(x), 0) {
				return nil, bad("tensor %q holds a value that is not finite", p.name)
			}
		}
		*p.to = v
	}
	m := newModel(cfg, lay, h, cal, emb, md["embedder"])
	if m.digest != md["hash"] {
		return nil, bad("the content does not match its hash (%s, stored %s)", short(m.digest), short(md["hash"]))
	}
	return m.Tie(Actor{md["actor"], md["actor_hash"]}), nil
}

// validate checks a calibration that came from a file.
func (c Calibration) validate() error {
	switch c.Kind {
	case "":
		return nil
	case "temperature", "platt":
		if c.A > 0 {
			return nil
		}
	case "isotonic":
		ok := len(c.Logit) > 0 && len(c.Logit) == len(c.Prob)
		for i := 1; ok && i < len(c.Logit); i++ {
			ok = c.Logit[i-1] < c.Logit[i] && c.Prob[i-1] <= c.Prob[i]
		}
		if ok && c.Prob[0] >= 0 && c.Prob[len(c.Prob)-1] <= 1 {
			return nil
		}
	default:
		return fmt.Errorf("calibration %q is unknown", c.Kind)
	}
	return fmt.Errorf("calibration %q has impossible parameters", c.Kind)
}

func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return strconv.Quote(hash)
}
