//go:build cgo && native

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

var ctx = context.Background()

var shared = sync.OnceValues(func() (llm.Model, error) { return Open("base", Options{}) })

func base(t testing.TB) llm.Model {
	t.Helper()
	m, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t testing.TB, m llm.Model, prompt string) llm.Session {
	t.Helper()
	s, err := m.Open(ctx, prompt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func sample(t testing.TB, s llm.Session, r llm.Request) []llm.Completion {
	t.Helper()
	c, u, err := s.Sample(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, x := range c {
		sum += x.Tokens
	}
	if u.CompletionTokens != sum || u.Requested != max(r.N, 1) || u.Received != len(c) {
		t.Fatalf("usage %+v, %d tokens in %d continuations", u, sum, len(c))
	}
	return c
}

var rollout = llm.Request{N: 5, Temperature: 1, Until: llm.UntilPairs, Pairs: 4, Seed: 7, Hidden: true}

// N=1 must equal candidate 0 of N=5 in every bit: no result of a row may depend
// on the other rows, also when they end early and leave the batch.
func TestRowsAreIndependent(t *testing.T) {
	s := open(t, base(t), BenchPrefix)
	for seed := range uint64(6) {
		r := rollout
		r.Seed = seed
		five := sample(t, s, r)
		for _, n := range []int{1, 2, 3, 11} {
			r.N = n
			got := sample(t, s, r)
			for i := range min(n, 5) {
				if !reflect.DeepEqual(got[i], five[i]) {
					t.Errorf("seed %d: continuation %d of %d differs from that of 5:\n%q\n%q\nlogprob %v %v, hidden differ by %g", seed, i, n,
						got[i].Text, five[i].Text, got[i].LogProb, five[i].LogProb, far(got[i].Hidden, five[i].Hidden))
				}
			}
		}
	}
}

func far(a, b []float32) (d float64) {
	for i := range min(len(a), len(b)) {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

func TestRollouts(t *testing.T) {
	s := open(t, base(t), BenchPrefix)
	for _, c := range sample(t, s, rollout) {
		t.Logf("%s %d tokens, logp %.1f, nothing %.3f%s", c.Finish, c.Tokens, c.LogProb, c.Nothing, c.Text)
		pairs, claim, ok := llm.ParseRollout(c.Text)
		if !ok && c.Finish == llm.FinishStop {
			t.Errorf("%q is no rollout", c.Text)
		}
		switch c.Finish {
		case llm.FinishStop:
			if len(pairs) != 4 || claim != "" {
				t.Errorf("stopped after %d pairs, claim %q: %q", len(pairs), claim, c.Text)
			}
		case llm.FinishEnd:
			if claim == "" {
				t.Errorf("ended without a claim: %q", c.Text)
			}
		}
		for i, p := range pairs {
			if p.Action == "" || (p.Observation == "" && i < len(pairs)-1) {
				t.Errorf("pair %d of %q is not whole: %+v", i, c.Text, p)
			}
		}
		if !(c.LogProb < 0) || len(c.Hidden) != 3*s.(*session).m.spec.Dim {
			t.Errorf("log probability %v, %d hidden values", c.LogProb, len(c.Hidden))
		}
	}
	if s.Text() != BenchPrefix {
		t.Error("Sample changed the prefix")
	}
}

// What a rollout computed token by token must be what a prefix of the same text gives.
func TestSuffixEqualsPrefix(t *testing.T) {
	m := base(t)
	s := open(t, m, BenchPrefix)
	var c llm.Completion
	for seed := uint64(3); c.Finish != llm.FinishStop; seed++ { // the first that no end claim cuts short
		if seed == 23 {
			t.Fatalf("none of 20 rollouts has 4 pairs, the last ended by %q", c.Finish)
		}
		c = sample(t, s, llm.Request{N: 3, Temperature: .5, Until: llm.UntilPairs, Pairs: 4, Seed: seed, Hidden: true})[1]
	}
	f, err := s.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(ctx, c.Text); err != nil {
		t.Fatal(err)
	}
	d := m.Info().Caps.HiddenSize
	if e := far(c.Hidden[2*d:], f.(*session).hidden); e > 1e-3 {
		t.Errorf("last state differs by %g", e)
	}
	if s.Len()+c.Tokens != f.Len() {
		t.Errorf("%d + %d tokens, the fork has %d (%q)", s.Len(), c.Tokens, f.Len(), c.Text)
	}
}

func TestAppendInPiecesAndFork(t *testing.T) {
	m := base(t)
	whole := open(t, m, BenchPrefix)
	i := strings.Index(BenchPrefix, "\nplan:")
	s := open(t, m, BenchPrefix[:i])
	other, err := s.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(ctx, "\n> go to fridge 1\nThe fridge 1 is closed."); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.SplitAfter(BenchPrefix[i+1:], "\n") {
		if _, err := s.Append(ctx, "\n"+strings.TrimSuffix(l, "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if s.Text() != whole.Text() || s.Len() != whole.Len() {
		t.Fatalf("text or length differ: %d, %d", s.Len(), whole.Len())
	}
	if e := far(s.(*session).last, whole.(*session).last); e > 1e-3 {
		t.Errorf("logits differ by %g", e)
	}
	again := open(t, m, BenchPrefix[:i])
	if _, err := again.Append(ctx, "\n> go to fridge 1\nThe fridge 1 is closed."); err != nil {
		t.Fatal(err)
	}
	a, b := sample(t, other, rollout), sample(t, again, rollout)
	if !reflect.DeepEqual(a, b) {
		t.Error("a fork saw what its sibling appended")
	}
}

func TestUntilLineAndAction(t *testing.T) {
	m := base(t)
	s := open(t, m, BenchPrefix[:strings.Index(BenchPrefix, " find a mug, clean")])
	c := sample(t, s, llm.Request{N: 2, Temperature: .5, Until: llm.UntilLine, Seed: 1})
	for _, x := range c {
		if x.Text == "" || strings.Contains(x.Text, "\n") {
			t.Errorf("plan %q", x.Text)
		}
		t.Logf("plan:%s", x.Text)
	}
	s = open(t, m, BenchPrefix)
	for _, x := range sample(t, s, llm.Request{N: 8, Temperature: 1, Until: llm.UntilAction, ForbidEnd: true, Seed: 2}) {
		pairs, claim, ok := llm.ParseRollout(x.Text)
		if x.Finish == llm.FinishStop && (!ok || len(pairs) != 1 || pairs[0].Observation != "" || claim != "" || strings.HasSuffix(x.Text, "\n")) {
			t.Errorf("no single action: %q", x.Text)
		}
		if strings.Contains(x.Text, "[end") {
			t.Errorf("a forbidden claim: %q", x.Text)
		}
	}
}

func TestPendingAction(t *testing.T) {
	s := open(t, base(t), BenchPrefix+"\n> take mug 7 from shelf 2")
	c := sample(t, s, llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 1})[0]
	if !strings.HasPrefix(c.Text, "\n") || len(c.Nothing) != 1 || len(llm.Lines(c.Text)) != 1 {
		t.Errorf("got %q %v, want one observation", c.Text, c.Nothing)
	}
	asked := ""
	c = sample(t, s, llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 1, Recall: func(p []llm.Pair, a string) (string, bool) {
		asked = fmt.Sprint(len(p), a)
		return "Nothing happens.", true
	}})[0]
	if asked != "" && (asked != "0take mug 7 from shelf 2" || c.Text != "\nNothing happens." || c.ForcedTokens != 1) {
		t.Errorf("asked %q, got %q", asked, c.Text)
	}
}

func TestRecallForcesText(t *testing.T) {
	s := open(t, base(t), BenchPrefix)
	const seen = "On the shelf 1, you see a statue 2, and a vase 1."
	calls := 0
	r := rollout
	r.Recall = func(p []llm.Pair, a string) (string, bool) {
		calls++
		if a == "" {
			t.Error("asked without an action")
		}
		for _, q := range p {
			if q.Observation != seen && q.Observation != llm.NothingHappens && !strings.HasPrefix(q.Observation, llm.NothingHappens) {
				t.Errorf("told a pair that was not recalled: %q", q.Observation)
			}
		}
		return seen, true
	}
	forced := 0
	for _, c := range sample(t, s, r) {
		forced += c.ForcedTokens
		pairs, _, _ := llm.ParseRollout(c.Text)
		for i, p := range pairs {
			whole := i < len(pairs)-1 || c.Finish != llm.FinishLength
			if whole && p.Observation != seen && !strings.HasPrefix(p.Observation, llm.NothingHappens) {
				t.Errorf("observation %q was not replaced", p.Observation)
			}
		}
	}
	if calls > 0 && forced == 0 {
		t.Error("recall was asked and no token was forced")
	}
}

func TestContextIsFull(t *testing.T) {
	m := base(t)
	s := open(t, m, BenchPrefix)
	const more = "\n> go to shelf 1\nOn the shelf 1, you see a statue 2, and a vase 1."
	for s.Len() < m.Info().Caps.Context-60 {
		if _, err := s.Append(ctx, more); err != nil {
			t.Fatal(err)
		}
	}
	n, text := s.Len(), s.Text()
	if _, err := s.Append(ctx, strings.Repeat(more, 20)); !errors.Is(err, llm.ErrContext) {
		t.Fatalf("got %v at %d tokens", err, n)
	}
	for _, c := range sample(t, s, rollout) { // fits for a while, then ends by length
		if n+c.Tokens > m.Info().Caps.Context {
			t.Errorf("%d tokens beyond the context", n+c.Tokens)
		}
	}
	if s.Len() != n || s.Text() != text {
		t.Error("a refused Append changed the session")
	}
}

func TestCancelledAppendChangesNothing(t *testing.T) {
	m := base(t)
	s, twin := open(t, m, "Your task is to: put a mug in shelf."), open(t, m, "Your task is to: put a mug in shelf.")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Append(gone, "\nxyz"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, _, err := s.Sample(gone, rollout); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if !reflect.DeepEqual(sample(t, s, rollout), sample(t, twin, rollout)) {
		t.Error("a cancelled call left a trace")
	}
}

func TestConcurrentForks(t *testing.T) {
	s := open(t, base(t), BenchPrefix)
	want := sample(t, s, rollout)
	var wg sync.WaitGroup
	for range 4 {
		f, err := s.Fork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if got, _, err := f.Sample(ctx, rollout); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("a fork in another goroutine gave something else (%v)", err)
			}
			if _, err := f.Append(ctx, "\n> look"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestBenchRollouts(t *testing.T) {
	r, err := BenchRollouts(ctx, base(t), BenchOptions{Repeats: 2, Rollouts: 2, Pairs: 1})
	if err != nil || r.Tokens <= 0 || r.Pairs <= 0 || r.RolloutsMS <= 0 || r.PrefixTokens < 100 || r.BestMS > r.RolloutsMS {
		t.Errorf("got %+v %v", r, err)
	}
}

func ExampleOpen() {
	m, err := Open("base", Options{})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	s, err := m.Open(context.Background(), llm.RenderTask("put a mug in shelf.", "You are in the middle of a room. Looking quickly around you, you see a desk 1, and a shelf 1."))
	if err != nil {
		panic(err)
	}
	c, _, err := s.Sample(context.Background(), llm.Request{N: 5, Temperature: .5, Until: llm.UntilPairs, Pairs: 4, Seed: 1})
	fmt.Println(len(c), err)
	// Output: 5 <nil>
}

func BenchmarkRollouts(b *testing.B) {
	s := open(b, base(b), BenchPrefix)
	r := llm.Request{N: 5, Temperature: .5, Until: llm.UntilPairs, Pairs: 4}
	tokens := 0
	for i := range b.N {
		r.Seed = uint64(i)
		c, u, err := s.Sample(ctx, r)
		if err != nil || len(c) != 5 {
			b.Fatal(err)
		}
		tokens += u.CompletionTokens
	}
	b.ReportMetric(float64(tokens)/float64(b.N), "tokens/op")
}
