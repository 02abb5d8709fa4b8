package gate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/selfregulate/gate"
)

func TestReviewer(t *testing.T) {
	draft, critic, calls := "", "", 0
	r := &gate.Reviewer{Gate: gate.New(gate.Config{Selective: true}),
		Thinker: chat.Func{Name: "thinker", Reply: func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{Text: draft}, nil }},
		Critic: chat.Func{Name: "critic", Reply: func(context.Context, chat.Request) (chat.Reply, error) {
			calls++
			if critic == "" {
				return chat.Reply{}, errors.New("away")
			}
			return chat.Reply{Text: critic}, nil
		}}}
	for _, c := range []struct {
		draft, critic, want string
		calls               int
	}{
		{"Got it, will do.", "nonsense", "Got it, will do.", 0},
		{"It costs 7 euros.", "OK.", "It costs 7 euros.", 1},
		{"It costs 7 euros.", "It costs 8 euros.", "It costs 8 euros.", 1},
	} {
		draft, critic, calls = c.draft, c.critic, 0
		got, err := r.Answer(t.Context(), []chat.Message{{Role: chat.User, Content: "?"}}, gate.Context{Confidence: .5})
		if err != nil || got.Text != c.want || calls != c.calls || got.Corrected != (c.want != c.draft) || got.Usage.Calls != 1+c.calls {
			t.Errorf("%q: %+v, %d calls, %v", c.draft, got, calls, err)
		}
	}
	critic = ""
	if _, err := r.Answer(t.Context(), []chat.Message{{Role: chat.User, Content: "?"}}, gate.Context{}); err == nil {
		t.Error("an unchecked draft passed for a checked one")
	}
}
