package lora

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// base is the shipped model's graph.
func base(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../llm/embedded/models/base.onnx")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// small is a network of the same kind, small enough for differences.
func small() *Net {
	const d, hd, heads, kv, mlp, vocab, layers = 8, 4, 2, 1, 12, 11, 2
	n := &Net{Dim: d, Vocab: vocab, HeadDim: hd, Heads: heads, KVHeads: kv}
	r := rng.New(3, "small")
	random := func(k int, s float64) []float32 {
		x := make([]float32, k)
		for i := range x {
			x[i] = float32(s * r.NormFloat64())
		}
		return x
	}
	for i := range n.embed {
		n.embed[i] = random(vocab*d, .5)
	}
	add := func(name string, in, out int) int {
		n.Weights = append(n.Weights, Weight{name, in, out, random(in*out, 1/math.Sqrt(float64(in)))})
		return len(n.Weights) - 1
	}
	for i := range layers {
		n.layers = append(n.layers, layer{add(fmt.Sprintf("qk_%d", i), d, (heads+kv)*hd), add(fmt.Sprintf("v_%d", i), d, kv*hd),
			add(fmt.Sprintf("out_%d", i), d, d), add(fmt.Sprintf("up_%d", i), d, mlp), add(fmt.Sprintf("down_%d", i), mlp, d)})
	}
	n.head = add("head", d, vocab)
	return n
}

func sequence(n *Net, length int, seed uint64) Sequence {
	r := rng.New(seed, "sequence")
	s := Sequence{}
	for i := range length {
		s.IDs = append(s.IDs, int32(r.IntN(n.Vocab)))
		s.Weights = append(s.Weights, []float32{0, .4, 1}[i%3])
	}
	return s
}

// randomB fills B, which a new adapter has at zero.
func randomB(ad *Adapter, seed uint64) {
	r := rng.New(seed, "b")
	for _, f := range ad.factors {
		for i := range f.b {
			f.b[i] = float32(.2 * r.NormFloat64())
		}
	}
}

// differences compares g with central differences of loss along random directions,
// one factor at a time.
func differences(t *testing.T, ad *Adapter, g *Grads, loss func() float64) {
	t.Helper()
	r := rng.New(1, "direction")
	const eps = 2e-3
	for i, p := range ad.params() {
		old := append([]float32(nil), p...)
		dir := make([]float32, len(p))
		want := 0.0
		for j := range dir {
			dir[j] = float32(r.NormFloat64())
			want += float64(dir[j]) * float64((*g)[i][j])
		}
		at := func(e float32) float64 {
			for j := range p {
				p[j] = old[j] + e*dir[j]
			}
			return loss()
		}
		got := (at(eps) - at(-eps)) / (2 * eps)
		copy(p, old)
		if math.Abs(got-want) > 2e-3+.01*math.Abs(want) {
			t.Errorf("factor %d (%s): difference %.6f, gradient %.6f", i, ad.factors[i/2].name, got, want)
		}
	}
}

func TestGradientOfCrossEntropy(t *testing.T) {
	n := small()
	for _, targets := range []Targets{TargetsHead, TargetsLast, TargetsAll} {
		ad, err := New(n, Options{Rank: 2, Alpha: 3, Targets: targets, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		randomB(ad, 5)
		ss := []Sequence{sequence(n, 9, 1), sequence(n, 14, 2), sequence(n, attentionRows+7, 3)} // the last crosses a block of queries
		g := ad.NewGrads()
		if _, err := CrossEntropy(n, ad, ss, g, 2); err != nil {
			t.Fatal(err)
		}
		differences(t, ad, g, func() float64 {
			l, err := CrossEntropy(n, ad, ss, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			return l
		})
	}
}

func TestGradientOfDPO(t *testing.T) {
	n := small()
	ad, err := New(n, Options{Rank: 2, Alpha: 3, Targets: TargetsAll, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	randomB(ad, 5)
	var ps []Preference
	for i := range uint64(3) {
		p := Preference{Preferred: sequence(n, 9, i), Dispreferred: sequence(n, 12, 10+i)}
		ref, err := n.LogProbs(nil, []Sequence{p.Preferred, p.Dispreferred}, 1)
		if err != nil {
			t.Fatal(err)
		}
		p.RefPreferred, p.RefDispreferred = ref[0], ref[1]
		ps = append(ps, p)
	}
	g := ad.NewGrads()
	if _, _, err := DPO(n, ad, ps, .3, g, 2); err != nil {
		t.Fatal(err)
	}
	differences(t, ad, g, func() float64 {
		l, _, err := DPO(n, ad, ps, .3, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

// Prepared sequences give the same loss and the same gradients.
func TestPrepare(t *testing.T) {
	n := small()
	for _, targets := range []Targets{TargetsHead, TargetsLast, TargetsAll} {
		ad, err := New(n, Options{Rank: 2, Targets: targets, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		randomB(ad, 5)
		ss := []Sequence{sequence(n, 9, 1), sequence(n, 30, 2)}
		a, b := ad.NewGrads(), ad.NewGrads()
		la, err := CrossEntropy(n, ad, ss, a, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Prepare(ad, ss, 2); err != nil {
			t.Fatal(err)
		}
		if prepared := ss[0].below != nil; prepared != (targets != TargetsAll) {
			t.Errorf("%s: prepared %t", targets, prepared)
		}
		lb, err := CrossEntropy(n, ad, ss, b, 2)
		if err != nil || la != lb {
			t.Errorf("%s: loss %v, prepared %v, %v", targets, la, lb, err)
		}
		for i := range *a {
			for j := range (*a)[i] {
				if (*a)[i][j] != (*b)[i][j] {
					t.Fatalf("%s: gradient %d of factor %d is %v, prepared %v", targets, j, i, (*a)[i][j], (*b)[i][j])
				}
			}
		}
		if base, _ := n.LogProbs(nil, ss, 1); base[0] == 0 { // the base has no adapter: nothing to resume but for head
			t.Error("the base scores nothing")
		}
	}
}

// By hand: log ratios +0.5 and −1, β = 2: −log σ(3) = log(1+e⁻³), slope −2·σ(−3).
func TestPreferenceLossByHand(t *testing.T) {
	m := Margin(-3.5, -6, -4, -5)
	if m != 1.5 {
		t.Fatalf("margin %v, want 1.5", m)
	}
	loss, slope := PreferenceLoss(2, m)
	if math.Abs(loss-.048587351573742) > 1e-12 || math.Abs(slope+.094851746355) > 1e-9 {
		t.Errorf("loss %.15f slope %.12f", loss, slope)
	}
	const h = 1e-6
	up, _ := PreferenceLoss(2, m+h)
	down, _ := PreferenceLoss(2, m-h)
	if d := (up - down) / (2 * h); math.Abs(d-slope) > 1e-8 {
		t.Errorf("difference %v, slope %v", d, slope)
	}
	for _, x := range []float64{-2000, 2000} { // no overflow
		if l, s := PreferenceLoss(1, x); math.IsNaN(l) || math.IsInf(l, 0) || math.IsNaN(s) {
			t.Errorf("margin %v: loss %v, slope %v", x, l, s)
		}
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		if f := fromHalf(uint16(h)); f == f && toHalf(f) != uint16(h) { // all but NaN
			t.Fatalf("%#04x is %v and becomes %#04x", h, f, toHalf(f))
		}
	}
	for f, want := range map[float32]uint16{1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e-8: 0, 1.00048828125: 0x3c00, 1.0014648: 0x3c02} {
		if got := toHalf(f); got != want {
			t.Errorf("%v becomes %#04x, want %#04x", f, got, want)
		}
	}
}

// Merging and taking out again gives the base's bytes; the merged network scores
// as the base with the adapter applied.
func TestMergeAndUnmerge(t *testing.T) {
	graph := base(t)
	before := bytes.Clone(graph)
	n, err := ReadNet(graph, 32)
	if err != nil {
		t.Fatal(err)
	}
	if n.Dim != 128 || n.Heads != 4 || n.KVHeads != 2 || n.Layers() != 4 || n.Vocab != 355 {
		t.Fatalf("read %d wide, %d and %d heads, %d blocks, %d tokens", n.Dim, n.Heads, n.KVHeads, n.Layers(), n.Vocab)
	}
	ad, err := New(n, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	s := []Sequence{sequence(n, 40, 1)}
	plain, _ := n.LogProbs(nil, s, 1)
	same, _ := n.LogProbs(ad, s, 1)
	if plain[0] != same[0] {
		t.Errorf("a new adapter changes %v to %v", plain[0], same[0])
	}
	randomB(ad, 1)
	merged, err := Merge(graph, ad)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(graph, before) {
		t.Fatal("merging changed the base")
	}
	m, err := ReadNet(merged, 32)
	if err != nil {
		t.Fatal(err)
	}
	applied, _ := n.LogProbs(ad, s, 1)
	inside, _ := m.LogProbs(nil, s, 1)
	if applied[0] != inside[0] || math.Abs(applied[0]-plain[0]) < .1 {
		t.Errorf("applied %v, merged %v, base %v", applied[0], inside[0], plain[0])
	}
	back, err := Unmerge(merged, ad)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back, before) {
		t.Error("the adapter taken out again does not give the base's bytes")
	}
}

func TestFile(t *testing.T) {
	n := small()
	ad, err := New(n, Options{Rank: 3, Targets: TargetsLast, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	randomB(ad, 1)
	ad.Name, ad.Model, ad.Base, ad.Recipe = "sft", "abc", "embedded/base", `{"seed":9}`
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := ad.Save(path); err != nil {
		t.Fatal(err)
	}
	got, hash, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != ad.String() || got.Recipe != ad.Recipe || got.Alpha != 6 || len(hash) != 64 {
		t.Errorf("read %v %q, wrote %v", got, hash, ad)
	}
	a, _ := n.LogProbs(ad, []Sequence{sequence(n, 9, 1)}, 1)
	b, _ := n.LogProbs(got, []Sequence{sequence(n, 9, 1)}, 1)
	if a[0] != b[0] {
		t.Errorf("scores %v, read again %v", a[0], b[0])
	}
	raw, _ := os.ReadFile(path)
	for _, cut := range []int{0, 7, 100, len(raw) - 1} {
		if _, err := Decode(raw[:cut]); !errors.Is(err, ErrFormat) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
	if _, err := Decode(bytes.Replace(raw, []byte("muse/lora@1"), []byte("muse/lora@9"), 1)); !errors.Is(err, ErrFormat) {
		t.Errorf("another version: %v", err)
	}
	if _, err := Decode(bytes.Replace(raw, []byte(`"rank":"3"`), []byte(`"rank":"4"`), 1)); !errors.Is(err, ErrFormat) {
		t.Errorf("another rank: %v", err)
	}
	if _, err := Merge(base(t), got); !errors.Is(err, ErrModel) {
		t.Errorf("another network: %v", err)
	}
}

// Training lowers the loss, and the same seed gives the same bytes with any number of workers.
func TestTrainingIsReproducible(t *testing.T) {
	n := small()
	train := func(workers int) ([]byte, float64, float64) {
		ad, err := New(n, Options{Rank: 2, Targets: TargetsAll, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		ad.Name, ad.Model = "sft", "m"
		ss := []Sequence{sequence(n, 20, 1), sequence(n, 30, 2), sequence(n, 10, 3)}
		opt := NewAdam(ad, 2e-2, 1)
		var first, last float64
		for i := range 60 {
			g := ad.NewGrads()
			if last, err = CrossEntropy(n, ad, ss, g, workers); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = last
			}
			if _, err := opt.Step(g); err != nil {
				t.Fatal(err)
			}
		}
		b, err := ad.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b, first, last
	}
	a, first, last := train(1)
	b, _, _ := train(3)
	if !bytes.Equal(a, b) {
		t.Error("the number of workers changes the bytes")
	}
	if last > .7*first {
		t.Errorf("loss %.3f to %.3f", first, last)
	}
}
