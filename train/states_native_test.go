//go:build cgo && native

package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// Real episodes, read again, give rows with hidden states on which a head trains
// and adapts; another model than the one that played is refused.
func TestReadStatesOfPlayedEpisodes(t *testing.T) {
	ctx := context.Background()
	m, err := embedded.Open("weak", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	dir := t.TempDir()
	r, err := OpenRun(dir, Manifest{Command: "test", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := testBench(t, 2, 4)
	p := player(t, "reflexion", m, selfregulate.Off, nil)
	if err := Collect(ctx, r, b, p, CollectConfig{Episodes: 1}); err != nil {
		t.Fatal(err)
	}
	r.Close()
	load := func() []*Episode {
		es, err := ReadEpisodes(dir)
		if err != nil {
			t.Fatal(err)
		}
		return es
	}
	one, two := load(), load()
	if err := ReadStates(ctx, m, one, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := ReadStates(ctx, m, two, 2, nil); err != nil {
		t.Fatal(err)
	}
	d := m.Info().Caps.HiddenSize
	rows, again := Windows(one), Windows(two)
	for i, x := range rows {
		if len(x.Input.Hidden) != 3*d {
			t.Fatalf("row %d has %d hidden values, want %d", i, len(x.Input.Hidden), 3*d)
		}
		if !slices.Equal(x.Input.Hidden, again[i].Input.Hidden) {
			t.Fatalf("row %d depends on the number of workers", i)
		}
	}
	if slices.Equal(rows[0].Input.Hidden, rows[len(rows)-1].Input.Hidden) {
		t.Error("the first and the last window have equal hidden states")
	}

	cfg := selfassess.Default()
	cfg.Input, cfg.Labels, cfg.Folds, cfg.Epochs = selfassess.InputHistoryHidden, selfassess.LabelsOutcome, 0, 1
	msa, _, err := selfassess.Train(ctx, rows, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	replay, err := selfassess.NewReplay(ctx, msa, Chunks(one))
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultAdapt()
	c.Episodes, c.Tests, c.MSA.Epochs = 1, 0, 1
	test := func(x *selfassess.Model) (Player, error) { return p, nil }
	b.Games = b.Games[:1]
	arm := AdaptArm{Name: "x", By: p, Test: test, MSA: msa}
	if ar, err := OpenRun(t.TempDir(), Manifest{Command: "test", Seed: 1}); err != nil {
		t.Fatal(err)
	} else if err := Adapt(ctx, ar, b, []AdaptArm{arm}, replay, c); err == nil {
		t.Error("an M_sa that reads hidden states adapted without a model to read them")
	} else if arm.Model = m; Adapt(ctx, ar, b, []AdaptArm{arm}, replay, c) != nil {
		t.Error("adaptation with the model failed")
	}

	if err := ReadStates(ctx, scripted.Toy(), load(), 1, nil); !errors.Is(err, reflexion.ErrStates) {
		t.Errorf("a model without hidden states: %v", err)
	}
	base, err := embedded.Open("base", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	if err := ReadStates(ctx, base, load(), 1, nil); err == nil || !strings.Contains(err.Error(), "--model") {
		t.Errorf("another model read the episodes: %v", err)
	}
}
