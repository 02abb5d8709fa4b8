package train

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// Page is docs/results/README.md: everything in it comes from the committed files,
// apart from the paper's numbers.
func (r *Results) Page() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format, a...) }
	p("# Results\n\n")
	p("Made by `muse results` from the files in [parts](parts) and [assess](assess); do not edit.\n" +
		"The same numbers for programs: [selection.json](selection.json), [assessment.json](assessment.json).\n\n")
	p("Success is the game's own goal predicate within the limit of 50 commands. Steps count a lost\n"+
		"episode as %d. Brackets are 95 %% intervals by bootstrap over games (all episodes of a game are\n"+
		"drawn together). Agents play the same games with the same seeds; differences are paired by game.\n"+
		"Unless said otherwise thoughts are free and no episode is stopped early.\n\n", FailureSteps)
	r.pageTargets(p)
	r.pageTable(p)
	r.pageSelection(p)
	r.pageAssessment(p)
	r.pageMissing(p)
	r.pageCommands(p)
	return b.String()
}

type printer func(format string, a ...any)

func (r *Results) pageTargets(p printer) {
	n := map[string]int{}
	for _, t := range r.Targets {
		n[t.State]++
	}
	p("## Bars and what came of them\n\nThe bars were set before the runs. %d met, %d not met, %d not measured yet.\n\n", n[met], n[notMet], n[missing])
	p("| what | bar | measured | |\n|---|---|---|---|\n")
	for _, t := range r.Targets {
		got := t.Got
		if got == "" {
			got = "–"
		}
		state := t.State
		if state == notMet {
			state = "**not met**"
		}
		p("| %s | %s | %s | %s |\n", t.What, t.Bar, got, state)
	}
	p("\n")
}

func (r *Results) pageSelection(p printer) {
	p("## What acting on the assessment brings\n\n")
	if len(r.Selection.Rows) == 0 {
		p("No rows yet.\n\n")
	}
	group := ""
	for _, x := range r.Selection.Rows {
		g := fmt.Sprintf("%s games, actor `%s`", x.Split, x.Actor)
		if x.Adaptation == AdaptTask {
			g += ", after five adaptation episodes a game"
			if x.AdaptStyle != "" {
				g += " (" + x.AdaptStyle + ")"
			}
		}
		if x.Trials > 1 {
			g += fmt.Sprintf(", %d trials in a row", x.Trials)
		}
		if x.Temperature != 0 {
			g += fmt.Sprintf(", temperature %g", x.Temperature)
		}
		if g != group {
			group = g
			p("\n**%s**\n\n| agent | self-assessment | success | steps | games × seeds | different first commands | without effect |\n|---|---|---|---|---|---|---|\n", strings.ToUpper(g[:1])+g[1:])
		}
		arm, _, _ := strings.Cut(x.Arm, "@")
		if x.Style != "" {
			arm += ", " + x.Style
		}
		msa := setting(x.MSA)
		if msa == "" {
			msa = "–"
		}
		different := "–"
		if x.Selector != "off" && x.Selector != "expert" {
			different = fmt.Sprintf("%.2f of %d", x.Different, x.Rollouts)
		}
		p("| %s | %s | %s | %s | %d × %d | %s | %.0f %% |\n", arm, msa, interval(x.Success, x.CILow, x.CIHigh, "%.3f"),
			interval(x.Steps, x.StepsLow, x.StepsHigh, "%.1f"), x.NTasks, x.Seeds, different, 100*x.Nothing)
		for k, e := range x.SolvedBy {
			p("| … solved by trial %d | | %s | | | | |\n", k+1, e)
		}
	}
	if len(r.Selection.Paired) > 0 {
		p("\n**Paired differences**\n\n| actor | A − B | success | steps | solved at the last trial | games |\n|---|---|---|---|---|---|\n")
		for _, c := range r.Selection.Paired {
			solved := ""
			if c.Solved != nil {
				solved = signed(*c.Solved)
			}
			p("| %s | %s − %s | %s | %+.1f [%+.1f, %+.1f] | %s | %d |\n", c.Actor, c.A, c.B, signed(c.Success), c.Steps.Value, c.Steps.Low, c.Steps.High, solved, c.NTasks)
		}
	}
	p("\n")
}

func (r *Results) pageAssessment(p printer) {
	p("## How good the assessment is\n\n")
	p("Rows are chunks of four action-observation pairs of real episodes. *All* chunks is the paper's way; it\n" +
		"includes the last chunk, in which the end can be seen. *First* is the first chunk of an episode, *before*\n" +
		"are all but the last: these two are predictions. The control *another task* was adapted to the next game\n" +
		"instead; *mean outcome* is the mean outcome of the adaptation episodes, without any model.\n\n")
	if len(r.Assessment.Rows) > 0 {
		p("| actor | self-assessment | adapted | chunks | AUROC | mean of tasks | accuracy | base rate | majority | ECE | n | tasks |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
		for _, x := range r.Assessment.Rows {
			p("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d | %d |\n", x.Actor, setting(x.MSA), x.Adaptation, x.Position,
				interval(x.AUROC, x.CILow, x.CIHigh, "%.3f"), num(x.AUROCMacro), num(x.Accuracy), num(x.BaseRate), num(x.Majority), num(x.ECE), x.N, x.Tasks)
		}
		p("\n")
	}
	if len(r.Assessment.Change) > 0 {
		p("After − before adaptation, all chunks, paired by task:\n\n| actor | self-assessment | metric | difference |\n|---|---|---|---|\n")
		for _, c := range r.Assessment.Change {
			switch c.Metric {
			case "auroc_success", "auroc_macro", "accuracy", "ece", "brier":
				p("| %s | %s | %s | %s |\n", c.Actor, setting(c.MSA), strings.TrimSuffix(c.Metric, "_success"), signed(c.Diff))
			}
		}
		p("\n")
	}
	p("The paper's figures (its Table 2) before / after adaptation: AUROC .66 / .93, accuracy 60 / 85 %%.\n\n")
	r.pageTraining(p)
}

func (r *Results) pageTraining(p printer) {
	if len(r.Assessment.Training) == 0 {
		return
	}
	p("### On held-out seen tasks\n\n" +
		"Cross-validated by task over the training games. *Lift* is what one choice gains: the real outcome of the\n" +
		"first command of the best (lowest) of five futures minus the mean of the five.\n\n" +
		"| actor | self-assessment | episodes | states | lift of best | lift of lowest | AUROC first | before | all |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, t := range r.Assessment.Training {
		best, lowest, states := "–", "–", 0
		if t.Lift != nil {
			best, lowest, states = signed(t.Lift.Best), signed(t.Lift.Lowest), t.Lift.States
		}
		au := map[string]string{}
		for _, h := range t.Held {
			au[h.Position] = num(h.AUROC)
		}
		p("| %s | %s | %d | %d | %s | %s | %s | %s | %s |\n", t.Actor, setting(t.MSA), t.Episodes, states, best, lowest,
			au[selfassess.PositionFirst], au[selfassess.PositionBefore], au[selfassess.PositionAll])
	}
	p("\n")
	for _, t := range r.Assessment.Training {
		if len(t.Settings) == 0 {
			continue
		}
		p("Settings tried for `%s` (the default is the one with the largest best − lowest):\n\n| setting | lift of best | lift of lowest | AUROC, all chunks |\n|---|---|---|---|\n", t.Actor)
		for _, s := range t.Settings {
			if s.Skipped != "" {
				p("| %s | not trained: %s | | |\n", s.Name, s.Skipped)
				continue
			}
			p("| %s | %s | %s | %s |\n", s.Name, signed(s.Best), signed(s.Lowest), s.AUROC)
		}
		p("\n")
	}
}

func (r *Results) pageMissing(p printer) {
	all := append(append([]string{}, r.Selection.Missing...), r.Assessment.Missing...)
	if len(all) == 0 {
		return
	}
	p("## Not measured yet\n\n")
	for _, m := range all {
		p("- %s\n", m)
	}
	p("\n")
}

func (r *Results) pageCommands(p printer) {
	p("## Run a row again\n\n" +
		"Rows of `eval` that lie in `parts` are not played again: leave `--parts` away, or name an empty folder, to\n" +
		"play everything anew. What the rows need first:\n\n```sh\n" +
		"muse collect  --model base --split seen --out runs/collect-base\n" +
		"muse siblings --model base --split seen --temperature 0.7 --episodes 4 --out runs/siblings-base\n" +
		"muse train selfassess --collect runs/collect-base --siblings runs/siblings-base --out runs/default-base\n" +
		"muse train selfassess --collect runs/collect-base --paper --out runs/paper-base\n" +
		"muse adapt --agent reflexion --by plain --model base --msa runs/paper-base --collect runs/collect-base --split unseen --out runs/adapt-base\n" +
		"muse assess --run runs/adapt-base --msa runs/default-base --collect runs/collect-base --json   # and runs/paper-base: the files in assess\n" +
		"```\n\n(the same with `weak`, without the last two). The play that base's first two lines record also lies in\n" +
		"[train/data/base](../../train/data/base), and the self-assessments in [msa](msa): `--collect train/data/base/episodes.jsonl.gz\n" +
		"--siblings train/data/base/siblings.jsonl.gz` gives `msa/default-base.safetensors` to the byte, in two minutes. All\n" +
		"steps, with the choice of settings and temperature, stand in [scripts/results.sh](../../scripts/results.sh). Then, one line a row of the table above:\n\n```sh\n")
	seen := map[string]bool{}
	for _, x := range r.Selection.Rows {
		if !seen[x.Command] {
			seen[x.Command] = true
			p("%s\n", x.Command)
		}
	}
	p("```\n\n")
	if len(r.Commands) > 0 {
		p("The runs that the assessment files were condensed from (`muse results --import RUN`):\n\n```sh\n")
		for _, c := range r.Commands {
			p("%s\n", c)
		}
		p("```\n\n")
	}
	p("```sh\nmuse results --import runs/adapt-x --import runs/default-base   # small files for this folder\nmuse results                                                    # this page and the two JSON files\n```\n")
}
