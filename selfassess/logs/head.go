package logs

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// meanEmbedder embeds a trajectory as the mean of its steps' vectors: agents repeat
// steps far more often than whole prefixes, so most come from the cache, and a prefix
// costs one new text a step.
type meanEmbedder struct{ inner selfassess.Embedder }

func (m meanEmbedder) Dim() int     { return m.inner.Dim() }
func (m meanEmbedder) Hash() string { return "steps:" + m.inner.Hash() }

// Embed implements [selfassess.Embedder] for texts of package selfassess: steps begin
// with "> ". Other texts are one piece. The rows have mean length below 1.
func (m meanEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	at := map[string]int{}
	var pieces []string
	parts := make([][]int, len(texts))
	for i, t := range texts {
		for _, s := range strings.Split("\n"+t, "\n> ") {
			if s = strings.TrimSpace(s); s == "" {
				continue
			}
			k, ok := at[s]
			if !ok {
				k = len(pieces)
				at[s] = k
				pieces = append(pieces, s)
			}
			parts[i] = append(parts[i], k)
		}
	}
	rows, err := m.inner.Embed(ctx, pieces)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, ks := range parts {
		v := make([]float32, m.Dim())
		for _, k := range ks {
			for j, x := range rows[k] {
				v[j] += x / float32(len(ks))
			}
		}
		out[i] = v
	}
	return out, nil
}

// headConfig are the settings of the head beside the trees.
func headConfig(seed uint64) selfassess.Config {
	c := selfassess.Default()
	c.Input, c.Labels, c.Text = selfassess.InputHistoryEmbeddingHidden, selfassess.LabelsOutcome, selfassess.TextOptions{}
	c.Hidden, c.Epochs, c.Patience, c.Batch, c.Folds, c.Seed = 64, 6, 1, 256, 0, seed
	return c
}

// fitHead trains the head on the rows of the buckets' lengths.
func fitHead(ctx context.Context, all []Row, emb selfassess.Embedder, seed uint64) (*selfassess.Model, error) {
	rows := bucketRows(all)
	ex := make([]selfassess.Example, len(rows))
	for i := range rows {
		ex[i] = selfassess.Example{Input: rows[i].input(), Label: rows[i].Label(), Weight: rows[i].N, Task: rows[i].Task}
	}
	m, _, err := selfassess.Train(ctx, ex, meanEmbedder{emb}, headConfig(seed))
	if err != nil {
		return nil, fmt.Errorf("logs: the head: %w", err)
	}
	return m, nil
}

// headLogits scores rows, some hundreds at a time.
func headLogits(ctx context.Context, m *selfassess.Model, rows []Row) ([]float64, error) {
	out := make([]float64, 0, len(rows))
	for at := 0; at < len(rows); at += 512 {
		part := rows[at:min(at+512, len(rows))]
		in := make([]selfassess.Input, len(part))
		for i := range part {
			in[i] = part[i].input()
		}
		a, err := m.Assess(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("logs: the head: %w", err)
		}
		for _, v := range a {
			p := min(max(v.Raw, 1e-6), 1-1e-6)
			out = append(out, math.Log(p/(1-p)))
		}
	}
	return out, nil
}
