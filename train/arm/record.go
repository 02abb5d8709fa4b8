package arm

import (
	"fmt"
	"math"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// Episode is one line of episodes.jsonl: format muse/episode@1 with numbers where text
// games have texts (docs/formats.md).
type Episode struct {
	Format     string    `json:"format"`
	ID         string    `json:"id"`
	Unit       string    `json:"unit,omitempty"`
	Env        string    `json:"env"`
	Split      string    `json:"split"`
	Task       string    `json:"task_id"` // "<task>/<seed>/<episode>"
	TaskType   string    `json:"task_type"`
	Goal       string    `json:"goal"`
	Room       string    `json:"init_obs"`   // no text
	Start      []float32 `json:"init_state"` // observation at reset, gridarm.StateSize
	Phase      string    `json:"phase"`      // "train", "adapt", "eval"
	Arm        string    `json:"arm"`        // name of the regulator
	Rep        uint64    `json:"rep"`
	Trial      int       `json:"trial"`
	Seed       uint64    `json:"seed"` // of the agent's draws
	Agent      Agent     `json:"agent"`
	Steps      []Step    `json:"steps"`
	Success    bool      `json:"success"`             // solved at any step
	SolvedAt   int       `json:"solved_at,omitempty"` // decision of the first success, from 1; 0 = never
	Last       bool      `json:"success_last"`        // the goal holds at the last step
	Terminated bool      `json:"terminated"`
	Truncated  bool      `json:"truncated"`
	Reason     string    `json:"reason"`
	Final      bool      `json:"final,omitempty"`
}

// Agent names what shaped the behaviour.
type Agent struct {
	Config   AgentConfig `json:"config"`
	Model    AgentModel  `json:"model"`
	Selector string      `json:"selector"`
	Assessor string      `json:"assessor,omitempty"`
}

// AgentConfig are an agent's own settings.
type AgentConfig struct {
	Name     string                       `json:"name"`
	Limit    int                          `json:"limit"` // decisions an episode
	Mean     bool                         `json:"mean"`  // acts by the mean of its policy
	Gradient *selfregulate.GradientConfig `json:"gradient,omitempty"`
	Rollouts *selfregulate.RolloutConfig  `json:"latent_rollouts,omitempty"` // "rollouts" is a number in records of text agents
}

// AgentModel is the world model that acted.
type AgentModel struct {
	Name string `json:"name"`
	Hash string `json:"hash,omitempty"`
}

// Step is one decision.
type Step struct {
	Action      []float32 `json:"action"`
	Observation []float32 `json:"observation"` // after it, gridarm.StateSize
	Reward      float32   `json:"reward"`
	Success     bool      `json:"success"`
	Touch       bool      `json:"touch,omitempty"`
	Held        bool      `json:"held,omitempty"`
	Trace       *Trace    `json:"trace,omitempty"`
}

// Trace explains a decision.
type Trace struct {
	Candidates []Candidate              `json:"candidates"`
	Choice     selfregulate.Choice      `json:"choice"`
	State      *selfregulate.StateTrace `json:"state,omitempty"`
}

// Candidate is one future: before regulation, and after it.
type Candidate struct {
	Label    string       `json:"label"`
	Assessed Assessment   `json:"assessment"`
	Psi      []float32    `json:"psi"`
	Path     [][7]float32 `json:"path,omitempty"` // imagined moments: hand 3, opening, object 1
}

// Assessment holds P, the probability that the episode succeeds within its limit: ψ_N.
type Assessment struct {
	P float64 `json:"p"`
}

// taskID is the game of a record.
func taskID(t gridarm.Task, seed uint64, episode int) string {
	return fmt.Sprintf("%s/%d/%d", t, seed, episode)
}

func split(t gridarm.Task) string {
	if t.Novel() {
		return "novel"
	}
	return "train"
}

// round3 keeps three decimals: pictures need no more.
func round3(x float32) float32 { return float32(math.Round(float64(x)*1000) / 1000) }

// begin fills in what is known of an episode at its reset.
func begin(w *gridarm.World, obs []float32) Episode {
	s, t := w.State(), w.Task()
	return Episode{Format: train.EpisodeFormat, Env: "gridarm/" + t.String(), Split: split(t), Task: taskID(t, s.Seed, s.Episode),
		TaskType: t.String(), Goal: t.Summary(), Start: append([]float32{}, obs[:gridarm.StateSize]...), Steps: []Step{}}
}

// end fills in the outcome.
func (e *Episode) end(w *gridarm.World, r gridarm.Result) {
	e.Success, e.Last, e.Terminated, e.Truncated = w.State().Solved, r.Success, r.Terminated, r.Truncated
	switch {
	case e.Success && e.Last:
		e.Reason = "solved"
	case e.Success:
		e.Reason = "solved, but not at the end"
	default:
		e.Reason = "not solved within the limit"
	}
}
