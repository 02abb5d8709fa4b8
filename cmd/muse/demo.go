package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

func demoCmd(a *app) *cobra.Command {
	var (
		g                 gameFlags
		r                 runFlags
		f                 agentFlags
		cfg               = train.DefaultDemo()
		tasks             int
		collect, siblings []string
		input             string
	)
	c := &cobra.Command{
		Use: "demo", Short: "The whole loop on a few unseen games, in minutes", Args: noArgs,
		Long: `Trains the self-assessment on recorded play of seen household games, adapts it to a
few unseen ones and shows two things, with intervals: how good its probabilities are
before and after adaptation, and what acting on them brings: success and steps of ReAct,
Reflexion and MUSE by lowest, random and best choice, on the same games and seeds.

The language model and the recorded play are in the program; self-assessment is trained
here and now. Interrupt it at will: the same command continues.`,
		Example: "  muse demo\n  muse demo --tasks 24 --seed 2\n  muse demo --model weak --collect runs/collect-weak --siblings runs/siblings-weak",
		RunE: func(c *cobra.Command, _ []string) error {
			start := time.Now()
			if (len(collect) == 0) != (len(siblings) == 0) {
				return usagef("--collect and --siblings belong together: self-assessment learns from both")
			}
			if tasks < 2 {
				return usagef("--tasks is %d; at least 2 games are needed", tasks)
			}
			kind, err := selfassess.ParseInputKind(input)
			if err != nil {
				return usageError{err}
			}
			if f.model == "toy" && !c.Flags().Changed("input") {
				kind = selfassess.Default().Input // a script has no hidden states
			}
			cfg.MSA = cfg.MSA.With(kind)
			if !nativeBuild() && (f.model != "toy" || cfg.MSA.Input.Uses("embedding")) {
				return errors.New("demo: the language model and the sentence embedder need the native parts: `make deps` builds them, `make demo` builds the program with them and starts the demo")
			}
			cfg.MSA.Seed, cfg.Adapt.Seed = r.seed, r.seed
			if cfg.Agent, err = f.config("muse", &g); err != nil {
				return err
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			b, err := a.bench(&g, &r)
			if err != nil {
				return err
			}
			b.Games = train.DemoGames(b.Games, tasks)
			d := &train.Demo{Config: cfg, Bench: b, Say: a.say}
			if d.Model, err = f.openModel(c.Context(), a); err != nil {
				return err
			}
			defer d.Model.Close()
			if len(collect) > 0 {
				d.Set, err = train.OpenSet(collect, siblings)
			} else {
				d.Set, err = train.ShippedSet(strings.TrimPrefix(f.model, "embedded/"))
			}
			if err != nil {
				return err
			}
			if cfg.MSA.Input.Uses("embedding") {
				emb := &lazyEmbedder{a: a}
				defer emb.Close()
				if d.Embedder, err = emb.open(); err != nil {
					return err
				}
			}
			run, err := d.OpenDemo(r.out, train.Manifest{Args: a.args, Version: version})
			if err != nil {
				return err
			}
			a.say("run folder: %s", run.Dir)
			return finish(run, func() error {
				res, err := d.Run(c.Context(), run)
				if err != nil {
					return err
				}
				a.say("done in %s", time.Since(start).Round(time.Second))
				if r.json {
					return a.printJSON(res)
				}
				fmt.Fprint(a.stdout, "\n", res)
				return nil
			})
		},
	}
	fs := c.Flags()
	g.splits = []string{"unseen"}
	fs.IntVar(&tasks, "tasks", 12, "unseen games, of all task types in turn")
	fs.IntVar(&cfg.Episodes, "episodes", cfg.Episodes, "adaptation episodes a game")
	fs.IntVar(&cfg.Tests, "tests", cfg.Tests, "test episodes a game and agent")
	fs.StringVar(&input, "input", string(cfg.MSA.Input), "what self-assessment sees: embedding, history, history+embedding, history+hidden, history+embedding+hidden")
	fs.BoolVar(&cfg.Windows, "windows", cfg.Windows, "train on a window at every step, not at every fourth (slower)")
	list(fs, &collect, "collect", "learn from these runs of `muse collect` instead of the recorded play")
	list(fs, &siblings, "siblings", "and from these runs of `muse siblings`")
	r.add(c)
	g.dialect, g.maxSteps = string(textworld.DialectMove), 50
	f.add(c)
	f.temperature = cfg.Agent.Temperature // what val prefers for the futures
	fs.Lookup("temperature").DefValue = fmt.Sprint(f.temperature)
	c.AddCommand(demoPackCmd(a))
	return c
}

// demoPackCmd makes the recorded play that ships with the program.
func demoPackCmd(a *app) *cobra.Command {
	var collect, siblings, out string
	c := &cobra.Command{
		Use: "pack", Short: "Pack a collect run and a siblings run as recorded play", Args: noArgs, Hidden: true,
		Example: "  muse demo pack --collect runs/collect-base --siblings runs/siblings-base --out train/data/base",
		RunE: func(*cobra.Command, []string) error {
			if collect == "" || siblings == "" || out == "" {
				return usagef("--collect, --siblings and --out are needed")
			}
			info, err := train.PackSet(collect, siblings, out)
			if err != nil {
				return err
			}
			return a.printJSON(info)
		},
	}
	fs := c.Flags()
	fs.StringVar(&collect, "collect", "", "run folder of `muse collect`")
	fs.StringVar(&siblings, "siblings", "", "run folder of `muse siblings`")
	fs.StringVarP(&out, "out", "o", "", "folder of the set")
	return c
}
