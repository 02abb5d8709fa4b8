package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/internal/serve"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/ensemble"
	"github.com/muse-agent/muse/selfregulate/gate"
)

// The three systems of inference-time metacognition.
const (
	sysDeliberate = "deliberate"
	sysGate       = "gate"
	sysEnsemble   = "ensemble"
)

// thinkFlags choose a system and its models.
type thinkFlags struct {
	system                           string
	thinker, judge, critic, escalate string
	nodes                            []string
	memory                           []string
	parallel                         int
	embedder                         bool
	repeatable                       bool
	deliberation                     deliberate.Config
	mode                             string
	ensemble                         ensemble.Config
	selective                        bool
	readOnly                         []string

	closers []io.Closer
}

func (f *thinkFlags) add(c *cobra.Command) {
	fs := c.Flags()
	f.ensemble = ensemble.Default()
	fs.StringVar(&f.system, "system", sysDeliberate, "deliberate (thinker and judge), gate (critic where it is worth a call) or ensemble (roles, System 1/2)")
	f.addModels(c)
	fs.StringVar(&f.critic, "critic", "", "gate: the critic, NAME@URL")
	list(fs, &f.nodes, "node", "ensemble: nodes, NAME@URL; several may share a server")
	list(fs, &f.memory, "memory", "ensemble: texts that are known, for the measured familiarity (needs --embedder)")
	fs.BoolVar(&f.embedder, "embedder", false, "ensemble: measure familiarity with MiniLM (native build)")
	fs.Float64Var(&f.ensemble.Thresholds.CE, "threshold-ce", f.ensemble.Thresholds.CE, "ensemble: System 2 below this mean confidence, 0-100")
	fs.Float64Var(&f.ensemble.Thresholds.EM, "threshold-em", f.ensemble.Thresholds.EM, "ensemble: below this mean familiarity")
	fs.Float64Var(&f.ensemble.Thresholds.CI, "threshold-ci", f.ensemble.Thresholds.CI, "ensemble: above this 75th percentile of conflict")
	fs.Float64Var(&f.ensemble.Thresholds.PI, "threshold-pi", f.ensemble.Thresholds.PI, "ensemble: above this mean importance")
	fs.BoolVar(&f.selective, "selective-gate", true, "gate: skip the critic for trivial acknowledgements; off = the legacy rule")
	list(fs, &f.readOnly, "read-only-tool", "gate: tools that do not count as acting")
}

// addModels adds what deliberation alone needs.
func (f *thinkFlags) addModels(c *cobra.Command) {
	fs := c.Flags()
	f.deliberation = deliberate.Default()
	d := &f.deliberation
	fs.StringVar(&f.thinker, "thinker", "", "the model that writes, NAME@URL (http://127.0.0.1:8080/v1); the key is read from MUSE_API_KEY or OPENAI_API_KEY")
	fs.StringVar(&f.judge, "judge", "", "the judge, another model: NAME@URL (log probabilities), vote:NAME@URL, or an address that scores: http:URL")
	fs.StringVar(&f.escalate, "escalate", "", "a stronger model for one path when in doubt, NAME@URL")
	fs.IntVar(&f.parallel, "parallel", 4, "calls at a time to each server")
	fs.BoolVar(&f.repeatable, "repeatable", false, "ask servers not to use their prompt cache, for equal answers to equal questions (best effort)")
	fs.StringVar(&f.mode, "mode", string(d.Mode), "adaptive, best_of_n, stepwise or race")
	fs.Float64Var(&d.StopConfidence, "stop-confidence", d.StopConfidence, "a path with this score ends the run")
	fs.IntVar(&d.MinPaths, "min-paths", d.MinPaths, "adaptive: further paths at no doubt")
	fs.IntVar(&d.MaxPaths, "max-paths", d.MaxPaths, "adaptive: further paths at full doubt")
	fs.Float64Var(&d.AnswerPrior, "answer-prior", d.AnswerPrior, "adaptive: weight of the bare answer's score")
	fs.IntVar(&d.Paths, "paths", d.Paths, "best_of_n, stepwise, race: paths")
	fs.IntVar(&d.StepTokens, "step-tokens", d.StepTokens, "stepwise: tokens of a step")
	fs.Float64Var(&d.CommitConfidence, "commit-confidence", d.CommitConfidence, "stepwise: from this score on the rest is written at once")
	fs.Float64Var(&d.RaceConfidence, "race-confidence", d.RaceConfidence, "race: the first stream with this score wins")
	fs.IntVar(&d.RaceScoreChars, "race-score-chars", d.RaceScoreChars, "race: new characters between two judgements")
	fs.IntVar(&d.MaxTokens, "max-tokens", d.MaxTokens, "of a path")
	fs.Float64Var(&d.Temperature, "temperature", d.Temperature, "of sampled paths")
	fs.Uint64Var(&d.Seed, "seed", d.Seed, "of the sampling")
	fs.BoolVar(&d.Triage, "triage", false, "adaptive: rate the bare problem first; hard ones skip the greedy path")
	fs.IntVar(&d.SketchTokens, "sketch-tokens", 0, "adaptive: branches begin as outlines of so many tokens")
	fs.IntVar(&d.MaxRounds, "max-rounds", d.MaxRounds, "adaptive: rounds of branching")
	fs.BoolVar(&d.DiversityHints, "diversity-hints", false, "name another approach to each path")
	fs.StringVar(&d.Strategy, "strategy", d.Strategy, "independent, or choice (one comparative question)")
	fs.BoolVar(&d.Split, "split", false, "a path with several approaches becomes several candidates")
	fs.BoolVar(&d.VerifyFinished, "verify-finished", false, "ask about the winner: complete? correct?")
	fs.BoolVar(&d.KeepReasoning, "keep-reasoning", false, "paths keep their reasoning")
	fs.BoolVar(&d.AllowSelfJudge, "allow-self-judge", false, "the judge may be the thinker (measures worse than no judge)")
}

// splitModel reads NAME@URL.
func splitModel(flag, spec string) (name, url string, err error) {
	name, url, ok := strings.Cut(spec, "@")
	if !ok || name == "" || url == "" {
		return "", "", usagef("--%s %q: want NAME@URL, e.g. llama-3-8b@http://127.0.0.1:8080/v1", flag, spec)
	}
	return name, url, nil
}

// dialog connects to a model; nothing is sent yet.
func (f *thinkFlags) dialog(a *app, flag, spec string) (*openai.Dialog, error) {
	name, url, err := splitModel(flag, spec)
	if err != nil {
		return nil, err
	}
	if f.parallel < 1 {
		return nil, usagef("--parallel is %d; at least 1 is needed", f.parallel)
	}
	o := openai.Options{BaseURL: url, Model: name, Concurrency: f.parallel, Repeatable: f.repeatable, Warn: func(s string) { a.say("%s", s) }}
	o.KeyEnv = a.keyEnv()
	d, err := openai.NewDialog(o)
	if err != nil {
		return nil, usageError{err}
	}
	f.closers = append(f.closers, d)
	return d, nil
}

// open connects thinker and judge.
func (f *thinkFlags) open(a *app) (chat.Model, deliberate.Judge, error) {
	d := &f.deliberation
	d.Mode = deliberate.Mode(f.mode)
	if err := d.Validate(); err != nil {
		return nil, nil, usageError{err}
	}
	if f.thinker == "" {
		return nil, nil, usagef("--thinker is missing: the model that answers, NAME@URL")
	}
	t, err := f.dialog(a, "thinker", f.thinker)
	if err != nil {
		return nil, nil, err
	}
	if f.escalate != "" {
		if d.Escalate, err = f.dialog(a, "escalate", f.escalate); err != nil {
			return nil, nil, err
		}
	}
	j, err := f.openJudge(a)
	if err != nil {
		return nil, nil, err
	}
	if err := deliberate.CheckJudge(t, j, *d); err != nil {
		return nil, nil, usagef("%v (--allow-self-judge)", err)
	}
	return t, j, nil
}

func (f *thinkFlags) openJudge(a *app) (deliberate.Judge, error) {
	switch {
	case f.judge == "" && f.mode == string(deliberate.BestOfN) && f.deliberation.Paths == 1:
		return nil, nil
	case f.judge == "":
		return nil, usagef("--judge is missing: another model than the thinker, NAME@URL (or --mode best_of_n --paths 1 for the thinker alone)")
	case strings.HasPrefix(f.judge, "http:http"):
		return &deliberate.HTTP{URL: strings.TrimPrefix(f.judge, "http:"), KeyEnv: "MUSE_JUDGE_KEY"}, nil
	case strings.HasPrefix(f.judge, "vote:"):
		d, err := f.dialog(a, "judge", strings.TrimPrefix(f.judge, "vote:"))
		if err != nil {
			return nil, err
		}
		return &deliberate.Vote{Model: d, Parallel: f.parallel, Seed: f.deliberation.Seed}, nil
	}
	d, err := f.dialog(a, "judge", strings.TrimPrefix(f.judge, "logprob:"))
	if err != nil {
		return nil, err
	}
	return &deliberate.LogProb{Model: d, Parallel: f.parallel}, nil
}

// engine wires the chosen system for one conversation after the other.
func (f *thinkFlags) engine(a *app) (serve.Engine, error) {
	switch f.system {
	case sysDeliberate:
		t, j, err := f.open(a)
		if err != nil {
			return nil, err
		}
		return &deliberator{t, j, f.deliberation}, nil
	case sysGate:
		if f.thinker == "" || f.critic == "" {
			return nil, usagef("--system gate needs --thinker and --critic, each NAME@URL")
		}
		t, err := f.dialog(a, "thinker", f.thinker)
		if err != nil {
			return nil, err
		}
		c, err := f.dialog(a, "critic", f.critic)
		if err != nil {
			return nil, err
		}
		if t.Identity() == c.Identity() && !f.deliberation.AllowSelfJudge {
			return nil, usagef("--critic is the thinker (%s): choose another model, or allow it with --allow-self-judge", t.Identity())
		}
		g := gate.New(gate.Config{Selective: f.selective, ReadOnlyTools: f.readOnly, Warn: func(s string) { a.say("%s", s) }})
		return &reviewer{gate.Reviewer{Thinker: t, Critic: c, Gate: g, MaxTokens: f.deliberation.MaxTokens, Seed: f.deliberation.Seed}}, nil
	case sysEnsemble:
		return f.openEnsemble(a)
	}
	systems := []string{sysDeliberate, sysGate, sysEnsemble}
	return nil, usagef("--system is %q%s; known: %s", f.system, didYouMean(f.system, systems), strings.Join(systems, ", "))
}

func (f *thinkFlags) openEnsemble(a *app) (serve.Engine, error) {
	if len(f.nodes) == 0 {
		return nil, usagef("--system ensemble needs nodes: --node NAME@URL,NAME@URL,…")
	}
	var nodes []ensemble.Node
	for i, spec := range f.nodes {
		d, err := f.dialog(a, "node", spec)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(spec, "@")
		nodes = append(nodes, ensemble.Node{Name: fmt.Sprintf("%s #%d", name, i+1), Model: d})
	}
	cfg := f.ensemble
	cfg.MaxTokens, cfg.Seed = f.deliberation.MaxTokens, f.deliberation.Seed
	if f.judge != "" {
		j, err := f.openJudge(a)
		if err != nil {
			return nil, err
		}
		cfg.Judge = j
	}
	if f.embedder {
		e, err := a.openEmbedder()
		if err != nil {
			return nil, err
		}
		f.closers = append(f.closers, e)
		cfg.Embedder, cfg.Memory = e, f.memory
	} else {
		cfg.Memory = f.memory
	}
	if _, err := ensemble.New(nodes, cfg); err != nil {
		return nil, usageError{err}
	}
	return &assembly{nodes, cfg}, nil
}

// Close ends idle connections.
func (f *thinkFlags) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// deliberator answers by thinker and judge.
type deliberator struct {
	t   chat.Model
	j   deliberate.Judge
	cfg deliberate.Config
}

// scores is the extension of an answer: how it was chosen.
type scores struct {
	System     string            `json:"system"`
	Mode       deliberate.Mode   `json:"mode"`
	Answer     string            `json:"answer"`
	Confidence float64           `json:"confidence"`
	Judged     bool              `json:"judged"`
	Reason     string            `json:"reason"`
	Chosen     int               `json:"chosen"`
	Paths      []deliberate.Path `json:"paths"`
}

func (d *deliberator) run(ctx context.Context, q serve.Query, observe func(deliberate.Event)) (deliberate.Result, error) {
	cfg := d.cfg
	cfg.Observe = observe
	if q.MaxTokens > 0 {
		cfg.MaxTokens = q.MaxTokens
	}
	if q.Seed > 0 {
		cfg.Seed = q.Seed
	}
	return deliberate.Run(ctx, d.t, d.j, deliberate.Problem{Text: q.Problem(), History: q.History()}, cfg)
}

func (d *deliberator) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) {
	var observe func(deliberate.Event)
	if q.Watch != nil {
		observe = func(e deliberate.Event) {
			q.Watch(sysDeliberate, map[string]any{"kind": e.Kind, "path": e.Path, "score": e.Score, "note": e.Note, "piece": e.Piece})
		}
	}
	r, err := d.run(ctx, q, observe)
	if err != nil {
		return serve.Answer{Usage: r.Usage()}, err
	}
	a := serve.Answer{Text: r.Text, Usage: r.Usage(), Extension: scores{sysDeliberate, d.cfg.Mode, r.Answer, r.Confidence, r.Judged, r.Reason, r.Chosen, r.Paths}}
	if !r.Finished {
		a.Finish = chat.FinishLength
	}
	return a, nil
}

// reviewer answers by a thinker, and a critic where the gate fires.
type reviewer struct{ r gate.Reviewer }

func (r *reviewer) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) {
	x := r.r
	if q.MaxTokens > 0 {
		x.MaxTokens = q.MaxTokens
	}
	if q.Seed > 0 {
		x.Seed = q.Seed
	}
	// Half is what a confidence from graph activation says of a cold conversation.
	out, err := x.Answer(ctx, q.Messages, gate.Context{Confidence: .5})
	if err != nil {
		return serve.Answer{Usage: out.Usage}, err
	}
	if q.Watch != nil {
		q.Watch(sysGate, out)
	}
	return serve.Answer{Text: out.Text, Usage: out.Usage, Extension: map[string]any{"system": sysGate, "review": out}}, nil
}

// assembly answers by an ensemble.
type assembly struct {
	nodes []ensemble.Node
	cfg   ensemble.Config
}

func (x *assembly) run(ctx context.Context, q serve.Query, observe func(ensemble.Event)) (ensemble.Result, error) {
	cfg := x.cfg
	cfg.Observe = observe
	if q.MaxTokens > 0 {
		cfg.MaxTokens = q.MaxTokens
	}
	if q.Seed > 0 {
		cfg.Seed = q.Seed
	}
	e, err := ensemble.New(x.nodes, cfg)
	if err != nil {
		return ensemble.Result{}, err
	}
	return e.Answer(ctx, ensemble.Query{Text: q.Problem(), History: q.History()})
}

func (x *assembly) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) {
	var observe func(ensemble.Event)
	if q.Watch != nil {
		observe = func(e ensemble.Event) { q.Watch(sysEnsemble, e) }
	}
	r, err := x.run(ctx, q, observe)
	if err != nil {
		return serve.Answer{Usage: r.Usage}, err
	}
	return serve.Answer{Text: r.Text, Usage: r.Usage, Extension: map[string]any{"system": sysEnsemble, "result": r}}, nil
}

// addDeliberate adds the commands of inference-time metacognition.
func addDeliberate(a *app, root *cobra.Command) {
	root.AddCommand(askCmd(a), serveCmd(a))
	for _, c := range root.Commands() {
		if c.Name() == "eval" {
			c.AddCommand(evalDeliberateCmd(a))
		}
	}
}
