package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// DecisionShown is one decision of a MUSE agent, for people: the futures that it
// imagined, what M_sa thought of them, and what came of it.
type DecisionShown struct {
	Episode string        `json:"episode"`
	Goal    string        `json:"goal"`
	Step    int           `json:"step"` // commands before it
	Last    llm.Pair      `json:"last"` // the command before it and its answer, empty at the start
	Futures []FutureShown `json:"futures"`
	Action  string        `json:"action"`
	Answer  string        `json:"answer"`  // the game's real answer
	Success bool          `json:"success"` // of the whole episode
}

// FutureShown is one imagined future.
type FutureShown struct {
	Pairs  []llm.Pair `json:"pairs"`
	Claim  string     `json:"claim,omitempty"`
	P      float64    `json:"p"`
	Chosen bool       `json:"chosen"`
}

// ExampleDecision takes, from the episodes of muse-best, the decision whose futures
// differ most in P among those with three or more different first commands; failing
// that, among those with two. The earlier one wins a tie. It doesn't look at
// outcomes. nil without decisions.
func ExampleDecision(es []*Episode) *DecisionShown {
	var best *DecisionShown
	most, widest := 2, -1.0
	for _, e := range es {
		if e.Agent.Selector != "best" || e.Agent.Config.Rethink > 0 { // with five futures, no more
			continue
		}
		for i := range e.Steps {
			n := min(distinctFirst(&e.Steps[i]), 3)
			if n < most {
				continue
			}
			d := showDecision(e, i)
			if d == nil {
				continue
			}
			if s := d.spread(); n > most || s > widest {
				best, most, widest = d, n, s
			}
		}
	}
	return best
}

// spread is the largest difference of P between two futures.
func (d *DecisionShown) spread() float64 {
	low, high := 1.0, 0.0
	for _, f := range d.Futures {
		low, high = min(low, f.P), max(high, f.P)
	}
	return high - low
}

func showDecision(e *Episode, i int) *DecisionShown {
	s := &e.Steps[i]
	d := &DecisionShown{Episode: e.ID, Goal: e.Goal, Step: i, Action: s.Action, Answer: s.Observation, Success: e.Success}
	if i > 0 {
		d.Last = llm.Pair{Thoughts: e.Steps[i-1].Trace.Thoughts, Action: e.Steps[i-1].Action, Observation: e.Steps[i-1].Observation}
	}
	for k, c := range s.Trace.Candidates {
		if !c.Valid || c.Assessed == nil {
			return nil
		}
		d.Futures = append(d.Futures, FutureShown{Pairs: c.Pairs, Claim: c.Claim, P: round3(c.Assessed.P), Chosen: k == s.Trace.Choice.Index})
	}
	return d
}

// String draws the decision as text.
func (d *DecisionShown) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "task: %s  (after %d commands)\n", d.Goal, d.Step)
	if d.Last.Action != "" {
		fmt.Fprintf(&b, "last: > %s\n      %s\n", d.Last.Action, clip(d.Last.Observation, 96))
	}
	b.WriteString("imagined futures (P = probability of success):\n")
	for _, f := range d.Futures {
		mark := " "
		if f.Chosen {
			mark = "*"
		}
		var acts []string
		for _, p := range f.Pairs {
			a := p.Action
			if p.Observation == nothing {
				a += " (fails)"
			}
			acts = append(acts, a)
		}
		if f.Claim != "" {
			acts = append(acts, "["+f.Claim+"]")
		}
		fmt.Fprintf(&b, " %s P %.3f  %s\n", mark, f.P, clip(strings.Join(acts, " · "), 110))
	}
	fmt.Fprintf(&b, "did:  > %s\n      %s\n", d.Action, clip(d.Answer, 96))
	return b.String()
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// String is the report for people.
func (r *DemoResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "muse demo: actor and world model %s, self-assessment %s, %d unseen games\n", r.Model, r.MSA, len(r.Games))
	b.WriteString("\nA decision:\n")
	if r.Decision == nil {
		b.WriteString("(no decision with different first commands was met)\n")
	} else {
		b.WriteString(r.Decision.String())
	}
	b.WriteString("\nSelf-assessment, trained on seen games (figures of held-out seen tasks):\n")
	for _, l := range r.Training {
		if !strings.Contains(l, "first  chunks") && !strings.Contains(l, "before chunks") { // those are in report.json
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	b.WriteString("\nSelf-assessment on the unseen games, before and after adaptation (test episodes of agents that don't act on it):\n")
	fmt.Fprintf(&b, "  %-11s %-24s %9s %10s %7s %7s\n", "", "AUROC", "accuracy", "base rate", "ECE", "chunks")
	for _, x := range r.Assessment.Rows {
		name := map[string]string{AdaptNone: "before", AdaptTask: "after", AdaptOther: "other game"}[x.Adaptation]
		if name != "" && x.Position == "all" {
			fmt.Fprintf(&b, "  %-11s %-24s %9s %10s %7s %7d\n", name, interval(x.AUROC, x.CILow, x.CIHigh, "%.3f"), num(x.Accuracy), num(x.BaseRate), num(x.ECE), x.N)
		}
	}
	for _, c := range r.Assessment.Change {
		if (c.Metric == "accuracy" || c.Metric == "auroc_success") && !math.IsNaN(c.Diff.Value) {
			fmt.Fprintf(&b, "  after − before, %s: %+.3f [%+.3f, %+.3f]\n", strings.TrimSuffix(c.Metric, "_success"), c.Diff.Value, c.Diff.Low, c.Diff.High)
		}
	}
	b.WriteString("\nAgents on the same games and seeds, after adaptation:\n")
	fmt.Fprintf(&b, "  %-12s %-24s %-22s %s\n", "agent", "success", "steps (lost = 100)", "commands without effect")
	for _, x := range r.Selection.Rows {
		fmt.Fprintf(&b, "  %-12s %-24s %-22s %.0f %%\n", x.Arm, interval(x.Success, x.CILow, x.CIHigh, "%.3f"), interval(x.Steps, x.StepsLow, x.StepsHigh, "%.1f"), 100*x.Nothing)
	}
	for _, p := range r.Selection.Paired {
		if p.A == "muse-best" {
			fmt.Fprintf(&b, "  best − %s: %+.3f [%+.3f, %+.3f]\n", strings.TrimPrefix(p.B, "muse-"), p.Success.Value, p.Success.Low, p.Success.High)
		}
	}
	b.WriteString("  muse-second is muse-best that thinks doubtful decisions over and remembers the rooms (docs/second-thoughts.md)\n")
	fmt.Fprintf(&b, "\nBrackets are 95 %% intervals by bootstrap over games. With %d games they are wide: take this as\n"+
		"a look at the machinery. The result on all 134 unseen games stands in docs/results/README.md.\n", len(r.Games))
	return b.String()
}

// readJSON reads a JSON file of this program.
func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("train: %s: %w (is it cut off, or of another program?)", path, err)
	}
	return nil
}
