package deliberate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// says makes a thinker of texts by the order of their seeds: greedy first.
func says(t *testing.T, f func(r chat.Request) string) chat.Func {
	return chat.Func{Name: "thinker", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		return chat.Reply{Text: f(r)}, nil
	}}
}

// rates makes a judge of a function of the candidate.
func rates(f func(c deliberate.Candidate) float64) deliberate.Judge {
	return deliberate.JudgeFunc(func(_ context.Context, _ string, cs []deliberate.Candidate) (deliberate.Verdict, error) {
		var v deliberate.Verdict
		for _, c := range cs {
			v.Scores = append(v.Scores, f(c))
		}
		return v, nil
	})
}

func origins(r deliberate.Result) string {
	var s []string
	for _, p := range r.Paths {
		s = append(s, string(p.Origin))
	}
	return strings.Join(s, " ")
}

var q = deliberate.Problem{Text: "What is 2+2?"}

// TestAdaptiveSpends: round(2 + u·4) extra paths, over all levels of doubt.
func TestAdaptiveSpends(t *testing.T) {
	for i := range 101 {
		s := float64(i) / 100
		th := says(t, func(r chat.Request) string { return fmt.Sprintf("way %d\nFinal answer: 4", r.Seed) })
		first := true
		j := rates(func(c deliberate.Candidate) float64 {
			if first {
				first = false
				return s
			}
			return .1
		})
		res, err := deliberate.Run(t.Context(), th, j, q, deliberate.Default())
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + int(math.Round(2+(1-s)*4))
		if s >= .95 {
			want = 1
		}
		if len(res.Paths) != want {
			t.Errorf("score %.2f: %d paths, want %d", s, len(res.Paths), want)
		}
		if (res.Chosen == 0) != (s >= .1) || res.Answer != "4" {
			t.Errorf("score %.2f: path %d chosen: %s", s, res.Chosen, res.Reason)
		}
	}
}

func TestOptions(t *testing.T) {
	good := func(c deliberate.Candidate) float64 {
		if strings.Contains(c.Text, "good") {
			return .9
		}
		return .3
	}
	def := func(f func(*deliberate.Config)) deliberate.Config {
		c := deliberate.Default()
		c.MinPaths, c.MaxPaths = 2, 2
		f(&c)
		return c
	}
	plain := func(r chat.Request) string { return fmt.Sprintf("way %d\nFinal answer: 4", r.Seed) }
	for _, c := range []struct {
		name    string
		cfg     deliberate.Config
		think   func(chat.Request) string
		judge   deliberate.Judge
		origins string
		answer  string
	}{
		{"triage of a hard problem", def(func(c *deliberate.Config) { c.Triage = true }), plain,
			rates(func(deliberate.Candidate) float64 { return .2 }), "sample sample", "4"},
		{"triage of an easy problem", def(func(c *deliberate.Config) { c.Triage = true }), plain,
			rates(func(deliberate.Candidate) float64 { return .97 }), "greedy", "4"},
		{"sketches", def(func(c *deliberate.Config) { c.SketchTokens = 30; c.MinPaths, c.MaxPaths = 4, 4 }), func(r chat.Request) string {
			if r.MaxTokens == 30 {
				return fmt.Sprintf("outline good %d", r.Seed)
			}
			return plain(r)
		}, rates(good), "greedy sketch sketch sketch sketch expanded expanded", "4"},
		{"rounds", def(func(c *deliberate.Config) { c.MaxRounds = 3 }), plain, rates(good), "greedy sample sample branch branch branch branch", "4"},
		{"split", def(func(c *deliberate.Config) { c.Split = true }), func(r chat.Request) string {
			if r.Temperature == 0 {
				return "Final answer: 5"
			}
			return "Let x be it.\nApproach 1: add.\nFinal answer: 7\nApproach 2: good.\nFinal answer: 4"
		}, rates(good), "greedy sample sample split split split split", "4"},
		{"verified", def(func(c *deliberate.Config) { c.VerifyFinished = true; c.StopConfidence = .2 }), plain, rates(good), "greedy", "4"},
		{"unfinished paths can't win", def(func(c *deliberate.Config) { c.MaxTokens = 20 }), func(r chat.Request) string {
			if r.Temperature == 0 {
				return "good " + strings.Repeat("and so on ", 10)
			}
			return "Final answer: 4"
		}, rates(good), "greedy sample sample", "4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := deliberate.Run(t.Context(), says(t, c.think), c.judge, q, c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if origins(res) != c.origins || res.Answer != c.answer || !res.Finished {
				t.Errorf("paths %s, answer %q: %s", origins(res), res.Answer, res.Reason)
			}
			if c.cfg.VerifyFinished != (res.Verify != nil) {
				t.Errorf("verify: %+v", res.Verify)
			}
			for _, p := range res.Paths {
				if p.Origin == deliberate.OriginSplit && !strings.HasPrefix(p.Text, "Let x be it.") {
					t.Errorf("a part without the shared preamble: %q", p.Text)
				}
				if p.Parent >= p.ID {
					t.Errorf("path %d has parent %d", p.ID, p.Parent)
				}
			}
			if last := res.Events[len(res.Events)-1]; last.Kind != deliberate.EventChosen && res.Verify == nil {
				t.Errorf("last event %+v", last)
			}
		})
	}
}

func TestHintsEscalationAndSeeds(t *testing.T) {
	var asked []chat.Request
	th := chat.Func{Name: "thinker", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		return chat.Reply{Text: fmt.Sprintf("%d\nFinal answer: %s", r.Seed, r.Messages[len(r.Messages)-1].Content)}, nil
	}}
	strong := chat.Func{Name: "strong", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		asked = append(asked, r)
		return chat.Reply{Text: "good\nFinal answer: 4"}, nil
	}}
	cfg := deliberate.Default()
	cfg.DiversityHints, cfg.Escalate = true, strong
	j := rates(func(c deliberate.Candidate) float64 {
		if strings.Contains(c.Text, "good") {
			return .9
		}
		return .3
	})
	res, err := deliberate.Run(t.Context(), th, j, q, cfg)
	if err != nil || res.Answer != "4" || len(asked) != 1 || res.Paths[res.Chosen].Origin != deliberate.OriginEscalated {
		t.Fatalf("got %+v %v", res, err)
	}
	hints := map[string]bool{}
	for _, p := range res.Paths {
		if p.Hint != "" {
			hints[p.Hint] = true
			if !strings.Contains(p.Text, p.Hint) {
				t.Errorf("the hint %q was not told", p.Hint)
			}
		}
	}
	if len(hints) != 5 {
		t.Errorf("%d different hints for 5 paths", len(hints))
	}
	again, err := deliberate.Run(t.Context(), th, j, q, cfg)
	if err != nil || fmt.Sprint(again.Paths[1].Text) != fmt.Sprint(res.Paths[1].Text) || again.Answer != res.Answer {
		t.Error("the same seed gives another result")
	}
}

// chooser compares: the share of a candidate is its length's.
type chooser struct{ deliberate.Judge }

func (chooser) Choose(_ context.Context, _ string, c []deliberate.Candidate) (deliberate.Verdict, error) {
	v := deliberate.Verdict{Scores: make([]float64, len(c))}
	v.Scores[len(c)-1] = 1
	return v, nil
}

func TestStrategyChoice(t *testing.T) {
	cfg := deliberate.Default()
	cfg.Mode, cfg.Strategy = deliberate.BestOfN, deliberate.Choice
	n := 0
	j := chooser{rates(func(deliberate.Candidate) float64 { n++; return .5 })}
	th := says(t, func(r chat.Request) string { return fmt.Sprintf("Final answer: %d", r.Seed) })
	res, err := deliberate.Run(t.Context(), th, j, q, cfg)
	if err != nil || res.Chosen != 3 || n != 0 || res.Confidence != 1 {
		t.Errorf("chose %d after %d single questions: %v", res.Chosen, n, err)
	}
	if _, err := deliberate.Run(t.Context(), th, j.Judge, q, cfg); err == nil {
		t.Error("a judge that can't compare was taken")
	}
}

func TestSingleCandidateSkipsTheJudge(t *testing.T) {
	cfg := deliberate.Default()
	cfg.Mode, cfg.Paths = deliberate.BestOfN, 1
	th := says(t, func(chat.Request) string { return "Final answer: 4" })
	res, err := deliberate.Run(t.Context(), th, nil, q, cfg)
	if err != nil || res.Answer != "4" || res.Judged {
		t.Errorf("got %+v %v", res, err)
	}
}

func TestStepwise(t *testing.T) {
	step := chat.Func{Name: "steps", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		if r.Temperature == 0 {
			return chat.Reply{Text: "rest\nFinal answer: 4"}, nil
		}
		return chat.Reply{Text: fmt.Sprintf("s%d ", r.Seed%7), Finish: chat.FinishLength}, nil
	}}
	cfg := deliberate.Default()
	cfg.Mode, cfg.Paths, cfg.StepTokens, cfg.MaxTokens = deliberate.Stepwise, 3, 10, 50
	sure := 3
	res, err := deliberate.Run(t.Context(), step, rates(func(c deliberate.Candidate) float64 {
		if strings.Count(c.Text, "s") >= sure {
			return .95
		}
		return .5
	}), q, cfg)
	if err != nil || res.Answer != "4" || res.Paths[res.Chosen].Origin != deliberate.OriginCommit || strings.Count(res.Text, "s") < sure {
		t.Errorf("got %q %q %v", res.Answer, res.Text, err)
	}
	res, err = deliberate.Run(t.Context(), step, rates(func(deliberate.Candidate) float64 { return .5 }), q, cfg)
	if err != nil || res.Finished || strings.Count(res.Text, "s") != 5 || !strings.Contains(res.Reason, "unfinished") {
		t.Errorf("out of steps: %q %v %v", res.Text, res.Finished, err)
	}
	step.Lacks = []chat.Ability{chat.Prefix}
	if _, err := deliberate.Run(t.Context(), step, judge, q, cfg); !errors.Is(err, chat.ErrUnable) || !strings.Contains(err.Error(), "stepwise") {
		t.Errorf("without prefix continuation: %v", err)
	}
}

// self is a judge with an identity.
type self struct {
	deliberate.Judge
	id string
}

func (s self) Identity() string { return s.id }

func TestTheJudgeIsNotTheThinker(t *testing.T) {
	th := says(t, func(chat.Request) string { return "Final answer: 4" })
	for _, mode := range deliberate.Modes() {
		cfg := deliberate.Default()
		cfg.Mode = mode
		if _, err := deliberate.Run(t.Context(), th, self{judge, "thinker"}, q, cfg); !errors.Is(err, deliberate.ErrSelfJudge) {
			t.Errorf("%s: %v", mode, err)
		}
		cfg.AllowSelfJudge = true
		if _, err := deliberate.Run(t.Context(), th, self{judge, "thinker"}, q, cfg); err != nil {
			t.Errorf("%s, allowed: %v", mode, err)
		}
		cfg.AllowSelfJudge, cfg.Escalate = false, chat.Func{Name: "strong"}
		if _, err := deliberate.Run(t.Context(), th, self{judge, "strong"}, q, cfg); !errors.Is(err, deliberate.ErrSelfJudge) {
			t.Errorf("%s, the stronger model: %v", mode, err)
		}
	}
}

func TestJudgeFailures(t *testing.T) {
	n := 0
	th := says(t, func(r chat.Request) string {
		n++
		if n == 1 {
			return "Final answer: 5"
		}
		return "Final answer: 4"
	})
	away := deliberate.JudgeFunc(func(context.Context, string, []deliberate.Candidate) (deliberate.Verdict, error) {
		return deliberate.Verdict{}, &llm.Error{Op: "judge", URL: "http://j", Status: 503}
	})
	for _, mode := range []deliberate.Mode{deliberate.Adaptive, deliberate.BestOfN, deliberate.Race} {
		n = 0
		cfg := deliberate.Default()
		cfg.Mode = mode
		res, err := deliberate.Run(t.Context(), chatLocked(th), away, q, cfg)
		if err != nil || res.Answer != "4" || res.Judged {
			t.Errorf("%s: a judge that is away: %+v %v", mode, res.Reason, err)
		}
		th := says(t, func(r chat.Request) string { return fmt.Sprint("Final answer: ", r.Seed) })
		for name, j := range map[string]deliberate.Judge{
			"above 1": rates(func(deliberate.Candidate) float64 { return 1.5 }),
			"too few": deliberate.JudgeFunc(func(context.Context, string, []deliberate.Candidate) (deliberate.Verdict, error) {
				return deliberate.Verdict{}, nil
			}),
		} {
			if _, err := deliberate.Run(t.Context(), chatLocked(th), j, q, cfg); !errors.Is(err, deliberate.ErrVerdict) {
				t.Errorf("%s, %s: %v", mode, name, err)
			}
		}
		unable := deliberate.JudgeFunc(func(context.Context, string, []deliberate.Candidate) (deliberate.Verdict, error) {
			return deliberate.Verdict{}, fmt.Errorf("%w: no log probabilities", chat.ErrUnable)
		})
		if _, err := deliberate.Run(t.Context(), chatLocked(th), unable, q, cfg); !errors.Is(err, chat.ErrUnable) {
			t.Errorf("%s: a judge without the ability: %v", mode, err)
		}
	}
}

// chatLocked makes a model's function run one at a time.
func chatLocked(f chat.Func) chat.Func {
	gate := make(chan struct{}, 1)
	inner := f.Reply
	f.Reply = func(ctx context.Context, r chat.Request) (chat.Reply, error) {
		gate <- struct{}{}
		defer func() { <-gate }()
		return inner(ctx, r)
	}
	return f
}

func TestConfigNamesAllProblems(t *testing.T) {
	c := deliberate.Default()
	c.Mode, c.MinPaths, c.Paths, c.Strategy, c.Temperature = "adaptiv", 0, 0, "x", math.NaN()
	err := c.Validate()
	for _, s := range []string{`did you mean "adaptive"`, "min_paths", "paths is 0", "strategy", "temperature"} {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%q is not named in %v", s, err)
		}
	}
	if err := deliberate.Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"so.\nFinal answer: 42.":                         "42",
		"**Final Answer:** 42":                           "42",
		"Answer: x\nmore\nFinal answer: y":               "y",
		`thus \boxed{\frac{1}{2}} holds`:                 `\frac{1}{2}`,
		"steps\n#### 1,234":                              "1,234",
		"no marker\nlast line":                           "last line",
		"The final answer is 7":                          "7",
		"We see that the final answer is: $12$":          "12",
		"The answer is Paris.":                           "Paris",
		"":                                               "",
		"I think the answers differ.\nSo it is hard":     "So it is hard",
		"Final answer: 4\n\n(That was the final answer)": "4",
	} {
		if got := deliberate.FinalAnswer(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, p := range [][2]string{{"1,000", "1000"}, {" 2.50", "2.5"}, {"YES", "yes."}, {"$3", "3"}, {"1,234,567", "1234567"}} {
		if !deliberate.Same(p[0], p[1]) {
			t.Errorf("%q and %q are one answer", p[0], p[1])
		}
	}
	for _, p := range [][2]string{{"10", "1"}, {"3,4", "34"}, {"-2", "2"}} {
		if deliberate.Same(p[0], p[1]) {
			t.Errorf("%q and %q are two answers", p[0], p[1])
		}
	}
}

func TestMcNemar(t *testing.T) {
	// scipy.stats.binomtest(min, n, .5).pvalue
	for _, c := range []struct {
		b, c int
		p    float64
	}{{11, 2, 0.0224609375}, {0, 0, 1}, {5, 5, 1}, {10, 0, 0.001953125}, {1, 0, 1}} {
		if got := deliberate.McNemar(c.b, c.c); math.Abs(got-c.p) > 1e-12 {
			t.Errorf("%d/%d: %v, want %v", c.b, c.c, got, c.p)
		}
	}
}

func TestEvaluate(t *testing.T) {
	var tasks []deliberate.Task
	for i := range 200 {
		tasks = append(tasks, deliberate.Task{ID: fmt.Sprint(i), Problem: fmt.Sprint("problem ", i), Answer: "right"})
	}
	r, err := deliberate.Evaluate(t.Context(), thinker, judge, tasks, deliberate.EvalConfig{Config: deliberate.Default(), Workers: 4, Draws: 200})
	if err != nil {
		t.Fatal(err)
	}
	// A greedy path, then 2 to 6 more: at least one right of n is the ceiling.
	if r.Alone.Value < .35 || r.Alone.Value > .55 || r.Loop.Value < .8 || r.Ceiling.Value < r.Loop.Value || r.Fixed-r.Lost != int(math.Round(200*r.Lift.Value)) || r.P > 1e-6 {
		t.Errorf("got %+v", r.String())
	}
	if r.JudgeAUROC == nil || math.Abs(*r.JudgeAUROC-phi(spread/math.Sqrt2)) > .05 || r.TokenRatio < 2 || r.Failed != 0 {
		t.Errorf("got %s", r)
	}
	covered := 0
	for _, x := range r.Rows {
		if x.Covered {
			covered++
		}
		if x.Loop && !x.Covered {
			t.Errorf("%s is right but not covered", x.ID)
		}
	}
	if float64(covered)/200 != r.Ceiling.Value {
		t.Errorf("ceiling %v, counted %d", r.Ceiling, covered)
	}
	bad := chat.Func{Name: "bad", Reply: func(context.Context, chat.Request) (chat.Reply, error) {
		return chat.Reply{}, errors.New("broken")
	}}
	if r, err = deliberate.Evaluate(t.Context(), bad, judge, tasks[:3], deliberate.EvalConfig{Config: deliberate.Default()}); err != nil || r.Failed != 3 || r.Loop.Value != 0 {
		t.Errorf("a broken thinker: %+v %v", r, err)
	}
}
