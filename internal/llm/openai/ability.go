package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

// continuing are the fields by which servers are told to continue the last
// message instead of answering it: vLLM's, then none (llama.cpp does it unasked).
var continuing = []map[string]any{
	{"continue_final_message": true, "add_generation_prompt": false},
	{},
}

// Probe finds out, by requests of a few tokens, what the server can do. The answer
// is kept; a failure to find out is not.
func (d *Dialog) Probe(ctx context.Context, a chat.Ability) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err, ok := d.probed[a]; ok {
		return err
	}
	var err error
	switch a {
	case chat.Prefix:
		err = d.probePrefix(ctx)
	case chat.LogProbs:
		err = d.probeLogProbs(ctx)
	default:
		return fmt.Errorf("openai: unknown ability %q", a)
	}
	if err == nil || errors.Is(err, chat.ErrUnable) {
		d.probed[a] = err
	}
	return err
}

// refused tells a server that doesn't know a field from one that failed.
func refused(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Status == 400 || e.Status == 422 || e.Code == llm.CodeEmpty || e.Code == llm.CodeFinish) && !errors.Is(err, llm.ErrContext)
}

// probePrefix has a reply continued that can go on in one way only. A server that
// begins a new turn starts over, or talks about it.
func (d *Dialog) probePrefix(ctx context.Context) error {
	r := chat.Request{Messages: []chat.Message{{Role: chat.User, Content: "Count from 1 to 12. Write only the numbers, separated by spaces."}},
		Prefix: "1 2 3 4 5 6 7", MaxTokens: 6}
	var said []string
	for _, fields := range continuing {
		a, err := d.ask(ctx, r, fields)
		switch {
		case err == nil && strings.HasPrefix(strings.TrimLeft(a.Text, " ,\n"), "8"):
			d.prefix = fields
			return nil
		case err == nil:
			said = append(said, fmt.Sprintf("answered %q", a.Text))
		case refused(err):
			said = append(said, err.Error())
		default:
			return err
		}
	}
	return fmt.Errorf("%w: %s doesn't continue a begun reply (asked to go on after %q it %s); use a mode that needs whole replies (adaptive, best_of_n, race), or a server with prefix continuation (llama.cpp, vLLM)",
		chat.ErrUnable, d.identity, r.Prefix, strings.Join(said, "; then "))
}

func (d *Dialog) probeLogProbs(ctx context.Context) error {
	a, err := d.ask(ctx, chat.Request{Messages: []chat.Message{{Role: chat.User, Content: "Say yes."}}, MaxTokens: 1, TopLogProbs: 5}, nil)
	switch {
	case err == nil && len(a.LogProbs) > 0 && len(a.LogProbs[0].Top) > 0:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s sends no log probabilities", chat.ErrUnable, d.identity)
	case refused(err):
		return fmt.Errorf("%w: %s refuses log probabilities: %w", chat.ErrUnable, d.identity, err)
	}
	return err
}
