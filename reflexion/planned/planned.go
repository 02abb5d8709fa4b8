// Package planned is a text agent that chooses among whole plans before an episode:
// the language model is the thinker, which writes a plan and imagines how it goes,
// and the success predictor M_sa is the judge. Source: thinker and judge (design,
// section 1) with the models that need no key.
//
//	inner, _ := reflexion.New(cfg, model, msa, selfregulate.Best) // cfg.Plan = false
//	a, err := planned.New(inner, model, msa, deliberate.Default())
package planned

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// planTokens bounds a plan, in tokens.
const planTokens = 160

// Agent is a reflexion.Agent whose plan is deliberated on. Everything after Begin is
// the inner agent's. Safe for concurrent use with different carries.
type Agent struct {
	reflexion.Agent
	model llm.Model
	msa   selfassess.Assessor
	cfg   deliberate.Config
	// Watch gets every deliberation's result; nil = dropped. Set it before use; it is
	// called from the goroutine of Begin.
	Watch func(deliberate.Result)

	plans, tokens atomic.Int64
}

// New makes a planning agent. The inner agent must not write a plan of its own.
// Modes adaptive and best_of_n fit; the others need a model that continues texts it
// did not write, or streams.
func New(inner reflexion.Agent, m llm.Model, msa selfassess.Assessor, cfg deliberate.Config) (*Agent, error) {
	switch {
	case inner == nil || m == nil || msa == nil:
		return nil, errors.New("planned: an agent, a model and a success predictor are needed")
	case inner.Config().Plan:
		return nil, errors.New("planned: the inner agent writes a plan itself; set plan to false")
	case cfg.Mode != deliberate.Adaptive && cfg.Mode != deliberate.BestOfN:
		return nil, fmt.Errorf("planned: mode %s does not fit plans; use %s or %s", cfg.Mode, deliberate.Adaptive, deliberate.BestOfN)
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Answer = planOf
	return &Agent{Agent: inner, model: m, msa: msa, cfg: cfg}, nil
}

var _ reflexion.Agent = (*Agent)(nil)

// planOf is the final answer of a path: its plan.
func planOf(text string) string { return llm.Parse(text).Plan }

// Spent are the plans that were written and the tokens that all deliberations took.
func (a *Agent) Spent() (plans, tokens int) { return int(a.plans.Load()), int(a.tokens.Load()) }

// Begin opens an episode: it deliberates on the plan and appends the chosen one. An
// episode for which no path has a plan begins without one.
func (a *Agent) Begin(ctx context.Context, t reflexion.Task, reflections []string, seed uint64) (*reflexion.Carry, llm.Usage, error) {
	c, u, err := a.Agent.Begin(ctx, t, reflections, seed)
	if err != nil {
		return nil, u, err
	}
	cfg := a.cfg
	cfg.Seed = rng.Seed(seed, "plans")
	th := &thinker{session: c.Session, info: a.model.Info(), horizon: a.Config().Horizon, limit: a.Config().Limit, hidden: map[string][]float32{}}
	judge := &deliberate.Assessor{MSA: a.msa, Input: th.input}
	res, err := deliberate.Run(ctx, th, judge, deliberate.Problem{Text: t.Goal}, cfg)
	u = u.Add(res.Thinker)
	a.plans.Add(int64(len(res.Paths)))
	a.tokens.Add(int64(res.Thinker.CompletionTokens))
	if a.Watch != nil {
		a.Watch(res)
	}
	if errors.Is(err, deliberate.ErrNoPath) {
		return c, u, nil
	}
	if err != nil {
		return nil, u, errors.Join(fmt.Errorf("planned: deliberating on the plan: %w", err), a.Agent.Close(c))
	}
	v, err := c.Session.Append(ctx, llm.RenderPlan(res.Answer))
	u = u.Add(v)
	if err != nil {
		return nil, u, errors.Join(fmt.Errorf("planned: appending the plan: %w", err), a.Agent.Close(c))
	}
	c.Plan = res.Answer
	return c, u, nil
}

// thinker writes a plan and imagines its first pairs, each path on a fork of the
// episode's prefix.
type thinker struct {
	mu      sync.Mutex // a session is forked by one goroutine at a time
	session llm.Session
	info    llm.Info
	horizon int
	limit   int
	// hidden states of the futures by path: predictors may look at them.
	hidden map[string][]float32
}

func (t *thinker) Identity() string { return t.info.Name }

// input is what the judge sees of a path. A plan without any command can't be judged.
func (t *thinker) input(goal, text string) (selfassess.Input, bool) {
	p := llm.Parse(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	return selfassess.Input{Task: goal, Plan: p.Plan, Pairs: p.Pairs, WinClaim: p.Claim == "won", Hidden: t.hidden[text], Limit: t.limit}, len(p.Pairs) > 0
}

// Probe denies everything: texts of this thinker can't be continued from outside.
func (t *thinker) Probe(_ context.Context, a chat.Ability) error {
	return fmt.Errorf("%w: plans of %s have no %s", chat.ErrUnable, t.info.Name, a)
}

// Ask ignores the messages: the prefix of the episode holds the task. A plan that is
// empty is no path.
func (t *thinker) Ask(ctx context.Context, r chat.Request) (a chat.Reply, err error) {
	t.mu.Lock()
	f, err := t.session.Fork(ctx)
	t.mu.Unlock()
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	add := func(u llm.Usage) {
		a.Usage = a.Usage.Add(u)
		a.Tokens = a.Usage.CompletionTokens
	}
	step := func(tag string, q llm.Request) (o llm.Completion, err error) {
		u, err := f.Append(ctx, tag)
		add(u)
		if err != nil {
			return o, err
		}
		out, u, err := f.Sample(ctx, q)
		add(u)
		if err != nil {
			return o, err
		}
		if len(out) == 0 {
			return o, errors.New("the model returned no continuation")
		}
		return out[0], nil
	}
	q := llm.Request{N: 1, Temperature: r.Temperature, MaxTokens: planTokens, Until: llm.UntilLine, ForbidEnd: true, Seed: rng.Seed(r.Seed, "plan")}
	line, err := step(llm.RenderPlan(""), q)
	if err != nil {
		return a, fmt.Errorf("writing a plan: %w", err)
	}
	plan := strings.TrimSpace(line.Text)
	if plan == "" {
		a.Finish = chat.FinishLength
		return a, nil
	}
	q = llm.Request{N: 1, Temperature: r.Temperature, Until: llm.UntilPairs, Pairs: t.horizon, Seed: rng.Seed(r.Seed, "future"), Hidden: t.info.Caps.HiddenSize > 0}
	future, err := step(" "+plan, q)
	if err != nil {
		return a, fmt.Errorf("imagining a plan: %w", err)
	}
	a.Text, a.Finish = strings.TrimPrefix(llm.RenderPlan(plan), "\n")+future.Text, chat.FinishStop
	t.mu.Lock()
	t.hidden[a.Text] = future.Hidden
	t.mu.Unlock()
	return a, nil
}
