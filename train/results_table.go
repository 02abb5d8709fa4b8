package train

import (
	"fmt"
	"strings"
)

// tableLine is a row of the paper's Tables 3 and 4, with our agent for it.
type tableLine struct {
	label        string
	arm, style   string
	tuned        bool   // by SFT and DPO
	paper, steps string // the paper's success and steps, without / with adaptation
}

// tableLines are the agents of the paper, then ours.
var tableLines = []tableLine{
	{label: "ReAct", arm: "react", paper: "35 / 35", steps: "97 / 97"},
	{label: "Reflexion", arm: "reflexion", paper: "45 / 51", steps: "77 / 66"},
	{label: "Reflexion + SFT/DPO", arm: "reflexion", tuned: true, paper: "62 / 65", steps: "61 / 54"},
	{label: "MUSE, lowest", arm: "muse-lowest", paper: "59 / 61", steps: "65 / 62"},
	{label: "MUSE, random", arm: "muse-random", paper: "68 / 69", steps: "53 / 49"},
	{label: "MUSE, best", arm: "muse-best", paper: "84 / 90", steps: "43 / 38"},
	{label: "ReAct that forgets its failures (control)", arm: "react", style: "failures forgotten"},
	{label: "second thoughts, lowest", arm: "muse-lowest", style: "second thoughts"},
	{label: "second thoughts, random", arm: "muse-random", style: "second thoughts"},
	{label: "**second thoughts, best**", arm: "muse-best", style: "second thoughts"},
}

// tuned reports whether a model's name carries an adapter.
func tuned(actor string) bool { return strings.Contains(actor, "+") }

// line finds the largest row of a line, of one column.
func (r *Results) line(actor string, l tableLine, adaptation string) *ResultRow {
	var best *ResultRow
	for i := range r.Selection.Rows {
		x := &r.Selection.Rows[i]
		arm, _, _ := strings.Cut(x.Arm, "@")
		name, _, _ := strings.Cut(x.Actor, "+")
		if x.Split != "unseen" || x.Games != "" || name != actor || tuned(x.Actor) != l.tuned || arm != l.arm || x.Style != l.style ||
			x.Adaptation != adaptation || x.Trials != 1 || x.MSA != "" && setting(x.MSA) != ActingSetting || x.Horizon != 4 || x.Rollouts != 5 {
			continue
		}
		if best == nil || x.NTasks*x.Seeds > best.NTasks*best.Seeds {
			best = x
		}
	}
	return best
}

// pageTable is the table in the paper's form, an actor after the other.
func (r *Results) pageTable(p printer) {
	p("## The paper's table\n\n"+
		"Success on the unseen games without and with adaptation, and steps (a lost episode counts %d). Beside them the\n"+
		"paper's figures (Mistral-7B, its Tables 3 and 4): our actors are a thousand times smaller, so the order is\n"+
		"comparable and the levels are not. *MUSE* is the paper's loop, at the temperature\n"+
		"that val prefers for it (1); everything else is played at .5. *Second thoughts* are described in\n"+
		"[docs/second-thoughts.md](../second-thoughts.md).\n", FailureSteps)
	for _, actor := range []string{"base", "weak", "strong"} {
		var lines []string
		for _, l := range tableLines {
			none, ad := r.line(actor, l, AdaptNone), r.line(actor, l, AdaptTask)
			if none == nil && ad == nil {
				continue
			}
			size := func(x *ResultRow) string {
				if x == nil {
					return "–"
				}
				return fmt.Sprintf("%d × %d", x.NTasks, x.Seeds)
			}
			success := func(x *ResultRow) string {
				if x == nil {
					return "–"
				}
				return interval(x.Success, x.CILow, x.CIHigh, "%.3f")
			}
			steps := func(x *ResultRow) string {
				if x == nil {
					return "–"
				}
				return fmt.Sprintf("%.1f", *x.Steps)
			}
			line := fmt.Sprintf("| %s | %s | %s | %s / %s | %s / %s |", l.label, success(none), success(ad), steps(none), steps(ad), size(none), size(ad))
			if actor == "base" { // the paper's other models stand in its Table 5
				line += fmt.Sprintf(" %s | %s |", dash(l.paper), dash(l.steps))
			}
			lines = append(lines, line)
		}
		if len(lines) == 0 {
			continue
		}
		head, rule := "", ""
		if actor == "base" {
			head, rule = " paper, success | paper, steps |", "---|---|"
		}
		p("\n**Actor `%s`**\n\n| agent | success, not adapted | success, adapted | steps | games × episodes |%s\n|---|---|---|---|---|%s\n%s\n",
			actor, head, rule, strings.Join(lines, "\n"))
	}
	p("\nThe paper's smaller models after adaptation, ReAct / Reflexion / MUSE (its Table 5): OpenOrca 23 / 27 / 58 %%, OpenELM-3B 4 / 9 / 55 %%.\n")
	p("\n")
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// tableTargets are the bars of the paper's table.
func (r *Results) tableTargets() {
	second := tableLine{arm: "muse-best", style: "second thoughts"}
	for _, actor := range []string{"base", "weak", "strong"} {
		best := r.line(actor, second, AdaptTask)
		if best == nil {
			best = r.line(actor, second, AdaptNone)
		}
		react := r.line(actor, tableLine{arm: "react"}, AdaptNone)
		t := Target{What: actor + ", second thoughts, best, adapted: success", Bar: "≥ .75", State: missing}
		bar := .75
		switch actor {
		case "strong":
			t.Bar, bar = "≥ .90", .9
		case "weak":
			t.Bar = "≥ 2 × ReAct"
			if react != nil {
				bar = 2 * *react.Success
			}
		}
		if best != nil && react != nil {
			t.Got = fmt.Sprintf("%s, ReAct %s", interval(best.Success, best.CILow, best.CIHigh, "%.3f"), interval(react.Success, react.CILow, react.CIHigh, "%.3f"))
			t.State = verdict(*best.Success >= bar)
		}
		r.Targets = append(r.Targets, t)
		if actor == "strong" {
			continue
		}
		none := r.line(actor, second, AdaptNone)
		c := r.pair(best, none)
		t = Target{What: actor + ", second thoughts, best: adapted − not adapted, success", Bar: "≥ +.05", State: missing}
		if c != nil {
			t.Got, t.State = fmt.Sprintf("%s (%d games)", signed(c.Success), c.NTasks), verdict(c.Success.Value >= .05)
		}
		r.Targets = append(r.Targets, t)
	}
	best, random := r.line("base", second, AdaptNone), r.line("base", tableLine{arm: "muse-random", style: "second thoughts"}, AdaptNone)
	r.difference("base, second thoughts: best − random, success", r.pair(best, random), .08)
}
