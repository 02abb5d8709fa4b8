//go:build cgo && native

package embedded

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/internal/rng"
)

// adapter writes an adapter for a shipped model whose factors are random and large
// enough to change what is said.
func adapter(t *testing.T, name string) string {
	t.Helper()
	b, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := lora.ReadNet(b.Graph, b.Spec.HeadDim)
	if err != nil {
		t.Fatal(err)
	}
	ad, err := lora.New(n, lora.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	ad.Name, ad.Model, ad.Base = "sft", b.Hash, "embedded/"+name
	// Any step moves B away from zero.
	g := ad.NewGrads()
	r := rng.New(1, "g")
	for _, s := range *g {
		for i := range s {
			s[i] = float32(r.NormFloat64())
		}
	}
	if _, err := lora.NewAdam(ad, .02, 0).Step(g); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := ad.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// prefixLogits are the logits after a whole text.
func prefixLogits(t *testing.T, m llm.Model, text string) []float32 {
	t.Helper()
	return open(t, m, text).(*session).last
}

// What plays (ONNX Runtime, adapter merged) and what trains (plain Go, adapter
// applied) are the same network, and without the adapter it is the base again.
func TestAdapterPlaysAsItTrains(t *testing.T) {
	path := adapter(t, "base")
	m, err := Open("base", Options{Adapter: path})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	plain := base(t)
	if i := m.Info(); i.Name != "embedded/base+sft" || i.Hash == plain.Info().Hash || len(i.Hash) != 64 {
		t.Errorf("named %q, hash %.12s, the base's is %.12s", i.Name, i.Hash, plain.Info().Hash)
	}
	b, err := Read("base")
	if err != nil {
		t.Fatal(err)
	}
	n, err := lora.ReadNet(b.Graph, b.Spec.HeadDim)
	if err != nil {
		t.Fatal(err)
	}
	ad, _, err := lora.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	enc := m.(Encoder)
	ids, err := enc.Tokens(BenchPrefix)
	if err != nil {
		t.Fatal(err)
	}
	ids = append([]int32{enc.Start()}, ids...)
	for _, c := range []struct {
		name string
		m    llm.Model
		ad   *lora.Adapter
	}{{"base", plain, nil}, {"adapted", m, ad}} {
		want, err := n.Logits(c.ad, ids)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, x := range prefixLogits(t, c.m, BenchPrefix) {
			worst = max(worst, math.Abs(float64(x-want[i])))
		}
		if worst > 2e-4 {
			t.Errorf("%s: logits differ by %g between ONNX Runtime and Go", c.name, worst)
		}
	}
	adapted, before := prefixLogits(t, m, BenchPrefix), prefixLogits(t, plain, BenchPrefix)
	moved := 0.0
	for i := range adapted {
		moved = max(moved, math.Abs(float64(adapted[i]-before[i])))
	}
	if moved < .1 {
		t.Errorf("the adapter moves no logit by more than %g", moved)
	}
	again, err := Open("base", Options{}) // unloading is opening without
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i, x := range prefixLogits(t, again, BenchPrefix) {
		if x != before[i] {
			t.Fatal("after an adapter was used the base gives other logits")
		}
	}
	// Hidden states and samples come from the adapted network too.
	r := rollout
	a, p := sample(t, open(t, m, BenchPrefix), r), sample(t, open(t, plain, BenchPrefix), r)
	if a[0].Hidden[0] == p[0].Hidden[0] || a[0].LogProb == p[0].LogProb {
		t.Error("hidden states or scores are the base's")
	}
}

func TestWrongAdapters(t *testing.T) {
	path := adapter(t, "base")
	if _, err := Open("weak", Options{Adapter: path}); !errors.Is(err, lora.ErrModel) || !strings.Contains(err.Error(), "embedded/base") {
		t.Errorf("adapter of another model: %v", err)
	}
	if _, err := Open("base", Options{Adapter: path + ".no"}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "muse train sft") {
		t.Errorf("no such file: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(bad, []byte("no adapter"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("base", Options{Adapter: bad}); !errors.Is(err, lora.ErrFormat) {
		t.Errorf("not an adapter: %v", err)
	}
}
