package selfassess

import (
	"context"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// wide stands for MiniLM's size: 384 values, drawn by the text.
type wide struct{ bag }

func (wide) Dim() int { return 384 }
func (w wide) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		r := rng.New(1, t)
		out[i] = make([]float32, 384)
		for j := range out[i] {
			out[i][j] = float32(r.NormFloat64() / 19.6)
		}
	}
	return out, nil
}

// wideModel is an untrained head of the size that is used with MiniLM.
func wideModel(b *testing.B) *Model {
	b.Helper()
	c := Default()
	lay, err := newLayout(c.Input, c.Text, wide{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	return newModel(c, lay, newMLP(lay.width(), c.Hidden, rng.New(1, "wide")), Calibration{}, wide{}, "")
}

func BenchmarkAssess5(b *testing.B) {
	m := wideModel(b)
	x := make([]float32, 5*m.lay.width())
	for i := range x {
		x[i] = float32(i%7) / 7
	}
	for b.Loop() {
		m.head.logits(x)
	}
}

// One epoch of 2,560 rows: 20 updates of 128.
func BenchmarkEpoch(b *testing.B) {
	m := wideModel(b)
	x, err := m.lay.matrix(context.Background(), m.emb, chunksOf(episodes(60, 20, 1), 4)[:2560])
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]int, len(x.y))
	for i := range rows {
		rows[i] = i
	}
	for b.Loop() {
		if _, err := fit(context.Background(), m.head.clone(), x, rows, nil, fitPlan{epochs: 1, batch: 128, lr: 1e-3}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdapt(b *testing.B) {
	m := wideModel(b)
	rows := chunksOf(episodes(60, 20, 1), 4)
	r, err := NewReplay(context.Background(), m, rows[:2000])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := AdaptWith(context.Background(), m, r, rows[2000:2050], DefaultAdapt()); err != nil {
			b.Fatal(err)
		}
	}
}
