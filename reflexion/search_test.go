package reflexion_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/search"
)

func searchConfig(t *testing.T, change ...func(*reflexion.Config)) reflexion.Config {
	return config(t, "muse", append([]func(*reflexion.Config){func(c *reflexion.Config) {
		c.Search = search.Default()
		c.Search.Root, c.Search.Depth, c.Search.Tokens, c.Search.Least = 4, 3, 400, 20
		c.Horizon = 2
	}}, change...)...)
}

func newSearch(t *testing.T, cfg reflexion.Config, m llm.Model, a selfassess.Assessor) reflexion.Agent {
	t.Helper()
	agent, err := reflexion.NewSearch(cfg, m, a)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestSearchTakesTheBestCommand(t *testing.T) {
	m := places("bed 1", "drawer 1", "desk 1", "shelf 1")
	msa := &mugs{}
	a := newSearch(t, searchConfig(t), m, msa)
	c := begin(t, a, 1)
	action, tr := act(t, a, c)
	if action != "go to desk 1" || tr.Choice.Reason != reflexion.ReasonSearch || tr.Candidates[tr.Choice.Index].Pairs[0].Action != action {
		t.Fatalf("took %q: %+v", action, tr.Choice)
	}
	s := tr.Search
	if s == nil || s.Arms[0].Action != action || s.Tokens > 400 || s.Deepest < 2 || s.Visits <= len(tr.Candidates) {
		t.Fatalf("%+v", s)
	}
	// What the transcript holds is real: the forks that imagined are gone.
	if got := c.Session.Text(); strings.Contains(got, "desk 1, you see a mug") {
		t.Errorf("an imagined observation is in the transcript: %q", got)
	}
	// Deeper futures are assessed with the imagined pairs as history.
	deep := 0
	for _, in := range msa.asked {
		if len(in.History) > 0 {
			deep++
			if !strings.HasPrefix(in.History[0].Action, "go to ") || len(in.Pairs) == 0 {
				t.Errorf("%+v", in)
			}
		}
	}
	if deep == 0 || deep != s.Visits-len(tr.Candidates) {
		t.Errorf("%d futures with history, %d visits, %d of the root", deep, s.Visits, len(tr.Candidates))
	}
	for _, p := range m.Asked() {
		if p.Request.Until == llm.UntilPairs && p.Request.MaxTokens > 400 {
			t.Errorf("a future may take %d tokens", p.Request.MaxTokens)
		}
	}
	if tr.Usage.CompletionTokens > s.Tokens {
		t.Errorf("generated %d, counted %d", tr.Usage.CompletionTokens, s.Tokens)
	}
	b, err := json.Marshal(tr)
	if err != nil || !strings.Contains(string(b), `"search":{"arms":[{"action":"go to desk 1"`) {
		t.Errorf("%s %v", b, err)
	}
}

// With a budget for the root alone a search draws what best rollout draws.
func TestSearchOfDepthOneDrawsBestRolloutsFutures(t *testing.T) {
	cfg := searchConfig(t, func(c *reflexion.Config) {
		c.Rollouts, c.Search.Root, c.Search.Depth, c.Search.Tokens, c.Search.Visits = 4, 4, 1, 100_000, 4
	})
	m := scripted.Toy()
	s := newSearch(t, cfg, m, &mugs{})
	b := newAgent(t, cfg, m, &mugs{}, selfregulate.Best)
	cs, cb := begin(t, s, 9), begin(t, b, 9)
	_, ts := act(t, s, cs)
	_, tb := act(t, b, cb)
	if !reflect.DeepEqual(ts.Candidates, tb.Candidates) || len(ts.Candidates) != 4 {
		t.Errorf("search %+v\nbest %+v", ts.Candidates, tb.Candidates)
	}
}

func TestSearchIsAFunctionOfTheSeed(t *testing.T) {
	play := func(seed uint64, drop bool) string {
		a := newSearch(t, searchConfig(t), scripted.Toy(), &mugs{})
		c := begin(t, a, seed)
		var out []string
		for range 4 {
			if drop { // as after a resume: the prefix is built again
				c.Session = nil
			}
			action, tr := act(t, a, c)
			b, _ := json.Marshal(tr)
			out = append(out, action, string(b))
			if err := a.Observe(ctx, c, action, tr, "Nothing happens."); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(c); err != nil {
			t.Fatal(err)
		}
		return strings.Join(out, "\n")
	}
	a, b, c := play(3, false), play(3, true), play(4, false)
	if strip(a) != strip(b) || a == c {
		t.Errorf("%s\n\n%s", a, b)
	}
}

// strip takes the accounts away: a prefix that is built again is read again.
func strip(s string) string {
	for {
		i := strings.Index(s, `"usage":{`)
		if i < 0 {
			return s
		}
		s = s[:i] + s[i+strings.Index(s[i:], "}")+1:]
	}
}

func TestSearchWithoutACommandSamplesPlainly(t *testing.T) {
	n := 0
	m := scripted.New("mute", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " a plan", nil
		}
		if p.Request.Until == llm.UntilPairs {
			return "\nthink: what now?", nil
		}
		n++
		return "\n> inventory", nil
	})
	a := newSearch(t, searchConfig(t), m, &mugs{})
	action, tr := act(t, a, begin(t, a, 1))
	if action != "inventory" || n != 1 || tr.Choice.Reason != selfregulate.ReasonNoneValid {
		t.Errorf("%q after %d samples: %+v", action, n, tr.Choice)
	}
}

func TestSearchInAFullContext(t *testing.T) {
	long := strings.Repeat("far ", 40)
	m := scripted.New("long", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " a plan", nil
		}
		return fmt.Sprintf("\n> go to desk %d\nOn the desk, you see %sthings.", p.Index+1, long), nil
	}, scripted.WithContext(130))
	a := newSearch(t, searchConfig(t, func(c *reflexion.Config) { c.Search.Depth, c.Search.Tokens, c.Search.Visits = 6, 5000, 40 }), m, &mugs{})
	action, tr := act(t, a, begin(t, a, 1))
	if !strings.HasPrefix(action, "go to desk") || tr.Search.Visits < 4 || tr.Search.Deepest > 3 {
		t.Errorf("%q: %+v", action, tr.Search)
	}
}

func TestSearchReportsFailures(t *testing.T) {
	if _, err := reflexion.NewSearch(config(t, "muse"), scripted.Toy(), &mugs{}); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("settings of nothing: %v", err)
	}
	if _, err := reflexion.NewSearch(searchConfig(t), scripted.Toy(), nil); err == nil || !strings.Contains(err.Error(), "assessor") {
		t.Errorf("no assessor: %v", err)
	}
	broken := errors.New("the wire was cut")
	n := 0
	m := scripted.New("broken", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilPairs {
			if n++; n > 5 {
				return "", broken
			}
		}
		return "\n> look\nA room.\n> look\nA room.", nil
	})
	a := newSearch(t, searchConfig(t), m, &mugs{})
	if _, _, err := a.Act(ctx, begin(t, a, 1)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "command 1") {
		t.Errorf("got %v", err)
	}
	bad := newSearch(t, searchConfig(t), scripted.Toy(), &mugs{p: func(selfassess.Input) float64 { return 2 }})
	if _, _, err := bad.Act(ctx, begin(t, bad, 1)); !errors.Is(err, search.ErrValue) {
		t.Errorf("got %v", err)
	}
}
