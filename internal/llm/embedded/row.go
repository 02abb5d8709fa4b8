package embedded

import (
	"errors"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

var errNaN = errors.New("embedded: the model gave no usable logits (NaN)")

// row is one continuation while it is being written.
type row struct {
	tab    *table
	req    *llm.Request
	encode func(string) ([]int32, error) // for recalled texts
	rnd    *rand.Rand

	line  class // of the line being written; 0 = the prefix's last line, which is finished
	empty bool  // the line has no token after its tag yet
	shut  bool  // the line's text was forced: only a new line may follow

	pairs []llm.Pair // finished ones
	open  llm.Pair   // the one being written
	mark  int        // where the text of the line begins in text

	text    []byte
	queue   []int32 // forced tokens still to be fed
	tokens  int
	forced  int
	logp    float64
	nothing []float64
	acted   bool // the token just given opens the first imagined observation
	sawAct  bool
	done    bool
	finish  llm.Finish
}

// newRow starts continuation i of a request on a prefix.
func newRow(tab *table, req *llm.Request, prefix string, i int, encode func(string) ([]int32, error)) *row {
	r := &row{tab: tab, req: req, encode: encode, rnd: rng.New(req.Seed, "candidate", i)}
	last := lastLine(prefix)
	switch l := llm.ParseLine(last); {
	case req.Until == llm.UntilLine:
		r.line, r.empty = text, true
	case l.Kind == llm.KindAct && l.Text == "":
		r.line, r.empty = act, true
	case l.Kind == llm.KindThink && l.Text == "":
		r.line, r.empty = think, true
	case l.Kind == llm.KindAct && req.Until == llm.UntilPairs:
		r.line, r.shut, r.open.Action = act, true, l.Text
	}
	return r
}

func lastLine(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\n' {
			return s[i+1:]
		}
	}
	return s
}

// mask says which classes of token may come next (package documentation).
func (r *row) mask() class {
	end := ends
	if r.req.ForbidEnd {
		end = 0
	}
	switch {
	case r.empty:
		return text
	case r.req.Until == llm.UntilLine:
		return text | newlines
	case r.line == 0:
		return think | act | end
	case r.line == think:
		return text | think | act
	case r.line == act && r.shut: // the prefix ends in a finished action
		return bare
	case r.line == act && r.req.Until == llm.UntilAction:
		return text | newlines // any of them ends the action
	case r.line == act:
		return text | bare
	case r.shut:
		return think | act | end
	}
	return text | think | act | end
}

// next draws the next token from logits [vocab]. ok is false when the row has
// ended without it; the token then isn't part of the text.
func (r *row) next(logits []float32, s *sampler) (tok int32, ok bool, err error) {
	r.acted = false
	if len(r.queue) > 0 {
		tok, r.queue = r.queue[0], r.queue[1:]
		r.forced++
		r.tokens++
		return tok, true, nil
	}
	startsObs := r.line == bare && r.empty
	watch := int32(-1)
	if startsObs {
		watch = r.tab.nothing
	}
	d, err := s.draw(logits, r.tab.class, r.mask(), r.req.Temperature, r.req.TopP, r.rnd, watch)
	if err != nil {
		return 0, false, err
	}
	tok = d.token
	if startsObs {
		r.nothing = append(r.nothing, d.watched)
		if tok != r.tab.nothing && r.req.Recall != nil {
			forced, err := r.recall()
			if err != nil || forced {
				tok, _, err2 := r.pop()
				return tok, err == nil && err2 == nil, errors.Join(err, err2)
			}
		}
	}
	c := r.tab.class[tok]
	if c&newlines != 0 && !r.newLine(c, d.logp) {
		return tok, false, nil
	}
	if c == text {
		r.empty = false
	}
	r.logp += d.logp
	r.text = append(r.text, r.tab.surface[tok]...)
	r.tokens++
	if c&newlines != 0 {
		r.mark = len(r.text)
	}
	return tok, true, nil
}

func (r *row) pop() (int32, bool, error) { return r.next(nil, nil) }

// recall asks the memory for the observation that is about to be written and
// queues its tokens.
func (r *row) recall() (bool, error) {
	obs, ok := r.req.Recall(r.pairs, r.open.Action)
	if !ok || obs == "" {
		return false, nil
	}
	ids, err := r.encode(obs)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	r.text = append(r.text, obs...)
	r.queue, r.empty, r.shut = ids, false, true
	return true, nil
}

// newLine closes the line being written and opens one of class c. It returns
// false when the continuation ends before the new line.
func (r *row) newLine(c class, logp float64) bool {
	body := trim(r.text[min(r.mark, len(r.text)):])
	switch r.line {
	case think:
		r.open.Thoughts = append(r.open.Thoughts, body)
	case act:
		if r.open.Action == "" {
			r.open.Action = body
		}
		if r.req.Until == llm.UntilAction {
			return r.stop(llm.FinishStop, logp)
		}
		r.acted, r.sawAct = !r.sawAct, true
	case bare:
		r.open.Observation = body
		r.pairs = append(r.pairs, r.open)
		r.open = llm.Pair{}
		if r.req.Until == llm.UntilPairs && len(r.pairs) >= max(1, r.req.Pairs) && c&ends == 0 {
			return r.stop(llm.FinishStop, logp)
		}
	}
	if r.req.Until == llm.UntilLine {
		return r.stop(llm.FinishStop, logp)
	}
	if c&ends != 0 { // the claim is part of the text, and nothing follows
		surface := llm.RenderEnd(c == endWon)
		r.text = append(r.text, surface...)
		r.tokens++
		return r.stop(llm.FinishEnd, logp)
	}
	r.line, r.empty, r.shut = c, true, false
	return true
}

func (r *row) stop(f llm.Finish, logp float64) bool {
	r.logp += logp
	r.done, r.finish = true, f
	return false
}

// cut ends the row for lack of room.
func (r *row) cut() {
	if !r.done {
		r.done, r.finish = true, llm.FinishLength
	}
}

func trim(b []byte) string {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return string(b)
}

// sampler draws tokens; it owns scratch space and serves one goroutine.
type sampler struct {
	w     []float64
	order []int32
}

type drawn struct {
	token   int32
	logp    float64 // at temperature 1, under the mask
	watched float64 // probability of the watched token, same distribution
}

// draw samples from logits [vocab] under a mask of classes. One random number is
// used a token unless temperature is 0 (the largest logit, the lower id on ties).
func (s *sampler) draw(logits []float32, classes []class, mask class, temp, topP float64, rnd *rand.Rand, watch int32) (drawn, error) {
	if cap(s.w) < len(logits) {
		s.w = make([]float64, len(logits))
	}
	w := s.w[:len(logits)]
	best, top := -1, math.Inf(-1)
	for i, l := range logits {
		if classes[i]&mask != 0 && float64(l) > top {
			best, top = i, float64(l)
		}
	}
	if best < 0 {
		return drawn{}, errNaN
	}
	sum := 0.
	for i, l := range logits {
		w[i] = 0
		if classes[i]&mask != 0 {
			w[i] = math.Exp(float64(l) - top)
			sum += w[i]
		}
	}
	if math.IsNaN(sum) {
		return drawn{}, errNaN
	}
	d := drawn{token: int32(best)}
	if watch >= 0 {
		d.watched = w[watch] / sum
	}
	logZ := math.Log(sum)
	if temp > 0 {
		if temp != 1 {
			sum = 0
			for i, l := range logits {
				if w[i] > 0 {
					w[i] = math.Exp((float64(l) - top) / temp)
					sum += w[i]
				}
			}
		}
		if topP > 0 && topP < 1 {
			sum = s.nucleus(w, sum, topP)
		}
		u := rnd.Float64() * sum
		for i, p := range w {
			if p == 0 {
				continue
			}
			d.token = int32(i) // the last one, should rounding leave u ≥ 0
			if u -= p; u < 0 {
				break
			}
		}
	}
	d.logp = float64(logits[d.token]) - top - logZ
	return d, nil
}

// nucleus keeps the smallest set of most probable tokens that holds topP of the
// mass, and returns the mass kept.
func (s *sampler) nucleus(w []float64, sum, topP float64) float64 {
	s.order = s.order[:0]
	for i, p := range w {
		if p > 0 {
			s.order = append(s.order, int32(i))
		}
	}
	sort.SliceStable(s.order, func(a, b int) bool { return w[s.order[a]] > w[s.order[b]] })
	kept := 0.
	for k, i := range s.order {
		if kept >= topP*sum {
			for _, j := range s.order[k:] {
				w[j] = 0
			}
			break
		}
		kept += w[i]
	}
	return kept
}
