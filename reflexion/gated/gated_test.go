package gated_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/reflexion/gated"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/gate"
)

// calls counts assessed futures; it likes the last one best.
type calls struct{ n int }

func (c *calls) Name() string { return "calls" }
func (c *calls) Assess(_ context.Context, in []selfassess.Input) ([]selfassess.Assessment, error) {
	c.n++
	out := make([]selfassess.Assessment, len(in))
	for i := range out {
		out[i].P = float64(i) / 10
	}
	return out, nil
}

func agents(t testing.TB) (plain, full reflexion.Agent, assessed *calls) {
	t.Helper()
	cfg, err := reflexion.Default("muse")
	if err != nil {
		t.Fatal(err)
	}
	assessed = &calls{}
	if plain, err = reflexion.New(cfg, scripted.Toy(), nil, selfregulate.Off); err != nil {
		t.Fatal(err)
	}
	if full, err = reflexion.New(cfg, scripted.Toy(), assessed, selfregulate.Best); err != nil {
		t.Fatal(err)
	}
	return plain, full, assessed
}

const intro = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a desk 1, and a shelf 1.\n\n" +
	"Your task is to: put a mug in shelf."

// TestSkipsWhereNothingChanges: each step is what the plain agent, or the full one,
// would have sent at this carry; only commands that change the world are assessed.
func TestSkipsWhereNothingChanges(t *testing.T) {
	plain, full, assessed := agents(t)
	a, err := gated.New(plain, full, gate.Steps{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	task, _ := reflexion.ParseIntro(intro)
	c, _, err := a.Begin(ctx, task, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(c)
	for i, answer := range []string{"You arrive at desk 1. On the desk 1, you see a mug 2.", "You pick up the mug 2 from the desk 1.", "You arrive at shelf 1. On the shelf 1, you see nothing.", "You move the mug 2 to the shelf 1."} {
		copied, err := c.Fork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := plain.Act(ctx, copied)
		if err != nil {
			t.Fatal(err)
		}
		before := assessed.n
		action, tr, err := a.Act(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		fired := assessed.n > before
		looks := strings.HasPrefix(p, "go to")
		if fired == looks || looks && action != p {
			t.Errorf("step %d: plain %q, sent %q, assessed %v", i, p, action, fired)
		}
		if events := strings.Join(tr.Events, "; "); strings.Contains(events, gated.EventSkipped) == fired || strings.Contains(events, gated.EventFired) != fired {
			t.Errorf("step %d: events %s", i, events)
		}
		if fired && len(tr.Candidates) != 5 || !fired && len(tr.Candidates) != 1 {
			t.Errorf("step %d: %d candidates", i, len(tr.Candidates))
		}
		if err := plain.Close(copied); err != nil {
			t.Error(err)
		}
		if err := a.Observe(ctx, c, action, tr, answer); err != nil {
			t.Fatal(err)
		}
	}
	if s, f := a.Counts(); s == 0 || f == 0 || s+f != 4 {
		t.Errorf("%d skipped, %d fired", s, f)
	}
}

func TestTheTwoMustBeOne(t *testing.T) {
	plain, full, _ := agents(t)
	cfg := plain.Config()
	cfg.Horizon++
	other, err := reflexion.New(cfg, scripted.Toy(), nil, selfregulate.Off)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]reflexion.Agent{{other, full}, {nil, full}, {plain, nil}} {
		if _, err := gated.New(pair[0], pair[1], gate.Steps{}); err == nil {
			t.Errorf("%v was taken", pair)
		}
	}
}

func Example() {
	cfg, _ := reflexion.Default("muse")
	plain, _ := reflexion.New(cfg, scripted.Toy(), nil, selfregulate.Off)
	full, _ := reflexion.New(cfg, scripted.Toy(), &calls{}, selfregulate.Best)
	a, err := gated.New(plain, full, gate.Steps{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	task, _ := reflexion.ParseIntro(intro)
	c, _, err := a.Begin(ctx, task, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close(c)
	action, _, err := a.Act(ctx, c)
	skipped, fired := a.Counts()
	fmt.Println(action, err)
	fmt.Println(skipped, "skipped,", fired, "fired")
	// Output:
	// go to shelf 1 <nil>
	// 1 skipped, 0 fired
}
