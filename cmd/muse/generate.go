package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld/generate"
	"github.com/muse-agent/muse/internal/atomicfile"
)

// envsMore adds to `muse envs` the generator and the server.
func envsMore(a *app, c *cobra.Command) *cobra.Command {
	c.AddCommand(envsGenerateCmd(a), envsServeCmd(a))
	return c
}

func envsGenerateCmd(a *app) *cobra.Command {
	var (
		o          generate.Options
		difficulty string
		n, from    int
		out        string
	)
	c := &cobra.Command{
		Use: "generate", Short: "Make new games, each proven solvable, into a file that --games reads", Args: noArgs,
		Long: `New rooms and goals of the known types, like the shipped training games' rooms but none of
them. Game i depends on seed, difficulty and i alone. The file has one game a line, with
the expert's plan; its split is generated, generated_easy or generated_hard.`,
		Example: "  muse envs generate --n 100 --out new.jsonl.gz\n  muse envs check --games new.jsonl.gz\n" +
			"  muse eval --agent react --model base --games new.jsonl.gz --seeds 1",
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("--out FILE is needed: a name that ends in .jsonl or .jsonl.gz")
			}
			if !strings.HasSuffix(out, ".jsonl") && !strings.HasSuffix(out, ".jsonl.gz") {
				return usagef("--out is %q; the name must end in .jsonl or .jsonl.gz, as --games goes by it", out)
			}
			if n < 1 || from < 0 {
				return usagef("--n is %d and --from is %d; at least 1 game from number 0 on is needed", n, from)
			}
			o.Difficulty = generate.Difficulty(difficulty)
			g, err := generate.New(o)
			if err != nil {
				return usageError{err}
			}
			err = atomicfile.Write(out, 0o644, func(w io.Writer) error {
				if strings.HasSuffix(out, ".gz") {
					z := gzip.NewWriter(w)
					if err := writeGames(c, g, from, n, z); err != nil {
						return err
					}
					return z.Close()
				}
				return writeGames(c, g, from, n, w)
			})
			if err != nil {
				return err
			}
			a.say("wrote %d games of split %s into %s", n, o.Split(), out)
			return nil
		},
	}
	fs := c.Flags()
	fs.IntVar(&n, "n", 100, "number of games")
	fs.IntVar(&from, "from", 0, "number of the first game")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of rooms and goals")
	fs.StringVar(&difficulty, "difficulty", string(generate.Normal), "easy, normal or hard")
	list(fs, &o.Types, "type", "task types by their full names; all six when left out")
	fs.BoolVar(&o.NewGoals, "new-goals", false, "also pairs of object and target that no training game asks for")
	fs.StringVarP(&out, "out", "o", "", "file to write, .jsonl or .jsonl.gz")
	return c
}

// writeGames writes games as lines that `--games` reads.
func writeGames(c *cobra.Command, g *generate.Generator, from, n int, w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := from; i < from+n; i++ {
		if err := c.Context().Err(); err != nil {
			return err
		}
		b, err := g.Blueprint(i)
		if err != nil {
			return err
		}
		src, err := b.PDDL()
		if err != nil {
			return err
		}
		game, err := b.Build()
		if err != nil {
			return err
		}
		err = e.Encode(struct {
			Split       string   `json:"split"`
			GameID      string   `json:"game_id"`
			Task        string   `json:"task"`
			Walkthrough []string `json:"walkthrough"`
			Problem     string   `json:"pddl_problem"`
		}{b.Split, b.ID, "Your task is to: " + game.Goal(), b.Walkthrough, src})
		if err != nil {
			return fmt.Errorf("generate: %w", err)
		}
	}
	return nil
}
