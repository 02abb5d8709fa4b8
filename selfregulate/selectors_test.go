package selfregulate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

func candidates(valid []bool, p []float64) []selfregulate.Candidate {
	c := make([]selfregulate.Candidate, len(p))
	for i := range c {
		c[i] = selfregulate.Candidate{Valid: valid[i], Assessed: true, Assessment: selfassess.Assessment{P: p[i]}}
	}
	return c
}

// TestExhaustive compares best and lowest with the definition, over every set of
// three candidates with P in {0, ½, 1} and every validity.
func TestExhaustive(t *testing.T) {
	levels := []float64{0, .5, 1}
	for code := range 27 * 8 {
		p := []float64{levels[code%3], levels[code/3%3], levels[code/9%3]}
		v := []bool{code/27&1 != 0, code/27&2 != 0, code/27&4 != 0}
		for _, want := range []struct {
			s    selfregulate.Selector
			sign float64
		}{{selfregulate.Best, 1}, {selfregulate.Lowest, -1}} {
			at := -1
			for i := range p { // the definition, written the slow way
				wins := v[i]
				for j := range p {
					if v[j] && (want.sign*p[j] > want.sign*p[i] || (p[j] == p[i] && j < i)) {
						wins = false
					}
				}
				if wins {
					at = i
				}
			}
			got := want.s.Select(nil, candidates(v, p))
			if at < 0 {
				if got != (selfregulate.Choice{Index: 0, Reason: selfregulate.ReasonNoneValid}) {
					t.Fatalf("%s of %v, none valid: %+v", want.s.Name(), p, got)
				}
			} else if got.Index != at || got.Reason != want.s.Name() {
				t.Fatalf("%s of %v valid %v: got %+v, want index %d", want.s.Name(), p, v, got, at)
			}
		}
	}
}

func TestRandomIsUniformOverValid(t *testing.T) {
	c := candidates([]bool{true, false, true, true, false}, []float64{0, 1, .2, .9, 1})
	r, n := rng.New(7, "uniform"), 6000
	count := make([]int, len(c))
	for range n {
		count[selfregulate.Random.Select(r, c).Index]++
	}
	for i, k := range count {
		want := 0.0
		if c[i].Valid {
			want = float64(n) / 3
		}
		// Five standard deviations of a binomial(n, 1/3).
		if math.Abs(float64(k)-want) > 5*math.Sqrt(float64(n)*2/9) {
			t.Errorf("candidate %d was chosen %d times, want about %.0f", i, k, want)
		}
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		v := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "valid")
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "p")
		seed := rapid.Uint64().Draw(t, "seed")
		c := candidates(v, p)
		any := false
		for _, ok := range v {
			any = any || ok
		}
		for _, s := range selfregulate.All() {
			got := s.Select(rng.New(seed, "s"), c)
			if again := s.Select(rng.New(seed, "s"), c); again != got {
				t.Fatalf("%s is not deterministic: %+v, %+v", s.Name(), got, again)
			}
			if got.Index < 0 || got.Index >= n {
				t.Fatalf("%s chose %d of %d", s.Name(), got.Index, n)
			}
			if s.NeedsRollouts() {
				if any && !v[got.Index] {
					t.Fatalf("%s chose an invalid candidate", s.Name())
				}
				if (got.Reason == selfregulate.ReasonNoneValid) == any {
					t.Fatalf("%s: reason %q though valid = %v", s.Name(), got.Reason, v)
				}
			} else if got.Index != 0 {
				t.Fatalf("off chose %d", got.Index)
			}
		}
		// Best and lowest mirror each other under p -> 1-p (exact for halves of the
		// grid only, so compare values, not indices).
		q := make([]float64, n)
		for i := range p {
			q[i] = -p[i]
		}
		b, l := selfregulate.Best.Select(nil, c), selfregulate.Lowest.Select(nil, candidates(v, q))
		if b.Index != l.Index {
			t.Fatalf("best %d, lowest of the negated %d", b.Index, l.Index)
		}
	})
}

func TestByName(t *testing.T) {
	for _, s := range selfregulate.All() {
		got, err := selfregulate.ByName(s.Name())
		if err != nil || got.Name() != s.Name() {
			t.Errorf("ByName(%q) = %v, %v", s.Name(), got, err)
		}
	}
	for in, near := range map[string]string{"Best": "best", "lowset": "lowest", "randon": "random", "of": "off"} {
		if _, err := selfregulate.ByName(in); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q?", near)) {
			t.Errorf("ByName(%q): %v, want a hint at %q", in, err, near)
		}
	}
}

// fixed answers with given probabilities and counts its calls.
type fixed struct {
	p     []float64
	calls int
	err   error
}

func (f *fixed) Name() string { return "fixed" }
func (f *fixed) Assess(context.Context, []selfassess.Input) ([]selfassess.Assessment, error) {
	f.calls++
	out := make([]selfassess.Assessment, len(f.p))
	for i, p := range f.p {
		out[i] = selfassess.Assessment{P: p, Raw: p}
	}
	return out, f.err
}

func regulate(s selfregulate.Selector, a selfassess.Assessor, n int, valid ...bool) (selfregulate.Decision, error) {
	for len(valid) < n {
		valid = append(valid, true)
	}
	return selfregulate.Regulate(context.Background(), s, a, make([]selfassess.Input, n), valid, rand.New(rand.NewPCG(1, 2)))
}

func TestRegulate(t *testing.T) {
	a := &fixed{p: []float64{.2, .9, .4}}
	d, err := regulate(selfregulate.Best, a, 3, true, false, true)
	if err != nil || d.Choice.Index != 2 || !d.Candidates[1].Assessed || len(d.Events) != 0 {
		t.Fatalf("%+v, %v: want future 2, the invalid one assessed too", d, err)
	}
	d, err = regulate(selfregulate.Lowest, a, 3, false, false, false)
	if err != nil || d.Choice.Index != 0 || d.Choice.Reason != selfregulate.ReasonNoneValid ||
		len(d.Events) != 1 || d.Events[0] != selfregulate.EventNoneValid {
		t.Fatalf("none valid: %+v, %v", d, err)
	}
	calls := a.calls
	for _, s := range []selfregulate.Selector{selfregulate.Random, selfregulate.Off} {
		if _, err := regulate(s, a, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := regulate(s, nil, 3); err != nil {
			t.Fatal(err)
		}
	}
	if a.calls != calls {
		t.Error("random and off must not ask the assessor")
	}
}

func TestRegulateRefuses(t *testing.T) {
	for _, p := range []float64{math.NaN(), -.1, 1.1, math.Inf(1)} {
		if _, err := regulate(selfregulate.Best, &fixed{p: []float64{.5, p}}, 2); !errors.Is(err, selfregulate.ErrAssessment) {
			t.Errorf("P = %v: %v, want ErrAssessment", p, err)
		}
	}
	if _, err := regulate(selfregulate.Best, &fixed{p: []float64{.5}}, 2); !errors.Is(err, selfregulate.ErrAssessment) {
		t.Errorf("one assessment of two futures: %v", err)
	}
	broken := errors.New("broken")
	if _, err := regulate(selfregulate.Best, &fixed{p: []float64{.5}, err: broken}, 1); !errors.Is(err, broken) {
		t.Errorf("assessor's error is lost: %v", err)
	}
	if _, err := regulate(selfregulate.Best, nil, 1); err == nil || !strings.Contains(err.Error(), "needs an assessor") {
		t.Errorf("no assessor: %v", err)
	}
	if _, err := regulate(selfregulate.Off, nil, 0); err == nil {
		t.Error("no futures: want an error")
	}
}

func ExampleRegulate() {
	futures := []selfassess.Input{{Task: "put a mug in desk."}, {Task: "put a mug in desk."}, {Task: "put a mug in desk."}}
	assessor := &fixed{p: []float64{.31, .74, .52}}
	d, err := selfregulate.Regulate(context.Background(), selfregulate.Best, assessor, futures, []bool{true, true, true}, rng.New(1, "select"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Choice.Index, d.Choice.Reason, d.Candidates[d.Choice.Index].Assessment.P)
	// Output: 1 best 0.74
}
