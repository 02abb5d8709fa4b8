package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/arm"
	"github.com/muse-agent/muse/worldmodel"
)

// worldDemo hangs the arm under demo.
func worldDemo(a *app, c *cobra.Command) {
	var x armAgentFlags
	cfg := arm.DemoConfig()
	onEnv(c, append([]string{"episodes"}, runShared...), func(f *pflag.FlagSet) {
		list(f, &x.checkpoint, "checkpoint", "gridarm: world model instead of the one in the program")
		f.IntVar(&cfg.Updates, "updates", cfg.Updates, "gridarm: updates after each episode")
	}, func(c *cobra.Command) error {
		r, err := sharedRun(c.Flags())
		if err != nil {
			return err
		}
		cfg.Episodes = sharedInt(c.Flags(), "episodes", arm.DemoConfig().Episodes)
		x.gradient = selfregulate.DefaultGradient()
		if cfg.Agents, err = x.agents([]string{"off", "rollouts/best", "rollouts/random"}, false); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return usageError{err}
		}
		models := []arm.NamedCheckpoint{{Name: "demo", Hash: "in the program"}}
		if len(x.checkpoint) > 0 {
			if models, err = x.checkpoints(arm.FileModel); err != nil {
				return err
			}
			if len(models) > 1 {
				return usagef("--checkpoint names %d models; the demo adapts one", len(models))
			}
			m, err := worldmodel.Load(models[0].Path)
			if err != nil {
				return err
			}
			if err := a.needPsi(cfg.Agents, []string{models[0].Name}, []bool{m.Config().Quantiles == 0}); err != nil {
				return err
			}
		}
		models[0].Replay = arm.SeededReplay(r.seed)
		run, err := a.open(&r, "demo-gridarm", map[string]any{"adapt": cfg, "spec": gridarm.SpecVersion, "reward": gridarm.RewardVersion, "blas": worldmodel.BLAS}, nil, map[string]string{models[0].Name: models[0].Hash})
		if err != nil {
			return err
		}
		return finish(run, func() error {
			if models[0].Path == "" {
				models[0].Path = run.Path(arm.FileModel)
				if err := arm.DemoModel(models[0].Path); err != nil {
					return err
				}
			}
			w, tty := a.progressWriter()
			p := train.NewProgress(w, tty, "adaptations", 0, len(cfg.Tasks)*len(cfg.Agents))
			defer p.Close()
			if err := arm.Adapt(c.Context(), run, models, cfg, r.workers, p); err != nil {
				return err
			}
			var tables []arm.Table
			for _, phase := range []string{"adapt", "test"} {
				t, err := arm.Tabulate([]string{run.Dir}, phase, "off")
				if err != nil {
					return err
				}
				if err := run.WriteJSON(phase+".json", t); err != nil {
					return err
				}
				tables = append(tables, t)
			}
			if err := arm.WritePage(run, tables...); err != nil {
				return err
			}
			a.say("wrote %s; look at the episodes with `muse watch %s`", run.Path(arm.FilePage), run.Dir)
			if r.json {
				return a.printJSON(tables)
			}
			for i, t := range tables {
				fmt.Fprintf(a.stdout, "%s\n%s\n", []string{"while adapting", "tests afterwards"}[i], t)
			}
			return nil
		})
	})
}
