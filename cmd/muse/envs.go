package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/textworld"
)

func envsCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "envs", Short: "List, show and check environments and games", Args: cobra.ArbitraryArgs, RunE: group}
	c.AddCommand(envsListCmd(a), envsShowCmd(a), envsCheckCmd(a))
	return c
}

func envsListCmd(a *app) *cobra.Command {
	var g gameFlags
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "Games with split, type and goal", Args: noArgs,
		Example: "  muse envs list --split unseen --type heat\n  muse envs list --split val --json",
		RunE: func(c *cobra.Command, _ []string) error {
			games, err := g.selection()
			if err != nil {
				return err
			}
			if asJSON {
				refs := make([]textworld.Ref, len(games))
				for i, x := range games {
					refs[i] = x.Ref()
				}
				return a.printJSON(refs)
			}
			for _, x := range games {
				fmt.Fprintf(a.stdout, "%s\t%s\t%s\t%s\n", x.Split(), x.TaskType(), x.ID(), x.Goal())
			}
			a.say("%d games", len(games))
			return nil
		},
	}
	g.add(c, "", 0)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// gameDump is what `envs show --json` prints: everything, also what agents never see.
type gameDump struct {
	Ref         textworld.Ref       `json:"game"`
	Hash        string              `json:"hash"`
	Spec        envs.Spec           `json:"spec"`
	Intro       string              `json:"intro"`
	Walkthrough []string            `json:"walkthrough"`
	Contents    map[string][]string `json:"contents"`
	State       any                 `json:"state,omitempty"`
}

func envsShowCmd(a *app) *cobra.Command {
	var g gameFlags
	var asJSON bool
	c := &cobra.Command{
		Use: "show GAME", Short: "One game whole: room, solution, where everything is", Args: exactArgs(1, "a game id (see muse envs list)"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := g.only(args[0]); err != nil {
				return err
			}
			games, err := g.selection()
			if err != nil {
				return err
			}
			o, err := g.options()
			if err != nil {
				return err
			}
			x := games[0]
			env := textworld.New(x, o)
			defer env.Close()
			obs, _, err := env.Reset(c.Context(), envs.ResetOptions{})
			if err != nil {
				return err
			}
			d := gameDump{x.Ref(), x.Hash(), env.Spec(), fmt.Sprint(obs), x.WalkthroughIn(o.Dialect), x.Contents(), nil}
			if asJSON {
				d.State = env.Describe()
				return a.printJSON(d)
			}
			fmt.Fprintf(a.stdout, "%s\nsplit %s, type %s, hash %.12s\n\n%s\n\nSolution:\n", x.ID(), x.Split(), x.TaskType(), x.Hash(), strings.TrimSpace(d.Intro))
			for _, w := range d.Walkthrough {
				fmt.Fprintf(a.stdout, "  > %s\n", w)
			}
			fmt.Fprintln(a.stdout, "\nContents:")
			for _, r := range keys(d.Contents) {
				fmt.Fprintf(a.stdout, "  %s: %s\n", r, strings.Join(d.Contents[r], ", "))
			}
			return nil
		},
	}
	g.add(c, "", 0)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON with the full state")
	return c
}

func envsCheckCmd(a *app) *cobra.Command {
	var g gameFlags
	c := &cobra.Command{
		Use: "check", Short: "Check that games load, conform and are won by their solution", Args: noArgs,
		Example: "  muse envs check --split unseen\n  muse envs check --games my-games.jsonl.gz",
		RunE: func(c *cobra.Command, _ []string) error {
			games, err := g.selection()
			if err != nil {
				return err
			}
			o, err := g.options()
			if err != nil {
				return err
			}
			bad := 0
			for _, x := range games {
				if err := checkGame(c, x, o); err != nil {
					bad++
					fmt.Fprintf(a.stdout, "FAIL %s: %v\n", x.ID(), err)
				}
				if err := c.Context().Err(); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.stdout, "%d games checked, %d failed\n", len(games), bad)
			if bad > 0 {
				return fmt.Errorf("%d of %d games failed", bad, len(games))
			}
			return nil
		},
	}
	g.add(c, "", 0)
	return c
}

// checkGame runs the conformance suite, then the game's own solution where there is one.
func checkGame(c *cobra.Command, x *textworld.Game, o textworld.Options) error {
	problems := envtest.Check(c.Context(), func() (envs.Env, error) { return textworld.New(x, o), nil }, envtest.Options{Episodes: 1})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	env := textworld.New(x, o)
	defer env.Close()
	if _, _, err := env.Reset(c.Context(), envs.ResetOptions{}); err != nil {
		return err
	}
	plan := x.WalkthroughIn(o.Dialect)
	if len(plan) == 0 {
		return nil // a raw PDDL problem has none
	}
	for i, w := range plan {
		st, err := env.Step(c.Context(), w)
		if err != nil {
			return fmt.Errorf("solution, command %d %q: %w", i+1, w, err)
		}
		if st.Done() {
			if st.Info.Success() {
				return nil
			}
			return fmt.Errorf("solution, command %d %q: the episode ended without success", i+1, w)
		}
	}
	return fmt.Errorf("the solution of %d commands doesn't win", len(plan))
}
