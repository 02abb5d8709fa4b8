package llm_test

import (
	"slices"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

// Two pieces joined are what one piece of both texts would be: mean over all
// tokens, the first action's end, the last state.
func TestJoinStates(t *testing.T) {
	a := llm.States{Sum: []float32{2, 4}, Tokens: 2, Action: []float32{7, 8}, Last: []float32{1, 3}}
	b := llm.States{Sum: []float32{4, 2}, Tokens: 1, Action: []float32{9, 9}, Last: []float32{4, 2}}
	if got, want := llm.JoinStates([]llm.States{a, {}, b}), []float32{2, 2, 7, 8, 4, 2}; !slices.Equal(got, want) {
		t.Errorf("joined %v, want %v", got, want)
	}
	a.Action = nil
	if got, want := llm.JoinStates([]llm.States{a}), []float32{1, 2, 1, 3, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("without an action's end the last state stands for it: %v, want %v", got, want)
	}
	if got := llm.JoinStates(nil); got != nil {
		t.Errorf("nothing read gives %v", got)
	}
}
