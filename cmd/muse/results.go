package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
)

func resultsCmd(a *app) *cobra.Command {
	var (
		parts, assess, out string
		imports            []string
		picture, from      string
		readme, demo       string
		check, asJSON      bool
	)
	c := &cobra.Command{
		Use: "results", Short: "Make the result tables from committed parts", Args: noArgs,
		Long: `Compiles selection.json, assessment.json and a page from the part files of ` + "`muse eval\n--parts`" + ` and the small files of --import. Plays nothing and needs no model; the same
files give the same bytes, and rows that are not there are listed as missing.

--import RUN condenses a finished run of adapt or train selfassess into such files
first. --readme README.md fills the marked places of the front page. --picture FILE draws a decision of --from RUN (a run with muse-best) as SVG.`,
		Example: "  muse results --readme README.md --demo runs/demo-x/demo.json\n  muse results --import runs/adapt-x\n  muse results --picture docs/pictures/decision.svg --from runs/demo-x/test",
		RunE: func(c *cobra.Command, _ []string) error {
			if demo != "" && readme == "" {
				return usagef("--demo goes with --readme FILE")
			}
			if picture != "" || from != "" {
				return a.picture(picture, from)
			}
			for _, dir := range imports {
				wrote, err := train.ImportRun(dir, parts, assess)
				if err != nil {
					return err
				}
				for _, f := range wrote {
					a.say("wrote %s", f)
				}
			}
			r, err := train.CompileResults(parts, assess)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(map[string]any{"selection": r.Selection, "assessment": r.Assessment})
			}
			if check {
				return r.Check(out)
			}
			if err := r.Write(out); err != nil {
				return err
			}
			a.say("wrote %s (%d rows, %d assessments, %d missing)", filepath.Join(out, "README.md"),
				len(r.Selection.Rows), len(r.Assessment.Rows), len(r.Selection.Missing)+len(r.Assessment.Missing))
			if readme != "" {
				if err := r.FillReadme(readme, demo); err != nil {
					return err
				}
				a.say("wrote the marked parts of %s", readme)
			}
			return nil
		},
	}
	c.AddCommand(resultsArmCmd(a))
	fs := c.Flags()
	fs.StringVar(&parts, "parts", "docs/results/parts", "folder of part files")
	fs.StringVar(&assess, "assess", "docs/results/assess", "folder of assessment files")
	fs.StringVarP(&out, "out", "o", "docs/results", "folder for selection.json, assessment.json and README.md")
	list(fs, &imports, "import", "finished run folders of adapt or train selfassess to condense first")
	fs.StringVar(&picture, "picture", "", "draw one decision as SVG into this file, instead of the tables")
	fs.StringVar(&from, "from", "", "the run (or episodes file) whose decision is drawn")
	fs.StringVar(&readme, "readme", "", "also put the short table into the marked place of this page")
	fs.StringVar(&demo, "demo", "", "and the report of this demo.json (with --readme)")
	fs.BoolVar(&check, "check", false, "write nothing; fail where the files of --out differ from what would be written")
	fs.BoolVar(&asJSON, "json", false, "print both tables as JSON instead of writing files")
	return c
}

// picture draws the example decision of a run.
func (a *app) picture(file, from string) error {
	if file == "" || from == "" {
		return usagef("--picture FILE and --from RUN belong together")
	}
	es, err := train.ReadEpisodes(from)
	if err != nil {
		return err
	}
	d := train.ExampleDecision(es)
	if d == nil {
		return errors.New("results: no decision with different first commands of muse-best in " + from)
	}
	if err := atomicfile.WriteFile(file, []byte(d.SVG()), 0o644); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	a.say("wrote %s (%s, after %d commands)", file, d.Episode, d.Step)
	return nil
}
