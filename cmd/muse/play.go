package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
)

// playCmd plays games; without a name of an environment, the text game.
func playCmd(a *app) *cobra.Command {
	c := playTextworldCmd(a)
	c.Use = "play [GAME]"
	c.AddCommand(playTextworldCmd(a)) // play gridarm is added where the arm is
	return c
}

// playTextworldCmd is the text game for people.
func playTextworldCmd(a *app) *cobra.Command {
	var g gameFlags
	var w windowFlags
	var hints bool
	c := &cobra.Command{
		Use: "textworld [GAME]", Short: "Play a game, in the terminal or in a window",
		Long: `Plays the chosen game, or the first of the selection. Empty line or "quit" ends it;
"?" lists the commands that have an effect now.

--window plays in a window (make viewer). With --msa, a checkpoint of muse train
selfassess, the agent of --model imagines at each turn what it would do, and the window
shows these futures with their probability of success: how it sees your chances, live.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactArgs(1, "at most one game id")(c, args)
			}
			return nil
		},
		Example: "  muse play --split unseen --type heat\n  printf 'look\\n' | muse play\n  muse play textworld --window --msa runs/demo-x/msa",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := g.only(args[0]); err != nil {
					return err
				}
			}
			games, err := g.selection()
			if err != nil {
				return err
			}
			o, err := g.options()
			if err != nil {
				return err
			}
			if err := w.check(c, "model", "msa", "rollouts"); err != nil {
				return err
			}
			if w.window {
				return a.playTextWindow(c.Context(), textworld.New(games[0], o), &w, &g)
			}
			return a.play(c, textworld.New(games[0], o), hints)
		},
	}
	g.add(c, "", 0)
	w.add(c)
	w.addAgent(c)
	c.Flags().BoolVar(&hints, "reasons", false, "say why a command had no effect, and when the goal is out of reach (the original game doesn't)")
	return c
}

func (a *app) play(c *cobra.Command, env *textworld.Env, reasons bool) error {
	defer env.Close()
	ctx := c.Context()
	obs, _, err := env.Reset(ctx, envs.ResetOptions{})
	if err != nil {
		return err
	}
	a.say("game %s", env.Game().ID())
	fmt.Fprintln(a.stdout, strings.TrimSpace(fmt.Sprint(obs)))
	next, dead := readLines(a.stdin), ""
	for {
		if _, err := fmt.Fprint(a.stdout, "> "); err != nil {
			return err
		}
		var line typed
		select {
		case line = <-next:
		case <-ctx.Done(): // also while nobody types
			return ctx.Err()
		}
		if line.err != nil {
			fmt.Fprintln(a.stdout)
			if errors.Is(line.err, io.EOF) {
				return nil
			}
			return fmt.Errorf("standard input: %w (a line may have at most %d bytes)", line.err, bufio.MaxScanTokenSize)
		}
		switch cmd := line.text; strings.TrimSpace(cmd) {
		case "quit", "exit", "":
			return nil
		case "?":
			fmt.Fprintln(a.stdout, strings.Join(env.Admissible(), "\n"))
		default:
			st, err := env.Step(ctx, cmd)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.stdout, strings.TrimSpace(fmt.Sprint(st.Obs)))
			if p := st.Info.Privileged; reasons && p != nil && p.Reason != "" && !st.Done() {
				fmt.Fprintf(a.stdout, "(%s)\n", p.Reason)
			}
			if p := st.Info.Privileged; reasons && p != nil && p.Dead != dead && !st.Done() {
				dead = p.Dead
				fmt.Fprintf(a.stdout, "(the goal can't be reached any more: %s)\n", dead)
			}
			if st.Done() {
				if st.Info.Success() {
					fmt.Fprintf(a.stdout, "You won in %d commands.\n", env.Steps())
				} else {
					fmt.Fprintf(a.stdout, "The limit of %d commands is reached: lost.\n", env.Options().MaxSteps)
				}
				return nil
			}
		}
	}
}

// typed is a line of input, or why there is none.
type typed struct {
	text string
	err  error
}

// readLines reads lines ahead of the player, so that an interrupt needs no line.
func readLines(r io.Reader) <-chan typed {
	out := make(chan typed, 1)
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			out <- typed{text: lines.Text()}
		}
		err := lines.Err()
		if err == nil {
			err = io.EOF
		}
		out <- typed{err: err}
	}()
	return out
}
