package arm

import (
	"errors"
	"fmt"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/worldmodel"
)

// Config are the settings of a training; they stand in run.json. Start from [Default].
type Config struct {
	Tasks []gridarm.Task    `json:"tasks"`
	Model worldmodel.Config `json:"model"`
	// Scripted and Corrupted are the episodes a task that seed the replay: by the scripted
	// policy, and by scripts made worse by degrees. They never leave the replay. Whoever
	// quotes a result names them.
	Scripted  int `json:"scripted"`
	Corrupted int `json:"corrupted"`
	Pretrain  int `json:"pretrain"` // updates on these episodes before the first own one
	Rounds    int `json:"rounds"`   // own episodes a task
	Capacity  int `json:"capacity"` // steps of own play that the replay holds, all tasks together
	// HideTask is the share of episodes, own and seeded, in which the task channel shows 0.
	HideTask float64 `json:"hide_task"`
	// Deterministic is the share of own episodes played by the actor's mean.
	Deterministic float64 `json:"deterministic"`

	// Siblings is how many continuations of restored states each round adds a task: at a
	// state of the episode just played another action is taken and played on, and
	// labelled from there on. ψ then sees what different actions at the same state lead
	// to. 0 is the paper.
	Siblings int `json:"siblings,omitempty"`

	EvalEvery int `json:"eval_every"` // rounds between two points of the curve
	EvalGames int `json:"eval_games"` // episodes a task for one point, by the actor's mean
	SaveEvery int `json:"save_every"` // rounds between two checkpoints
}

// Default is the training that the project's figures come from, for a preset of
// package worldmodel. It differs from the preset where episodes of 100 decisions, rewards
// from 0 to 10 and positions that count by the centimetre ask for it: a discount of 0.98,
// finer bins, 32 latents of 8 classes (what is seen reaches the actor through
// them alone, and 24 bits do not hold three places), and a reconstruction that counts ten
// times, without which a place is known to centimetres only.
func Default(preset string) (Config, error) {
	m, err := worldmodel.Preset(preset)
	if err != nil {
		return Config{}, err
	}
	m.Obs, m.Action, m.ObsScale = ObsSize, gridarm.ActionSize, ObsScale
	m.Gamma = 0.98
	if preset != "debug" {
		m.Bins, m.BinLimit = 101, 7
		m.Stoch, m.Classes = 32, 8
	}
	m.ScaleRec = 10
	m.TrainRatio = 32
	m.Imitate = 1
	return Config{Tasks: gridarm.TrainingTasks(), Model: m, Scripted: 10, Corrupted: 20, Pretrain: 1000, Rounds: 1000, Capacity: 200_000,
		HideTask: 0.1, Deterministic: 0.1, EvalEvery: 25, EvalGames: 5, SaveEvery: 25}, nil
}

// Validate reports all problems at once.
func (c Config) Validate() error {
	errs := []error{c.Model.Validate()}
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("arm: "+format, a...))
		}
	}
	bad(len(c.Tasks) > 0, "no task to learn; name one, or mt10")
	bad(c.Model.Obs == ObsSize && c.Model.Grid == 0 && c.Model.Action == gridarm.ActionSize,
		"the model has %d observations, %d cells and %d actions; the arm needs %d, 0 and %d", c.Model.Obs, c.Model.Grid, c.Model.Action, ObsSize, gridarm.ActionSize)
	for _, n := range []struct {
		name  string
		value int
		least int
	}{{"scripted", c.Scripted, 0}, {"corrupted", c.Corrupted, 0}, {"pretrain", c.Pretrain, 0}, {"rounds", c.Rounds, 0},
		{"siblings", c.Siblings, 0}, {"eval_every", c.EvalEvery, 1}, {"eval_games", c.EvalGames, 1}, {"save_every", c.SaveEvery, 1}} {
		bad(n.value >= n.least && n.value <= 1<<24, "%s is %d, must lie between %d and %d", n.name, n.value, n.least, 1<<24)
	}
	least := 2 * len(c.Tasks) * (gridarm.DefaultMaxSteps + 1)
	bad(c.Capacity >= least, "capacity is %d, must be at least %d: two episodes a task", c.Capacity, least)
	bad(c.Capacity <= 1<<24, "capacity is %d, must be at most %d", c.Capacity, 1<<24)
	bad(c.HideTask >= 0 && c.HideTask <= 1, "hide_task is %g, must lie in [0,1]", c.HideTask)
	bad(c.Deterministic >= 0 && c.Deterministic <= 1, "deterministic is %g, must lie in [0,1]", c.Deterministic)
	bad(c.Pretrain == 0 || c.Scripted+c.Corrupted > 0, "pretrain is %d, but no episode seeds the replay", c.Pretrain)
	bad(c.Model.Imitate == 0 || c.Scripted+c.Corrupted > 0, "imitate is %g, but no scripted episode seeds the replay", c.Model.Imitate)
	return errors.Join(errs...)
}

// updates is how often the model is updated after so many steps of the environment.
func updates(m worldmodel.Config, steps int) int {
	return max(1, int(float64(steps)*m.TrainRatio/float64(m.Batch*m.Length)+0.5))
}
