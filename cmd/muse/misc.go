package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/corpus"
)

func versionCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]any{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				"native": nativeBuild(), "textworld": textworld.SpecVersion}
			if bi, ok := debug.ReadBuildInfo(); ok {
				for _, s := range bi.Settings {
					if s.Key == "vcs.revision" {
						v["commit"] = s.Value
					}
				}
			}
			if asJSON {
				return a.printJSON(v)
			}
			fmt.Fprintf(a.stdout, "muse %s (%s, %s/%s, native parts: %v)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, nativeBuild())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func replayCmd(a *app) *cobra.Command {
	var check, games string
	var runs []string
	var show int
	var asJSON bool
	c := &cobra.Command{
		Use: "replay", Short: "Replay transcripts or runs and compare every byte", Args: noArgs,
		Long: `Sends recorded commands to the games again. --check FILE compares a file of transcripts
of the original engine with this one. --run RUN scores a run again: every answer, flag and
outcome of its episodes must be that of the game. Fails where something differs.`,
		Example: "  muse replay --check testdata/alfworld/golden.jsonl.gz\n  muse replay --run runs/eval-x",
		RunE: func(c *cobra.Command, _ []string) error {
			if (check == "") == (len(runs) == 0) {
				return usagef("nothing to replay: --check FILE names a file of transcripts, or --run RUN a run folder, one of the two")
			}
			if len(runs) > 0 {
				return a.replayRuns(c, runs, games, show, asJSON)
			}
			f, err := os.Open(check)
			if err != nil {
				return err
			}
			defer f.Close()
			diffs := []textworld.Diff{}
			st, err := textworld.CheckGolden(f, check, func(d textworld.Diff) {
				if len(diffs) < show {
					diffs = append(diffs, d)
				}
			})
			if err != nil {
				return err
			}
			if asJSON {
				if err := a.printJSON(map[string]any{"file": check, "stats": st, "first_differences": diffs}); err != nil {
					return err
				}
			} else {
				for _, d := range diffs {
					fmt.Fprintln(a.stdout, d)
				}
				fmt.Fprintf(a.stdout, "%d of %d steps equal (%d games, %d episodes)\n", st.Equal, st.Steps, st.Games, st.Episodes)
			}
			if st.Diffs > 0 || st.Equal != st.Steps {
				return fmt.Errorf("%s: %d differences in %d steps", check, st.Diffs, st.Steps)
			}
			if st.Steps == 0 {
				return fmt.Errorf("%s: no steps to compare; is it a file of transcripts?", check)
			}
			return nil
		},
	}
	c.Flags().StringVar(&check, "check", "", "file of transcripts (JSONL, plain or gzip)")
	list(c.Flags(), &runs, "run", "run folders (or episodes.jsonl files) to play and score again")
	c.Flags().StringVar(&games, "games", "", "with --run: the games file that was played, instead of the embedded games")
	c.Flags().IntVar(&show, "show", 10, "print at most so many differences")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// replayRuns plays the episodes of runs again and says whether the records are right.
func (a *app) replayRuns(c *cobra.Command, runs []string, games string, show int, asJSON bool) error {
	open := textworld.Open
	if games != "" {
		gs, err := textworld.LoadFile(games)
		if err != nil {
			return err
		}
		byID := map[string]*textworld.Game{}
		for _, g := range gs {
			byID[g.ID()] = g
		}
		open = func(id string) (*textworld.Game, error) {
			if g, ok := byID[id]; ok {
				return g, nil
			}
			return nil, fmt.Errorf("%s holds no game %q", games, id)
		}
	}
	out := map[string]*train.Verification{}
	wrong := 0
	for _, r := range runs {
		v, err := train.VerifyEpisodes(c.Context(), r, open, show)
		if err != nil {
			return err
		}
		out[r] = v
		wrong += v.Episodes - v.Equal
		if !asJSON {
			for _, d := range v.First {
				fmt.Fprintln(a.stdout, d)
			}
			fmt.Fprintf(a.stdout, "%s: %d of %d episodes equal (%d commands), %d won\n", r, v.Equal, v.Episodes, v.Steps, v.Won)
		}
	}
	if asJSON {
		if err := a.printJSON(out); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d episodes are not what the game gives", wrong)
	}
	return nil
}

func corpusCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "corpus", Short: "Write training text for the embedded language model", DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error { // the package parses its own flags
			err := corpus.Main(c.Context(), args, a.stdout, a.stderr)
			if errors.Is(err, corpus.ErrUsage) {
				return usageError{err}
			}
			return err
		},
	}
}

// playCmd is the text game for people.
func playCmd(a *app) *cobra.Command {
	var g gameFlags
	var hints bool
	c := &cobra.Command{
		Use: "play [GAME]", Short: "Play a game in the terminal",
		Long: "Plays the chosen game, or the first of the selection. Empty line or \"quit\" ends it;\n\"?\" lists the commands that have an effect now.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactArgs(1, "at most one game id")(c, args)
			}
			return nil
		},
		Example: "  muse play --split unseen --type heat\n  printf 'look\\n' | muse play",
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
			return a.play(c, textworld.New(games[0], o), hints)
		},
	}
	g.add(c, "", 0)
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

func benchCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure speeds on this machine", Args: cobra.ArbitraryArgs, RunE: group}
	c.AddCommand(benchTextworldCmd(a), benchDecisionCmd(a))
	return c
}

func benchTextworldCmd(a *app) *cobra.Command {
	var asJSON bool
	var d time.Duration
	var workers int
	c := &cobra.Command{
		Use: "textworld", Short: "Steps, resets and clones of the text game", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if d <= 0 || workers < 0 {
				return usagef("--duration must be positive and --workers not negative")
			}
			r, err := textworld.Bench(c.Context(), d, workers)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.stdout, "steps/s %.0f, with admissible commands %.0f, reset %.1f µs, clone %.2f µs, %d workers %.2f×\n",
				r.StepsPerS, r.StepsPerSAdmissible, r.ResetUS, r.CloneUS, r.Workers, r.ParallelSpeedup)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&d, "duration", time.Second, "time for each figure")
	c.Flags().IntVar(&workers, "workers", 0, "goroutines of the parallel figure, 0 = one a core")
	return c
}

var errNative = errors.New("this program was built without the native parts: run `make build` (or go build -tags native after make deps)")
