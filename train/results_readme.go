package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// FillBlock replaces what stands between <!-- name:begin --> and <!-- name:end -->.
func FillBlock(doc, name, text string) (string, error) {
	begin, end := "<!-- "+name+":begin -->", "<!-- "+name+":end -->"
	i, j := strings.Index(doc, begin), strings.Index(doc, end)
	if i < 0 || j < i {
		return "", fmt.Errorf("train: the page has no %s … %s", begin, end)
	}
	return doc[:i+len(begin)] + "\n" + strings.TrimRight(text, "\n") + "\n" + doc[j:], nil
}

// FilePicture is the picture of a decision, below the folder of the front page.
const FilePicture = "docs/pictures/decision.svg"

// FillReadme puts the short table, and the report and picture of a demo where demo
// names its demo.json, into the marked places of a page.
func (r *Results) FillReadme(path, demo string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	doc, err := FillBlock(string(b), "results", r.Short())
	if err != nil {
		return fmt.Errorf("%w (%s)", err, path)
	}
	if demo != "" {
		var d DemoResult
		if err := readJSON(demo, &d); err != nil {
			return err
		}
		if d.Format != DemoFormat {
			return fmt.Errorf("%w: %s has %q, this program reads %q", ErrVersion, demo, d.Format, DemoFormat)
		}
		text := "```text\n" + strings.TrimRight(d.String(), "\n") + "\n```"
		if d.Decision != nil {
			picture := filepath.Join(filepath.Dir(path), FilePicture)
			if err := os.MkdirAll(filepath.Dir(picture), 0o755); err != nil {
				return fmt.Errorf("train: %w", err)
			}
			if err := writeFile(picture, []byte(d.Decision.SVG())); err != nil {
				return err
			}
			text += "\n\nThe same decision as a picture:\n\n![Five imagined futures side by side, each with its probability of success](" + FilePicture + ")"
		}
		if doc, err = FillBlock(doc, "demo", text); err != nil {
			return fmt.Errorf("%w (%s)", err, path)
		}
	}
	return writeFile(path, []byte(doc))
}

// Short is the summary for a front page: the agents on unseen games, and the
// self-assessment before and after adaptation. What is missing is said.
func (r *Results) Short() string {
	var b strings.Builder
	def, paper := ActingSetting, selfassess.Paper().String()
	b.WriteString(r.shortTable())
	for _, actor := range []string{"base"} {
		var lines []string
		for _, x := range []struct{ label, arm, set string }{
			{"ReAct", "react", ""}, {"off: one sample", "muse-off", ""}, {"lowest", "muse-lowest", def}, {"random", "muse-random", ""}, {"**best**", "muse-best", def},
			{"lowest, the paper's own setting", "muse-lowest", paper}, {"best, the paper's own setting", "muse-best", paper},
		} {
			row := r.find(wanted{actor: actor, arm: x.arm, setting: x.set, adaptation: AdaptNone, trials: 1})
			if row != nil {
				lines = append(lines, fmt.Sprintf("| %s | %g | %s | %s | %d × %d |", x.label, row.Temperature, interval(row.Success, row.CILow, row.CIHigh, "%.3f"),
					interval(row.Steps, row.StepsLow, row.StepsHigh, "%.1f"), row.NTasks, row.Seeds))
			}
		}
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "The paper's loop, unseen games, actor `%s`, without adaptation:\n\n| choice | T | success | steps | games × seeds |\n|---|---|---|---|---|\n%s\n\n", actor, strings.Join(lines, "\n"))
		best := r.find(wanted{actor: actor, arm: "muse-best", setting: def, adaptation: AdaptNone, trials: 1})
		for _, arm := range []string{"muse-random", "muse-lowest"} {
			set := ""
			if arm == "muse-lowest" {
				set = def
			}
			if c := r.pair(best, r.find(wanted{actor: actor, arm: arm, setting: set, adaptation: AdaptNone, trials: 1})); c != nil {
				fmt.Fprintf(&b, "Best − %s: %s. ", strings.TrimPrefix(arm, "muse-"), signed(c.Success))
			}
		}
		b.WriteString("\n\n")
	}
	before, after := r.assess("base", def, AdaptNone, "all"), r.assess("base", def, AdaptTask, "all")
	if before != nil {
		b.WriteString("Self-assessment on unseen games, all chunks (by position: see the page):\n\n| | AUROC | mean of tasks | accuracy | ECE |\n|---|---|---|---|---|\n")
		for _, x := range []struct {
			label string
			row   *AssessRow
		}{{"before adaptation", before}, {"after five episodes of the game", after}} {
			if x.row != nil {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", x.label, interval(x.row.AUROC, x.row.CILow, x.row.CIHigh, "%.3f"), num(x.row.AUROCMacro), num(x.row.Accuracy), num(x.row.ECE))
			}
		}
		b.WriteString("\n")
	}
	n := map[string]int{}
	for _, t := range r.Targets {
		n[t.State]++
	}
	fmt.Fprintf(&b, "Of the bars set before the runs %d are met, %d not, %d not measured: [docs/results](docs/results/README.md)\nhas them all, with intervals and the command of every row.", n[met], n[notMet], n[missing])
	return b.String()
}

// shortTable is what acting on the assessment brings, an actor a line.
func (r *Results) shortTable() string {
	cell := func(x *ResultRow) string {
		if x == nil {
			return "–"
		}
		return interval(x.Success, x.CILow, x.CIHigh, "%.2f")
	}
	var lines []string
	for _, actor := range []string{"weak", "base", "strong"} {
		second := tableLine{arm: "muse-best", style: "second thoughts"}
		none := r.line(actor, second, AdaptNone)
		if none == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s | **%s** |", actor, cell(r.line(actor, tableLine{arm: "react"}, AdaptNone)),
			cell(r.line(actor, tableLine{arm: "react", style: "failures forgotten"}, AdaptNone)), cell(none), cell(r.line(actor, second, AdaptTask))))
	}
	if len(lines) == 0 {
		return ""
	}
	return "Success on the 134 unseen games, temperature .5, [second thoughts](docs/second-thoughts.md):\n\n" +
		"| actor | ReAct | ReAct that forgets its failures | MUSE | MUSE, after five episodes of the game |\n|---|---|---|---|---|\n" + strings.Join(lines, "\n") + "\n\n"
}
