package arm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

// TableFormat is the format tag of a [Table].
const TableFormat = "muse/armtable@1"

// Table compares agents over tasks. Intervals are by bootstrap over tasks; with so few
// of them they are wide.
type Table struct {
	Format string       `json:"format"`
	Rows   []TableRow   `json:"rows"`
	Paired []TablePair  `json:"paired,omitempty"`
	Psi    []PsiMetrics `json:"psi,omitempty"`
}

// TableRow is one agent.
type TableRow struct {
	Agent    string              `json:"agent"`
	Tasks    int                 `json:"tasks"`
	Episodes int                 `json:"episodes"`
	Solved   int                 `json:"solved"` // tasks of which at least half of the episodes are solved
	Once     int                 `json:"once"`   // tasks solved in at least one episode (the paper's count)
	Success  selfassess.Estimate `json:"success"`
	Last     selfassess.Estimate `json:"success_last"`
	Time     selfassess.Estimate `json:"time"` // decisions to the first success; a failure counts the limit
	Return   float64             `json:"return"`
	// What regulation did: means over all decisions; 0 where nothing regulates.
	Moved  float64     `json:"moved"` // ‖Δs‖
	Gain   float64     `json:"gain"`  // ΔΣψ of the gradient steps
	KL     float64     `json:"kl"`    // KL(π before ‖ π after), nats
	ByTask []TaskPoint `json:"by_task"`
}

// TablePair is the difference of two agents on the same tasks.
type TablePair struct {
	A       string              `json:"a"`
	B       string              `json:"b"`
	Success selfassess.Estimate `json:"success"` // A − B
	Time    selfassess.Estimate `json:"time"`
}

// PsiMetrics judge ψ in one position of the episodes of one agent.
type PsiMetrics struct {
	Agent string `json:"agent"`
	// Signal is what is judged: "sum" is Σψ/N (the paper's signal), "last" is ψ_N, the
	// probability of success within the limit.
	Signal  string             `json:"signal"`
	Metrics selfassess.Metrics `json:"metrics"`
}

// The positions of [PsiMetrics]: every step (paper), the steps before the first success,
// and one step of each episode, at the start and after a quarter and half of the time.
var positions = []string{"all steps", "before success", "0 %", "25 %", "50 %"}

// game is what a table needs of one episode.
type game struct {
	arm, task string
	o         outcome
	psi       [][]float32 // at each decision
	moved     float64
	gain, kl  float64
	regulated int
}

// Tabulate reads the episodes of one phase of finished runs and compares the agents, each
// with those of against, which are names of rows or of agents. Models whose names differ
// in a seed at the end only (muse-s0, muse-s1) make one row together.
func Tabulate(dirs []string, phase string, against ...string) (Table, error) {
	t := Table{Format: TableFormat}
	var games []game
	var arms []string
	for _, dir := range dirs {
		err := EachEpisode(dir, func(e *Episode) error {
			if e.Phase != phase {
				return nil
			}
			g := gameOf(e)
			games = append(games, g)
			if !slices.Contains(arms, g.arm) {
				arms = append(arms, g.arm)
			}
			return nil
		})
		if err != nil {
			return t, err
		}
	}
	boot := selfassess.Bootstrap{Seed: 1}
	for _, a := range arms {
		r, psi := row(a, games, boot)
		t.Rows = append(t.Rows, r)
		t.Psi = append(t.Psi, psi...)
	}
	for _, b := range arms {
		agent, _, _ := strings.Cut(b, "@")
		if !slices.Contains(against, b) && !slices.Contains(against, agent) {
			continue
		}
		for _, a := range arms {
			if a == b {
				continue
			}
			ta, wa, na := columns(a, games)
			tb, wb, nb := columns(b, games)
			p := TablePair{A: a, B: b}
			p.Success, _ = selfassess.DiffByTask(ta, wa, tb, wb, boot)
			p.Time, _ = selfassess.DiffByTask(ta, na, tb, nb, boot)
			t.Paired = append(t.Paired, p)
		}
	}
	return t, nil
}

func columns(arm string, games []game) (task []string, won, time []float64) {
	for _, g := range games {
		if g.arm == arm {
			task, won, time = append(task, g.task), append(won, is(g.o.Won)), append(time, float64(g.o.Time))
		}
	}
	return task, won, time
}

// Pooled is a model's name without the seed at its end: muse of muse-s0.
func Pooled(model string) string {
	if i := strings.LastIndex(model, "-s"); i > 0 {
		if _, err := strconv.ParseUint(model[i+2:], 10, 64); err == nil {
			return model[:i]
		}
	}
	return model
}

// pooled is a row's name without the seed of its model.
func pooled(arm string) string {
	if agent, model, ok := strings.Cut(arm, "@"); ok {
		return agent + "@" + Pooled(model)
	}
	return arm
}

func gameOf(e *Episode) game {
	g := game{arm: pooled(e.Arm), task: e.TaskType, o: outcome{Won: e.Success, Last: e.Last, Time: e.SolvedAt}}
	if !e.Success {
		g.o.Time = e.Agent.Config.Limit
	}
	for _, s := range e.Steps {
		g.o.Return += float64(s.Reward)
		if s.Trace == nil {
			continue
		}
		if len(s.Trace.Candidates) > 0 && len(s.Trace.Candidates[0].Psi) > 0 {
			g.psi = append(g.psi, s.Trace.Candidates[0].Psi)
		}
		if st := s.Trace.State; st != nil {
			g.moved, g.gain, g.kl = g.moved+st.Moved, g.gain+st.Gain, g.kl+st.KL
			g.regulated++
		}
	}
	return g
}

func row(arm string, games []game, boot selfassess.Bootstrap) (TableRow, []PsiMetrics) {
	r := TableRow{Agent: arm}
	task, won, time := columns(arm, games)
	var last []float64
	scores := map[string]*taskScore{}
	var names []string
	var mine []game
	n := 0.0
	for _, g := range games {
		if g.arm != arm {
			continue
		}
		mine = append(mine, g)
		last = append(last, is(g.o.Last))
		r.Return += g.o.Return
		r.Moved, r.Gain, r.KL = r.Moved+g.moved, r.Gain+g.gain, r.KL+g.kl
		n += float64(g.regulated)
		if scores[g.task] == nil {
			scores[g.task] = &taskScore{}
			names = append(names, g.task)
		}
		scores[g.task].episodes = append(scores[g.task].episodes, g.o)
	}
	r.Tasks, r.Episodes = len(names), len(mine)
	r.Return /= float64(max(len(mine), 1))
	if n > 0 {
		r.Moved, r.Gain, r.KL = r.Moved/n, r.Gain/n, r.KL/n
	}
	r.Success, r.Last, r.Time = selfassess.MeanByTask(task, won, boot), selfassess.MeanByTask(task, last, boot), selfassess.MeanByTask(task, time, boot)
	for _, name := range names {
		p := scores[name].point(name)
		r.ByTask = append(r.ByTask, p)
		if p.Success > 0 {
			r.Once++
		}
		if p.Success >= 0.5 {
			r.Solved++
		}
	}
	return r, psiMetrics(arm, mine, boot)
}

// psiMetrics judges ψ in every position; none where an agent has no ψ.
func psiMetrics(arm string, games []game, boot selfassess.Bootstrap) []PsiMetrics {
	var out []PsiMetrics
	for _, signal := range []string{"sum", "last"} {
		for _, pos := range positions {
			var rows []selfassess.Prediction
			for _, g := range games {
				for t, psi := range g.psi {
					if !inPosition(pos, t, g) {
						continue
					}
					p := float64(psi[len(psi)-1])
					if signal == "sum" {
						p = 0
						for _, v := range psi {
							p += float64(v) / float64(len(psi))
						}
					}
					rows = append(rows, selfassess.Prediction{Task: g.task, Label: is(g.o.Won), P: p, Raw: p})
				}
			}
			if len(rows) > 0 {
				out = append(out, PsiMetrics{arm, signal, selfassess.MetricsOf(rows, pos, boot)})
			}
		}
	}
	return out
}

func inPosition(pos string, t int, g game) bool {
	switch pos {
	case "before success":
		return !g.o.Won || t < g.o.Time
	case "0 %":
		return t == 0
	case "25 %":
		return t == limit/4
	case "50 %":
		return t == limit/2
	}
	return true
}

// EachEpisode calls fn for each episode of a run folder or file.
func EachEpisode(path string, fn func(*Episode) error) error {
	return train.EachRecord(path, train.FileEpisodes, train.EpisodeFormat, fn)
}

// String is the table as text.
func (t Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %6s %6s %22s %8s %8s %8s %8s %8s\n", "agent", "solved", "once", "success", "at end", "time", "‖Δs‖", "ΔΣψ", "KL")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "%-22s %3d/%-2d %3d/%-2d %22s %8.3f %8.1f %8.3f %8.3f %8.3f\n", r.Agent, r.Solved, r.Tasks, r.Once, r.Tasks, r.Success, r.Last.Value, r.Time.Value, r.Moved, r.Gain, r.KL)
	}
	for _, p := range t.Paired {
		fmt.Fprintf(&b, "%s − %s: success %s, time %s\n", p.A, p.B, p.Success, p.Time)
	}
	if len(t.Psi) > 0 {
		fmt.Fprintf(&b, "\n%-22s %-5s %-15s %7s %9s %9s %9s %9s %9s\n", "ψ of", "P", "position", "rows", "accuracy", "majority", "AUROC", "macro", "ECE")
	}
	for _, p := range t.Psi {
		m := p.Metrics
		fmt.Fprintf(&b, "%-22s %-5s %-15s %7d %9s %9s %9s %9s %9s\n", p.Agent, p.Signal, m.Position, m.N,
			known(m.Accuracy), known(m.Majority), known(m.AUROC), known(m.AUROCMacro), known(m.ECE))
	}
	if tasks := t.tasks(); len(tasks) > 0 {
		fmt.Fprintf(&b, "\n%-26s", "success by task")
		for _, r := range t.Rows {
			fmt.Fprintf(&b, " %14s", r.Agent)
		}
		b.WriteByte('\n')
		for _, task := range tasks {
			fmt.Fprintf(&b, "%-26s", task)
			for _, r := range t.Rows {
				cell := "–"
				for _, x := range r.ByTask {
					if x.Task == task {
						cell = fmt.Sprintf("%.2f", x.Success)
					}
				}
				fmt.Fprintf(&b, " %*s", max(14, len(r.Agent)), cell)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// known is a figure, or a dash where there is none: no AUROC without both outcomes.
func known(e selfassess.Estimate) string {
	if math.IsNaN(e.Value) {
		return "–"
	}
	return fmt.Sprintf("%.3f", e.Value)
}

// tasks of all rows, in the order in which they occur.
func (t Table) tasks() []string {
	var out []string
	for _, r := range t.Rows {
		for _, x := range r.ByTask {
			out = with(out, x.Task)
		}
	}
	return out
}
