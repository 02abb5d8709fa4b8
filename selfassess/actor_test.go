package selfassess

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/internal/safetensors"
)

// hiddenModel is an untrained model with hidden states of width n.
func hiddenModel(t *testing.T, kind InputKind, n int) *Model {
	t.Helper()
	c := Default()
	c.Input, c.Hidden = kind, 4
	lay, err := newLayout(kind, c.Text, nil, n)
	if err != nil {
		t.Fatal(err)
	}
	return newModel(c, lay, newMLP(lay.width(), c.Hidden, rng.New(1, "actor")), Calibration{}, nil, "")
}

func TestActorOfHiddenStates(t *testing.T) {
	base, weak := Actor{"embedded/base", "b1a5b1a5b1a5b1a5"}, Actor{"embedded/weak", "3ea73ea73ea73ea7"}
	free := hiddenModel(t, InputHistoryHidden, 6)
	m := free.Tie(base)
	if m.Hash() != free.Hash() || m.Name() != free.Name() {
		t.Error("the tie changes the name of the weights")
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Actor() != base {
		t.Errorf("the checkpoint names %+v", got.Actor())
	}
	ex := []Example{{Input: Input{Hidden: make([]float32, 6)}, Task: "a", Label: 1}}
	cfg := DefaultAdapt()
	cfg.Epochs = 1
	if got, err = AdaptWith(context.Background(), got, nil, ex, cfg); err != nil {
		t.Fatal(err)
	}
	if err := got.CheckActor(Actor{"renamed", base.Hash}); err != nil {
		t.Errorf("its own actor under another name: %v", err)
	}
	err = got.CheckActor(weak)
	if !errors.Is(err, ErrActor) {
		t.Fatalf("another actor: %v", err)
	}
	for _, w := range []string{base.Name, weak.Name, base.Hash[:8], weak.Hash[:8], "muse train selfassess"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}

// Text is read from any actor, and a checkpoint that says nothing of its actor loads.
func TestModelsWithoutActor(t *testing.T) {
	if m := hiddenModel(t, InputHistory, 0).Tie(Actor{"a", "1"}); m.Actor() != (Actor{}) || m.CheckActor(Actor{"b", "2"}) != nil {
		t.Errorf("a model of text is tied to %+v", m.Actor())
	}
	path := filepath.Join(t.TempDir(), "old.safetensors")
	if err := hiddenModel(t, InputHistoryHidden, 6).Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Metadata["actor"]; ok {
		t.Error("a model without actor has bytes of its own")
	}
	m, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckActor(Actor{"b", "2"}); err != nil {
		t.Errorf("an old checkpoint: %v", err)
	}
}
