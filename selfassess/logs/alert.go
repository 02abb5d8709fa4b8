package logs

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"strings"

	"github.com/muse-agent/muse/selfassess"
)

// Alert is a row of the table "alert at step k": an alarm rings as soon as P falls
// below a threshold, and never stops.
type Alert struct {
	Budget    float64 `json:"budget"`     // share of successes that may be alarmed in vain
	Step      int     `json:"step"`       // by this step
	Threshold float64 `json:"threshold"`  // mean of the two halves
	Caught    float64 `json:"caught"`     // share of all failures alarmed by now
	FalseRate float64 `json:"false_rate"` // share of all successes alarmed by now
	Precision float64 `json:"precision"`  // share of failures among the alarmed
	Saved     float64 `json:"saved"`      // mean steps that the caught failures still went on
}

// budgets of false alarms that the table shows.
var budgets = []float64{0.05, 0.1, 0.2}

// alerts makes the table. The threshold for a half of the tasks is set on the other
// half, so that the budget is a promise and not a fit.
func alerts(es []Episode, rows []Row, p []float64, positions []int) []Alert {
	at := map[int]int{}
	for i, n := range positions {
		at[n] = i
	}
	// path of the lowest P so far, by position; 2 where the episode had ended.
	low := make([][]float64, len(es))
	for i := range rows {
		for _, e := range rows[i].Episodes {
			if low[e] == nil {
				low[e] = make([]float64, len(positions))
				for k := range low[e] {
					low[e][k] = 2
				}
			}
			low[e][at[len(rows[i].Steps)]] = p[i]
		}
	}
	half := func(e int) byte { s := sha256.Sum256([]byte(es[e].TaskID)); return s[0] & 1 }
	var least [2][]float64 // of successes
	for e, l := range low {
		for k := 1; k < len(l); k++ {
			l[k] = min(l[k], l[k-1])
		}
		if l != nil && es[e].Success {
			least[half(e)] = append(least[half(e)], l[len(l)-1])
		}
	}
	for i := range least {
		sort.Float64s(least[i])
	}
	if len(least[0]) == 0 || len(least[1]) == 0 {
		return nil
	}
	var out []Alert
	for _, b := range budgets {
		limit := func(h byte) float64 { s := least[1-h]; return s[min(int(b*float64(len(s))), len(s)-1)] }
		for k, n := range positions {
			a := Alert{Budget: b, Step: n, Threshold: (limit(0) + limit(1)) / 2}
			var won, lost, rightly, wrongly float64
			for e, l := range low {
				if l == nil {
					continue
				}
				rung := l[k] < limit(half(e))
				switch {
				case es[e].Success:
					won++
					wrongly += float64(bit(rung))
				default:
					lost++
					if rung {
						rightly++
						first := n
						for j := range l[:k+1] {
							if l[j] < limit(half(e)) {
								first = positions[j]
								break
							}
						}
						a.Saved += float64(len(es[e].Steps) - first)
					}
				}
			}
			a.Caught, a.FalseRate = share(rightly, lost), share(wrongly, won)
			a.Precision, a.Saved = share(rightly, rightly+wrongly), share(a.Saved, rightly)
			out = append(out, a)
		}
	}
	return out
}

func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// line is a result in one line.
func (r *Result) line() string {
	where := "first " + r.Position + " steps"
	if r.SeesEnd {
		where = "whole episode (sees the end)"
	}
	return fmt.Sprintf("%s: AUROC %.3f against %.3f of n-grams (%s), mean of tasks %.3f against %.3f (%s)", where,
		r.Model.AUROC.Value, r.NGram.AUROC.Value, signed(r.AUROC), r.Model.AUROCMacro.Value, r.NGram.AUROCMacro.Value, signed(r.Macro))
}

func signed(e selfassess.Estimate) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", e.Value, e.Low, e.High)
}

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d episodes of %d tasks by %d players, %.0f %% won (%d lines without steps left out)\n\n", r.Episodes, r.Tasks, r.Models, 100*r.Success, r.Empty)
	fmt.Fprintf(&b, "%-7s %-7s %8s %5s  %-22s %-7s  %-24s %-6s %-6s  %-24s %-6s %-6s\n", "without", "after", "episodes", "won",
		"AUROC", "n-gram", "gain", "macro", "n-gram", "gain", "ECE", "Brier")
	row := func(x *Result) {
		fmt.Fprintf(&b, "%-7s %-7s %8d %5.2f  %-22s %-7.3f  %-24s %-6.3f %-6.3f  %-24s %-6.3f %-6.3f\n", x.Split, x.Position, x.Model.N, x.Model.BaseRate.Value,
			x.Model.AUROC, x.NGram.AUROC.Value, signed(x.AUROC), x.Model.AUROCMacro.Value, x.NGram.AUROCMacro.Value, signed(x.Macro), x.Model.ECE.Value, x.Model.Brier.Value)
	}
	for i := range r.Results {
		if !r.Results[i].SeesEnd {
			row(&r.Results[i])
		}
	}
	b.WriteString("\nwhole episodes: these figures see the end and are no prediction\n")
	for i := range r.Results {
		if r.Results[i].SeesEnd {
			row(&r.Results[i])
		}
	}
	b.WriteString("\nrisk–coverage: share of wrong decisions when only the surest are decided\n")
	for i := range r.Results {
		if x := &r.Results[i]; !x.SeesEnd {
			fmt.Fprintf(&b, "%-7s %-7s", x.Split, x.Position)
			for _, c := range x.RiskCoverage {
				fmt.Fprintf(&b, "  %.0f%%: %.3f", 100*c.Coverage, c.Risk)
			}
			b.WriteByte('\n')
		}
	}
	if len(r.Alerts) > 0 {
		fmt.Fprintf(&b, "\nalert at step k: rings when P falls below a threshold set on the other half of the tasks (without the judged %s)\n%-8s %5s %10s %8s %8s %10s %12s\n",
			r.AlertSplit, "in vain≤", "step", "threshold", "caught", "in vain", "precision", "steps saved")
		for _, a := range r.Alerts {
			fmt.Fprintf(&b, "%-8.2f %5d %10.3f %8.3f %8.3f %10.3f %12.1f\n", a.Budget, a.Step, a.Threshold, a.Caught, a.FalseRate, a.Precision, a.Saved)
		}
	}
	return b.String()
}
