package reflexion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// lineTokens bounds a plan or a reflection, in tokens.
const lineTokens = 160

// Option changes an agent beyond its Config.
type Option func(*agent)

// WithTemplate replaces the template that [TemplateFor] would choose.
func WithTemplate(t Template) Option { return func(a *agent) { a.tmpl = t } }

type agent struct {
	cfg      Config
	model    llm.Model
	assessor selfassess.Assessor
	selector selfregulate.Selector
	tmpl     Template
}

// New makes an agent. ReAct and Reflexion are played with selfregulate.Off; with
// any other selector they imagine futures too. assessor may be nil when the
// selector doesn't need one. The agent doesn't own the model: close it yourself.
func New(cfg Config, m llm.Model, assessor selfassess.Assessor, s selfregulate.Selector, opts ...Option) (Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	switch {
	case m == nil:
		return nil, errors.New("reflexion: no model given")
	case s == nil:
		return nil, errors.New("reflexion: no selector given; use selfregulate.Off for plain sampling")
	case s.NeedsAssessment() && assessor == nil:
		return nil, fmt.Errorf("reflexion: selector %q needs an assessor and none is given; train one or choose random or off", s.Name())
	}
	// M_sa makes its own text; the setting here is the record of it and must agree.
	if t, ok := assessor.(interface{ Config() selfassess.Config }); ok && s.NeedsAssessment() && t.Config().Text.Context != cfg.ContextPairs {
		return nil, fmt.Errorf("reflexion: context_pairs is %d, but %s was trained with %d real pairs before a future; set context_pairs to that",
			cfg.ContextPairs, assessor.Name(), t.Config().Text.Context)
	}
	if t, ok := assessor.(interface{ CheckActor(selfassess.Actor) error }); ok && s.NeedsAssessment() {
		if err := t.CheckActor(selfassess.Actor{Name: m.Info().Name, Hash: m.Info().Hash}); err != nil {
			return nil, fmt.Errorf("reflexion: %w", err)
		}
	}
	a := &agent{cfg: cfg, model: m, assessor: assessor, selector: s, tmpl: TemplateFor(m.Info())}
	for _, o := range opts {
		o(a)
	}
	return a, nil
}

func (a *agent) Config() Config { return a.cfg }

// Begin writes P^e on a fork and appends it as a whole line, so that the prefix
// consists of the same pieces whether it was played or built again.
func (a *agent) Begin(ctx context.Context, t Task, reflections []string, seed uint64) (*Carry, llm.Usage, error) {
	c := &Carry{Task: t, Reflections: slices.Clone(newest(reflections, a.cfg.Reflections)), Seed: seed}
	if _, err := a.session(ctx, c); err != nil {
		return nil, llm.Usage{}, err
	}
	if !a.cfg.Plan {
		return c, c.takeUsage(), nil
	}
	plan, err := a.line(ctx, c, llm.RenderPlan(""), a.cfg.Temperature, rng.Seed(seed, "plan"))
	if err != nil {
		return nil, c.takeUsage(), errors.Join(fmt.Errorf("reflexion: writing the plan: %w", err), c.drop())
	}
	c.Plan = plan
	if plan == "" {
		c.events = append(c.events, "empty plan")
		return c, c.takeUsage(), nil
	}
	u, err := c.Session.Append(ctx, llm.RenderPlan(plan))
	c.usage = c.usage.Add(u)
	if err != nil {
		return nil, c.takeUsage(), errors.Join(fmt.Errorf("reflexion: appending the plan: %w", err), c.drop())
	}
	return c, c.takeUsage(), nil
}

// Observe appends the pair with the thoughts that led to it. Imagined
// observations never come here: only obs, the environment's own answer.
func (a *agent) Observe(ctx context.Context, c *Carry, action string, tr Trace, obs string) error {
	p := llm.Pair{Thoughts: slices.Clone(tr.Thoughts), Action: CanonicalAction(action), Observation: CanonicalObservation(obs)}
	err := a.remember(ctx, c, p)
	if err == nil && c.Lucid != nil && p.Observation != llm.NothingHappens {
		l := c.lucid()
		err = a.remember(ctx, l, p)
		c.keep(l)
	}
	if err != nil {
		return fmt.Errorf("reflexion: appending the answer to %q: %w", action, err)
	}
	c.Pairs = append(c.Pairs, p)
	return nil
}

// remember appends a pair to the session of c.
func (a *agent) remember(ctx context.Context, c *Carry, p llm.Pair) error {
	if a.forgotten(p) {
		return nil
	}
	s, err := a.session(ctx, c)
	if err != nil {
		return err
	}
	u, err := s.Append(ctx, a.tmpl.Pair(p))
	c.usage = c.usage.Add(u)
	if errors.Is(err, llm.ErrContext) && c.trim() {
		// The next use builds the shorter prompt, with this pair.
		return c.drop()
	} else if err != nil {
		// The prefix may be half written: build it again when it is needed.
		return errors.Join(err, c.drop())
	}
	return nil
}

// Reflect asks, on a fork, what is to be learnt from this episode (Reflexion;
// paper Alg. 3, line 13). The model sees its own trace and nothing else.
func (a *agent) Reflect(ctx context.Context, c *Carry) (string, llm.Usage, error) {
	t := a.cfg.Temperature
	if a.cfg.GreedyReflection {
		t = 0
	}
	text, err := a.line(ctx, c, llm.RenderEnd(false)+llm.RenderReflection(""), t, rng.Seed(c.Seed, "reflection"))
	if err != nil {
		return "", c.takeUsage(), fmt.Errorf("reflexion: writing the reflection: %w", err)
	}
	return text, c.takeUsage(), nil
}

// line samples one line after tag on a fork of the carry's prefix.
func (a *agent) line(ctx context.Context, c *Carry, tag string, temperature float64, seed uint64) (string, error) {
	for {
		s, err := a.session(ctx, c)
		if err != nil {
			return "", err
		}
		text, err := a.lineOn(ctx, c, s, tag, temperature, seed)
		if errors.Is(err, llm.ErrContext) && c.trim() {
			if err := c.drop(); err != nil {
				return "", err
			}
			continue
		}
		return text, err
	}
}

func (a *agent) lineOn(ctx context.Context, c *Carry, s llm.Session, tag string, temperature float64, seed uint64) (text string, err error) {
	f, err := s.Fork(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	u, err := f.Append(ctx, tag)
	c.usage = c.usage.Add(u)
	if err != nil {
		return "", err
	}
	out, u, err := f.Sample(ctx, llm.Request{N: 1, Temperature: temperature, MaxTokens: lineTokens, Until: llm.UntilLine, ForbidEnd: true, Seed: seed})
	c.usage = c.usage.Add(u)
	if err != nil {
		return "", err
	}
	if len(out) == 0 {
		return "", errors.New("the model returned no line")
	}
	return a.tmpl.Line(out[0].Text), nil
}

func (a *agent) Close(c *Carry) error {
	if c == nil {
		return nil
	}
	l := c.lucid()
	err := errors.Join(c.drop(), l.drop())
	c.keep(l)
	return err
}

func (c *Carry) takeUsage() llm.Usage {
	u := c.usage
	c.usage = llm.Usage{}
	return u
}

func (c *Carry) takeEvents() []string {
	e := c.events
	c.events = nil
	return e
}
