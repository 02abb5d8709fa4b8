package gridarm

import (
	"context"
	"fmt"
	"slices"
)

// ScriptResult says how a scripted policy did over many episodes.
type ScriptResult struct {
	Task       string  `json:"task"`
	Episodes   int     `json:"episodes"`
	Solved     int     `json:"solved"`         // success at any step
	InTime     int     `json:"solved_in_time"` // within 60 % of the limit
	AtEnd      int     `json:"solved_at_end"`  // success at the last step
	FirstLeast int     `json:"first_success_least"`
	FirstHalf  int     `json:"first_success_median"`
	FirstMost  int     `json:"first_success_most"` // of the solved ones
	Return     float64 `json:"return_mean"`
	Random     float64 `json:"random_return_mean"` // of uniformly random play, for comparison
	RandomWins int     `json:"random_solved"`
}

// InTimeShare is the share of the limit within which a scripted policy has to succeed.
const InTimeShare = 0.6

// CheckScript plays episode 0 of the seeds 0 to n-1 with the scripted policy of t, and
// with random actions. The options must leave the goal visible.
func CheckScript(ctx context.Context, t Task, o Options, n int) (ScriptResult, error) {
	if n < 1 {
		return ScriptResult{}, fmt.Errorf("gridarm: %d episodes to check; at least 1 is needed", n)
	}
	w, err := NewWorld(t, o)
	if err != nil {
		return ScriptResult{}, err
	}
	if w.opt.PartiallyObservable {
		return ScriptResult{}, fmt.Errorf("gridarm: the scripted policy of %s needs a visible goal; leave PartiallyObservable off", t)
	}
	res := ScriptResult{Task: t.String(), Episodes: n}
	obs, a := make([]float32, w.ObsSize()), make([]float32, ActionSize)
	var firsts []int
	episode := func(seed uint64, p Policy) (first int, total float64) {
		w.ResetInto(seed, 0, obs)
		for !w.Over() {
			p(obs, a)
			r := w.StepInto(a, obs)
			if total += r.Reward; r.Success && first == 0 {
				first = w.s.Steps
			}
		}
		return first, total
	}
	for seed := range uint64(n) {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		first, total := episode(seed, Scripted(t))
		res.Return += total / float64(n)
		if w.s.Success {
			res.AtEnd++
		}
		if first > 0 {
			res.Solved++
			firsts = append(firsts, first)
			if float64(first) <= InTimeShare*float64(w.opt.MaxSteps) {
				res.InTime++
			}
		}
		first, total = episode(seed, RandomPolicy(seed))
		if res.Random += total / float64(n); first > 0 {
			res.RandomWins++
		}
	}
	if len(firsts) > 0 {
		slices.Sort(firsts)
		res.FirstLeast, res.FirstHalf, res.FirstMost = firsts[0], firsts[len(firsts)/2], firsts[len(firsts)-1]
	}
	return res, nil
}
