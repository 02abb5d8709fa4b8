package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfassess/logs"
	"github.com/muse-agent/muse/train"
)

// assessLogs adds to `muse assess` what judges logs that muse never ran.
func assessLogs(a *app, c *cobra.Command) *cobra.Command {
	c.AddCommand(assessTrainCmd(a), assessScoreCmd(a), assessReportCmd(a))
	return c
}

const logLine = `{"task": "…", "steps": [{"action": "…", "observation": "…"}], "success": true}`

func assessTrainCmd(a *app) *cobra.Command {
	var (
		files  []string
		out    string
		input  string
		cfg    = logs.Default()
		sample int
		asJSON bool
	)
	c := &cobra.Command{
		Use: "train", Short: "Learn from logged episodes of any agent whether a running one will succeed", Args: noArgs,
		Long: `Reads JSONL, plain or gzip, one episode a line:

  ` + logLine + `

Optional fields: task_id (episodes of one task share it), model (who played), init_obs,
id. Leaves a model and report.json in the folder of --out. Every figure is of tasks, and
where players are named of players, that the judging fit never saw, beside a logistic
regression on word n-grams fitted in the same run.`,
		Example: "  muse assess train --logs episodes.jsonl.gz --out runs/logs\n  muse assess train --logs episodes.jsonl.gz --input features --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usagef("no logs: --logs FILE names a JSONL file with lines %s", logLine)
			}
			if input != "features" && input != "features+embedding" {
				return usagef("--input is %q; use features or features+embedding", input)
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			if sample < 0 {
				return usagef("--sample is %d; it must not be negative (0 = all)", sample)
			}
			es, empty, err := logs.Read(a.stdin, files...)
			if err != nil {
				return err
			}
			es = logs.Sample(es, sample, cfg.Seed)
			var emb selfassess.Embedder
			models := map[string]string{}
			if input == "features+embedding" {
				lazy := &lazyEmbedder{a: a}
				defer lazy.Close()
				m, err := lazy.open()
				if err != nil {
					return fmt.Errorf("%w (or leave the sentence embeddings out: --input features)", err)
				}
				emb = m
				models["embedder"] = emb.Hash()
			}
			data, err := train.HashFiles(files...)
			if err != nil {
				return err
			}
			r := runFlags{out: out, seed: cfg.Seed}
			run, err := a.open(&r, "assess-logs", map[string]any{"logs": cfg, "input": input, "sample": sample}, data, models)
			if err != nil {
				return err
			}
			return finish(run, func() error {
				m, rep, err := logs.Train(c.Context(), es, emb, cfg, func(s string) { a.say("%s", s) })
				if err != nil {
					return err
				}
				rep.Empty = empty
				if err := m.Save(run.Dir); err != nil {
					return err
				}
				// The report comes last: where it stands, the model is whole.
				if err := run.WriteJSON(logs.FileReport, rep); err != nil {
					return err
				}
				a.say("wrote %s", run.Path(logs.FileModel))
				if asJSON {
					return a.printJSON(rep)
				}
				fmt.Fprint(a.stdout, rep)
				return nil
			})
		},
	}
	fs := c.Flags()
	list(fs, &files, "logs", "JSONL files of episodes, plain or gzip")
	fs.StringVarP(&out, "out", "o", "", "run folder (default runs/assess-logs-<hash of the settings>)")
	fs.StringVar(&input, "input", "features+embedding", "what is read: features, or features+embedding (needs the native parts)")
	fs.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "root seed of every random draw")
	fs.IntVar(&cfg.Folds, "folds", cfg.Folds, "folds by task and by player")
	fs.IntVar(&sample, "sample", 0, "a fixed sample of so many episodes, 0 = all")
	fs.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

// openLogModel opens the model in a run folder.
func (a *app) openLogModel(dir string, e *lazyEmbedder) (*logs.Model, error) {
	if dir == "" {
		return nil, usagef("--model RUN names the folder of `muse assess train`")
	}
	return logs.Load(dir, func() (selfassess.Embedder, error) { return e.open() })
}

func assessScoreCmd(a *app) *cobra.Command {
	var (
		files      []string
		model, csv string
	)
	c := &cobra.Command{
		Use: "score", Short: "Probability of success after every step of logged episodes, as CSV", Args: noArgs,
		Long: `Columns: episode, task, model, step, steps, p, success. p is the probability that the
episode succeeds, given its first so many steps; success is empty where the log doesn't
tell, as of an episode that still runs. The p of a finished episode's last step sees the
end.`,
		Example: "  muse assess score --model runs/logs --logs new.jsonl.gz --csv p.csv\n" +
			"  tail -n 100 agent.jsonl | muse assess score --model runs/logs --logs - | awk -F, '$6 < 0.1'",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usagef("no logs: --logs FILE, or --logs - for standard input")
			}
			emb := &lazyEmbedder{a: a}
			defer emb.Close()
			m, err := a.openLogModel(model, emb)
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				buf := bufio.NewWriterSize(w, 1<<16)
				start := time.Now()
				n, err := scoreLogs(c, a, m, files, buf)
				if err != nil {
					return err
				}
				a.say("%d episodes in %.1f s", n, time.Since(start).Seconds())
				return buf.Flush()
			}
			if csv == "" {
				return write(a.stdout)
			}
			if err := atomicfile.Write(csv, 0o644, write); err != nil {
				return fmt.Errorf("assess score: %w", err)
			}
			a.say("wrote %s", csv)
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVar(&model, "model", "", "run folder of muse assess train")
	list(fs, &files, "logs", "JSONL files of episodes, - for standard input")
	fs.StringVar(&csv, "csv", "", "write to this file instead of standard output")
	return c
}

// scoreLogs writes the CSV, an episode after the other.
func scoreLogs(c *cobra.Command, a *app, m *logs.Model, files []string, to io.Writer) (int, error) {
	w := csv.NewWriter(to)
	if err := w.Write([]string{"episode", "task", "model", "step", "steps", "p", "success"}); err != nil {
		return 0, err
	}
	n := 0
	for _, f := range files {
		_, err := logs.Each(f, a.stdin, func(e logs.Episode) error {
			if err := c.Context().Err(); err != nil {
				return err
			}
			p, err := m.Score(c.Context(), &e)
			if err != nil {
				return fmt.Errorf("episode %s: %w", e.ID, err)
			}
			n++
			success := ""
			if e.Known {
				success = strconv.FormatBool(e.Success)
			}
			for i, v := range p {
				row := []string{e.ID, e.TaskID, e.Model, strconv.Itoa(i + 1), strconv.Itoa(len(e.Steps)), strconv.FormatFloat(v, 'f', 4, 64), success}
				if err := w.Write(row); err != nil {
					return err
				}
			}
			w.Flush() // a pipe sees every episode at once
			return w.Error()
		})
		if err != nil {
			return n, err
		}
	}
	w.Flush()
	return n, w.Error()
}

func assessReportCmd(a *app) *cobra.Command {
	var (
		model  string
		asJSON bool
	)
	c := &cobra.Command{
		Use: "report", Short: "Print the figures of a training again: held-out tasks and players, risk–coverage, alerts", Args: noArgs,
		Example: "  muse assess report --model runs/logs",
		RunE: func(*cobra.Command, []string) error {
			if model == "" {
				return usagef("--model RUN names the folder of `muse assess train`")
			}
			path := filepath.Join(model, logs.FileReport)
			b, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("assess report: %w (made by `muse assess train`)", err)
			}
			var rep logs.Report
			if err := json.Unmarshal(b, &rep); err != nil {
				return fmt.Errorf("assess report: %s: %w", path, err)
			}
			if rep.Format != logs.ReportFormat {
				return fmt.Errorf("assess report: %s has format %q, this program reads %q", path, rep.Format, logs.ReportFormat)
			}
			if asJSON {
				return a.printJSON(rep)
			}
			fmt.Fprint(a.stdout, &rep)
			return nil
		},
	}
	c.Flags().StringVar(&model, "model", "", "run folder of muse assess train")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
