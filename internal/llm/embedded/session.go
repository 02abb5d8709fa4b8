//go:build cgo && native

package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
)

// chunk is how many tokens of a prefix are fed at once.
const chunk = 128

var errClosed = errors.New("embedded: session is closed")

type session struct {
	m      *model
	kv     *cache
	tail   [2]int64  // the last two tokens, 0 before the start
	last   []float32 // logits after the last token [vocab]; replaced, never written in place
	hidden []float32 // state after it [d]; likewise
	text   string
}

func (s *session) Text() string { return s.text }

func (s *session) Len() int {
	if s.kv == nil {
		return 0
	}
	return s.kv.len
}

func (s *session) Close() error { s.kv = nil; return nil }

func (s *session) Fork(context.Context) (llm.Session, error) {
	if s.kv == nil {
		return nil, errClosed
	}
	s.kv.shared.Store(true)
	c := *s
	return &c, nil
}

func (s *session) Append(ctx context.Context, text string) (llm.Usage, error) {
	return s.add(ctx, text, nil)
}

// AppendStates implements llm.StateReader.
func (s *session) AppendStates(ctx context.Context, text string) (llm.States, llm.Usage, error) {
	st := &reading{sum: make([]float64, s.m.spec.Dim), tab: s.m.tab}
	u, err := s.add(ctx, text, st)
	if err != nil {
		return llm.States{}, u, err
	}
	return st.states(), u, nil
}

func (s *session) add(ctx context.Context, text string, st *reading) (llm.Usage, error) {
	if s.kv == nil {
		return llm.Usage{}, errClosed
	}
	if text == "" {
		return llm.Usage{}, nil
	}
	ids, err := s.m.tok.Encode(text, false)
	if err != nil {
		return llm.Usage{}, fmt.Errorf("embedded: tokens of %q: %w", text, err)
	}
	if err := s.prefill(ctx, ids, st); err != nil {
		return llm.Usage{}, err
	}
	s.text += text
	return llm.Usage{PromptTokens: len(ids)}, nil
}

// reading gathers hidden states of a text that is fed.
type reading struct {
	tab    *table
	sum    []float64
	n      int
	inAct  bool // the line being read is an action
	action []float32
	last   []float32
}

// observe takes the states after ids, [len(ids), d].
func (r *reading) observe(ids []int32, hidden []float32) {
	d := len(r.sum)
	for i, id := range ids {
		h := hidden[i*d : (i+1)*d]
		for j, x := range h {
			r.sum[j] += float64(x)
		}
		r.n++
		if c := r.tab.class[id]; c&newlines != 0 {
			if r.inAct && r.action == nil {
				r.action = slices.Clone(h)
			}
			r.inAct = c == act
		}
	}
	r.last = slices.Clone(hidden[(len(ids)-1)*d : len(ids)*d])
}

func (r *reading) states() llm.States {
	out := llm.States{Sum: make([]float32, len(r.sum)), Tokens: r.n, Action: r.action, Last: r.last}
	for j, x := range r.sum {
		out.Sum[j] = float32(x)
	}
	return out
}

// prefill feeds tokens in chunks. On an error the session is unchanged. st is nil
// where nobody asks for hidden states.
func (s *session) prefill(ctx context.Context, ids []int32, st *reading) error {
	if len(ids) == 0 {
		return nil
	}
	if limit := s.m.spec.Context; s.kv.len+len(ids) > limit {
		return fmt.Errorf("embedded: %d tokens and %d more, %s holds %d: %w", s.kv.len, len(ids), s.m.info.Name, limit, llm.ErrContext)
	}
	b := s.m.batch()
	defer s.m.work.Put(b)
	old := s.kv.len
	kv, tail := s.kv.writable(s.m.spec, len(ids)), s.tail
	undo := func(err error) error { // kv may be s.kv itself: hide what was added
		for i := old; i < kv.len; i++ {
			kv.mask[i] = masked
		}
		kv.len = old
		return err
	}
	for part := range slices.Chunk(ids, chunk) {
		if err := ctx.Err(); err != nil {
			return undo(err)
		}
		n := max(len(part), minRows)
		b.shape(1, n, 0)
		b.ids[0], b.ids[1] = tail[0], tail[1]
		for i, id := range part {
			b.ids[2+i] = int64(id)
		}
		for i := len(part); i < n; i++ {
			b.ids[2+i] = 0
		}
		if err := b.run(s.m.net, kv, kv.len); err != nil {
			return undo(err)
		}
		if st != nil {
			st.observe(part, b.hidden)
		}
		kv.put(s.m.spec, b.fresh, len(part), n)
		tail = [2]int64{b.ids[len(part)], b.ids[len(part)+1]}
		if kv.len == old+len(ids) {
			v, d := s.m.spec.Vocab, s.m.spec.Dim
			s.last = slices.Clone(b.logits[(len(part)-1)*v : len(part)*v])
			s.hidden = slices.Clone(b.hidden[(len(part)-1)*d : len(part)*d])
		}
	}
	s.kv, s.tail = kv, tail
	return nil
}
