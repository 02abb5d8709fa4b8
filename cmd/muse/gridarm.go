package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/gridarm"
)

// addGridarm hangs the commands of the arm under envs, play and bench.
func addGridarm(a *app, root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "envs":
			c.AddCommand(envsGridarmCmd(a))
		case "play":
			c.AddCommand(playGridarmCmd(a))
		case "bench":
			c.AddCommand(benchGridarmCmd(a))
		}
	}
}

// taskNames completes and describes an argument that names tasks.
const taskNames = "a task such as drawer-open, or mt10, novel, all (see muse envs gridarm)"

// gridarmTasks reads task names and groups; none means all tasks.
func gridarmTasks(args []string) ([]gridarm.Task, error) {
	if len(args) == 0 {
		return gridarm.Tasks(), nil
	}
	ts, err := gridarm.ParseTasks(args)
	if err != nil {
		known := []string{"mt10", "novel", "all"}
		for _, t := range gridarm.Tasks() {
			known = append(known, t.String())
		}
		for _, n := range args {
			if _, one := gridarm.ParseTasks([]string{n}); one != nil {
				return nil, usagef("unknown task %q%s; see muse envs gridarm", n, didYouMean(n, known))
			}
		}
		return nil, usageError{err}
	}
	return ts, nil
}

// gridarmEntry is one task in `envs gridarm --json`.
type gridarmEntry struct {
	Task    string                `json:"task"`
	Group   string                `json:"group"`
	Channel int                   `json:"task_channel"`
	Summary string                `json:"summary"`
	Stages  []string              `json:"script"`
	Spec    envs.Spec             `json:"spec"`
	Check   *gridarm.ScriptResult `json:"check,omitempty"`
}

func envsGridarmCmd(a *app) *cobra.Command {
	var asJSON, check bool
	var seeds int
	c := &cobra.Command{
		Use: "gridarm [TASK...]", Short: "Tasks of the arm; with --check their conformance and scripts", Args: cobra.ArbitraryArgs,
		Long: "Lists the tasks of the tabletop arm, or those that are named: " + taskNames + ".\n" +
			"--check runs the conformance suite on each, and its scripted policy on many seeds: each must be\n" +
			"solved within 60 % of the limit.",
		Example: "  muse envs gridarm novel\n  muse envs gridarm --check --json",
		RunE: func(c *cobra.Command, args []string) error {
			if seeds < 1 {
				return usagef("--seeds is %d; at least 1 is needed", seeds)
			}
			tasks, err := gridarmTasks(args)
			if err != nil {
				return err
			}
			entries, bad := []gridarmEntry{}, 0
			for _, t := range tasks {
				e, err := gridarmShow(c, t, check, seeds)
				if err != nil {
					if c.Context().Err() != nil {
						return c.Context().Err()
					}
					bad++
					a.say("FAIL %s: %v", t, err)
				}
				if entries = append(entries, e); !asJSON {
					fmt.Fprintf(a.stdout, "%s\t%s\t%s\n", e.Group, e.Task, e.Summary)
					if r := e.Check; r != nil {
						fmt.Fprintf(a.stdout, "\tscript: %d of %d solved in time, first success after %d–%d decisions, return %.0f (random %.0f)\n",
							r.InTime, r.Episodes, r.FirstLeast, r.FirstMost, r.Return, r.Random)
					}
				}
			}
			if asJSON {
				if err := a.printJSON(entries); err != nil {
					return err
				}
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d tasks failed", bad, len(tasks))
			}
			a.say("%d tasks", len(tasks))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON with specs")
	c.Flags().BoolVar(&check, "check", false, "check conformance and scripted policies")
	c.Flags().IntVar(&seeds, "seeds", 200, "episodes of each scripted policy with --check")
	return c
}

func gridarmShow(c *cobra.Command, t gridarm.Task, check bool, seeds int) (gridarmEntry, error) {
	e := gridarmEntry{Task: t.String(), Channel: t.Channel(), Summary: t.Summary(), Stages: gridarm.Stages(t), Group: "training"}
	if t.Novel() {
		e.Group = "novel"
	}
	env, err := gridarm.New(t, gridarm.Options{})
	if err != nil {
		return e, err
	}
	defer env.Close()
	e.Spec = env.Spec()
	if !check {
		return e, nil
	}
	problems := envtest.Check(c.Context(), func() (envs.Env, error) { return gridarm.New(t, gridarm.Options{}) }, envtest.Options{Episodes: 1})
	r, err := gridarm.CheckScript(c.Context(), t, gridarm.Options{}, seeds)
	if err != nil {
		return e, err
	}
	if e.Check = &r; r.InTime < seeds {
		problems = append(problems, fmt.Errorf("the script solves %d of %d episodes in time", r.InTime, seeds))
	}
	return e, errors.Join(problems...)
}

func benchGridarmCmd(a *app) *cobra.Command {
	var asJSON bool
	var d time.Duration
	c := &cobra.Command{
		Use: "gridarm", Short: "Decisions and resets of the arm", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if d <= 0 {
				return usagef("--duration must be positive")
			}
			r, err := gridarm.Bench(c.Context(), d)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.stdout, "decisions/s %.0f (mean %.0f), with raster %.0f, through Env %.0f, allocations a decision %g, reset %.2f µs\n",
				r.DecisionsPerS, r.DecisionsPerSMean, r.DecisionsPerSGrid, r.EnvStepsPerS, r.AllocsPerStep, r.ResetUS)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&d, "duration", time.Second, "time for each figure")
	return c
}

// gridarmKeys is the help of `play gridarm`.
var gridarmKeys = strings.Join([]string{
	"w s  away from the arm, back     a d  left, right     r f  up, down     (arrow keys too)",
	"o c  open, close the fingers     .    wait            x    let the script decide",
	"?    this help                   q    quit            W A S D R F   a fifth of the way",
}, "\n")
