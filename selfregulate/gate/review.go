package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

// Reviewer answers a conversation: the thinker drafts, the gate decides, and the
// critic reads the draft where the gate fires. Safe for concurrent use.
type Reviewer struct {
	Thinker, Critic chat.Model
	Gate            *Gate
	MaxTokens       int // of a draft and of a correction, 0 = 1024
	Temperature     float64
	Seed            uint64
}

// Review is an answer with all that led to it.
type Review struct {
	Text      string    `json:"text"`
	Draft     string    `json:"draft"`
	Decision  Decision  `json:"decision"`
	Corrected bool      `json:"corrected"`
	Critic    string    `json:"critic,omitempty"` // what the critic said
	Usage     llm.Usage `json:"usage"`
}

const criticTask = `You check drafts before they reach people. Look for invented facts, wrong numbers and claims of actions that did not happen. If the draft is fine, reply with the single word OK. Otherwise reply with the corrected text and nothing else.`

// Answer drafts and, where the gate fires, has the draft checked. What is known
// beforehand (tool calls, findings, intent, …) comes in c; its Draft is set here. A
// critic that fails is an error: an unchecked draft must not pass for a checked one.
func (r *Reviewer) Answer(ctx context.Context, messages []chat.Message, c Context) (Review, error) {
	if r.Thinker == nil || r.Critic == nil || r.Gate == nil {
		return Review{}, errors.New("gate: a thinker, a critic and a gate are needed")
	}
	limit := r.MaxTokens
	if limit <= 0 {
		limit = 1024
	}
	var out Review
	a, err := r.Thinker.Ask(ctx, chat.Request{Messages: messages, MaxTokens: limit, Temperature: r.Temperature, Seed: r.Seed})
	out.Usage, out.Draft = a.Usage, a.Text
	if err != nil {
		return out, fmt.Errorf("gate: drafting: %w", err)
	}
	c.Draft = a.Text
	out.Text, out.Decision = a.Text, r.Gate.Decide(c)
	if !out.Decision.Fire {
		return out, nil
	}
	var asked strings.Builder
	for _, m := range messages {
		if m.Role != chat.System {
			fmt.Fprintf(&asked, "%s: %s\n", m.Role, m.Content)
		}
	}
	b, err := r.Critic.Ask(ctx, chat.Request{Messages: []chat.Message{{Role: chat.System, Content: criticTask},
		{Role: chat.User, Content: asked.String() + "\nDraft:\n" + a.Text}}, MaxTokens: limit, Seed: r.Seed})
	out.Usage, out.Critic = out.Usage.Add(b.Usage), b.Text
	if err != nil {
		return out, fmt.Errorf("gate: the critic fired (%s) and failed: %w", out.Decision.Reason, err)
	}
	if said := strings.TrimSpace(b.Text); !strings.EqualFold(strings.Trim(said, ".!"), "ok") {
		out.Text, out.Corrected = said, true
	}
	return out, nil
}
