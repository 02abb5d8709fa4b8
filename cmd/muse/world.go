package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/arm"
	"github.com/muse-agent/muse/worldmodel"
)

// addWorld hangs the commands of the world-model agent under train, eval and adapt.
func addWorld(a *app, root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "train":
			c.AddCommand(trainWorldCmd(a))
		case "eval":
			worldEval(a, c)
		case "adapt":
			worldAdapt(a, c)
		case "demo":
			worldDemo(a, c)
		case "check-model":
			c.AddCommand(checkDynamicsCmd(a), checkSiblingsCmd(a))
		}
	}
}

// onlyGridarm refuses environments that world models are not trained on.
func onlyGridarm(env string) error {
	if env != "gridarm" {
		return usagef("--env is %q; world models are trained on gridarm", env)
	}
	return nil
}

// armTasks reads --tasks.
func armTasks(names []string) ([]gridarm.Task, error) {
	if len(names) == 0 {
		return nil, usagef("no task: --tasks names one, such as reach, or mt10, novel, all")
	}
	return gridarmTasks(names)
}

func trainWorldCmd(a *app) *cobra.Command {
	var (
		r      runFlags
		env    string
		preset string
		tasks  []string
		spend  time.Duration
		cfg    arm.Config
	)
	c := &cobra.Command{
		Use: "worldmodel", Short: "Train a world model with actor, critic and ψ on the arm (paper, section 3)", Args: noArgs,
		Long: `Plays episodes of each task, and trains on them the world model, its success
quantiles ψ, and actor and critic in imagination. The replay is seeded with episodes of
scripted and corrupted scripted policies, and the actor imitates the scripts on them
(--imitate 0 turns that off; --scripted 0 --corrupted 0 --pretrain 0 leaves scripts out): both are
written into every result.

Leaves checkpoint.safetensors (replay included), model.safetensors, curve.jsonl and
report.json in the run folder. Saves as it goes; after an interrupt, or --for, the same command
goes on and gives the bytes of a straight run.`,
		Example: "  muse train worldmodel --env gridarm --tasks reach --rounds 50\n" +
			"  muse train worldmodel --env gridarm --tasks mt10 --preset small --for 30m",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := onlyGridarm(env); err != nil {
				return err
			}
			if spend < 0 {
				return usagef("--for is %v; it must be 0 or more", spend)
			}
			base, err := arm.Default(preset)
			if err != nil {
				return usageError{err}
			}
			fillArm(c.Flags(), &cfg, base)
			if cfg.Tasks, err = armTasks(tasks); err != nil {
				return err
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			run, err := a.open(&r, "train-worldmodel", map[string]any{"env": env, "spec": gridarm.SpecVersion, "reward": gridarm.RewardVersion, "blas": worldmodel.BLAS, "train": cfg}, nil, nil)
			if err != nil {
				return err
			}
			return finish(run, func() error {
				w, tty := a.progressWriter()
				p := train.NewProgress(w, tty, "rounds", 0, cfg.Rounds)
				defer p.Close()
				start := time.Now()
				l, err := arm.Train(c.Context(), run, cfg, arm.Control{
					Stop:     func() bool { return spend > 0 && time.Since(start) >= spend },
					Progress: p,
				})
				if errors.Is(err, arm.ErrStopped) {
					a.say("stopped after %v at round %d of %d; the same command goes on", spend, l.Round(), cfg.Rounds)
					err = nil
				}
				if err != nil {
					return err
				}
				rep := arm.NewTrainReport(l)
				if err := run.WriteJSON(arm.FileReport, rep); err != nil {
					return err
				}
				if r.json {
					return a.printJSON(rep)
				}
				fmt.Fprint(a.stdout, rep)
				return nil
			})
		},
	}
	r.add(c)
	f := c.Flags()
	f.StringVar(&env, "env", "gridarm", "environment")
	f.StringVar(&preset, "preset", "tiny", "size of the model: "+strings.Join(worldmodel.PresetNames(), ", "))
	list(f, &tasks, "tasks", taskNames)
	f.DurationVar(&spend, "for", 0, "stop and save after so long, 0 = at the end; not part of the settings")
	base, _ := arm.Default("tiny") // a preset that exists
	cfg = base
	armSettings(f, &cfg)
	return c
}

// armSettings are the flags of a training's settings.
func armSettings(f *pflag.FlagSet, c *arm.Config) {
	f.IntVar(&c.Scripted, "scripted", c.Scripted, "episodes a task by the script that seed the replay")
	f.IntVar(&c.Corrupted, "corrupted", c.Corrupted, "episodes a task by corrupted scripts that seed the replay")
	f.IntVar(&c.Pretrain, "pretrain", c.Pretrain, "updates before the first own episode")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "own episodes a task")
	f.IntVar(&c.Capacity, "capacity", c.Capacity, "own steps that the replay holds")
	f.Float64Var(&c.HideTask, "hide-task", c.HideTask, "share of episodes with task id 0")
	f.Float64Var(&c.Deterministic, "deterministic", c.Deterministic, "share of own episodes played by the actor's mean")
	f.IntVar(&c.Siblings, "siblings", c.Siblings, "continuations with another action that each round adds a task, for labels that tell actions apart")
	f.IntVar(&c.EvalEvery, "eval-every", c.EvalEvery, "rounds between points of the curve")
	f.IntVar(&c.EvalGames, "eval-games", c.EvalGames, "episodes a task for a point")
	f.IntVar(&c.SaveEvery, "save-every", c.SaveEvery, "rounds between checkpoints")
	m := &c.Model
	f.Float64Var(&m.Imitate, "imitate", m.Imitate, "weight of the loss that makes the actor copy the script on seeded episodes, 0 = off")
	f.Float64Var(&m.TrainRatio, "train-ratio", m.TrainRatio, "replayed steps for each step of the arm")
	f.IntVar(&m.Quantiles, "quantiles", m.Quantiles, "outputs of ψ; 0 leaves self-assessment out (Dreamer)")
	f.IntVar(&m.Stoch, "stoch", m.Stoch, "latents of a state")
	f.IntVar(&m.Classes, "classes", m.Classes, "classes of each latent")
	f.Float64Var(&m.LR, "lr", m.LR, "learning rate")
	f.IntVar(&m.Decay, "decay", m.Decay, "update at which the learning rate, constant for half of the way, has fallen to a twentieth; 0 = never")
	f.Float64Var(&m.ScaleRec, "scale-rec", m.ScaleRec, "weight of the reconstruction")
	f.Float64Var(&m.Entropy, "entropy", m.Entropy, "weight of the actor's entropy")
	f.Float64Var(&m.Gamma, "gamma", m.Gamma, "discount a decision")
	f.IntVar(&m.Horizon, "horizon", m.Horizon, "imagined steps")
	f.IntVar(&m.Starts, "starts", m.Starts, "states of a batch that imagination starts from, 0 = all")
	f.IntVar(&m.Batch, "batch", m.Batch, "sequences an update")
	f.IntVar(&m.Length, "length", m.Length, "steps of a sequence")
	f.StringVar(&m.Reward, "reward", m.Reward, "reward head: symlog (paper) or twohot")
}

// fillArm takes the settings of base for all flags that were not given.
func fillArm(f *pflag.FlagSet, c *arm.Config, base arm.Config) {
	values := map[string]string{} // base overwrites what the flags point to
	f.VisitAll(func(x *pflag.Flag) {
		if x.Changed {
			values[x.Name] = x.Value.String()
		}
	})
	*c = base
	probe := pflag.NewFlagSet("", pflag.ContinueOnError)
	armSettings(probe, c)
	probe.VisitAll(func(x *pflag.Flag) {
		if v, ok := values[x.Name]; ok {
			_ = x.Value.Set(v) // the same type took it before
		}
	})
}
