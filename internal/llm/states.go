package llm

import "context"

// States are the hidden states of one text that was appended to a session: what a
// future made of such texts shows a self-assessment. D is Caps.HiddenSize.
type States struct {
	Sum    []float32 // [D], over the states after each token
	Tokens int
	// Action is the state after the newline that ends the text's first "> …" line,
	// [D]; nil where no line follows one.
	Action []float32
	Last   []float32 // [D], after the last token
}

// StateReader is implemented by sessions of models with hidden states
// (Caps.HiddenSize > 0): they read a text that is already there, as Sample shows
// the states of a text that it writes.
type StateReader interface {
	// AppendStates is Session.Append that also returns the text's hidden states.
	AppendStates(ctx context.Context, text string) (States, Usage, error)
}

// JoinStates lays the states of consecutive texts side by side as
// Completion.Hidden does for the same text in one piece: mean over all tokens, end
// of the first action, last state, [3·D]. It is nil when there is no token.
func JoinStates(parts []States) []float32 {
	var action, last []float32
	n, d := 0, 0
	for _, p := range parts {
		if p.Tokens == 0 {
			continue
		}
		n, d, last = n+p.Tokens, len(p.Last), p.Last
		if action == nil {
			action = p.Action
		}
	}
	if n == 0 {
		return nil
	}
	if action == nil {
		action = last
	}
	sum := make([]float64, d)
	for _, p := range parts {
		for j, x := range p.Sum {
			sum[j] += float64(x)
		}
	}
	out := make([]float32, d, 3*d)
	for j, x := range sum {
		out[j] = float32(x / float64(n))
	}
	return append(append(out, action...), last...)
}
