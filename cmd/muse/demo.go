package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// demo is one run of the whole loop on a few tasks.
type demo struct {
	a *app
	r runFlags
	f agentFlags
	g gameFlags

	tasks, seen    int
	episodes       int
	adapt, tests   int
	input          string
	siblingsAtMost int

	dir string
	m   llm.Model
	emb *lazyEmbedder
}

func demoCmd(a *app) *cobra.Command {
	d := &demo{a: a}
	c := &cobra.Command{
		Use: "demo", Short: "The whole loop on a few tasks, in minutes", Args: noArgs,
		Long: `Collects episodes of seen tasks, trains the self-assessment live (the language model
and the sibling outcomes ship with muse), then plays the same unseen tasks with the same
seeds by ReAct, Reflexion and MUSE with its controls, and adapts to each of them. A few
tasks only: the intervals it prints are wide. The full results are in docs/results.`,
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c.Context()) },
	}
	d.r.add(c)
	d.f.add(c)
	d.g.addRules(c)
	fs := c.Flags()
	fs.IntVar(&d.tasks, "tasks", 8, "unseen tasks to play")
	fs.IntVar(&d.seen, "seen", 30, "seen tasks to collect from")
	fs.IntVar(&d.episodes, "episodes", 2, "episodes of each seen task")
	fs.IntVar(&d.adapt, "adapt", 5, "adaptation episodes of each unseen task")
	fs.IntVar(&d.tests, "tests", 2, "test episodes after adaptation")
	fs.IntVar(&d.siblingsAtMost, "siblings", 200, "sibling visits to learn from at most, 0 = all that ship")
	fs.StringVar(&d.input, "input", string(selfassess.Default().Input), "what the self-assessment sees (see muse train selfassess)")
	return c
}

func (d *demo) run(ctx context.Context) (err error) {
	start := time.Now()
	cfg := selfassess.Default()
	if cfg.Input, err = selfassess.ParseInputKind(d.input); err != nil {
		return usageError{err}
	}
	cfg.Seed, cfg.Workers, cfg.Folds = d.r.seed, max(1, d.r.workers), 3
	if d.m, err = d.f.openModel(ctx, d.a); err != nil {
		return err
	}
	defer d.m.Close()
	d.emb = &lazyEmbedder{a: d.a}
	defer d.emb.Close()
	d.dir = d.r.out
	if d.dir == "" {
		m := train.Manifest{Command: "demo", Seed: d.r.seed, Models: map[string]string{"llm": d.m.Info().Hash},
			Config: []any{d.tasks, d.seen, d.episodes, d.adapt, d.tests, d.siblingsAtMost, cfg, d.f.temperature, d.f.horizon, d.f.rollouts}}
		d.dir = filepath.Join("runs", "demo-"+m.Hash())
	}
	d.a.say("demo: run folder %s, model %s, seed %d", d.dir, d.m.Info().Name, d.r.seed)

	es, err := d.collect(ctx)
	if err != nil {
		return err
	}
	gs, err := d.siblings(ctx)
	if err != nil {
		return err
	}
	d.a.say("3. training the self-assessment (%s) on %s and %d sibling visits", cfg, train.Describe(es), len(gs))
	msa, rep, err := d.train(ctx, es, gs, cfg)
	if err != nil {
		return err
	}
	for _, l := range rep.Lines() {
		d.a.say("   %s", l)
	}
	table, assess, err := d.play(ctx, msa, es)
	if err != nil {
		return err
	}
	res := map[string]any{"selection": table, "assessment": assess, "msa": rep.Model, "model": d.m.Info().Name, "seed": d.r.seed}
	if err := train.WriteJSON(filepath.Join(d.dir, "demo.json"), res); err != nil {
		return err
	}
	if d.r.json {
		return d.a.printJSON(res)
	}
	d.print(table, assess)
	d.a.say("demo: %s, everything is in %s", time.Since(start).Round(time.Second), d.dir)
	return nil
}

// sub is the flags of a step's own run folder.
func (d *demo) sub(name string) *runFlags {
	r := d.r
	r.out = filepath.Join(d.dir, name)
	return &r
}

func (d *demo) bench(split string, n int) (*train.Bench, error) {
	g := d.g
	g.splits, g.sample = []string{split}, n
	return d.a.bench(&g, &d.r)
}

func (d *demo) collect(ctx context.Context) ([]*train.Episode, error) {
	b, err := d.bench("seen", d.seen)
	if err != nil {
		return nil, err
	}
	p, err := d.f.player("reflexion", selfregulate.Off, d.m, nil, &d.g)
	if err != nil {
		return nil, err
	}
	cfg := train.CollectConfig{Episodes: d.episodes, Reflect: true}
	d.a.say("1. collecting: %d seen tasks, %d episodes each, by Reflexion", len(b.Games), d.episodes)
	run, err := d.a.open(d.sub("collect"), "collect", map[string]any{"collect": cfg, "agent": p.Info},
		map[string]string{"games": train.GameSetHash(b.Games)}, map[string]string{"llm": d.m.Info().Hash})
	if err != nil {
		return nil, err
	}
	if err := finish(run, func() error { return train.Collect(ctx, run, b, p, cfg) }); err != nil {
		return nil, err
	}
	return train.ReadEpisodes(run.Dir)
}

func (d *demo) siblings(ctx context.Context) ([]*train.SiblingGame, error) {
	gs, ok, err := train.ShippedSiblings(d.m.Info().Name)
	if err != nil {
		return nil, err
	}
	if ok {
		d.a.say("2. sibling outcomes: those that ship for %s", d.m.Info().Name)
		if n := d.siblingsAtMost; n > 0 && len(gs) > n {
			gs = gs[:n] // visits are ordered so that a prefix has seen all games
		}
		return gs, nil
	}
	b, err := d.bench("seen", d.seen)
	if err != nil {
		return nil, err
	}
	d.a.say("2. sibling outcomes: none ship for %s, trying out first commands of %d seen tasks", d.m.Info().Name, len(b.Games))
	visitor, err := d.f.player("muse", selfregulate.Random, d.m, nil, &d.g)
	if err != nil {
		return nil, err
	}
	player, err := d.f.player("muse", selfregulate.Off, d.m, nil, &d.g)
	if err != nil {
		return nil, err
	}
	cfg := train.DefaultSiblings()
	cfg.Episodes = 1
	run, err := d.a.open(d.sub("siblings"), "siblings", map[string]any{"siblings": cfg, "agent": visitor.Info},
		map[string]string{"games": train.GameSetHash(b.Games)}, map[string]string{"llm": d.m.Info().Hash})
	if err != nil {
		return nil, err
	}
	if err := finish(run, func() error { return train.CollectSiblings(ctx, run, b, visitor, player, cfg) }); err != nil {
		return nil, err
	}
	return train.ReadSiblings(run.Dir)
}

func (d *demo) train(ctx context.Context, es []*train.Episode, gs []*train.SiblingGame, cfg selfassess.Config) (*selfassess.Model, *train.MSAReport, error) {
	var emb selfassess.Embedder
	models := map[string]string{}
	if cfg.Input.Uses("embedding") {
		e, err := d.emb.open()
		if err != nil {
			return nil, nil, err
		}
		emb, models["embedder"] = e, e.Hash()
	}
	run, err := d.a.open(d.sub("selfassess"), "selfassess", cfg, nil, models)
	if err != nil {
		return nil, nil, err
	}
	var m *selfassess.Model
	var rep *train.MSAReport
	err = finish(run, func() (err error) {
		m, rep, err = train.TrainSelfAssess(ctx, run, es, gs, emb, []selfassess.Config{cfg}, nil)
		return err
	})
	return m, rep, err
}

// play evaluates without adaptation, then adapts to the same tasks.
func (d *demo) play(ctx context.Context, msa *selfassess.Model, old []*train.Episode) (train.Selection, *train.AssessReport, error) {
	var none train.Selection
	b, err := d.bench("unseen", d.tasks)
	if err != nil {
		return none, nil, err
	}
	names := []string{"react", "reflexion", "muse-lowest", "muse-random", "muse-best"}
	arms, err := d.a.arms(names, &d.f, &d.g, d.m, []namedMSA{{"demo", msa}}, 1)
	if err != nil {
		return none, nil, err
	}
	hashes := map[string]string{"llm": d.m.Info().Hash, "msa": msa.Hash()}
	data := map[string]string{"games": train.GameSetHash(b.Games)}
	d.a.say("4. playing %d unseen tasks: %s", len(b.Games), strings.Join(names, ", "))
	run, err := d.a.open(d.sub("eval"), "eval", names, data, hashes)
	if err != nil {
		return none, nil, err
	}
	var parts []*train.Part
	err = finish(run, func() (err error) {
		parts, err = train.Eval(ctx, run, b, arms, train.EvalConfig{Seeds: 1})
		return err
	})
	if err != nil {
		return none, nil, err
	}
	es, replay, cfg, err := d.adaptTo(ctx, b, msa, old, data, hashes)
	if err != nil {
		return none, nil, err
	}
	for _, p := range train.TestParts(b, es) {
		p.Arm += " adapted"
		parts = append(parts, p)
	}
	assess, err := train.AssessAdaptation(ctx, es, "muse-best", msa, replay, cfg.MSA)
	return train.Tabulate(parts, "muse-random", "muse-lowest"), assess, err
}

func (d *demo) adaptTo(ctx context.Context, b *train.Bench, msa *selfassess.Model, old []*train.Episode, data, hashes map[string]string) ([]*train.Episode, *selfassess.Replay, train.AdaptConfig, error) {
	cfg := train.DefaultAdapt()
	cfg.Episodes, cfg.Tests = d.adapt, d.tests
	replay, err := selfassess.NewReplay(ctx, msa, train.Chunks(old))
	if err != nil {
		return nil, nil, cfg, err
	}
	plain, err := d.f.player("reflexion", selfregulate.Off, d.m, nil, &d.g)
	if err != nil {
		return nil, nil, cfg, err
	}
	arm := train.AdaptArm{Name: "muse-best", By: plain, MSA: msa, Reflect: true, Test: func(m *selfassess.Model) (train.Player, error) {
		return d.f.player("muse", selfregulate.Best, d.m, m, &d.g)
	}}
	d.a.say("5. adapting to each of them: %d episodes by Reflexion, then %d tests by MUSE", cfg.Episodes, cfg.Tests)
	run, err := d.a.open(d.sub("adapt"), "adapt", cfg, data, hashes)
	if err != nil {
		return nil, nil, cfg, err
	}
	if err := finish(run, func() error { return train.Adapt(ctx, run, b, []train.AdaptArm{arm}, replay, cfg) }); err != nil {
		return nil, nil, cfg, err
	}
	es, err := train.ReadEpisodes(run.Dir)
	return es, replay, cfg, err
}

func (d *demo) print(t train.Selection, r *train.AssessReport) {
	w := d.a.stdout
	fmt.Fprintf(w, "Agents on the same %d unseen tasks and seeds (%s, rules %s):\n\n%s\n", d.tasks, d.m.Info().Name, textworld.SpecVersion, t)
	fmt.Fprintf(w, "Self-assessment on the test episodes, before (none) and after adaptation (task):\n\n%s\n", r)
	fmt.Fprintf(w, "These are %d tasks: the 95 %% intervals in brackets are wide, and differences inside\nthem mean nothing. The full result is in docs/results (134 tasks, two seeds).\n", d.tasks)
}
