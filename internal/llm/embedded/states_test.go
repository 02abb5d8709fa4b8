//go:build cgo && native

package embedded

import (
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

// The states of a text that is read are those of the same text while it was
// written, in one piece or pair by pair.
func TestReadStatesEqualWrittenOnes(t *testing.T) {
	m := base(t)
	s := open(t, m, BenchPrefix)
	checked := 0
	for seed := uint64(3); seed < 13; seed++ {
		r := llm.Request{N: 2, Temperature: 1, Until: llm.UntilPairs, Pairs: 4, Seed: seed, Hidden: true}
		for _, c := range sample(t, s, r) {
			if c.Finish != llm.FinishStop {
				continue
			}
			pairs, _, _ := llm.ParseRollout(c.Text)
			pieces := make([]string, len(pairs))
			for i, p := range pairs {
				pieces[i] = llm.RenderPair(p)
			}
			for _, texts := range [][]string{{c.Text}, pieces} {
				f, err := s.Fork(ctx)
				if err != nil {
					t.Fatal(err)
				}
				var parts []llm.States
				for _, x := range texts {
					st, u, err := f.(llm.StateReader).AppendStates(ctx, x)
					if err != nil {
						t.Fatal(err)
					}
					if u.PromptTokens != st.Tokens {
						t.Errorf("%d tokens appended, %d read", u.PromptTokens, st.Tokens)
					}
					parts = append(parts, st)
				}
				if e := far(llm.JoinStates(parts), c.Hidden); e > 1e-3 {
					t.Errorf("%d pieces of %q: read and written states differ by %g", len(texts), c.Text, e)
				}
				f.Close()
			}
			checked++
		}
	}
	if checked < 3 {
		t.Fatalf("only %d rollouts of 20 have 4 pairs", checked)
	}
}
