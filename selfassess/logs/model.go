package logs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/selfassess"
)

// ModelFormat is the format tag of a saved model.
const ModelFormat = "muse/logmodel@2"

// Names of the files of a model's folder.
const (
	FileModel  = "logmodel.json"
	FileHead   = "msa.safetensors"
	FileReport = "report.json"
)

// ErrModel is matched when a folder holds no readable model of logs.
var ErrModel = errors.New("logs: not a usable model")

// Model gives prefixes of episodes a probability of success. Immutable and safe for
// concurrent use (if its embedder is).
type Model struct {
	trees  *forest // of counts
	known  *forest // of counts, memory and topics
	ngrams ngrams
	head   *selfassess.Model // nil without embeddings
	stack  Stack             // weights of trees, known, head, n-grams, in this order
}

// Predict returns the probability of success of every row.
func (m *Model) Predict(ctx context.Context, rows []Row) ([]float64, error) {
	var head []float64
	if m.head != nil {
		var err error
		if head, err = headLogits(ctx, m.head, rows); err != nil {
			return nil, err
		}
	}
	out := make([]float64, len(rows))
	for i := range rows {
		z := []float64{m.trees.logit(&rows[i]), m.known.logit(&rows[i])}
		if head != nil {
			z = append(z, head[i])
		}
		out[i] = m.stack.Apply(append(z, m.ngrams.logit(&rows[i])))
	}
	return out, nil
}

// Score returns P after every step of an episode: P[i] is the probability, given the
// first i+1 steps, that the episode succeeds. The last value sees the end when the
// episode is over.
func (m *Model) Score(ctx context.Context, e *Episode) ([]float64, error) {
	p := newProgress(e)
	rows := make([]Row, len(e.Steps))
	x := make([]float32, len(e.Steps)*len(FeatureNames))
	for i, s := range e.Steps {
		p.step(s)
		row := x[i*len(FeatureNames) : (i+1)*len(FeatureNames)]
		p.write(row)
		rows[i] = Row{Task: e.TaskID, Model: e.Model, Goal: e.Task, Steps: e.Steps[:i+1], X: row}
	}
	return m.Predict(ctx, rows)
}

// file is a model as it is stored.
type file struct {
	Format   string   `json:"format"`
	Features string   `json:"features"`
	Names    []string `json:"names"`
	Head     string   `json:"head,omitempty"` // hash of the head beside it
	Stack    Stack    `json:"stack"`
	Trees    byLength `json:"trees"`
	Known    byLength `json:"known"`
	Memory   *Memory  `json:"memory"`
	Topics   *Topics  `json:"topics,omitempty"`
	NGrams   ngrams   `json:"ngrams"`
}

// Hash names the model (hex, 64 digits).
func (m *Model) Hash() string {
	b, _ := json.Marshal(m.file()) // finite numbers and strings: can't fail
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func (m *Model) file() file {
	f := file{Format: ModelFormat, Features: FeatureVersion, Names: slices.Concat(FeatureNames, MemoryNames), Stack: m.stack, Trees: m.trees.trees, Known: m.known.trees, Memory: m.known.mem, Topics: m.known.topics, NGrams: m.ngrams}
	if m.head != nil {
		f.Head = m.head.Hash()
	}
	return f
}

// Save writes the model into dir, atomically file by file; the description comes
// last, so that where it stands, the rest is there.
func (m *Model) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("logs: saving the model: %w", err)
	}
	if m.head != nil {
		if err := m.head.Save(filepath.Join(dir, FileHead)); err != nil {
			return err
		}
	}
	b, err := json.Marshal(m.file())
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(dir, FileModel), append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("logs: saving the model: %w", err)
	}
	return nil
}

// Load reads what [Model.Save] wrote. open is asked for the embedder only when the
// model has a head; nil means that there is none. Errors match [ErrModel] or
// [selfassess.ErrEmbedder].
func Load(dir string, open func() (selfassess.Embedder, error)) (*Model, error) {
	path := filepath.Join(dir, FileModel)
	again := `train one with "muse assess train"`
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w; %s", ErrModel, err, again)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; %s", ErrModel, path, err, again)
	}
	if f.Format != ModelFormat || f.Features != FeatureVersion || len(f.Names) != len(FeatureNames)+len(MemoryNames) {
		return nil, fmt.Errorf("%w: %s has format %q and counts %q, this version reads %q and %q; %s", ErrModel, path, f.Format, f.Features, ModelFormat, FeatureVersion, again)
	}
	parts := 3
	if f.Head != "" {
		parts++
	}
	if f.Memory == nil || len(f.Stack.W) != parts {
		return nil, fmt.Errorf("%w: %s has no memory, or weights of %d parts; %s", ErrModel, path, len(f.Stack.W), again)
	}
	m := &Model{trees: &forest{trees: f.Trees}, known: &forest{f.Known, f.Memory, f.Topics}, ngrams: f.NGrams, stack: f.Stack}
	for _, x := range []*forest{m.trees, m.known} {
		if len(x.trees) == 0 {
			return nil, fmt.Errorf("%w: %s has no trees; %s", ErrModel, path, again)
		}
		for n, t := range x.trees {
			if err := t.check(x.columns()); err != nil {
				return nil, fmt.Errorf("%w: %s: trees of %d steps: %w; %s", ErrModel, path, n, err, again)
			}
		}
	}
	if f.Head == "" {
		return m, nil
	}
	if open == nil {
		return nil, fmt.Errorf("%w: %s needs sentence embeddings", selfassess.ErrEmbedder, path)
	}
	emb, err := open()
	if err != nil {
		return nil, err
	}
	if m.head, err = selfassess.Load(filepath.Join(dir, FileHead), meanEmbedder{emb}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.head.Hash() != f.Head {
		return nil, fmt.Errorf("%w: %s and %s in %s don't belong together; %s", ErrModel, FileModel, FileHead, dir, again)
	}
	return m, nil
}

// check refuses trees that could not be walked.
func (t *Trees) check(columns int) error {
	if t == nil {
		return errors.New("there are no trees")
	}
	for k, tree := range t.Nodes {
		if len(tree) == 0 {
			return fmt.Errorf("tree %d is empty", k)
		}
		for i, n := range tree {
			// Children come after their parent, so every walk ends.
			if n.Feature >= columns || n.Feature >= 0 && (n.Left <= i || n.Left+1 >= len(tree)) {
				return fmt.Errorf("tree %d, node %d points nowhere", k, i)
			}
		}
	}
	return nil
}
