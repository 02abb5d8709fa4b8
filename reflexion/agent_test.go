package reflexion_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

var (
	ctx  = context.Background()
	task = reflexion.Task{
		Goal: "put a mug in shelf.",
		Room: "You are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, a drawer 1, and a shelf 1.",
	}
	head = "Your task is to: " + task.Goal + "\n" + task.Room
)

// places is a model whose candidate i goes to place i of a list, sees something
// there and takes it. Only the future at the desk holds a mug.
func places(list ...string) *scripted.Model {
	return scripted.New("places", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " look everywhere.\n> go to bed 1", nil
		}
		r := list[p.Index%len(list)]
		x := "pen 1"
		if r == "desk 1" {
			x = "mug 1"
		}
		return fmt.Sprintf("\nthink: next %s.\n> go to %s\nOn the %s, you see a %s.\n> take %s from %s\nYou pick up the %s from the %s.", r, r, r, x, x, r, x, r), nil
	})
}

// mugs is an assessor that likes futures with a mug and dislikes those with a
// drawer; it keeps what it was asked.
type mugs struct {
	mu    sync.Mutex
	asked []selfassess.Input
	p     func(selfassess.Input) float64
}

func (m *mugs) Name() string { return "mugs" }
func (m *mugs) Assess(_ context.Context, in []selfassess.Input) ([]selfassess.Assessment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, in...)
	out := make([]selfassess.Assessment, len(in))
	for i, x := range in {
		p := .5
		switch text := llm.RenderPairs(x.Pairs); {
		case m.p != nil:
			p = m.p(x)
		case strings.Contains(text, "mug"):
			p = .9
		case strings.Contains(text, "drawer"):
			p = .1
		}
		out[i] = selfassess.Assessment{P: p, Raw: p * p}
	}
	return out, nil
}

func config(t *testing.T, name string, change ...func(*reflexion.Config)) reflexion.Config {
	t.Helper()
	cfg, err := reflexion.Default(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

func newAgent(t *testing.T, cfg reflexion.Config, m llm.Model, a selfassess.Assessor, s selfregulate.Selector) reflexion.Agent {
	t.Helper()
	agent, err := reflexion.New(cfg, m, a, s)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func begin(t *testing.T, a reflexion.Agent, seed uint64, reflections ...string) *reflexion.Carry {
	t.Helper()
	c, _, err := a.Begin(ctx, task, reflections, seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func act(t *testing.T, a reflexion.Agent, c *reflexion.Carry) (string, reflexion.Trace) {
	t.Helper()
	action, tr, err := a.Act(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return action, tr
}

func TestSelectorsEndToEnd(t *testing.T) {
	list := []string{"bed 1", "drawer 1", "desk 1", "bed 1", "drawer 1"}
	for _, want := range []struct {
		s      selfregulate.Selector
		action string
		n      int
	}{{selfregulate.Best, "go to desk 1", 5}, {selfregulate.Lowest, "go to drawer 1", 5}, {selfregulate.Off, "go to bed 1", 1}, {selfregulate.Random, "", 5}} {
		t.Run(want.s.Name(), func(t *testing.T) {
			judge := &mugs{}
			a := newAgent(t, config(t, "muse"), places(list...), judge, want.s)
			c := begin(t, a, 3)
			action, tr := act(t, a, c)
			if want.action != "" && action != want.action {
				t.Errorf("action %q, want %q", action, want.action)
			}
			if tr.Choice.Reason != want.s.Name() || len(tr.Candidates) != want.n {
				t.Errorf("choice %+v of %d candidates, want reason %q of %d", tr.Choice, len(tr.Candidates), want.s.Name(), want.n)
			}
			chosen := tr.Candidates[tr.Choice.Index]
			if action != chosen.Pairs[0].Action || !reflect.DeepEqual(tr.Thoughts, chosen.Pairs[0].Thoughts) {
				t.Errorf("sent %q with %q, but the chosen future begins with %+v", action, tr.Thoughts, chosen.Pairs[0])
			}
			if assessed := chosen.Assessed != nil; assessed != want.s.NeedsAssessment() || (len(judge.asked) > 0) != want.s.NeedsAssessment() {
				t.Errorf("assessed %v, asked %d times", assessed, len(judge.asked))
			}
			if tr.Usage.CompletionTokens == 0 || chosen.Tokens == 0 {
				t.Errorf("no token account: %+v", tr.Usage)
			}
			if err := a.Observe(ctx, c, action, tr, "You arrive at desk 1. On the desk 1, you see a lamp 7."); err != nil {
				t.Fatal(err)
			}
			// The prefix holds the real history, and nothing that was imagined.
			wantText := head + "\nplan: look everywhere." + llm.RenderThought(tr.Thoughts[0]) + "\n> " + action + "\nOn the desk 1, you see a lamp 7."
			if got := c.Session.Text(); got != wantText {
				t.Errorf("prefix\n%q, want\n%q", got, wantText)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	judge := &mugs{}
	a := newAgent(t, config(t, "muse"), places("bed 1", "desk 1", "bed 1"), judge, selfregulate.Best)
	c := begin(t, a, 1)
	_, tr := act(t, a, c)
	same := make([]int, 0, 5)
	for _, k := range tr.Candidates {
		same = append(same, k.Same)
	}
	if !slices.Equal(same, []int{-1, -1, 0, 0, 1}) {
		t.Errorf("same = %v", same)
	}
	if k := tr.Candidates[1]; len(k.Pairs) != 2 || k.Pairs[1].Observation == "" || k.Assessed.P != .9 || k.Assessed.Raw != .81 {
		t.Errorf("candidate 1: %+v", k)
	}
	in := judge.asked[1]
	if in.Task != task.Goal || in.Plan != "look everywhere." || len(in.Pairs) != 2 || len(in.History) != 0 || in.Limit != 50 || in.WinClaim {
		t.Errorf("M_sa was asked %+v", in)
	}
	if tr.Usage.Requested != 5 || tr.Usage.Received != 5 {
		t.Errorf("usage %+v", tr.Usage)
	}
}

func TestWinClaimAndHidden(t *testing.T) {
	m := scripted.New("claims", func(p scripted.Prompt) (string, error) {
		if p.Index == 1 {
			return "\n> look\nYou see it.\n[end: won]", nil
		}
		return "\n> look\nYou see it.\n[end: lost]", nil
	}, scripted.WithHidden(4))
	judge := &mugs{p: func(in selfassess.Input) float64 {
		if in.WinClaim {
			return 1
		}
		return 0
	}}
	a := newAgent(t, config(t, "muse"), m, judge, selfregulate.Best)
	_, tr := act(t, a, begin(t, a, 1))
	if tr.Choice.Index != 1 || tr.Candidates[1].Claim != "won" || tr.Candidates[0].Claim != "lost" {
		t.Errorf("choice %+v", tr.Choice)
	}
	if len(judge.asked[0].Hidden) != 12 || len(tr.Candidates[0].Hidden) != 12 {
		t.Errorf("hidden states are lost: %d, %d", len(judge.asked[0].Hidden), len(tr.Candidates[0].Hidden))
	}
}

// TestOffIsCandidateZero: plain sampling is the first command of candidate 0 at
// the same seed, along a whole episode.
func TestOffIsCandidateZero(t *testing.T) {
	off := newAgent(t, config(t, "muse"), scripted.Toy(), nil, selfregulate.Off)
	shelf := &mugs{p: func(in selfassess.Input) float64 {
		return float64(strings.Count(llm.RenderPairs(in.Pairs), "shelf")) / 40
	}}
	muse := newAgent(t, config(t, "muse"), scripted.Toy(), shelf, selfregulate.Best)
	different := false
	for seed := range uint64(20) {
		c := begin(t, off, seed)
		for range 4 {
			action, tr := act(t, off, c)
			f, err := c.Fork(ctx)
			if err != nil {
				t.Fatal(err)
			}
			best, full := act(t, muse, f)
			if got := full.Candidates[0].Pairs[0]; got.Action != action || !reflect.DeepEqual(got.Thoughts, tr.Thoughts) {
				t.Fatalf("seed %d: off sends %q, candidate 0 begins with %q", seed, action, got.Action)
			}
			different = different || best != action
			if err := off.Observe(ctx, c, action, tr, "On the x 1, you see nothing."); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !different {
		t.Error("best never differed from off: the test shows nothing")
	}
}

func TestInvalidRollouts(t *testing.T) {
	m := scripted.New("claimer", func(p scripted.Prompt) (string, error) {
		switch {
		case p.Request.Until == llm.UntilLine:
			return " p", nil
		case p.Request.ForbidEnd:
			return "\nthink: not yet.\n> open drawer 1\nThe drawer 1 is open.", nil
		case strings.Contains(p.Prefix, "reflection: careful") && p.Index == 3:
			return "\n> go to drawer 1\nNothing happens.", nil
		}
		return "\n[end: won]", nil
	})
	for _, s := range []selfregulate.Selector{selfregulate.Best, selfregulate.Lowest, selfregulate.Random, selfregulate.Off} {
		judge := &mugs{}
		a := newAgent(t, config(t, "muse"), m, judge, s)
		action, tr := act(t, a, begin(t, a, 1))
		if action != "open drawer 1" || !slices.Equal(tr.Thoughts, []string{"not yet."}) {
			t.Errorf("%s: %q %q", s.Name(), action, tr.Thoughts)
		}
		if s.NeedsRollouts() && (tr.Choice.Reason != selfregulate.ReasonNoneValid || tr.Choice.Index != 0 ||
			!slices.Contains(tr.Events, selfregulate.EventNoneValid)) {
			t.Errorf("%s: choice %+v, events %q", s.Name(), tr.Choice, tr.Events)
		}
		if s.NeedsAssessment() && len(judge.asked) != 5 {
			t.Errorf("%s: %d futures assessed; invalid ones count", s.Name(), len(judge.asked))
		}
		// One valid future is chosen whatever it is worth.
		if s.NeedsRollouts() {
			action, tr = act(t, a, begin(t, a, 1, "careful"))
			if action != "go to drawer 1" || tr.Choice.Index != 3 || len(tr.Events) != 0 {
				t.Errorf("%s: %q %+v %q", s.Name(), action, tr.Choice, tr.Events)
			}
		}
	}
}

func TestNoCommandAtAll(t *testing.T) {
	m := scripted.New("mute", func(scripted.Prompt) (string, error) { return "\nthink: hm.", nil })
	for _, s := range []selfregulate.Selector{selfregulate.Off, selfregulate.Random} {
		a := newAgent(t, config(t, "muse"), m, nil, s)
		action, tr := act(t, a, begin(t, a, 1))
		if action != "look" || len(tr.Events) == 0 || tr.Choice.Reason != selfregulate.ReasonNoneValid {
			t.Errorf("%s: %q %+v %q", s.Name(), action, tr.Choice, tr.Events)
		}
	}
}

func TestResumeFromCarry(t *testing.T) {
	a := newAgent(t, config(t, "muse"), scripted.Toy(), &mugs{}, selfregulate.Random)
	c := begin(t, a, 9, "the mug is not in bed 1.")
	for i := range 5 {
		// A copy without session, as read back from a record.
		r := &reflexion.Carry{Task: c.Task, Reflections: c.Reflections, Plan: c.Plan, Pairs: slices.Clone(c.Pairs), From: c.From, Seed: c.Seed}
		action, tr := act(t, a, c)
		again, tr2 := act(t, a, r)
		if again != action || r.Session.Text() != c.Session.Text() || !reflect.DeepEqual(tr.Choice, tr2.Choice) {
			t.Fatalf("step %d: %q, resumed %q", i, action, again)
		}
		if err := a.Observe(ctx, c, action, tr, "On the desk 1, you see nothing."); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(r); err != nil || r.Session != nil {
			t.Error("Close keeps the session", err)
		}
	}
}

func TestForkIsIndependent(t *testing.T) {
	a := newAgent(t, config(t, "reflexion"), places("bed 1"), nil, selfregulate.Off)
	c := begin(t, a, 1)
	action, tr := act(t, a, c)
	f, err := c.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Observe(ctx, f, action, tr, "in the fork"); err != nil {
		t.Fatal(err)
	}
	if len(c.Pairs) != 0 || strings.Contains(c.Session.Text(), "fork") || len(f.Pairs) != 1 {
		t.Errorf("the original changed: %d pairs, %q", len(c.Pairs), c.Session.Text())
	}
}

func TestReflections(t *testing.T) {
	given := []string{"one", "two", "three", "four"}
	for name, want := range map[string]string{
		"react":     head + "\nplan: look everywhere.",
		"reflexion": head + "\nreflection: two\nreflection: three\nreflection: four\nplan: look everywhere.",
	} {
		m := places("bed 1")
		a := newAgent(t, config(t, name), m, nil, selfregulate.Off)
		c := begin(t, a, 1, given...)
		if got := c.Session.Text(); got != want {
			t.Errorf("%s: prompt %q, want %q", name, got, want)
		}
		action, tr := act(t, a, c)
		if err := a.Observe(ctx, c, action, tr, llm.NothingHappens); err != nil {
			t.Fatal(err)
		}
		before := c.Session.Text()
		text, use, err := a.Reflect(ctx, c)
		if err != nil || text != "look everywhere." || use.CompletionTokens == 0 {
			t.Errorf("%s: reflection %q, %+v, %v", name, text, use, err)
		}
		if c.Session.Text() != before {
			t.Error("Reflect changed the episode's prefix")
		}
		asked := m.Asked()
		if last := asked[len(asked)-1]; last.Prefix != before+"\n[end: lost]\nreflection:" || last.Request.Temperature != .5 || last.Request.Until != llm.UntilLine {
			t.Errorf("%s: asked %q, %+v", name, last.Prefix, last.Request)
		}
	}
	m := places("bed 1")
	a := newAgent(t, config(t, "reflexion", func(c *reflexion.Config) { c.GreedyReflection = true; c.Plan = false }), m, nil, selfregulate.Off)
	c := begin(t, a, 1)
	if c.Session.Text() != head {
		t.Errorf("without a plan: %q", c.Session.Text())
	}
	if _, _, err := a.Reflect(ctx, c); err != nil {
		t.Fatal(err)
	}
	if asked := m.Asked(); len(asked) != 1 || asked[0].Request.Temperature != 0 {
		t.Errorf("asked %+v", asked)
	}
}

func TestCancelled(t *testing.T) {
	a := newAgent(t, config(t, "muse"), scripted.Toy(), &mugs{}, selfregulate.Best)
	c := begin(t, a, 1)
	action, tr := act(t, a, c)
	dead, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := a.Act(dead, c); !errors.Is(err, context.Canceled) {
		t.Errorf("Act: %v", err)
	}
	if err := a.Observe(dead, c, action, tr, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Observe: %v", err)
	}
	if _, _, err := a.Begin(dead, task, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: %v", err)
	}
	if _, _, err := a.Reflect(dead, c); !errors.Is(err, context.Canceled) {
		t.Errorf("Reflect: %v", err)
	}
	// The episode stands where it stood.
	if len(c.Pairs) != 0 {
		t.Errorf("%d pairs after a cancelled Observe", len(c.Pairs))
	}
	if err := a.Observe(ctx, c, action, tr, "On the bed 1, you see nothing."); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(c.Session.Text(), "\n> "); got != 1 {
		t.Errorf("%d commands in the prefix: %q", got, c.Session.Text())
	}
}

func TestContextOverflow(t *testing.T) {
	m := scripted.New("small", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " p", nil
		}
		return fmt.Sprintf("\n> go to bed %d\nx", p.Rand.IntN(9)), nil
	}, scripted.WithContext(120))
	a := newAgent(t, config(t, "reflexion"), m, nil, selfregulate.Off)
	muse := newAgent(t, config(t, "muse"), m, &mugs{}, selfregulate.Best)
	c := begin(t, a, 1, "the mug is red.")
	trimmed := false
	for i := range 30 {
		f, err := c.Fork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		action, tr := act(t, a, c)
		_, full := act(t, muse, f)
		if full.Candidates[0].Pairs[0].Action != action || f.Session.Text() != c.Session.Text() || !slices.Equal(full.Events, tr.Events) {
			t.Fatalf("step %d: off and muse trim differently: %q, %q", i, tr.Events, full.Events)
		}
		trimmed = trimmed || slices.Contains(tr.Events, "history trimmed")
		if err := a.Observe(ctx, c, action, tr, fmt.Sprintf("answer number %d of a long row.", i)); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if _, _, err := a.Reflect(ctx, c); err != nil {
		t.Fatal(err)
	}
	text := c.Session.Text()
	if !trimmed || c.From == 0 || len(c.Pairs) != 30 {
		t.Errorf("trimmed %v, from %d, %d pairs", trimmed, c.From, len(c.Pairs))
	}
	for _, part := range []string{head, "\nreflection: the mug is red.", "\nplan: p", "answer number 29 "} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is lost from %q", part, text)
		}
	}
	if strings.Contains(text, "number 0 ") {
		t.Error("the oldest pair is still there")
	}
	// What can't fit at all is an error that says so, not an endless loop.
	tiny := scripted.New("tiny", func(scripted.Prompt) (string, error) { return " p", nil }, scripted.WithContext(10))
	b := newAgent(t, config(t, "reflexion"), tiny, nil, selfregulate.Off)
	if _, _, err := b.Begin(ctx, task, nil, 1); !errors.Is(err, llm.ErrContext) {
		t.Errorf("Begin in 10 tokens: %v", err)
	}
}

func TestBrokenAssessor(t *testing.T) {
	a := newAgent(t, config(t, "muse"), places("bed 1"), &mugs{p: func(selfassess.Input) float64 { return math.NaN() }}, selfregulate.Best)
	if _, _, err := a.Act(ctx, begin(t, a, 1)); !errors.Is(err, selfregulate.ErrAssessment) {
		t.Errorf("NaN: %v", err)
	}
}

func TestDialect(t *testing.T) {
	m := scripted.New("puts", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " p", nil
		}
		return "\n> move mug 1 to shelf 1\nYou move the mug 1 to the shelf 1.", nil
	})
	a := newAgent(t, config(t, "react", func(c *reflexion.Config) { c.Dialect = reflexion.DialectPut }), m, nil, selfregulate.Off)
	c := begin(t, a, 1)
	action, tr := act(t, a, c)
	if action != "put mug 1 in/on shelf 1" {
		t.Errorf("sent %q", action)
	}
	if err := a.Observe(ctx, c, action, tr, "You put the mug 1 in/on the shelf 1."); err != nil {
		t.Fatal(err)
	}
	want := []llm.Pair{{Action: "move mug 1 to shelf 1", Observation: "You move the mug 1 to the shelf 1."}}
	if !reflect.DeepEqual(c.Pairs, want) {
		t.Errorf("the model sees %+v", c.Pairs)
	}
}

// noRecall is a model whose backend ignores Request.Recall.
type noRecall struct{ llm.Model }

func (m noRecall) Info() llm.Info { i := m.Model.Info(); i.Caps.Recall = false; return i }
func (m noRecall) Open(ctx context.Context, prompt string) (llm.Session, error) {
	s, err := m.Model.Open(ctx, prompt)
	return noRecallSession{s}, err
}

type noRecallSession struct{ llm.Session }

func (s noRecallSession) Sample(ctx context.Context, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	r.Recall = nil
	return s.Session.Sample(ctx, r)
}

func TestRecall(t *testing.T) {
	for _, m := range []llm.Model{places("desk 1"), noRecall{places("desk 1")}} {
		for _, recall := range []bool{true, false} {
			a := newAgent(t, config(t, "muse", func(c *reflexion.Config) { c.Recall = recall }), m, &mugs{}, selfregulate.Best)
			c := begin(t, a, 1)
			for _, p := range []llm.Pair{{Action: "go to desk 1", Observation: "On the desk 1, you see a cd 1."}, {Action: "go to bed 1", Observation: "On the bed 1, you see nothing."}} {
				if err := a.Observe(ctx, c, p.Action, reflexion.Trace{}, p.Observation); err != nil {
					t.Fatal(err)
				}
			}
			_, tr := act(t, a, c)
			want := "On the desk 1, you see a mug 1."
			if recall {
				want = "On the desk 1, you see a cd 1."
			}
			if got := tr.Candidates[0].Pairs[0].Observation; got != want {
				t.Errorf("recall %v, backend's %v: imagined %q, want %q", recall, m.Info().Caps.Recall, got, want)
			}
		}
	}
}

func TestConcurrentCarries(t *testing.T) {
	a := newAgent(t, config(t, "muse"), scripted.Toy(), &mugs{}, selfregulate.Random)
	play := func(seed uint64) string {
		c, _, err := a.Begin(ctx, task, nil, seed)
		if err != nil {
			return err.Error()
		}
		for range 4 {
			action, tr, err := a.Act(ctx, c)
			if err == nil {
				err = a.Observe(ctx, c, action, tr, "On the desk 1, you see nothing.")
			}
			if err != nil {
				return err.Error()
			}
		}
		return c.Session.Text()
	}
	got := make([]string, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = play(uint64(i)) })
	}
	wg.Wait()
	for i := range got {
		if want := play(uint64(i)); got[i] != want {
			t.Errorf("seed %d: %q alone, %q beside others", i, want, got[i])
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good, m := config(t, "muse"), places("bed 1")
	for what, try := range map[string]func() (reflexion.Agent, error){
		"no model":    func() (reflexion.Agent, error) { return reflexion.New(good, nil, nil, selfregulate.Off) },
		"no selector": func() (reflexion.Agent, error) { return reflexion.New(good, m, nil, nil) },
		"no assessor": func() (reflexion.Agent, error) { return reflexion.New(good, m, nil, selfregulate.Best) },
		"rollouts":    func() (reflexion.Agent, error) { return reflexion.New(reflexion.Config{}, m, nil, selfregulate.Off) },
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(what, "no ")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What reads hidden states acts for the model whose states it learnt from only.
func TestAssessorOfAnotherActor(t *testing.T) {
	m := places("bed 1")
	tied := tiedTo{&mugs{}, m.Info().Hash}
	if _, err := reflexion.New(config(t, "muse"), m, tied, selfregulate.Best); err != nil {
		t.Errorf("its own actor: %v", err)
	}
	tied.hash = "another"
	if _, err := reflexion.New(config(t, "muse"), m, tied, selfregulate.Best); !errors.Is(err, selfassess.ErrActor) {
		t.Errorf("another actor: %v", err)
	}
	if _, err := reflexion.New(config(t, "muse"), m, tied, selfregulate.Off); err != nil {
		t.Errorf("nobody asks it: %v", err)
	}
}

type tiedTo struct {
	*mugs
	hash string
}

func (t tiedTo) CheckActor(a selfassess.Actor) error {
	if a.Hash != t.hash {
		return selfassess.ErrActor
	}
	return nil
}
