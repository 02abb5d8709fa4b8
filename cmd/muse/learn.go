package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/llm/reflector"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/train"
)

// openEmbedded opens an embedded model with an adapter, "" = none. A name from a record,
// such as "embedded/base+sft", stands for its base, if the adapter is given.
func openEmbedded(name, adapter string) (llm.Model, error) {
	name = strings.TrimPrefix(name, "embedded/")
	base, with, adapted := strings.Cut(name, "+")
	if adapted && adapter == "" && !strings.ContainsRune(name, os.PathSeparator) {
		return nil, usagef("%q is %s with the adapter %q: write --model %s --adapter FILE", name, base, with, base)
	}
	if adapter == "" {
		base = name
	}
	return embedded.Open(base, embedded.Options{Adapter: adapter})
}

// openEmbedded opens the model of --model, --adapter and --reflector.
func (f *agentFlags) openEmbedded() (llm.Model, error) {
	m, err := openEmbedded(f.model, f.adapter)
	if err != nil || f.reflector == "" {
		return m, err
	}
	o, err := openEmbedded(f.model, f.reflector)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return reflector.New(m, o)
}

// addAdapter adds the flags of every command with an embedded actor.
func (f *agentFlags) addAdapter(fs *pflag.FlagSet) {
	fs.StringVar(&f.adapter, "adapter", "", "low-rank adapter for the embedded model (muse train sft, muse train dpo)")
	fs.StringVar(&f.reflector, "reflector", "", "adapter of the model that writes the reflections; the actor has that of --adapter, or none")
}

// learnFlags are common to muse train sft and muse train dpo.
type learnFlags struct {
	run     runFlags
	model   string
	targets string
}

func (l *learnFlags) add(c *cobra.Command, cfg *train.LearnConfig) {
	l.run.add(c)
	fs := c.Flags()
	fs.StringVar(&l.model, "model", "base", "the embedded model to teach: weak, base or strong, or a model folder")
	fs.IntVar(&cfg.Steps, "steps", cfg.Steps, "updates")
	fs.Float64Var(&cfg.Rate, "rate", cfg.Rate, "learning rate")
	fs.Float64Var(&cfg.Held, "held", cfg.Held, "share of the games that is held out and written to held.txt")
	fs.IntVar(&cfg.Adapter.Rank, "rank", cfg.Adapter.Rank, "rank of the adapter")
	fs.Float64Var(&cfg.Adapter.Alpha, "alpha", cfg.Adapter.Alpha, "the update is scaled by alpha/rank, 0 = twice the rank")
	fs.StringVar(&l.targets, "targets", string(cfg.Adapter.Targets), "what is adapted: head, last (block and head) or all")
	fs.BoolVar(&cfg.Shuffle, "shuffle", false, "control: the same number of updates with labels dealt out at random")
}

// settle puts the flags into cfg.
func (l *learnFlags) settle(cfg *train.LearnConfig) error {
	if err := l.run.validate(); err != nil {
		return err
	}
	cfg.Seed, cfg.Workers, cfg.Adapter.Seed = l.run.seed, l.run.workers, l.run.seed
	cfg.Adapter.Targets = lora.Targets(l.targets)
	return nil
}

func trainSFTCmd(a *app) *cobra.Command {
	var (
		l       learnFlags
		collect []string
		cfg     = train.DefaultSFT()
	)
	c := &cobra.Command{
		Use: "sft", Short: "Teach the embedded actor its successful episodes (paper, 4.1)", Args: noArgs,
		Long: `Supervised fine-tuning of the embedded model by a low-rank adapter: plans, thoughts
and commands of the successful episodes of collect runs. A share of the games is left
out and listed in held.txt. Leaves adapter.safetensors and report.json in the run folder;
play with it by --adapter.`,
		Example: "  muse train sft --model base --collect runs/collect-x --out runs/sft\n" +
			"  muse train sft --model base --collect runs/collect-x --shuffle --out runs/sft-control\n" +
			"  muse eval --agent react --adapter runs/sft/adapter.safetensors --split seen --list runs/sft/held.txt",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(collect) == 0 {
				return usagef("no episodes to learn from: --collect RUN names a folder of `muse collect`")
			}
			if err := l.settle(&cfg.LearnConfig); err != nil {
				return err
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			es, err := train.ReadEpisodes(collect...)
			if err != nil {
				return err
			}
			m, err := openEmbedded(l.model, "")
			if err != nil {
				return err
			}
			defer m.Close()
			data, err := train.HashFiles(collect...)
			if err != nil {
				return err
			}
			run, err := a.open(&l.run, "sft", cfg, data, map[string]string{"llm": m.Info().Hash})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				w, tty := a.progressWriter()
				bar := train.NewProgress(w, tty, "sft", 0, cfg.Steps)
				defer bar.Close()
				rep, err := train.SFT(c.Context(), run, strings.TrimPrefix(l.model, "embedded/"), m, es, cfg, bar)
				if err != nil {
					return err
				}
				if l.run.json {
					return a.printJSON(rep)
				}
				fmt.Fprintln(a.stdout, rep)
				a.say("wrote %s", run.Path(train.FileAdapter))
				return nil
			})
		},
	}
	l.add(c, &cfg.LearnConfig)
	fs := c.Flags()
	list(fs, &collect, "collect", "run folders (or episodes.jsonl files) to learn from")
	fs.IntVar(&cfg.Batch, "batch-tokens", cfg.Batch, "tokens of an update")
	fs.IntVar(&cfg.MaxTokens, "max-tokens", cfg.MaxTokens, "an episode is cut there")
	fs.Float64Var(&cfg.Observation, "observation", cfg.Observation, "weight of the world's answers in the loss; own lines have 1")
	fs.BoolVar(&cfg.SkipFailed, "skip-failed", cfg.SkipFailed, "leave out commands without effect")
	return c
}

func trainDPOCmd(a *app) *cobra.Command {
	var (
		l              learnFlags
		prefs, collect []string
		cfg            = train.DefaultDPO()
	)
	c := &cobra.Command{
		Use: "dpo", Short: "Teach the reflection model which reflections help (paper, 4.1)", Args: noArgs,
		Long: `Direct preference optimisation of the embedded model's reflections by a low-rank
adapter. From muse preferences: of two reflections on the same lost trial, the one after
which the task went better is preferred. From collect runs: one between a lost and a won
trial is preferred to one between two lost trials of the same game. Leaves adapter.safetensors, held.txt and report.json in the run
folder; play with it by --adapter, or for reflections only by --reflector.`,
		Example: "  muse train dpo --model base --preferences runs/preferences --out runs/dpo\n" +
			"  muse eval --agent reflexion --trials 2 --adapter runs/sft/adapter.safetensors --reflector runs/dpo/adapter.safetensors",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(prefs)+len(collect) == 0 {
				return usagef("nothing to learn from: --preferences RUN names a folder of `muse preferences`, --collect RUN one of `muse collect`")
			}
			if err := l.settle(&cfg.LearnConfig); err != nil {
				return err
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			ls, err := train.ReadPreferences(prefs...)
			if err != nil {
				return err
			}
			if len(collect) > 0 {
				es, err := train.ReadEpisodes(collect...)
				if err != nil {
					return err
				}
				ls = append(ls, train.ReflectedTrials(es)...)
			}
			m, err := openEmbedded(l.model, "")
			if err != nil {
				return err
			}
			defer m.Close()
			data, err := train.HashFiles(append(prefs, collect...)...)
			if err != nil {
				return err
			}
			run, err := a.open(&l.run, "dpo", cfg, data, map[string]string{"llm": m.Info().Hash})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				w, tty := a.progressWriter()
				bar := train.NewProgress(w, tty, "dpo", 0, cfg.Steps)
				defer bar.Close()
				rep, err := train.DPO(c.Context(), run, strings.TrimPrefix(l.model, "embedded/"), m, ls, cfg, bar)
				if err != nil {
					return err
				}
				if l.run.json {
					return a.printJSON(rep)
				}
				fmt.Fprintln(a.stdout, rep)
				a.say("wrote %s", run.Path(train.FileAdapter))
				return nil
			})
		},
	}
	l.add(c, &cfg.LearnConfig)
	fs := c.Flags()
	list(fs, &prefs, "preferences", "run folders (or preferences.jsonl files) of muse preferences")
	list(fs, &collect, "collect", "run folders (or episodes.jsonl files) of trials with reflections")
	fs.Float64Var(&cfg.Beta, "beta", cfg.Beta, "how dearly distance from the base model is paid (KL)")
	fs.IntVar(&cfg.Batch, "pairs", cfg.Batch, "pairs of an update")
	fs.IntVar(&cfg.MaxTokens, "max-tokens", cfg.MaxTokens, "a trial is cut so that it and the reflection fit")
	fs.Float64Var(&cfg.SFT, "sft", cfg.SFT, "so much of the loss of the preferred text is added, 0 = plain DPO")
	return c
}
