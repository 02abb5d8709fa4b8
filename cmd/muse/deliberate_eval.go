package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/jsonl"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

func evalDeliberateCmd(a *app) *cobra.Command {
	var (
		f       thinkFlags
		file    string
		workers int
		limit   int
		asJSON  bool
	)
	c := &cobra.Command{
		Use: "deliberate --problems FILE", Short: "Thinker alone against thinker and judge, on problems with known answers", Args: noArgs,
		Long: `Answers every problem of a JSON-lines file ({"id", "problem", "answer"}) by the thinker's
greedy path alone and by the loop. Reports both accuracies, the paired difference, the
coverage ceiling (at least one path right: what a perfect judge would reach), fixed and
lost problems with McNemar's exact p, and tokens and time as ratios.`,
		Example: "  muse eval deliberate --problems sums.jsonl --thinker llama@http://127.0.0.1:8080/v1 --judge qwen@http://127.0.0.1:8081/v1",
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return usagef("--problems is missing: a file with one {\"id\", \"problem\", \"answer\"} a line")
			}
			if workers < 1 || limit < 0 {
				return usagef("--workers is %d and --limit is %d; at least 1, and not negative", workers, limit)
			}
			tasks, err := readTasks(file)
			if err != nil {
				return err
			}
			if limit > 0 && limit < len(tasks) {
				tasks = tasks[:limit]
			}
			t, j, err := f.open(a)
			if err != nil {
				return err
			}
			defer f.Close()
			n := 0
			r, err := deliberate.Evaluate(c.Context(), t, j, tasks, deliberate.EvalConfig{Config: f.deliberation, Workers: workers, Progress: func(row deliberate.Row) {
				n++
				a.say("%d/%d %s: alone %t, loop %t, covered %t, %d paths%s", n, len(tasks), row.ID, row.Alone, row.Loop, row.Covered, row.Paths, errNote(row.Error))
			}})
			if err != nil {
				return err
			}
			if r.Failed == r.Problems {
				return fmt.Errorf("all %d problems failed, the first: %s", r.Failed, r.Rows[0].Error)
			}
			if asJSON {
				return a.printJSON(r)
			}
			fmt.Fprint(a.stdout, r)
			return nil
		},
	}
	f.addModels(c)
	fs := c.Flags()
	fs.StringVar(&file, "problems", "", "JSON lines with id, problem and answer")
	fs.IntVar(&workers, "workers", 1, "problems at a time")
	fs.IntVar(&limit, "limit", 0, "at most so many problems, 0 = all")
	fs.BoolVar(&asJSON, "json", false, "print the report as JSON, with one row a problem")
	return c
}

func errNote(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// readTasks reads the file: a problem without text or answer is an error.
func readTasks(path string) ([]deliberate.Task, error) {
	var out []deliberate.Task
	seen := map[string]bool{}
	for t, err := range jsonl.All[deliberate.Task](path) {
		if err != nil {
			return nil, err
		}
		if t.ID == "" {
			t.ID = fmt.Sprint(len(out) + 1)
		}
		if t.Problem == "" || t.Answer == "" {
			return nil, fmt.Errorf("%s: problem %q lacks its text or its answer", path, t.ID)
		}
		if seen[t.ID] {
			return nil, fmt.Errorf("%s: two problems have the id %q", path, t.ID)
		}
		seen[t.ID] = true
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no problems", path)
	}
	return out, nil
}
