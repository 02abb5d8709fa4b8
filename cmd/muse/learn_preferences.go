package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

func preferencesCmd(a *app) *cobra.Command {
	var (
		p       playFlags
		collect []string
		cfg     = train.DefaultPreferences()
	)
	c := &cobra.Command{
		Use: "preferences", Short: "Try several reflections on each lost trial (paper, Alg. 3)", Args: noArgs,
		Long: `Samples several reflections on lost trials of training games, plays the task again
after each of them and keeps the outcomes: what ` + "`muse train dpo`" + ` learns from.`,
		Example: "  muse preferences --model base --split seen --collect runs/collect-x --out runs/preferences",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(collect) == 0 {
				return usagef("no lost trials: --collect RUN names a folder of `muse collect` or of `muse eval --trials`")
			}
			cfg.EarlyStop = p.agent.earlyStop
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			es, err := train.ReadEpisodes(collect...)
			if err != nil {
				return err
			}
			b, m, err := a.openPlay(c.Context(), &p)
			if err != nil {
				return err
			}
			defer m.Close()
			player, err := p.player("reflexion", selfregulate.Off, m, nil)
			if err != nil {
				return err
			}
			data, err := train.HashFiles(collect...)
			if err != nil {
				return err
			}
			data["games"] = train.GameSetHash(b.Games)
			run, err := a.open(&p.run, "preferences", map[string]any{"preferences": cfg, "agent": player.Info, "env": b.Env}, data,
				map[string]string{"llm": m.Info().Hash})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				if err := train.CollectPreferences(c.Context(), run, b, player, es, cfg); err != nil {
					return err
				}
				ls, err := train.ReadPreferences(run.Dir)
				if err != nil {
					return err
				}
				s := train.DescribePreferences(ls)
				if p.run.json {
					return a.printJSON(s)
				}
				fmt.Fprintln(a.stdout, s)
				return nil
			})
		},
	}
	p.add(c, "seen", cfg.EarlyStop)
	fs := c.Flags()
	list(fs, &collect, "collect", "run folders (or episodes.jsonl files) with lost trials")
	fs.IntVar(&cfg.Texts, "texts", cfg.Texts, "reflections sampled on a lost trial")
	fs.IntVar(&cfg.Plays, "plays", cfg.Plays, "trials after each reflection")
	fs.IntVar(&cfg.PerGame, "per-game", cfg.PerGame, "lost trials of a game, at most")
	return c
}
