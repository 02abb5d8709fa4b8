package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/arm"
	"github.com/muse-agent/muse/worldmodel"
)

// oneModel opens the model of --checkpoint for commands that check one.
func (x *armAgentFlags) oneModel() (*worldmodel.Model, error) {
	files, err := x.checkpoints(arm.FileModel)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, usagef("--checkpoint names %d models; check one at a time", len(files))
	}
	return worldmodel.Load(files[0].Path)
}

// checkOutput are the flags of commands that write a report where they are told to.
type checkOutput struct {
	out, plot string
	json      bool
}

// write prints a report and writes it, and its plot, to files.
func (o checkOutput) write(a *app, rep fmt.Stringer, svg func() string) error {
	if o.out != "" {
		if err := train.WriteJSON(o.out, rep); err != nil {
			return err
		}
	}
	if o.plot != "" {
		if err := atomicfile.WriteFile(o.plot, []byte(svg()), 0o644); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
	}
	if o.json {
		return a.printJSON(rep)
	}
	fmt.Fprint(a.stdout, rep)
	return nil
}

func checkDynamicsCmd(a *app) *cobra.Command {
	var x armAgentFlags
	var o checkOutput
	var episodes int
	var seed uint64
	c := &cobra.Command{
		Use: "dynamics", Short: "How well a world model of the arm foresees held-out episodes", Args: noArgs,
		Long: `Lets the model see five observations of episodes that it was not trained on, and foresee
the next fifteen from the actions alone. Its error is set beside that of repeating the last
observation. A third of the episodes is the script's, a third a corrupted script's, a third
the model's own actor's.`,
		Example: "  muse check-model dynamics --checkpoint runs/arm --tasks mt10 --plot open-loop.svg",
		RunE: func(*cobra.Command, []string) error {
			tasks, err := armTasks(x.tasks)
			if err != nil {
				return err
			}
			if episodes < 1 || episodes > 10_000 {
				return usagef("--episodes is %d; it must lie between 1 and 10000", episodes)
			}
			m, err := x.oneModel()
			if err != nil {
				return err
			}
			rep, err := arm.OpenLoop(m, tasks, episodes, seed)
			if err != nil {
				return err
			}
			return o.write(a, rep, rep.Plot)
		},
	}
	f := c.Flags()
	list(f, &x.tasks, "tasks", taskNames)
	list(f, &x.checkpoint, "checkpoint", "world model: a file, or the folder of muse train worldmodel")
	f.IntVar(&episodes, "episodes", 9, "held-out episodes a task")
	f.Uint64Var(&seed, "seed", 1, "of the held-out episodes")
	f.StringVar(&o.plot, "plot", "", "SVG file to write")
	f.StringVarP(&o.out, "out", "o", "", "JSON file to write")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return c
}

func checkSiblingsCmd(a *app) *cobra.Command {
	var x armAgentFlags
	var o checkOutput
	var r runFlags
	cfg := arm.DefaultSiblings()
	c := &cobra.Command{
		Use: "siblings", Short: "Whether ψ tells apart the actions that are possible at a state of the arm", Args: noArgs,
		Long: `Visits states of the actor's episodes, takes several actions at each (the state is
restored before every one), lets the actor play on, and compares who succeeds with how ψ ranked
the actions: by Σψ of the imagined next state, and along ∇Σψ. The first actions of the
regulators are tried at the same states.`,
		Example: "  muse check-model siblings --checkpoint runs/arm --tasks mt10",
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if cfg.Tasks, err = armTasks(x.tasks); err != nil {
				return err
			}
			cfg.Gradient = x.gradient
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			if err := r.validate(); err != nil {
				return err
			}
			m, err := x.oneModel()
			if err != nil {
				return err
			}
			w, tty := a.progressWriter()
			p := train.NewProgress(w, tty, "episodes", 0, len(cfg.Tasks)*cfg.Episodes)
			defer p.Close()
			rep, err := arm.Siblings(c.Context(), m, cfg, r.seed, r.workers, p)
			if err != nil {
				return err
			}
			return o.write(a, rep, nil)
		},
	}
	f := c.Flags()
	x.addGradient(f)
	f.IntVar(&cfg.Episodes, "episodes", cfg.Episodes, "episodes a task whose states are visited")
	f.IntVar(&cfg.Every, "every", cfg.Every, "decisions between two states")
	f.IntVar(&cfg.Actions, "actions", cfg.Actions, "actions at a state")
	f.IntVar(&cfg.Repeats, "repeats", cfg.Repeats, "continuations of each action")
	f.Float64Var(&cfg.Spread, "spread", cfg.Spread, "deviation of the actions around the actor's mean, 0 = the actor's own")
	f.IntVar(&cfg.Limit, "limit", cfg.Limit, "decisions after the state within which the task must be solved, 0 = those that are left")
	f.Uint64Var(&r.seed, "seed", 1, "root seed of every random draw")
	f.IntVar(&r.workers, "workers", 1, "episodes visited at the same time; changes no result")
	f.StringVarP(&o.out, "out", "o", "", "JSON file to write")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return c
}
