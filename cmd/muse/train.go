package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

func trainCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "train", Short: "Train models from collected runs", Args: cobra.ArbitraryArgs, RunE: group}
	c.AddCommand(trainSelfAssessCmd(a), trainSFTCmd(a), trainDPOCmd(a))
	return c
}

func trainSelfAssessCmd(a *app) *cobra.Command {
	var (
		r                 runFlags
		collect, siblings []string
		input, labels     string
		paper, choose     bool
		f                 agentFlags
		cfg               = selfassess.Default()
	)
	c := &cobra.Command{
		Use: "selfassess", Short: "Train M_sa, which predicts success (paper, Alg. 2)", Args: noArgs,
		Long: `Trains the self-assessment on the episodes of collect runs and, with labels
"sibling", on the outcomes of sibling first commands. Leaves msa.safetensors and
report.json in the run folder; all figures are of held-out tasks.`,
		Example: "  muse train selfassess --collect runs/collect-x --siblings runs/siblings-y\n" +
			"  muse train selfassess --collect runs/collect-x --paper\n" +
			"  muse train selfassess --collect runs/collect-x --siblings runs/siblings-y --choose",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(collect) == 0 {
				return usagef("no episodes to learn from: --collect RUN names a folder of `muse collect`")
			}
			if paper {
				if c.Flags().Changed("input") || c.Flags().Changed("labels") || choose {
					return usagef("--paper sets input and labels itself; leave --input, --labels and --choose away")
				}
				p := selfassess.Paper()
				cfg, cfg.Labels = cfg.With(p.Input), p.Labels
			} else {
				if choose && (c.Flags().Changed("input") || c.Flags().Changed("labels")) {
					return usagef("--choose trains every input with both kinds of labels; leave --input and --labels away, or --choose")
				}
				var err error
				if input != "" {
					k, err := selfassess.ParseInputKind(input)
					if err != nil {
						return usageError{err}
					}
					cfg = cfg.With(k)
				}
				if cfg.Labels, err = selfassess.ParseLabels(labels); err != nil {
					return usageError{err}
				}
			}
			if err := r.validate(); err != nil {
				return err
			}
			cfg.Seed, cfg.Workers = r.seed, r.workers
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			if (cfg.Labels.Siblings() || choose) && len(siblings) == 0 {
				return usagef("labels %q need --siblings RUN (a folder or file of `muse siblings`), or choose --labels outcome", cfg.Labels)
			}
			es, err := train.ReadEpisodes(collect...)
			if err != nil {
				return err
			}
			if input == "" && !paper {
				cfg = cfg.With(selfassess.DefaultFor(showsStates(f.model, es)).Input)
			}
			settings := []selfassess.Config{cfg}
			if choose {
				settings = selfassess.Settings(cfg)
			}
			gs, err := train.ReadSiblings(siblings...)
			if err != nil {
				return err
			}
			for _, s := range settings {
				if !s.Input.Uses("hidden") || choose && !showsStates(f.model, es) { // the latter are skipped, and said
					continue
				}
				lm, err := a.playerOf(c.Context(), &f, es)
				if err != nil {
					return err
				}
				defer lm.Close()
				if err := a.readStates(c.Context(), s.Input, lm, es, r.workers); err != nil {
					return err
				}
				break
			}
			var emb selfassess.Embedder
			if choose || cfg.Input.Uses("embedding") {
				lazy := &lazyEmbedder{a: a}
				defer lazy.Close()
				if emb, err = lazy.open(); err != nil {
					return err
				}
			}
			models := map[string]string{}
			if emb != nil {
				models["embedder"] = emb.Hash()
			}
			data, err := train.HashFiles(append(collect, siblings...)...)
			if err != nil {
				return err
			}
			run, err := a.open(&r, "selfassess", settings, data, models)
			if err != nil {
				return err
			}
			return finish(run, func() error {
				m, rep, err := train.TrainSelfAssess(c.Context(), run, es, gs, emb, settings, func(s selfassess.SettingResult) {
					if s.Skipped != "" {
						a.say("%-32s skipped: %s", s.Name, s.Skipped)
						return
					}
					a.say("%-32s lift best %s lowest %s, chunks AUROC %s", s.Name, s.Lift.Best, s.Lift.Lowest, s.Chunks.AUROC)
				})
				if err != nil {
					return err
				}
				if r.json {
					return a.printJSON(rep)
				}
				fmt.Fprintln(a.stdout, strings.Join(rep.Lines(), "\n"))
				a.say("wrote %s (%s)", run.Path(train.FileMSA), m.Name())
				return nil
			})
		},
	}
	r.add(c)
	fs := c.Flags()
	list(fs, &collect, "collect", "run folders (or episodes.jsonl files) to learn from")
	list(fs, &siblings, "siblings", "folders or files of muse siblings")
	fs.StringVar(&input, "input", "", "what the head sees: embedding, history, history+embedding, history+hidden, history+embedding+hidden (default: history+hidden where the actor shows hidden states, else history+embedding)")
	fs.StringVar(&labels, "labels", string(cfg.Labels), "outcome (paper) or sibling")
	fs.BoolVar(&paper, "paper", false, "the paper's row: input embedding, labels outcome")
	fs.BoolVar(&choose, "choose", false, "train all settings and keep the one with the best sibling lift on held-out tasks")
	fs.StringVar(&f.model, "model", "", "the model that played, needed for input \"hidden\" (default: the one that the episodes name)")
	f.addAdapter(fs)
	fs.IntVar(&cfg.Epochs, "epochs", cfg.Epochs, "epochs at most (early stopping on held-out tasks)")
	fs.IntVar(&cfg.Folds, "folds", cfg.Folds, "folds by task for held-out figures and calibration")
	fs.IntVar(&cfg.Hidden, "units", cfg.Hidden, "units of the hidden layer")
	fs.IntVar(&cfg.Text.Context, "text-context", cfg.Text.Context, "real pairs before the future in M_sa's text, 0 = paper")
	return c
}
