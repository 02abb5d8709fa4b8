package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

func collectCmd(a *app) *cobra.Command {
	var (
		p   playFlags
		cfg = train.DefaultCollect()
		who string
	)
	c := &cobra.Command{
		Use: "collect", Short: "Play training games and keep every episode (paper, Alg. 3)", Args: noArgs,
		Long: `Plays a number of episodes of every selected game with a Reflexion agent: lost
episodes are reflected on and the next ones read it. The episodes are what ` + "`muse\ntrain selfassess`" + ` learns from.`,
		Example: "  muse collect --split seen --model base\n  muse collect --split seen --episodes 2 --limit 6 --out runs/try",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			b, m, err := a.openPlay(c.Context(), &p)
			if err != nil {
				return err
			}
			defer m.Close()
			player, err := p.player(who, selfregulate.Off, m, nil)
			if err != nil {
				return err
			}
			run, err := a.open(&p.run, "collect", map[string]any{"collect": cfg, "agent": player.Info, "env": b.Env},
				map[string]string{"games": train.GameSetHash(b.Games)}, map[string]string{"llm": m.Info().Hash})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				if err := train.Collect(c.Context(), run, b, player, cfg); err != nil {
					return err
				}
				es, err := train.ReadEpisodes(run.Dir)
				if err != nil {
					return err
				}
				s := train.Describe(es)
				if p.run.json {
					return a.printJSON(s)
				}
				fmt.Fprintln(a.stdout, s)
				return nil
			})
		},
	}
	p.add(c, "seen", 0)
	c.Flags().IntVar(&cfg.Episodes, "episodes", cfg.Episodes, "episodes a game")
	c.Flags().BoolVar(&cfg.Reflect, "reflect", cfg.Reflect, "hand reflections on to later episodes of the game")
	c.Flags().BoolVar(&cfg.UntilSolved, "until-solved", cfg.UntilSolved, "stop a game after its first success")
	c.Flags().StringVar(&who, "agent", "reflexion", "react or reflexion")
	return c
}

// finish runs work and closes the run folder whatever happens.
func finish(run *train.Run, work func() error) (err error) {
	defer func() { err = errors.Join(err, run.Close()) }()
	return work()
}

func siblingsCmd(a *app) *cobra.Command {
	var (
		p    playFlags
		cfg  = train.DefaultSiblings()
		pack string
	)
	c := &cobra.Command{
		Use: "siblings", Short: "Try out the first commands of imagined futures (sibling labels)", Args: noArgs,
		Long: `At states of training games whose imagined futures begin with different commands,
executes each of them in a copy of the game and plays on by plain sampling. The mean
outcomes are labels that teach self-assessment to choose (see docs).`,
		Example: "  muse siblings --split seen --model base --pack siblings.jsonl.gz",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg.EarlyStop = p.agent.earlyStop
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			if pack != "" { // better before the hours of play than after them
				if _, err := os.Stat(filepath.Dir(pack)); err != nil {
					return fmt.Errorf("--pack: %w", err)
				}
			}
			b, m, err := a.openPlay(c.Context(), &p)
			if err != nil {
				return err
			}
			defer m.Close()
			visitor, err := p.player("muse", selfregulate.Random, m, nil)
			if err != nil {
				return err
			}
			player, err := p.player("muse", selfregulate.Off, m, nil)
			if err != nil {
				return err
			}
			run, err := a.open(&p.run, "siblings", map[string]any{"siblings": cfg, "agent": visitor.Info, "env": b.Env},
				map[string]string{"games": train.GameSetHash(b.Games)}, map[string]string{"llm": m.Info().Hash})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				if err := train.CollectSiblings(c.Context(), run, b, visitor, player, cfg); err != nil {
					return err
				}
				gs, err := train.ReadSiblings(run.Dir)
				if err != nil {
					return err
				}
				if pack != "" {
					if err := train.PackSiblings(pack, gs); err != nil {
						return err
					}
				}
				s := train.DescribeSiblings(gs)
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
	fs.IntVar(&cfg.Episodes, "episodes", cfg.Episodes, "visiting episodes a game")
	fs.IntVar(&cfg.PerVisit, "per-visit", cfg.PerVisit, "at most so many states of one episode")
	fs.Float64Var(&cfg.Share, "share", cfg.Share, "chance that futures are imagined at a state")
	fs.Float64Var(&cfg.StuckShare, "stuck-share", cfg.StuckShare, "the same after two commands without effect")
	fs.IntVar(&cfg.Plays, "plays", cfg.Plays, "continuations of each first command")
	fs.BoolVar(&cfg.Hidden, "hidden", cfg.Hidden, "keep the futures' hidden states (for --input history+hidden)")
	fs.StringVar(&pack, "pack", "", "also write the result as one compressed file")
	return c
}
