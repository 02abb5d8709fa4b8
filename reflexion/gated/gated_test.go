package gated_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
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

// scene is a model at a desk: its drafts are the commands given, each with a future.
func scene(drafts ...string) *scripted.Model {
	return scripted.New("scene", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " look around", nil
		}
		return fmt.Sprintf("\nthink: draft %d.\n> %s\nSomething.", p.Index, drafts[p.Index%len(drafts)]), nil
	})
}

// TestStakes: what is skipped costs the drafts and no assessment; what fires is the
// full agent's step.
func TestStakes(t *testing.T) {
	ctx := t.Context()
	task, _ := reflexion.ParseIntro(intro)
	for _, c := range []struct {
		name    string
		drafts  []string
		failed  []string
		skipped bool
		want    string
	}{
		{"agree", []string{"take mug 1 from desk 1"}, nil, true, "take mug 1 from desk 1"},
		{"differ", []string{"go to shelf 1", "go to desk 1"}, nil, false, "go to shelf 1"}, // the last of five, index 4
		{"dead", []string{"open desk 1", "take mug 1 from desk 1"}, []string{"open desk 1", "take mug 1 from desk 1"}, true, "open desk 1"},
		{"one lives", []string{"open desk 1", "go to shelf 1"}, []string{"open desk 1"}, false, "open desk 1"},
	} {
		cfg, err := reflexion.Default("muse")
		if err != nil {
			t.Fatal(err)
		}
		assessed := &calls{}
		full, err := reflexion.New(cfg, scene(c.drafts...), assessed, selfregulate.Best)
		if err != nil {
			t.Fatal(err)
		}
		a, err := gated.NewStakes(full.(reflexion.Drafter), gate.Stakes{})
		if err != nil {
			t.Fatal(err)
		}
		carry, _, err := a.Begin(ctx, task, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range c.failed {
			if err := a.Observe(ctx, carry, command, reflexion.Trace{}, llm.NothingHappens); err != nil {
				t.Fatal(err)
			}
		}
		action, tr, err := a.Act(ctx, carry)
		if err != nil || action != c.want || (assessed.n == 0) != c.skipped {
			t.Errorf("%s: %q, %d assessments, %v", c.name, action, assessed.n, err)
		}
		if c.skipped && (tr.Choice.Reason != gated.ReasonGate || len(tr.Candidates) != 5 || len(tr.Thoughts) != 1 || tr.Usage.Calls != 1) {
			t.Errorf("%s: skipped with %+v", c.name, tr)
		}
		if !c.skipped && (tr.Choice.Reason != selfregulate.ReasonBest || tr.Usage.Calls != 2 || !strings.Contains(strings.Join(tr.Events, ";"), gated.EventFired)) {
			t.Errorf("%s: fired with %+v", c.name, tr)
		}
		if err := a.Close(carry); err != nil {
			t.Error(err)
		}
	}
	if _, err := gated.NewStakes(nil, gate.Stakes{}); err == nil {
		t.Error("no agent was taken")
	}
}

func TestFirst(t *testing.T) {
	plain, full, assessed := agents(t)
	a, err := gated.First(plain, full, 2)
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
	for range 4 {
		action, tr, err := a.Act(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Observe(ctx, c, action, tr, "You see nothing."); err != nil {
			t.Fatal(err)
		}
	}
	if s, f := a.Counts(); s != 2 || f != 2 || assessed.n != 2 {
		t.Errorf("%d skipped, %d fired, %d assessed", s, f, assessed.n)
	}
	if _, err := gated.First(nil, full, 2); err == nil {
		t.Error("no plain agent was taken")
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
