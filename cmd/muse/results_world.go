package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/train/arm"
)

func resultsArmCmd(a *app) *cobra.Command {
	var (
		from, against     []string
		phase, table, out string
		check             bool
	)
	c := &cobra.Command{
		Use: "arm", Short: "Make the page of the world-model agent from committed files", Args: noArgs,
		Long: `Compiles the page of a folder with reports of trainings, checks and tables. With --from,
first compares the agents of finished runs of muse eval or adapt --env gridarm into a table there;
models whose names differ in a seed at the end only (muse-s0, muse-s1) make one row together.`,
		Example: "  muse results arm\n  muse results arm --from runs/adapt-a,runs/adapt-b --phase test --table test-novel.json",
		RunE: func(*cobra.Command, []string) error {
			if (len(from) == 0) != (table == "") {
				return usagef("--from RUN,… and --table FILE belong together")
			}
			if check && table != "" {
				return usagef("--check writes nothing; leave --from and --table away")
			}
			if check {
				return arm.CheckResults(out)
			}
			if table != "" {
				if !arm.IsTableFile(table) {
					return usagef("--table is %q; it is a file's name in the folder of --out: eval-NAME.json, adapt-NAME.json or test-NAME.json", table)
				}
				if err := once("runs", from); err != nil {
					return err
				}
				t, err := arm.Tabulate(from, phase, against...)
				if err != nil {
					return err
				}
				if len(t.Rows) == 0 {
					return usagef("no episode of phase %q in %v; --phase is eval, adapt or test", phase, from)
				}
				if err := os.MkdirAll(out, 0o755); err != nil {
					return fmt.Errorf("results arm: %w", err)
				}
				if err := train.WriteJSON(filepath.Join(out, table), t); err != nil {
					return err
				}
				a.say("wrote %s", filepath.Join(out, table))
			}
			if err := arm.WriteResults(out); err != nil {
				return err
			}
			a.say("wrote %s", filepath.Join(out, arm.FileResults))
			return nil
		},
	}
	f := c.Flags()
	list(f, &from, "from", "finished run folders to compare")
	f.StringVar(&phase, "phase", "eval", "of their episodes: eval, adapt or test")
	against = []string{"off"}
	list(f, &against, "against", "agents, or rows, that the others are compared with")
	f.StringVar(&table, "table", "", "file for the comparison, in the folder of --out, such as test-novel.json")
	f.StringVarP(&out, "out", "o", "docs/results/arm", "folder of the files and of the page")
	f.BoolVar(&check, "check", false, "write nothing; fail where the page differs from what would be written")
	return c
}
