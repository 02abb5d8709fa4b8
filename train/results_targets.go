package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// Target is a bar that was set before the runs, and what they gave.
type Target struct {
	What  string
	Bar   string
	Got   string
	State string // "met", "not met", "missing"
}

const (
	met     = "met"
	notMet  = "not met"
	missing = "missing"
)

// wanted is a row that the full result has.
type wanted struct {
	actor, arm, setting, adaptation string
	trials, games, seeds            int
	style, adaptStyle               string
}

func (w wanted) String() string {
	s := fmt.Sprintf("%s, %s", w.actor, w.arm)
	if w.setting != "" {
		s += " by " + w.setting
	}
	if w.adaptation == AdaptTask {
		s += ", adapted"
	}
	if w.trials > 1 {
		s += fmt.Sprintf(", %d trials", w.trials)
	}
	return fmt.Sprintf("%s: %d unseen games × %d", s, w.games, w.seeds)
}

// ActingSetting is the default self-assessment of embedded actors, on which agents
// act in the table: the setting with the best sibling lift on held-out seen tasks
// (`muse train selfassess --choose`).
const ActingSetting = "history+hidden/sibling"

// ActingTemperature is the temperature of the futures that val prefers
// (docs/results/val).
const ActingTemperature = 1.0

// wantedRows is the full table.
func wantedRows() []wanted {
	def, paper := ActingSetting, selfassess.Paper().String()
	rows := []wanted{
		{actor: "base", arm: "react", setting: "", adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
		{actor: "base", arm: "muse-random", setting: "", adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
		{actor: "base", arm: "muse-lowest", setting: def, adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
		{actor: "base", arm: "muse-best", setting: def, adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
		{actor: "base", arm: "muse-lowest", setting: paper, adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
		{actor: "base", arm: "muse-best", setting: paper, adaptation: AdaptNone, trials: 1, games: 134, seeds: 2},
	}
	for _, a := range []string{"react", "reflexion", "muse-random"} {
		rows = append(rows, wanted{actor: "base", arm: a, setting: "", adaptation: AdaptTask, trials: 1, games: 134, seeds: 1})
	}
	for _, a := range []string{"muse-lowest", "muse-best"} {
		rows = append(rows, wanted{actor: "base", arm: a, setting: def, adaptation: AdaptTask, trials: 1, games: 134, seeds: 1})
	}
	return append(rows,
		wanted{actor: "weak", arm: "muse-random", setting: "", adaptation: AdaptNone, trials: 1, games: 67, seeds: 1},
		wanted{actor: "weak", arm: "muse-lowest", setting: def, adaptation: AdaptNone, trials: 1, games: 67, seeds: 1},
		wanted{actor: "weak", arm: "muse-best", setting: def, adaptation: AdaptNone, trials: 1, games: 67, seeds: 1},
		wanted{actor: "weak", arm: "repeat", setting: "", adaptation: AdaptNone, trials: 2, games: 134, seeds: 1},
		wanted{actor: "weak", arm: "reflexion", setting: "", adaptation: AdaptNone, trials: 2, games: 134, seeds: 1},
	)
}

// find returns the largest row that fits w apart from its size.
func (r *Results) find(w wanted) *ResultRow {
	var best *ResultRow
	for i := range r.Selection.Rows {
		x := &r.Selection.Rows[i]
		arm, _, _ := strings.Cut(x.Arm, "@")
		if x.Split != "unseen" || x.Actor != w.actor || arm != w.arm || setting(x.MSA) != w.setting || x.Adaptation != w.adaptation || x.Trials != w.trials ||
			x.Style != w.style || x.AdaptStyle != w.adaptStyle {
			continue
		}
		if best == nil || x.NTasks*x.Seeds > best.NTasks*best.Seeds {
			best = x
		}
	}
	return best
}

// pair returns the comparison of two rows.
func (r *Results) pair(a, b *ResultRow) *Comparison {
	for i := range r.Selection.Paired {
		c := &r.Selection.Paired[i]
		if a != nil && b != nil && c.AKey == a.Key && c.BKey == b.Key && strings.HasPrefix(c.A, a.Arm) && strings.HasPrefix(c.B, b.Arm) {
			return c
		}
	}
	return nil
}

// judge fills Missing and Targets.
func (r *Results) judge() {
	for _, w := range wantedRows() {
		x := r.find(w)
		switch {
		case x == nil:
			r.Selection.Missing = append(r.Selection.Missing, w.String())
		case x.NTasks < w.games || x.Seeds < w.seeds:
			r.Selection.Missing = append(r.Selection.Missing, fmt.Sprintf("%s (so far %d games × %d)", w, x.NTasks, x.Seeds))
		}
	}
	def, paper := ActingSetting, selfassess.Paper().String()
	row := func(actor, arm, set string) *ResultRow {
		return r.find(wanted{actor: actor, arm: arm, setting: set, adaptation: AdaptNone, trials: 1})
	}
	for _, actor := range []string{"base", "weak"} {
		best, random, lowest := row(actor, "muse-best", def), row(actor, "muse-random", ""), row(actor, "muse-lowest", def)
		r.difference(actor+": best − random, success", r.pair(best, random), .08)
		r.difference(actor+": best − lowest, success", r.pair(best, lowest), .25)
	}
	best, random, lowest := row("base", "muse-best", paper), row("base", "muse-random", ""), row("base", "muse-lowest", paper)
	r.difference("base, the paper's own setting: best − random, success", r.pair(best, random), 0)
	r.difference("base, the paper's own setting: random − lowest, success", r.pair(random, lowest), 0)
	plain := row("base", "muse-off", "") // react plays at another temperature
	t := Target{What: "base: random choice is plain sampling", Bar: "difference within 2 standard errors", State: missing}
	if c := r.pair(random, plain); c != nil {
		se := (c.Success.High - c.Success.Low) / (2 * 1.96)
		t.Got, t.State = signed(c.Success), verdict(math.Abs(c.Success.Value) <= 2*se)
	}
	r.Targets = append(r.Targets, t)
	r.liftTarget("base", def)
	r.assessTargets("base", def)
	r.reflectionTarget()
	r.tableTargets()
	if r.assess("base", paper, AdaptNone, selfassess.PositionAll) == nil {
		r.Assessment.Missing = append(r.Assessment.Missing, "base by "+paper+" on unseen games")
	}
	for _, a := range []string{AdaptNone, AdaptTask, AdaptOther} {
		if r.assess("base", def, a, selfassess.PositionAll) == nil {
			r.Assessment.Missing = append(r.Assessment.Missing, fmt.Sprintf("base by %s on unseen games, adaptation: %s", def, a))
		}
	}
}

func verdict(ok bool) string {
	if ok {
		return met
	}
	return notMet
}

func signed(e selfassess.Estimate) string {
	if math.IsNaN(e.Value) {
		return "n/a"
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", e.Value, e.Low, e.High)
}

// difference is a bar on a paired difference with its interval above 0.
func (r *Results) difference(what string, c *Comparison, bar float64) {
	t := Target{What: what, Bar: fmt.Sprintf("≥ +%.2f, interval above 0", bar), State: missing}
	if bar == 0 {
		t.Bar = "interval above 0"
	}
	if c != nil {
		t.Got = fmt.Sprintf("%s (%d games)", signed(c.Success), c.NTasks)
		t.State = verdict(c.Success.Value >= bar && c.Success.Low > 0)
	}
	r.Targets = append(r.Targets, t)
}

func (r *Results) liftTarget(actor, set string) {
	t := Target{What: actor + ": sibling lift on held-out seen tasks", Bar: "≥ 900 states, best above and lowest below 0 by 2 standard errors", State: missing}
	for _, x := range r.Assessment.Training {
		if x.Actor != actor || setting(x.MSA) != set || x.Lift == nil {
			continue
		}
		l := x.Lift
		se := func(e selfassess.Estimate) float64 { return (e.High - e.Low) / (2 * 1.96) }
		t.Got = fmt.Sprintf("%d states, best %s, lowest %s", l.States, signed(l.Best), signed(l.Lowest))
		t.State = verdict(l.States >= 900 && l.Best.Value >= 2*se(l.Best) && l.Lowest.Value <= -2*se(l.Lowest))
	}
	if t.State == missing {
		r.Assessment.Missing = append(r.Assessment.Missing, fmt.Sprintf("%s by %s on held-out seen tasks", actor, set))
	}
	r.Targets = append(r.Targets, t)
}

// assess finds a row of assessment.json.
func (r *Results) assess(actor, set, adaptation, position string) *AssessRow {
	for i := range r.Assessment.Rows {
		x := &r.Assessment.Rows[i]
		if x.Actor == actor && setting(x.MSA) == set && x.Adaptation == adaptation && x.Position == position {
			return x
		}
	}
	return nil
}

func (r *Results) assessTargets(actor, set string) {
	x := r.assess(actor, set, AdaptNone, selfassess.PositionAll)
	add := func(what, bar string, v *float64, ok func(float64) bool) {
		t := Target{What: actor + ", M_sa on unseen tasks before adaptation: " + what, Bar: bar, State: missing}
		if x != nil && v != nil {
			t.Got, t.State = num(v), verdict(ok(*v))
		}
		r.Targets = append(r.Targets, t)
	}
	var zero AssessRow
	y := &zero
	if x != nil {
		y = x
	}
	add("AUROC, pooled", "≥ .88", y.AUROC, func(v float64) bool { return v >= .88 })
	add("AUROC, mean of tasks", "≥ .85", y.AUROCMacro, func(v float64) bool { return v >= .85 })
	add("accuracy", "≥ .87 and above always guessing the more frequent outcome", y.Accuracy, func(v float64) bool {
		return v >= .87 && y.Majority != nil && v > *y.Majority
	})
	add("calibration error", "≤ .06", y.ECE, func(v float64) bool { return v <= .06 })
	auroc := Target{What: actor + ", after adaptation: AUROC", Bar: "not lower", State: missing}
	accuracy := Target{What: actor + ", after adaptation: accuracy", Bar: "higher, interval above 0", State: missing}
	for _, c := range r.Assessment.Change {
		if c.Actor != actor || setting(c.MSA) != set {
			continue
		}
		switch c.Metric {
		case "auroc_success":
			auroc.Got, auroc.State = signed(c.Diff), verdict(c.Diff.Value >= 0)
		case "accuracy":
			accuracy.Got, accuracy.State = signed(c.Diff), verdict(c.Diff.Low > 0)
		}
	}
	r.Targets = append(r.Targets, auroc, accuracy)
}

func (r *Results) reflectionTarget() {
	t := Target{What: "weak: solved after two trials, own reflection − plain repeat", Bar: "interval above 0", State: missing}
	w := wanted{actor: "weak", arm: "reflexion", adaptation: AdaptNone, trials: 2}
	a := r.find(w)
	w.arm = "repeat"
	if c := r.pair(a, r.find(w)); c != nil && c.Solved != nil {
		t.Got, t.State = fmt.Sprintf("%s (%d games)", signed(*c.Solved), c.NTasks), verdict(c.Solved.Low > 0)
	}
	r.Targets = append(r.Targets, t)
}
