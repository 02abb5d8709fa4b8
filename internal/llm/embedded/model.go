//go:build cgo && native

package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/muse-agent/muse/internal/hftok"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/onnx"
)

// Available says whether this program was built with the native parts.
const Available = true

// model is a loaded graph with its tokenizer.
type model struct {
	info llm.Info
	spec Spec
	net  *onnx.Session
	tok  *hftok.Tokenizer
	tab  *table
	work sync.Pool // *batch: buffers of one running Sample or Append

	mu    sync.Mutex
	texts map[string][]int32 // tokens of recalled texts, which repeat a lot
}

// maxTexts bounds the memory for tokens of recalled texts.
const maxTexts = 8192

// Open loads a model: the name of a shipped one ("weak", "base", "strong"), or
// the path of a folder written by train/embedded, with "/name" for one of several.
func Open(nameOrDir string, o Options) (llm.Model, error) {
	f, err := load(nameOrDir)
	if err != nil {
		return nil, err
	}
	name := "embedded/" + f.spec.Name
	if o.Adapter != "" {
		if name, err = f.adapt(o.Adapter); err != nil {
			return nil, err
		}
	}
	tok, err := hftok.Open(f.tokenizer, hftok.Options{StripPadding: true})
	if err != nil {
		return nil, unavailable(f.where+"/"+f.spec.Tokenizer, err)
	}
	tab, err := newTable(tok.Vocab(), f.spec.Vocab)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s/%s: %w", f.where, f.spec.Tokenizer, err), tok.Close())
	}
	ins := []string{"ids", "pos", "prefix_mask", "suffix_mask"}
	outs := []string{"logits", "hidden"}
	for i := range f.spec.Layers {
		for _, side := range [...]string{"k", "v"} {
			ins = append(ins, fmt.Sprintf("prefix_%s_%d", side, i), fmt.Sprintf("suffix_%s_%d", side, i))
			outs = append(outs, fmt.Sprintf("new_%s_%d", side, i))
		}
	}
	net, err := onnx.OpenBytes(f.where+"/"+f.spec.File, f.graph, onnx.Options{Threads: o.Threads, Inputs: ins, Outputs: outs})
	if err != nil {
		return nil, errors.Join(unavailable(f.where+"/"+f.spec.File, err), tok.Close())
	}
	return &model{
		info: llm.Info{Name: name, Hash: f.hash, Caps: llm.Caps{
			Prefix: true, Deterministic: true, Recall: true, HiddenSize: f.spec.Dim, Context: f.spec.Context}},
		spec: f.spec, net: net, tok: tok, tab: tab, texts: map[string][]int32{},
	}, nil
}

// unavailable makes the errors of the native layers match llm.ErrUnavailable too.
func unavailable(what string, err error) error {
	if errors.Is(err, onnx.ErrUnavailable) || errors.Is(err, hftok.ErrUnavailable) {
		return fmt.Errorf("embedded: %s: %w: %w", what, llm.ErrUnavailable, err)
	}
	return fmt.Errorf("embedded: %s: %w", what, err)
}

func (m *model) Info() llm.Info { return m.info }

func (m *model) Close() error { return errors.Join(m.net.Close(), m.tok.Close()) }

func (m *model) Open(ctx context.Context, prompt string) (llm.Session, error) {
	s := &session{m: m, kv: newCache(m.spec, block), last: make([]float32, m.spec.Vocab), hidden: make([]float32, m.spec.Dim)}
	ids, err := m.tok.Encode(prompt, false)
	if err != nil {
		return nil, fmt.Errorf("embedded: tokens of the prompt: %w", err)
	}
	if err := s.prefill(ctx, append([]int32{m.tab.bos}, ids...), nil); err != nil {
		return nil, err
	}
	s.text = prompt
	return s, nil
}

// encode returns the tokens of a recalled text. Read only.
func (m *model) encode(s string) ([]int32, error) {
	m.mu.Lock()
	ids, ok := m.texts[s]
	m.mu.Unlock()
	if ok {
		return ids, nil
	}
	ids, err := m.tok.Encode(s, false)
	if err != nil {
		return nil, fmt.Errorf("embedded: tokens of %q: %w", s, err)
	}
	m.mu.Lock()
	if len(m.texts) >= maxTexts {
		clear(m.texts)
	}
	m.texts[s] = ids
	m.mu.Unlock()
	return ids, nil
}

func (m *model) batch() *batch {
	b, _ := m.work.Get().(*batch)
	if b == nil {
		b = &batch{spec: m.spec, pos: make([]int64, 1)}
		b.in = make([]onnx.Tensor, 4+4*m.spec.Layers)
		b.out = make([]onnx.Tensor, 2+2*m.spec.Layers)
		n := 2 * m.spec.Layers
		b.suffix, b.fresh = make([][]float32, n), make([][]float32, n)
	}
	return b
}

// Tokens implements [Encoder].
func (m *model) Tokens(text string) ([]int32, error) {
	ids, err := m.tok.Encode(text, false)
	if err != nil {
		return nil, fmt.Errorf("embedded: tokens of %q: %w", text, err)
	}
	return ids, nil
}

// Start implements [Encoder].
func (m *model) Start() int32 { return m.tab.bos }
