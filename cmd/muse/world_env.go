package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/arm"
	"github.com/muse-agent/muse/worldmodel"
)

// onEnv makes a command of text games one of the arm too: --env gridarm plays there, with
// the flags called shared, those that own adds, and no others.
func onEnv(c *cobra.Command, shared []string, own func(*pflag.FlagSet), run func(c *cobra.Command) error) {
	env := "textworld"
	text := c.RunE
	mine := pflag.NewFlagSet("", pflag.ContinueOnError)
	own(mine)
	mine.VisitAll(func(f *pflag.Flag) {
		if c.Flags().Lookup(f.Name) != nil { // the command's own flag would take the value
			panic("muse " + c.Name() + ": flag --" + f.Name + " is both of text games and of the arm; make it shared")
		}
	})
	c.Flags().StringVar(&env, "env", env, "environment: textworld or gridarm")
	c.Flags().AddFlagSet(mine)
	c.RunE = func(c *cobra.Command, args []string) error {
		if env != "textworld" && env != "gridarm" {
			return usagef("--env is %q; use textworld or gridarm", env)
		}
		var wrong string
		c.Flags().Visit(func(f *pflag.Flag) {
			isArm := mine.Lookup(f.Name) != nil
			known := f.Name == "env" || slices.Contains(shared, f.Name) || c.InheritedFlags().Lookup(f.Name) != nil
			if wrong == "" && (env == "textworld" && isArm || env == "gridarm" && !isArm && !known) {
				wrong = f.Name
			}
		})
		switch {
		case wrong != "" && env == "textworld":
			return usagef("--%s is for --env gridarm", wrong)
		case wrong != "":
			return usagef("--%s is for text games; leave it away with --env gridarm", wrong)
		case env == "gridarm":
			return run(c)
		}
		return text(c, args)
	}
}

// runShared are the flags of every command that writes a run folder.
var runShared = []string{"out", "seed", "workers", "json"}

// sharedRun reads the run's flags of a command that has them already.
func sharedRun(f *pflag.FlagSet) (r runFlags, err error) {
	r.out, r.json = f.Lookup("out").Value.String(), f.Lookup("json").Value.String() == "true"
	if r.seed, err = strconv.ParseUint(f.Lookup("seed").Value.String(), 10, 64); err != nil {
		return r, err
	}
	if r.workers, err = strconv.Atoi(f.Lookup("workers").Value.String()); err != nil {
		return r, err
	}
	return r, r.validate()
}

// sharedList is the value of a list flag, def where it was not given.
func sharedList(f *pflag.FlagSet, name string, def ...string) []string {
	x := f.Lookup(name)
	if l, ok := x.Value.(*listValue); ok && x.Changed {
		return *l.to
	}
	return def
}

// sharedInt is the value of an int flag, def where it was not given.
func sharedInt(f *pflag.FlagSet, name string, def int) int {
	if x := f.Lookup(name); x.Changed {
		if v, err := strconv.Atoi(x.Value.String()); err == nil {
			return v
		}
	}
	return def
}

// armAgentFlags choose models and regulators.
type armAgentFlags struct {
	tasks      []string
	sampled    bool
	checkpoint []string
	gradient   selfregulate.GradientConfig
	futures    int
}

func (x *armAgentFlags) add(f *pflag.FlagSet) {
	x.addGradient(f)
	f.BoolVar(&x.sampled, "sampled", false, "gridarm: act by a sample of the policy, not its mean")
	f.IntVar(&x.futures, "futures", 0, "gridarm: imagined moments that each record holds")
}

// addGradient are the flags of the model, the tasks and regulation.
func (x *armAgentFlags) addGradient(f *pflag.FlagSet) {
	x.gradient = selfregulate.DefaultGradient()
	list(f, &x.tasks, "tasks", "gridarm: "+taskNames)
	list(f, &x.checkpoint, "checkpoint", "gridarm: world model, a file or the folder of muse train worldmodel; several as NAME=PATH")
	g := &x.gradient
	f.IntVar(&g.Horizon, "ascent-steps", g.Horizon, "gridarm: H of Algorithm 1")
	f.Float64Var(&g.Beta, "beta", g.Beta, "gridarm: β of Algorithm 1")
	f.Float64Var(&g.Anneal, "anneal", g.Anneal, "gridarm: β is multiplied by this after each step")
	f.BoolVar(&g.Unit, "unit", false, "gridarm: steps of length β, whatever the gradient's norm")
	f.BoolVar(&g.Resample, "resample", false, "gridarm: draw z anew after each imagined step")
	f.BoolVar(&g.Project, "project", false, "gridarm: take z back to probabilities after each step")
	f.BoolVar(&g.Keep, "keep", false, "gridarm: carry the state that came in; only the action is regulated")
}

// agents makes the agents called names; mean says that they act by their mean.
func (x *armAgentFlags) agents(names []string, mean bool) ([]arm.AgentSpec, error) {
	if err := once("agents", names); err != nil {
		return nil, err
	}
	var out []arm.AgentSpec
	for _, n := range names {
		a, err := arm.NewAgent(n, x.gradient, mean)
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, a)
	}
	return out, nil
}

// checkpoints finds the files of --checkpoint, of the kind called file where a folder is named.
func (x *armAgentFlags) checkpoints(file string) ([]arm.NamedCheckpoint, error) {
	var out []arm.NamedCheckpoint
	var names []string
	for _, s := range x.checkpoint {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			path, name = s, strings.TrimSuffix(filepath.Base(filepath.Clean(s)), ".safetensors")
		}
		if name == "" || path == "" {
			return nil, usagef("--checkpoint %q: want PATH, or NAME=PATH", s)
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			for _, f := range []string{file, arm.FileCheckpoint} {
				if _, err := os.Stat(filepath.Join(path, f)); err == nil {
					path = filepath.Join(path, f)
					break
				}
			}
		}
		st, err := os.Stat(path)
		if err == nil && st.IsDir() {
			err = fmt.Errorf("%s holds no %s; its training has not ended, or it is no folder of one", path, file)
		} else if err == nil && !st.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", path)
		}
		if err != nil {
			return nil, fmt.Errorf("world model: %w (make one with `muse train worldmodel`)", err)
		}
		h, err := train.HashFiles(path)
		if err != nil {
			return nil, err
		}
		out, names = append(out, arm.NamedCheckpoint{Name: name, Path: path, Hash: h[path]}), append(names, name)
	}
	if len(out) == 0 {
		return nil, usagef("no world model: --checkpoint names a file, or a folder of `muse train worldmodel`")
	}
	for i, n := range names {
		for _, o := range names[:i] {
			if n != o && arm.Pooled(n) == arm.Pooled(o) && (n == arm.Pooled(n) || o == arm.Pooled(o)) {
				return nil, usagef("models %s and %s would make one row, as seeds of one model do; call one of them otherwise", o, n)
			}
		}
	}
	return out, once("models", names)
}

// needPsi refuses agents that no model can play, and says what is left out.
func (a *app) needPsi(agents []arm.AgentSpec, models []string, noPsi []bool) error {
	var without []string
	for i, m := range models {
		if noPsi[i] {
			without = append(without, m)
		}
	}
	if len(without) == 0 {
		return nil
	}
	for _, g := range agents {
		if !g.NeedsPsi() {
			continue
		}
		if len(without) == len(models) {
			return usagef("agent %s needs ψ, and %s was trained without (--quantiles 0); give another model", g.Name, strings.Join(without, ", "))
		}
		a.say("%s is left out for %s, trained without ψ", g.Name, strings.Join(without, ", "))
	}
	return nil
}

// compared are the agents that a table compares with; those that aren't played are refused.
func compared(f *pflag.FlagSet, agents []arm.AgentSpec) ([]string, error) {
	against := sharedList(f, "against", "off")
	if !f.Changed("against") {
		return against, nil
	}
	for _, n := range against {
		kind, _, _ := strings.Cut(n, "@")
		if !slices.ContainsFunc(agents, func(a arm.AgentSpec) bool { return a.Name == kind }) {
			return nil, usagef("--against %s: no such agent is played", n)
		}
	}
	return against, nil
}

// worldEval hangs the arm under eval.
func worldEval(a *app, c *cobra.Command) {
	var x armAgentFlags
	var cfg arm.EvalConfig
	onEnv(c, append([]string{"agent", "against"}, runShared...), func(f *pflag.FlagSet) {
		x.add(f)
		f.IntVar(&cfg.Episodes, "episodes", 10, "gridarm: episodes a task and agent")
		f.BoolVar(&cfg.HideTask, "hide-task", false, "gridarm: show task id 0 also for training tasks")
	}, func(c *cobra.Command) error {
		r, err := sharedRun(c.Flags())
		if err != nil {
			return err
		}
		names := sharedList(c.Flags(), "agent", "off", "psi/literal", "psi/in-place", "none/literal", "random/literal", "random/in-place", "value/in-place", "noise/in-place", "script", "uniform")
		if cfg.Agents, err = x.agents(names, !x.sampled); err != nil {
			return err
		}
		if cfg.Tasks, err = armTasks(x.tasks); err != nil {
			return err
		}
		cfg.Futures = x.futures
		if err := cfg.Validate(); err != nil {
			return usageError{err}
		}
		var models []arm.NamedModel
		hashes := map[string]string{}
		if slices.ContainsFunc(cfg.Agents, func(a arm.AgentSpec) bool { return !a.Bar() }) {
			files, err := x.checkpoints(arm.FileModel)
			if err != nil {
				return err
			}
			var names []string
			var noPsi []bool
			for _, f := range files {
				m, err := worldmodel.Load(f.Path)
				if err != nil {
					return err
				}
				models = append(models, arm.NamedModel{Name: f.Name, Hash: f.Hash, Model: m})
				hashes[f.Name] = f.Hash
				names, noPsi = append(names, f.Name), append(noPsi, m.Config().Quantiles == 0)
			}
			if err := a.needPsi(cfg.Agents, names, noPsi); err != nil {
				return err
			}
		} else {
			models = []arm.NamedModel{{}}
		}
		against, err := compared(c.Flags(), cfg.Agents)
		if err != nil {
			return err
		}
		run, err := a.open(&r, "eval-gridarm", map[string]any{"eval": cfg, "spec": gridarm.SpecVersion, "reward": gridarm.RewardVersion, "blas": worldmodel.BLAS}, nil, hashes)
		if err != nil {
			return err
		}
		return finish(run, func() error {
			w, tty := a.progressWriter()
			p := train.NewProgress(w, tty, "episodes", 0, len(cfg.Tasks)*len(cfg.Agents)*cfg.Episodes*len(models))
			defer p.Close()
			if err := arm.Eval(c.Context(), run, models, cfg, r.workers, p); err != nil {
				return err
			}
			return a.armTable(run, r.json, "eval", against)
		})
	})
}

// armTable writes and prints the table of a run's phase.
func (a *app) armTable(run *train.Run, asJSON bool, phase string, against []string) error {
	t, err := arm.Tabulate([]string{run.Dir}, phase, against...)
	if err != nil {
		return err
	}
	if err := run.WriteJSON(phase+".json", t); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(t)
	}
	fmt.Fprint(a.stdout, t)
	return nil
}

// worldAdapt hangs the arm under adapt.
func worldAdapt(a *app, c *cobra.Command) {
	var x armAgentFlags
	cfg := arm.DefaultAdapt()
	onEnv(c, append([]string{"agent", "against", "episodes", "tests", "lr"}, runShared...), func(f *pflag.FlagSet) {
		x.add(f)
		list(f, &x.tasks, "task", "gridarm: the same as --tasks")
		f.IntVar(&cfg.Seeds, "adaptations", cfg.Seeds, "gridarm: adaptations to each task, with seeds of their own")
		f.IntVar(&cfg.Updates, "updates", cfg.Updates, "gridarm: updates after each episode")
		f.Float64Var(&cfg.Share, "share", cfg.Share, "gridarm: part of a batch that comes from the new task; the rest replays the training tasks")
	}, func(c *cobra.Command) error {
		r, err := sharedRun(c.Flags())
		if err != nil {
			return err
		}
		d := arm.DefaultAdapt()
		cfg.Episodes, cfg.Tests = sharedInt(c.Flags(), "episodes", d.Episodes), sharedInt(c.Flags(), "tests", d.Tests)
		cfg.Futures = x.futures
		if c.Flags().Changed("lr") {
			if cfg.LR, err = c.Flags().GetFloat64("lr"); err != nil {
				return err
			}
		}
		// While it learns, an agent explores: its actions are samples.
		if cfg.Agents, err = x.agents(sharedList(c.Flags(), "agent", "off", "psi/literal", "psi/in-place", "random/literal", "random/in-place", "value/in-place", "noise/in-place"), false); err != nil {
			return err
		}
		if cfg.Tasks, err = armTasks(x.tasks); err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return usageError{err}
		}
		models, err := x.checkpoints(arm.FileCheckpoint)
		if err != nil {
			return err
		}
		hashes := map[string]string{}
		var names []string
		var noPsi []bool
		for i := range models {
			m, err := arm.Adaptable(models[i].Path)
			if err != nil {
				return err
			}
			hashes[models[i].Name] = models[i].Hash
			models[i].NoPsi, models[i].Replay = m.Quantiles == 0, arm.SeededReplay(r.seed)
			names, noPsi = append(names, models[i].Name), append(noPsi, models[i].NoPsi)
		}
		if err := a.needPsi(cfg.Agents, names, noPsi); err != nil {
			return err
		}
		against, err := compared(c.Flags(), cfg.Agents)
		if err != nil {
			return err
		}
		run, err := a.open(&r, "adapt-gridarm", map[string]any{"adapt": cfg, "spec": gridarm.SpecVersion, "reward": gridarm.RewardVersion, "blas": worldmodel.BLAS}, nil, hashes)
		if err != nil {
			return err
		}
		return finish(run, func() error {
			w, tty := a.progressWriter()
			p := train.NewProgress(w, tty, "adaptations", 0, cfg.Units(models))
			defer p.Close()
			if err := arm.Adapt(c.Context(), run, models, cfg, r.workers, p); err != nil {
				return err
			}
			if err := a.armTable(run, r.json, "adapt", against); err != nil || cfg.Tests == 0 {
				return err
			}
			a.say("tests after adaptation:")
			return a.armTable(run, r.json, "test", against)
		})
	})
}
