package embedded

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/hftok"
	"github.com/muse-agent/muse/internal/llm"
)

var vocabulary = []string{"<pad>", "<bos>", "<unk>", "\n", "\nthink:", "\n>", "\nplan:", "\nreflection:", "\n[end: won]", "\n[end: lost]",
	"Nothing happens.", " look", " go to desk", " 1", "On the desk", ", you see nothing."}

func testTable(t testing.TB) *table {
	t.Helper()
	ids := map[string]int{}
	for i, s := range vocabulary {
		ids[s] = i
	}
	b, _ := json.Marshal(map[string]any{"model": map[string]any{"type": "WordLevel", "vocab": ids}})
	v, err := hftok.ReadVocab(b)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := newTable(v, len(vocabulary))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// encodeTest takes the longest pieces of the test vocabulary.
func encodeTest(s string) (ids []int32, err error) {
	for s != "" {
		best := -1
		for i, v := range vocabulary {
			if strings.HasPrefix(s, v) && (best < 0 || len(v) > len(vocabulary[best])) {
				best = i
			}
		}
		if best < 0 {
			return nil, errors.New("unknown text " + s)
		}
		ids, s = append(ids, int32(best)), s[len(vocabulary[best]):]
	}
	return ids, nil
}

// drive runs a row on random logits, up to a limit of tokens.
func drive(t interface{ Fatal(...any) }, r *row, rnd *rand.Rand, limit int) (ids []int32) {
	var s sampler
	logits := make([]float32, len(vocabulary))
	for len(ids) < limit {
		for i := range logits {
			logits[i] = float32(rnd.NormFloat64() * 3)
		}
		tok, ok, err := r.next(logits, &s)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ids
		}
		ids = append(ids, tok)
	}
	r.cut()
	return ids
}

// Whatever the model's logits, a continuation keeps the line format.
func TestRowsKeepTheFormat(t *testing.T) {
	tab := testTable(t)
	const recalled = "On the desk 1, you see nothing."
	rapid.Check(t, func(t *rapid.T) {
		req := &llm.Request{Temperature: 1, Seed: rapid.Uint64().Draw(t, "seed"), Until: rapid.SampledFrom([]llm.Until{llm.UntilLine, llm.UntilAction, llm.UntilPairs}).Draw(t, "until"),
			Pairs: rapid.IntRange(1, 3).Draw(t, "pairs"), ForbidEnd: rapid.Bool().Draw(t, "forbid"), TopP: rapid.SampledFrom([]float64{0, .7}).Draw(t, "topP")}
		asked := 0
		if rapid.Bool().Draw(t, "recall") {
			req.Recall = func(p []llm.Pair, a string) (string, bool) {
				if a == "" || len(p) >= req.Pairs {
					t.Fatalf("asked for %q after %d pairs", a, len(p))
				}
				asked++
				return recalled, asked%2 == 0
			}
		}
		prefix := rapid.SampledFrom([]string{"task\nroom", "task\nroom\nplan:", "task\n>", "task\nthink:", "task\n> look"}).Draw(t, "prefix")
		r := newRow(tab, req, prefix, 0, encodeTest)
		ids := drive(t, r, rand.New(rand.NewPCG(req.Seed, 1)), 60)

		text := string(r.text)
		lines := strings.Split(prefix+text, "\n")[strings.Count(prefix, "\n"):]
		if req.Until == llm.UntilLine {
			if strings.Contains(text, "\n") || text == "" {
				t.Fatalf("line %q", text)
			}
			return
		}
		for i, l := range lines {
			k, before := llm.ParseLine(l).Kind, llm.KindObservation
			if i > 0 {
				before = llm.ParseLine(lines[i-1]).Kind
			}
			whole := i < len(lines)-1 || r.finish != llm.FinishLength
			switch {
			case i > 0 && whole && llm.ParseLine(l).Text == "":
				t.Fatalf("empty line %d of %q", i, lines)
			case i > 0 && k == llm.KindObservation && before != llm.KindAct && !(i == len(lines)-1 && !whole):
				t.Fatalf("observation %q after %q", l, lines[i-1])
			case before == llm.KindAct && k != llm.KindObservation && k != llm.KindAct && i > 0 && !(i == 1 && req.Until == llm.UntilAction):
				t.Fatalf("%q after an action", l)
			case k == llm.KindEnd && (req.ForbidEnd || i != len(lines)-1 || r.finish != llm.FinishEnd):
				t.Fatalf("end in line %d of %q, finish %s", i, lines, r.finish)
			case k == llm.KindPlan && i > 0 || k == llm.KindReflection:
				t.Fatalf("%q inside an episode", l)
			}
		}
		switch {
		case r.finish == llm.FinishStop && req.Until == llm.UntilAction:
			if p := llm.Parse(strings.Join(lines[0:], "\n")); llm.ParseLine(lines[len(lines)-1]).Kind != llm.KindAct || len(p.Pairs) == 0 {
				t.Fatalf("no action at the end of %q", lines)
			}
		case r.finish == llm.FinishStop:
			if len(r.pairs) != req.Pairs || len(r.nothing) != req.Pairs {
				t.Fatalf("%d pairs, %d forecasts, want %d: %q", len(r.pairs), len(r.nothing), req.Pairs, text)
			}
		}
		if r.finish != llm.FinishEnd && r.tokens != len(ids) || r.finish == llm.FinishEnd && r.tokens != len(ids)+1 {
			t.Fatalf("%d tokens counted, %d given, %s", r.tokens, len(ids), r.finish)
		}
		if r.finish != llm.FinishLength { // the surfaces are the text
			got := ""
			for _, id := range ids {
				got += tab.surface[id]
			}
			if !strings.HasPrefix(text, got) {
				t.Fatalf("tokens %q, text %q", got, text)
			}
		}
	})
}

func TestDraw(t *testing.T) {
	tab := testTable(t)
	var s sampler
	logits := make([]float32, len(vocabulary))
	logits[0], logits[10], logits[11], logits[12] = 20, 2, 3, 3 // padding would win
	r := rand.New(rand.NewPCG(1, 2))
	d, err := s.draw(logits, tab.class, text, 0, 0, r, 10)
	if err != nil || d.token != 11 {
		t.Fatalf("greedy took %d, %v: want the lower id of two equals", d.token, err)
	}
	z := math.Exp(2) + 2*math.Exp(3) + 3
	if math.Abs(d.watched-math.Exp(2)/z) > 1e-12 || math.Abs(d.logp-(3-math.Log(z))) > 1e-12 {
		t.Errorf("got %+v", d)
	}
	const n = 20000
	count := map[int32]int{}
	for range n {
		d, _ := s.draw(logits, tab.class, text, .5, 0, r, -1)
		count[d.token]++
	}
	z = math.Exp(4) + 2*math.Exp(6) + 3
	if p := math.Exp(6) / z; math.Abs(float64(count[11])/n-p) > 4*math.Sqrt(p*(1-p)/n) {
		t.Errorf("token 11 drawn %d times of %d, want %.3f", count[11], n, p)
	}
	for range 200 {
		if d, _ := s.draw(logits, tab.class, text, .5, .5, r, -1); d.token != 11 && d.token != 12 {
			t.Fatalf("token %d is outside of the nucleus", d.token)
		}
	}
	logits[12] = float32(math.NaN())
	if _, err := s.draw(logits, tab.class, text, 1, 0, r, -1); !errors.Is(err, errNaN) {
		t.Errorf("NaN passed: %v", err)
	}
}

func TestShippedModels(t *testing.T) {
	specs, err := List("")
	if err != nil || len(specs) == 0 {
		t.Fatalf("%v, %v", specs, err)
	}
	for _, s := range specs {
		f, err := load(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := hftok.ReadVocab(f.tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newTable(v, s.Vocab); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if _, err := load("huge"); !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), specs[0].Name) {
		t.Errorf("got %v", err)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entry := `{"name":"mine","file":"m.onnx","sha256":"%","d":1,"layers":1,"kv_heads":1,"head_dim":1,"vocab":1,"context":1}`
	const sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of "foo"
	write("models.json", "["+strings.Replace(entry, "%", sum, 1)+"]")
	write("m.onnx", "foo")
	write("tokenizer.json", "{}")
	for _, p := range []string{dir, dir + "/mine", dir + "/"} {
		if f, err := load(p); err != nil || f.spec.Name != "mine" {
			t.Errorf("%s: %+v %v", p, f.spec, err)
		}
	}
	if _, err := load(dir + "/other"); !errors.Is(err, ErrUnknownModel) {
		t.Errorf("got %v", err)
	}
	write("m.onnx", "bar")
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	write("models.json", `[{"name":"mine"}]`)
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("got %v", err)
	}
}

func TestBuildWithoutNativeParts(t *testing.T) {
	if Available {
		t.Skip("this build has the native parts")
	}
	if os.Getenv("REQUIRE_NATIVE") == "1" {
		t.Fatal("REQUIRE_NATIVE=1, but this test was built without -tags native")
	}
	if _, err := Open("base", Options{}); !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("got %v", err)
	}
}
