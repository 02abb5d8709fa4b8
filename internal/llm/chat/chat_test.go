package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/chat"
)

func TestThinkingIsSplitOff(t *testing.T) {
	for _, c := range []struct{ raw, text, reasoning string }{
		{"plain", "plain", ""},
		{"<think>a\nb</think>\n\nyes", "yes", "a\nb"},
		{"\n <think> never closed", "", "never closed"},
		{"opened by the template</think>yes", "yes", "opened by the template"},
		{"a < b and <thing>", "a < b and <thing>", ""},
	} {
		text, reasoning := chat.SplitThinking(c.raw)
		if text != c.text || reasoning != c.reasoning {
			t.Errorf("%q: got %q, %q", c.raw, text, reasoning)
		}
		// What is shown while the text grows is always a beginning of what is left.
		shown := ""
		for i := range len(c.raw) + 1 {
			v := chat.Visible(c.raw[:i])
			if strings.Contains(c.raw, "</think>") && !strings.HasPrefix(c.raw, "<") {
				continue // without the opening tag nobody can know
			}
			if !strings.HasPrefix(text, v) || !strings.HasPrefix(v, shown) {
				t.Errorf("%q after %d bytes: shows %q, then %q", c.raw, i, shown, v)
			}
			shown = v
		}
	}
	if got := chat.JoinThinking("x", "why"); got != "<think>\nwhy\n</think>\nx" {
		t.Errorf("joined: %q", got)
	}
}

func TestFunc(t *testing.T) {
	m := chat.Func{Name: "echo", Lacks: []chat.Ability{chat.Prefix}, Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		return chat.Reply{Text: r.Messages[0].Content}, nil
	}}
	got := ""
	a, err := m.Ask(t.Context(), chat.Request{Messages: []chat.Message{{chat.User, "a b"}}, Emit: func(s string) error { got += s; return nil }})
	if err != nil || a.Text != "a b" || got != "a b" || a.Usage.PromptTokens != 2 || a.Finish != chat.FinishStop {
		t.Errorf("got %+v, emitted %q, %v", a, got, err)
	}
	if err := m.Probe(t.Context(), chat.Prefix); !errors.Is(err, chat.ErrUnable) {
		t.Errorf("a denied ability: %v", err)
	}
	if err := m.Probe(t.Context(), chat.LogProbs); err != nil {
		t.Errorf("an ability: %v", err)
	}
}
