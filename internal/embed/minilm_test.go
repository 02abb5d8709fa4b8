package embed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muse-agent/muse/internal/hftok"
)

type reference struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
	Vec  string  `json:"vec"` // base64 of 384 little-endian float32
}

// readReference reads what scripts/embed_reference.py recorded with sentence-transformers.
func readReference(t testing.TB) []reference {
	t.Helper()
	b, err := os.ReadFile("../../testdata/minilm/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var refs []reference
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		var r reference
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, r)
	}
	if len(refs) < 20 {
		t.Fatalf("only %d reference texts", len(refs))
	}
	return refs
}

func (r reference) vector() []float32 {
	b, _ := base64.StdEncoding.DecodeString(r.Vec)
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// open skips where the native parts are missing, unless REQUIRE_NATIVE=1.
func open(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := Open(o)
	if err != nil {
		if os.Getenv("REQUIRE_NATIVE") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestReferenceVectors(t *testing.T) {
	m := open(t, Options{})
	refs := readReference(t)
	var texts []string
	for _, r := range refs {
		texts = append(texts, r.Text)
	}
	rows, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	worst := 1.0
	for i, r := range refs {
		ids, err := m.enc.tokens(r.Text)
		if err != nil || !slices.Equal(ids, r.IDs) {
			t.Errorf("%.40q: ids %v, %v; want %v", r.Text, ids, err, r.IDs)
		}
		c := cosine(rows[i], r.vector())
		worst = min(worst, c)
		if c < 0.9999 {
			t.Errorf("%.40q: cosine to the reference is %.7f", r.Text, c)
		}
		if n := cosine(rows[i], rows[i]); len(rows[i]) != m.Dim() || math.Abs(n-1) > 1e-9 {
			t.Errorf("%.40q: %d entries, norm %v", r.Text, len(rows[i]), n)
		}
	}
	t.Logf("worst cosine over %d texts: %.9f", len(refs), worst)
	if s := m.Stats(); s.Truncated != 1 {
		t.Errorf("%d texts were cut, want 1", s.Truncated)
	}
}

// A vector must not depend on its company, to the last bit: runs that differ in
// what was cached would drift apart otherwise.
func TestBatchEqualsSingle(t *testing.T) {
	m := open(t, Options{CacheEntries: -1})
	refs := readReference(t)
	var texts []string
	for _, r := range refs {
		texts = append(texts, r.Text)
	}
	batch, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 2 { // side by side on one session
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := g; i < len(texts); i += 2 {
				one, err := m.Embed(context.Background(), texts[i:i+1])
				if err != nil {
					t.Error(err)
				} else if !slices.Equal(one[0], batch[i]) {
					t.Errorf("%.40q: alone and in a batch differ", texts[i])
				}
			}
		}()
	}
	wg.Wait()
	if s := m.Stats(); s.Computed != 2*len(texts) || s.Hits != 0 {
		t.Errorf("stats %+v", s)
	}
}

// Meaning is kept: catches swapped inputs, which give plausible vectors.
func TestMeaning(t *testing.T) {
	m := open(t, Options{})
	rows, err := m.Embed(context.Background(), []string{
		"put a clean mug in shelf.", "place a washed cup on the shelf.", "the stock market fell sharply today.",
	})
	if err != nil {
		t.Fatal(err)
	}
	near, far := cosine(rows[0], rows[1]), cosine(rows[0], rows[2])
	if near < 0.6 || far > 0.2 {
		t.Errorf("similarity of like texts %.2f, of unlike ones %.2f", near, far)
	}
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	_, err := Open(Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("error %v, want one that names make deps", err)
	}
	if !Available && (!errors.Is(err, hftok.ErrUnavailable) || !strings.Contains(err.Error(), "-tags native")) {
		t.Errorf("error %v, want one that names the tag", err)
	}
}

// five stands for the texts of one decision: futures of 60 to 120 tokens.
func five(seed int) []string {
	var texts []string
	for i := range 5 {
		var b strings.Builder
		fmt.Fprintf(&b, "plan %d: find a mug, clean it with sinkbasin 1, put it in shelf 1.\n", seed)
		for k := range 3 + i {
			fmt.Fprintf(&b, "> go to cabinet %d\nThe cabinet %d is closed.\n", k+i, k+i)
		}
		texts = append(texts, b.String())
	}
	return texts
}

func BenchmarkFiveTextsCold(b *testing.B) {
	m := open(b, Options{CacheEntries: -1})
	n := 0
	for b.Loop() {
		n++
		if _, err := m.Embed(context.Background(), five(n)); err != nil {
			b.Fatal(err)
		}
	}
	s := m.Stats()
	b.ReportMetric(float64(s.Tokens)/float64(s.Computed), "tokens/text")
}

func BenchmarkFiveTextsWarm(b *testing.B) {
	m := open(b, Options{})
	for b.Loop() {
		if _, err := m.Embed(context.Background(), five(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	open(b, Options{})
	for b.Loop() {
		m, err := Open(Options{})
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}
