package train

import (
	"fmt"
	"path/filepath"
	"sort"

	"github.com/muse-agent/muse/internal/tfevents"
	"github.com/muse-agent/muse/selfassess"
)

// PlayReport is what `muse report` shows of one or more runs: only figures of the
// records, nothing is played and no model is opened.
type PlayReport struct {
	Format     string            `json:"format"` // muse/playreport@1
	Title      string            `json:"title"`
	Groups     []GroupReport     `json:"groups"`
	Curves     []LearningCurve   `json:"curves,omitempty"`
	Assessment []PositionReport  `json:"assessment,omitempty"`
	Reliable   []ReliabilityPlot `json:"reliability,omitempty"`
}

// GroupReport is one agent in one phase.
type GroupReport struct {
	Arm      string              `json:"arm"`
	Phase    string              `json:"phase"`
	Episodes int                 `json:"episodes"`
	Tasks    int                 `json:"tasks"`
	Success  selfassess.Estimate `json:"success"` // mean over games, 95 % interval by bootstrap over games
	Steps    selfassess.Estimate `json:"steps"`   // a lost episode counts FailureSteps
	Types    []TypeReport        `json:"types"`
	Tokens   float64             `json:"completion_tokens"` // of an episode
	Calls    float64             `json:"calls"`             // of the language model, an episode
	Nothing  float64             `json:"nothing"`           // share of commands without effect
	Reasons  map[string]int      `json:"reasons"`           // how episodes ended
	trials   map[int][]*Episode  // for curves
	assessed []assessedStep      // for the assessment
	order    []*Episode
}

// TypeReport is the success of one task type.
type TypeReport struct {
	Type    string              `json:"type"`
	Tasks   int                 `json:"tasks"`
	Success selfassess.Estimate `json:"success"`
}

// LearningCurve is the success by trial of one game. Repeat marks agents that
// learn nothing: the baseline that every other curve stands beside.
type LearningCurve struct {
	Arm    string                `json:"arm"`
	Phase  string                `json:"phase"`
	Repeat bool                  `json:"repeat"`
	Trials []selfassess.Estimate `json:"trials"`
	Solved []selfassess.Estimate `json:"solved"` // won at this trial or before
}

// PositionReport is the ROC curve of the chosen futures' probabilities at one position
// of the episode: first step, all before the last, all.
type PositionReport struct {
	Arm      string              `json:"arm"`
	Phase    string              `json:"phase"`
	Position string              `json:"position"`
	N        int                 `json:"n"`
	AUROC    selfassess.Estimate `json:"auroc"`
	Macro    selfassess.Estimate `json:"auroc_macro"`
	ROC      [][2]float64        `json:"roc"` // false and true positive rate
}

// ReliabilityPlot are the bins of predicted and real success of all chosen futures.
type ReliabilityPlot struct {
	Arm   string                      `json:"arm"`
	Phase string                      `json:"phase"`
	ECE   selfassess.Estimate         `json:"ece"`
	Bins  []selfassess.ReliabilityBin `json:"bins"`
}

// assessedStep is the probability of a chosen future with its episode's outcome.
type assessedStep struct {
	p           float64
	task        string
	won         bool
	first, last bool
}

// reportBoot is the bootstrap of all reports: fixed, so that equal runs give equal bytes.
var reportBoot = selfassess.Bootstrap{Seed: 1, Draws: 1000}

// NewPlayReport reads the figures of episodes.
func NewPlayReport(title string, es []*Episode) (*PlayReport, error) {
	if len(es) == 0 {
		return nil, fmt.Errorf("train: nothing to report: no episodes")
	}
	r := &PlayReport{Format: "muse/playreport@1", Title: title}
	at := map[[2]string]*GroupReport{}
	var order []*GroupReport
	for _, e := range es {
		arm := e.Arm
		if arm == "" {
			arm = e.Agent.Config.Name
		}
		k := [2]string{arm, e.Phase}
		g := at[k]
		if g == nil {
			g = &GroupReport{Arm: arm, Phase: e.Phase, trials: map[int][]*Episode{}, Reasons: map[string]int{}}
			at[k] = g
			order = append(order, g)
		}
		g.add(e)
	}
	for _, g := range order {
		g.finish()
		r.Groups = append(r.Groups, *g)
		if c := g.curve(); len(c.Trials) > 1 {
			r.Curves = append(r.Curves, c)
		}
		r.assess(g)
	}
	return r, nil
}

func (g *GroupReport) add(e *Episode) {
	g.order = append(g.order, e)
	g.trials[e.Trial] = append(g.trials[e.Trial], e)
	g.Reasons[e.Reason]++
	for i, s := range e.Steps {
		c, k := s.Trace.Candidates, s.Trace.Choice.Index
		if k < 0 || k >= len(c) || c[k].Assessed == nil {
			continue
		}
		g.assessed = append(g.assessed, assessedStep{c[k].Assessed.P, e.Task, e.Success, i == 0, i == len(e.Steps)-1})
	}
}

func (g *GroupReport) finish() {
	d := Describe(g.order)
	g.Episodes, g.Tasks, g.Success, g.Steps, g.Nothing = d.Episodes, d.Tasks, d.Success, d.Steps, d.Nothing
	types := map[string][]*Episode{}
	for _, e := range g.order {
		types[e.TaskType] = append(types[e.TaskType], e)
		g.Tokens += float64(e.Usage.CompletionTokens)
		g.Calls += float64(e.Usage.Calls)
	}
	g.Tokens, g.Calls = g.Tokens/float64(len(g.order)), g.Calls/float64(len(g.order))
	var names []string
	for t := range types {
		names = append(names, t)
	}
	sort.Strings(names)
	for _, t := range names {
		d := Describe(types[t])
		g.Types = append(g.Types, TypeReport{t, d.Tasks, d.Success})
	}
}

// curve is the success by trial; trials that only some games had are left out.
func (g *GroupReport) curve() LearningCurve {
	c := LearningCurve{Arm: g.Arm, Phase: g.Phase, Repeat: g.Arm == "repeat" || g.Arm == "react"}
	type sequence struct {
		task string
		rep  uint64
	}
	solved := map[sequence]float64{}
	var keys []int
	for k := range g.trials {
		keys = append(keys, k)
	}
	sort.Ints(keys)
	for _, k := range keys {
		if len(g.trials[k]) < len(g.trials[keys[0]]) {
			break
		}
		var task []string
		var won, any []float64
		for _, e := range g.trials[k] {
			s := sequence{e.Task, e.Rep}
			v := 0.0
			if e.Success {
				v = 1
			}
			solved[s] = max(solved[s], v)
			task, won, any = append(task, e.Task), append(won, v), append(any, solved[s])
		}
		c.Trials = append(c.Trials, selfassess.MeanByTask(task, won, reportBoot))
		c.Solved = append(c.Solved, selfassess.MeanByTask(task, any, reportBoot))
	}
	return c
}

// assess adds the figures of the probabilities in the records.
func (r *PlayReport) assess(g *GroupReport) {
	if len(g.assessed) == 0 {
		return
	}
	var ps []selfassess.Prediction
	for _, a := range g.assessed {
		p := selfassess.Prediction{Task: a.task, P: a.p, Raw: a.p, Last: a.last, Chunk: 1}
		if a.first {
			p.Chunk = 0
		}
		if a.won {
			p.Label = 1
		}
		ps = append(ps, p)
	}
	for _, pos := range []string{selfassess.PositionFirst, selfassess.PositionBefore, selfassess.PositionAll} {
		at := selfassess.AtPosition(ps, pos)
		m := selfassess.MetricsOf(at, pos, reportBoot)
		r.Assessment = append(r.Assessment, PositionReport{g.Arm, g.Phase, pos, m.N, m.AUROC, m.AUROCMacro, roc(at)})
		if pos == selfassess.PositionAll {
			y, p := make([]float64, len(at)), make([]float64, len(at))
			for i := range at {
				y[i], p[i] = at[i].Label, at[i].P
			}
			r.Reliable = append(r.Reliable, ReliabilityPlot{g.Arm, g.Phase, m.ECE, selfassess.Reliability(y, p, 10)})
		}
	}
}

// roc is the curve of false against true positive rate, thinned to about 100 points;
// empty unless both outcomes occur.
func roc(ps []selfassess.Prediction) [][2]float64 {
	s := append([]selfassess.Prediction(nil), ps...)
	sort.SliceStable(s, func(i, j int) bool { return s[i].P > s[j].P })
	var pos, neg float64
	for _, p := range s {
		pos += p.Label
		neg += 1 - p.Label
	}
	if pos == 0 || neg == 0 {
		return nil
	}
	out := [][2]float64{{0, 0}}
	var tp, fp float64
	every := max(1, len(s)/100)
	kept := 0
	for i, p := range s {
		tp += p.Label
		fp += 1 - p.Label
		if i+1 < len(s) && (s[i+1].P == p.P || i-kept < every) {
			continue // a group of ties is one point
		}
		kept = i
		out = append(out, [2]float64{fp / neg, tp / pos})
	}
	return out
}

// WriteEvents writes running success and steps after each episode, and the learning
// curves, as TensorBoard scalars into dir.
func (r *PlayReport) WriteEvents(dir string) error {
	for i := range r.Groups {
		g := &r.Groups[i]
		w, err := tfevents.Create(filepath.Join(dir, g.Arm+"-"+g.Phase), "muse")
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		won, steps := 0.0, 0.0
		for k, e := range g.order {
			if e.Success {
				won++
			}
			steps += float64(e.CountedSteps())
			n := float64(k + 1)
			_ = w.Scalar("episodes/success", int64(k+1), won/n) // a failure comes back from Close
			_ = w.Scalar("episodes/steps", int64(k+1), steps/n)
		}
		for _, c := range r.Curves {
			if c.Arm == g.Arm && c.Phase == g.Phase {
				for k, e := range c.Trials {
					_ = w.Scalar("trials/success", int64(k+1), e.Value)
					_ = w.Scalar("trials/solved", int64(k+1), c.Solved[k].Value)
				}
			}
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}
