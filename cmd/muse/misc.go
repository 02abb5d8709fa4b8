package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

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
