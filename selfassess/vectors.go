package selfassess

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrEmbedder: the embedder is missing or is not the one the model was trained with.
	ErrEmbedder = errors.New("selfassess: wrong embedder")
	// ErrHidden: the input kind needs hidden states that an Input lacks.
	ErrHidden = errors.New("selfassess: hidden states missing")
)

// layout describes an input vector: M(I) ‖ M(τ, P^e) ‖ counting features ‖ hidden
// states, each part present or absent by the input kind.
type layout struct {
	kind   InputKind
	text   TextOptions
	embed  int // width of one embedding, 0 = not used
	count  int // NumFeatures or 0
	hidden int // width of the hidden states, 0 = not used
}

// width is the length of an input vector.
func (l layout) width() int { return 2*l.embed + l.count + l.hidden }

func newLayout(kind InputKind, text TextOptions, emb Embedder, hidden int) (layout, error) {
	l := layout{kind: kind, text: text}
	if kind.Uses("embedding") {
		if emb == nil {
			return l, fmt.Errorf("%w: input %q needs sentence embeddings, but none are available; build with the native libraries or use input %q", ErrEmbedder, kind, InputHistory)
		}
		l.embed = emb.Dim()
	}
	if kind.Uses("history") {
		l.count = NumFeatures
	}
	if kind.Uses("hidden") {
		if hidden == 0 {
			return l, fmt.Errorf("%w: input %q needs a generator with hidden states; use input %q", ErrHidden, kind, InputHistoryEmbedding)
		}
		l.hidden = hidden
	}
	return l, nil
}

// vectors writes one input vector per element of in to one row-major matrix
// (len(in), width). Equal texts are embedded once.
func (l layout) vectors(ctx context.Context, emb Embedder, in []*Input) ([]float32, error) {
	w := l.width()
	x := make([]float32, len(in)*w)
	if l.embed > 0 && len(in) > 0 {
		if err := l.embeddings(ctx, emb, in, x); err != nil {
			return nil, err
		}
	}
	for i, v := range in {
		row := x[i*w : (i+1)*w][2*l.embed:]
		if l.count > 0 {
			HistoryFeatures(row, v)
			row = row[l.count:]
		}
		if l.hidden > 0 {
			if len(v.Hidden) != l.hidden {
				return nil, fmt.Errorf("%w: row %d has %d values, the model needs %d; ask the generator for hidden states or use another input", ErrHidden, i, len(v.Hidden), l.hidden)
			}
			copy(row, v.Hidden)
		}
	}
	return x, nil
}

// embeddings fills the first 2·embed columns of x.
func (l layout) embeddings(ctx context.Context, emb Embedder, in []*Input, x []float32) error {
	slot := make(map[string]int, 2*len(in))
	var texts []string
	at := make([]int, 0, 2*len(in))
	for _, v := range in {
		for _, t := range [2]string{orEmpty(v.Task), TrajectoryText(v, l.text)} {
			k, ok := slot[t]
			if !ok {
				k = len(texts)
				slot[t] = k
				texts = append(texts, t)
			}
			at = append(at, k)
		}
	}
	e, err := emb.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("selfassess: embedding %d texts: %w", len(texts), err)
	}
	if len(e) != len(texts) {
		return fmt.Errorf("%w: it returned %d vectors for %d texts", ErrEmbedder, len(e), len(texts))
	}
	w := l.width()
	for i, k := range at {
		if len(e[k]) != l.embed {
			return fmt.Errorf("%w: a vector has %d values, expected %d", ErrEmbedder, len(e[k]), l.embed)
		}
		copy(x[(i/2)*w+(i%2)*l.embed:], e[k])
	}
	return nil
}

func orEmpty(s string) string {
	if s == "" {
		return emptyText
	}
	return s
}
