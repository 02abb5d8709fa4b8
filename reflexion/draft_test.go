package reflexion_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate"
)

// TestDrafts: draft i is the command of future i, at every step, and costs less.
func TestDrafts(t *testing.T) {
	a := newAgent(t, config(t, "muse"), scripted.Toy(), nil, selfregulate.Random).(reflexion.Drafter)
	c, _, err := a.Begin(ctx, task, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(c)
	for range 5 {
		drafts, cost, err := a.Draft(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		action, tr := act(t, a, c)
		if len(drafts) != len(tr.Candidates) || cost.Usage.CompletionTokens >= tr.Usage.CompletionTokens {
			t.Fatalf("%d drafts of %d futures, %d of %d tokens", len(drafts), len(tr.Candidates), cost.Usage.CompletionTokens, tr.Usage.CompletionTokens)
		}
		for i, f := range tr.Candidates {
			if d := drafts[i]; d.Valid != f.Valid || d.Same != f.Same || d.Pairs[0].Action != f.Pairs[0].Action {
				t.Errorf("step %d: draft %d is %+v, the future %+v", len(c.Pairs), i, d, f)
			}
		}
		if err := a.Observe(ctx, c, action, tr, "You see nothing special."); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := a.Draft(gone, c); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}
