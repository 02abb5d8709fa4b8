//go:build cgo && native

package embedded

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/internal/llm"
)

// tokensPerPair is the default limit of a continuation.
const tokensPerPair = 64

// state gathers hidden states of one row (Completion.Hidden).
type state struct {
	sum    []float64
	n      int
	action []float32 // after the newline that ends the first action
	last   []float32
}

// Sample draws continuations in lockstep. Hidden: the mean is over the states
// after each token of the text that was fed (an end claim is not), "the end of
// the first action" is the state after the newline that follows it; where there
// is none (UntilAction), the last state.
func (s *session) Sample(ctx context.Context, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	if s.kv == nil {
		return nil, llm.Usage{}, errClosed
	}
	n := max(r.N, 1)
	limit := r.MaxTokens
	if limit <= 0 {
		limit = tokensPerPair
		if r.Until == llm.UntilPairs {
			limit *= max(r.Pairs, 1)
		}
	}
	if s.kv.len >= s.m.spec.Context {
		return nil, llm.Usage{}, fmt.Errorf("embedded: the prefix fills all %d tokens of %s: %w", s.kv.len, s.m.info.Name, llm.ErrContext)
	}
	limit = min(limit, s.m.spec.Context-s.kv.len)

	g := &generation{s: s, b: s.m.batch(), limit: limit}
	defer s.m.work.Put(g.b)
	for i := range n {
		g.rows = append(g.rows, newRow(s.m.tab, &r, s.text, i, s.m.encode))
		if r.Hidden {
			g.states = append(g.states, &state{sum: make([]float64, s.m.spec.Dim), last: s.hidden})
		}
	}
	if err := g.loop(ctx); err != nil {
		return nil, llm.Usage{}, err
	}
	u := llm.Usage{Calls: 1, Requested: n, Received: n}
	out := make([]llm.Completion, n)
	for i, w := range g.rows {
		out[i] = llm.Completion{Text: string(w.text), Finish: w.finish, Tokens: w.tokens, ForcedTokens: w.forced, LogProb: w.logp, Nothing: w.nothing}
		if r.Hidden {
			out[i].Hidden = g.states[i].join()
		}
		u.CompletionTokens += w.tokens
	}
	return out, u, nil
}

// generation is one running Sample.
type generation struct {
	s      *session
	b      *batch
	rows   []*row
	states []*state // nil unless asked for
	limit  int
	live   []int // rows that still write, by batch place
}

func (g *generation) loop(ctx context.Context) error {
	b, s := g.b, g.s
	n := len(g.rows)
	g.live = make([]int, n)
	toks := make([]int32, n)
	for i := range g.live {
		g.live[i] = i
	}
	b.shape(max(n, minRows), 1, 0)
	for r := range b.rows {
		b.ids[3*r+1], b.ids[3*r+2] = s.tail[0], s.tail[1]
	}
	for step := 0; ; step++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		kept := 0
		for place, i := range g.live {
			w := g.rows[i]
			logits := s.last
			if step > 0 {
				logits = b.logits[place*b.spec.Vocab : (place+1)*b.spec.Vocab]
			}
			tok, ok, err := w.next(logits, &b.sampler)
			if err != nil {
				return err
			}
			if ok && step+1 >= g.limit {
				w.cut()
				ok = false
			}
			if !ok {
				continue
			}
			b.keep(kept, place)
			b.ids[3*kept], b.ids[3*kept+1] = b.ids[3*place+1], b.ids[3*place+2]
			toks[kept], g.live[kept] = tok, i
			kept++
		}
		if kept == 0 {
			return nil
		}
		g.live = g.live[:kept]
		b.rows = max(kept, minRows)
		for r := range b.rows {
			if r < kept {
				b.ids[3*r+2] = int64(toks[r])
			} else { // a row that nobody reads
				copy(b.ids[3*r:3*r+3], b.ids[:3])
			}
		}
		if err := b.run(s.m.net, s.kv, s.kv.len+step); err != nil {
			return err
		}
		if step >= b.width {
			b.widen(step+suffixBlock-step%suffixBlock, step)
		}
		b.push(step)
		g.observe()
	}
}

// observe takes the hidden states of the step.
func (g *generation) observe() {
	if g.states == nil {
		return
	}
	d := g.b.spec.Dim
	for place, i := range g.live {
		h, st := g.b.hidden[place*d:(place+1)*d], g.states[i]
		for j, x := range h {
			st.sum[j] += float64(x)
		}
		st.n++
		if g.rows[i].acted {
			st.action = append([]float32(nil), h...)
		}
		if st.n == 1 { // the slice was the session's
			st.last = make([]float32, d)
		}
		copy(st.last, h)
	}
}

// join lays the three states side by side: mean, first action, last.
func (st *state) join() []float32 {
	out := make([]float32, 0, 3*len(st.last))
	for j := range st.sum {
		mean := st.last[j]
		if st.n > 0 {
			mean = float32(st.sum[j] / float64(st.n))
		}
		out = append(out, mean)
	}
	if st.action == nil {
		st.action = st.last
	}
	return append(append(out, st.action...), st.last...)
}
