package reflexion_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// stuck is a model that reads its own failures: with one in the text it only knows
// how to repeat it, without it goes to the desk. It keeps temperatures.
func stuck(heat *[]float64) *scripted.Model {
	return scripted.New("stuck", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " look everywhere.", nil
		}
		*heat = append(*heat, p.Request.Temperature)
		if strings.Contains(p.Prefix, llm.NothingHappens) || !strings.Contains(p.Prefix, "pen 1") {
			return "\n> take mug 1 from bed 1\nYou pick up the mug 1 from the bed 1.", nil
		}
		return "\n> go to desk 1\nOn the desk 1, you see a mug 1.", nil
	})
}

// hopeful says that everything will do, except what the pairs say fails.
func hopeful() *mugs {
	return &mugs{p: func(in selfassess.Input) float64 {
		if len(in.Pairs) == 0 || in.Pairs[0].Observation == llm.NothingHappens {
			return .01
		}
		return .6
	}}
}

func second(c *reflexion.Config) {
	c.Rethink, c.Doubt, c.Forget, c.Foresee = 2, .1, reflexion.ForgetDoubt, true
}

// atBed has played two commands, the second in vain.
func atBed(t *testing.T, a reflexion.Agent) *reflexion.Carry {
	t.Helper()
	c := begin(t, a, 1)
	for _, p := range seen("go to bed 1", "On the bed 1, you see a pen 1.", "take mug 1 from bed 1", llm.NothingHappens) {
		if err := a.Observe(ctx, c, p.Action, reflexion.Trace{}, p.Observation); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestSecondThoughtsForgetFailures(t *testing.T) {
	var heat []float64
	m := stuck(&heat)
	for _, x := range []struct {
		name   string
		change func(*reflexion.Config)
		want   string
		n      int
	}{
		{"never", func(*reflexion.Config) {}, "take mug 1 from bed 1", 5},
		{"in doubt", second, "go to desk 1", 10},
		{"in doubt, not forgetting", func(c *reflexion.Config) { second(c); c.Forget = reflexion.ForgetNever }, "take mug 1 from bed 1", 15},
		{"always", func(c *reflexion.Config) { c.Forget = reflexion.ForgetAlways }, "go to desk 1", 5},
	} {
		heat = nil
		a := newAgent(t, config(t, "muse", x.change), m, hopeful(), selfregulate.Best)
		c := atBed(t, a)
		action, tr := act(t, a, c)
		if action != x.want || len(tr.Candidates) != x.n {
			t.Errorf("%s: %q of %d futures, want %q of %d", x.name, action, len(tr.Candidates), x.want, x.n)
		}
		for i, k := range tr.Candidates {
			if k.Round != i/5 {
				t.Errorf("%s: future %d is of round %d", x.name, i, k.Round)
			}
		}
		if !slices.IsSorted(heat) || len(heat) > 5 && heat[5] <= heat[0] {
			t.Errorf("%s: temperatures %v, want warmer second thoughts", x.name, heat)
		}
		if err := a.Close(c); err != nil || c.Lucid != nil || c.Session != nil {
			t.Errorf("%s: closing left %v %v, %v", x.name, c.Session, c.Lucid, err)
		}
	}
}

// A carry whose sessions are lost goes on in the same way.
func TestSecondThoughtsGoOn(t *testing.T) {
	var heat []float64
	var got [2]string
	for i := range got {
		a := newAgent(t, config(t, "muse", second), stuck(&heat), hopeful(), selfregulate.Best)
		c := atBed(t, a)
		for range 3 {
			action, tr := act(t, a, c)
			if err := a.Observe(ctx, c, action, tr, llm.NothingHappens); err != nil {
				t.Fatal(err)
			}
			got[i] += fmt.Sprintf("%s %d %v\n", action, len(tr.Candidates), tr.Choice)
			if i == 1 {
				if err := a.Close(c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if got[0] != got[1] {
		t.Errorf("with sessions\n%swithout\n%s", got[0], got[1])
	}
}

// A future with a P above the threshold is taken at once, a doubtful one is not, and
// an agent without assessments doubts only what has failed already.
func TestDoubt(t *testing.T) {
	var heat []float64
	p := .5
	as := &mugs{p: func(selfassess.Input) float64 { return p }}
	for _, x := range []struct {
		p float64
		s selfregulate.Selector
		n int
	}{{.5, selfregulate.Best, 5}, {.05, selfregulate.Best, 15}, {.05, selfregulate.Lowest, 15}, {.05, selfregulate.Random, 5}} {
		p = x.p
		a := newAgent(t, config(t, "muse", second), stuck(&heat), as, x.s)
		if _, tr := act(t, a, begin(t, a, 1)); len(tr.Candidates) != x.n {
			t.Errorf("P %.2f, %s: %d futures, want %d", x.p, x.s.Name(), len(tr.Candidates), x.n)
		}
	}
}

func TestDoubtSettings(t *testing.T) {
	for _, bad := range []func(*reflexion.Config){
		func(c *reflexion.Config) { c.Rethink = -1 },
		func(c *reflexion.Config) { c.Doubt = 1.5 },
		func(c *reflexion.Config) { c.Forget = "sometimes" },
	} {
		c := config(t, "muse", bad)
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
