package planned_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/reflexion/planned"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// planner writes "plan K" with a K of its own for each seed, and a future that names it.
func planner() *scripted.Model {
	return scripted.New("planner", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			if p.Request.Temperature == 0 {
				return " plan 0", nil
			}
			return fmt.Sprint(" plan ", 1+p.Rand.IntN(8)), nil
		}
		_, plan, _ := strings.Cut(p.Prefix, "plan: ")
		return "\n> go to desk 1\nFollowing " + plan + ".", nil
	})
}

// likes is a success predictor with a favourite plan; -1 = none.
type likes int

func (likes) Name() string { return "likes" }
func (l likes) Assess(_ context.Context, in []selfassess.Input) ([]selfassess.Assessment, error) {
	out := make([]selfassess.Assessment, len(in))
	for i, x := range in {
		out[i].P = .2
		if x.Plan == fmt.Sprint("plan ", int(l)) && len(x.Pairs) == 1 && strings.Contains(x.Pairs[0].Observation, x.Plan) {
			out[i].P = .97
		}
	}
	return out, nil
}

func agent(t testing.TB, l likes) *planned.Agent {
	t.Helper()
	cfg, err := reflexion.Default("muse")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Plan = false
	inner, err := reflexion.New(cfg, planner(), nil, selfregulate.Off)
	if err != nil {
		t.Fatal(err)
	}
	a, err := planned.New(inner, planner(), l, deliberate.Default())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPlans(t *testing.T) {
	task, _ := reflexion.ParseIntro("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a desk 1.\n\nYour task is to: put a mug in shelf.")
	// The greedy plan convinces: one path.
	a := agent(t, 0)
	c, u, err := a.Begin(t.Context(), task, nil, 1)
	if err != nil || c.Plan != "plan 0" || !strings.HasSuffix(c.Session.Text(), "plan: plan 0") || u.CompletionTokens == 0 {
		t.Fatalf("%+v %v", c, err)
	}
	if n, tokens := a.Spent(); n != 1 || tokens == 0 {
		t.Errorf("%d plans, %d tokens", n, tokens)
	}
	if action, _, err := a.Act(t.Context(), c); err != nil || action != "go to desk 1" {
		t.Errorf("%q %v", action, err)
	}
	_ = a.Close(c)
	// It doesn't: the best of several is taken, the same for the same seed.
	for l := likes(1); l <= 8; l++ {
		a := agent(t, l)
		var res deliberate.Result
		a.Watch = func(r deliberate.Result) { res = r }
		c, _, err := a.Begin(t.Context(), task, nil, 7)
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, p := range res.Paths {
			there = there || p.Answer == fmt.Sprint("plan ", int(l))
		}
		if len(res.Paths) != 6 || there != (c.Plan == fmt.Sprint("plan ", int(l))) {
			t.Errorf("favourite %d among the plans: %v, chosen %q of %d", l, there, c.Plan, len(res.Paths))
		}
		again, _, err := agent(t, l).Begin(t.Context(), task, nil, 7)
		if err != nil || again.Plan != c.Plan {
			t.Errorf("the same seed gives %q and %q", c.Plan, again.Plan)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	cfg, _ := reflexion.Default("muse")
	writes, err := reflexion.New(cfg, planner(), nil, selfregulate.Off)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planned.New(writes, planner(), likes(0), deliberate.Default()); err == nil || !strings.Contains(err.Error(), "plan to false") {
		t.Errorf("an agent with its own plan: %v", err)
	}
	race := deliberate.Default()
	race.Mode = deliberate.Race
	if _, err := planned.New(agent(t, 0).Agent, planner(), likes(0), race); err == nil || !strings.Contains(err.Error(), "race") {
		t.Errorf("a race of plans: %v", err)
	}
}

func Example() {
	cfg, _ := reflexion.Default("muse")
	cfg.Plan = false
	inner, _ := reflexion.New(cfg, planner(), nil, selfregulate.Off)
	a, err := planned.New(inner, planner(), likes(0), deliberate.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _, err := a.Begin(context.Background(), reflexion.Task{Goal: "put a mug in shelf.", Room: "You are in a room."}, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close(c)
	fmt.Println(c.Plan)
	// Output: plan 0
}
