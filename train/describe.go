package train

import (
	"fmt"

	"github.com/muse-agent/muse/selfassess"
)

// Summary describes a set of episodes in a few figures.
type Summary struct {
	Episodes int                 `json:"episodes"`
	Tasks    int                 `json:"tasks"`
	Success  selfassess.Estimate `json:"success"` // mean over tasks, 95 % interval by bootstrap over tasks
	Steps    selfassess.Estimate `json:"steps"`   // a lost episode counts FailureSteps
	Solved   int                 `json:"solved"`  // tasks won at least once
	Nothing  float64             `json:"nothing"` // share of commands without effect
	Tokens   int                 `json:"completion_tokens"`
}

// String is one line for people.
func (s Summary) String() string {
	return fmt.Sprintf("%d episodes of %d games: success %s, steps %.1f [%.1f, %.1f] (a lost episode counts %d), %d games won at least once, %.0f %% of commands without effect",
		s.Episodes, s.Tasks, s.Success, s.Steps.Value, s.Steps.Low, s.Steps.High, FailureSteps, s.Solved, 100*s.Nothing)
}

// Describe summarises episodes.
func Describe(es []*Episode) Summary {
	var task []string
	var won, steps []float64
	solved := map[string]bool{}
	s := Summary{Episodes: len(es)}
	commands, failed := 0, 0
	tasks := map[string]bool{}
	for _, e := range es {
		task = append(task, e.Task)
		tasks[e.Task] = true
		w := 0.0
		if e.Success {
			w = 1
			solved[e.Task] = true
		}
		won = append(won, w)
		steps = append(steps, float64(e.CountedSteps()))
		s.Tokens += e.Usage.CompletionTokens
		for _, st := range e.Steps {
			commands++
			if st.Observation == nothing {
				failed++
			}
		}
	}
	s.Tasks, s.Solved = len(tasks), len(solved)
	if len(es) > 0 {
		s.Success = selfassess.MeanByTask(task, won, selfassess.Bootstrap{Seed: 1})
		s.Steps = selfassess.MeanByTask(task, steps, selfassess.Bootstrap{Seed: 1})
	}
	if commands > 0 {
		s.Nothing = round3(float64(failed) / float64(commands))
	}
	return s
}

// SiblingSummary describes a set of sibling states.
type SiblingSummary struct {
	Games   int     `json:"games"`
	Visits  int     `json:"visits"`
	Success float64 `json:"visit_success"`
	States  int     `json:"states"`
	Actions int     `json:"actions"` // distinct first commands
	Plays   int     `json:"plays"`
	Steps   int     `json:"steps"` // commands of all plays
	Random  float64 `json:"random"`
	Best    float64 `json:"best"` // inflated by the noise of few plays
	Worst   float64 `json:"worst"`
	Differ  float64 `json:"differ"` // share of states whose commands had different outcomes
}

// String is one line for people.
func (s SiblingSummary) String() string {
	return fmt.Sprintf("%d states of %d visits to %d games (visits won %.2f), %d first commands, %d plays (%d commands): mean outcome %.3f, best %.3f and worst %.3f of a state (inflated by noise), %.0f %% of states differ",
		s.States, s.Visits, s.Games, s.Success, s.Actions, s.Plays, s.Steps, s.Random, s.Best, s.Worst, 100*s.Differ)
}

// DescribeSiblings summarises sibling states; Random weighs candidates, as a blind
// choice among the imagined futures does.
func DescribeSiblings(gs []*SiblingGame) SiblingSummary {
	var s SiblingSummary
	games := map[string]bool{}
	for _, g := range gs {
		games[g.Task] = true
		s.Visits++
		if g.Success {
			s.Success++
		}
		for _, st := range g.States {
			s.States++
			lo, hi, mean := 1.0, 0.0, 0.0
			for _, a := range st.Actions {
				s.Actions++
				s.Plays += a.Plays
				s.Steps += a.Steps
				lo, hi = min(lo, a.Value()), max(hi, a.Value())
			}
			for _, c := range st.Candidates {
				mean += st.Actions[c.Action].Value() / float64(len(st.Candidates))
			}
			s.Random += mean
			s.Best += hi
			s.Worst += lo
			if hi > lo {
				s.Differ++
			}
		}
	}
	s.Games = len(games)
	if s.Visits > 0 {
		s.Success = round3(s.Success / float64(s.Visits))
	}
	if n := float64(s.States); n > 0 {
		s.Random, s.Best, s.Worst, s.Differ = round3(s.Random/n), round3(s.Best/n), round3(s.Worst/n), round3(s.Differ/n)
	}
	return s
}

// PackSiblings writes sibling states as one gzip-compressed file, without clock or
// name in its header: equal content gives equal bytes. Visits with hidden states name
// the model that these are of, as the file is used without its run folder.
func PackSiblings(path string, gs []*SiblingGame) error {
	out := make([]*SiblingGame, len(gs))
	for i, g := range gs {
		c := *g
		if c.Model = nil; c.hidden() {
			c.Model = g.player()
		}
		out[i] = &c
	}
	b, err := packLines(out)
	if err != nil {
		return err
	}
	return writeFile(path, b)
}
