package train

import (
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
)

// EpisodeFormat is the format tag of a record.
const EpisodeFormat = "muse/episode@1"

// Episode is one line of episodes.jsonl. It holds no clock reading, so equal
// seeds give equal bytes; times go to timing.jsonl.
type Episode struct {
	Format      string    `json:"format"`
	ID          string    `json:"id"`             // unique in the run: "<game>#<phase>/<index>", with the arm before the phase where there are several
	Unit        string    `json:"unit,omitempty"` // the unit of work it belongs to; see Final
	Env         string    `json:"env"`
	Split       string    `json:"split"`
	Task        string    `json:"task_id"` // game id
	TaskType    string    `json:"task_type"`
	Goal        string    `json:"goal"`
	Room        string    `json:"init_obs"`
	Phase       string    `json:"phase"`         // "collect", "adapt", "test", "eval"
	Arm         string    `json:"arm,omitempty"` // of an evaluation: "react", "muse-best", …
	Rep         uint64    `json:"rep"`           // evaluation seed index, 0 where there is one
	Trial       int       `json:"trial"`
	Seed        uint64    `json:"seed"`
	Agent       AgentInfo `json:"agent"`
	Reflections []string  `json:"reflections"`     // given, oldest first
	Known       int       `json:"known,omitempty"` // earlier episodes that the world model remembers the room from
	Plan        string    `json:"plan,omitempty"`
	Steps       []Step    `json:"steps"`
	Success     bool      `json:"success"`
	Terminated  bool      `json:"terminated"`
	Truncated   bool      `json:"truncated"`
	Reason      string    `json:"reason"` // "goal reached", "step limit", "early stop", …
	Reflection  string    `json:"reflection_after,omitempty"`
	Usage       llm.Usage `json:"usage"` // of the whole episode
	// Final marks the last episode of its unit of work: what follows the last
	// final line of an interrupted file is played again.
	Final bool `json:"final,omitempty"`

	// states are the hidden states of the pairs, nil unless ReadStates was asked for them.
	states []llm.States
}

// AgentInfo names everything that shaped the behaviour.
type AgentInfo struct {
	Config    reflexion.Config `json:"config"`
	Model     llm.Info         `json:"model"`
	Selector  string           `json:"selector"`
	Assessor  string           `json:"assessor,omitempty"`
	ThinkCost int              `json:"think_cost"`           // commands a think line costs, default 0
	EarlyStop int              `json:"early_stop,omitempty"` // "Nothing happens." in a row that end an episode, 0 = never
	Dialect   string           `json:"dialect"`
}

// Step is one command.
type Step struct {
	Action      string          `json:"action"`
	Observation string          `json:"observation"`
	Reward      float64         `json:"reward"`
	Terminated  bool            `json:"terminated"`
	Truncated   bool            `json:"truncated"`
	Success     bool            `json:"success"`
	Trace       reflexion.Trace `json:"trace"`
}

// FailureSteps is what a lost episode counts as in mean steps (paper, Table 4).
const FailureSteps = 100

// CountedSteps is the number of commands of a won episode and FailureSteps of a lost one.
func (e *Episode) CountedSteps() int {
	if !e.Success {
		return FailureSteps
	}
	return len(e.Steps)
}

// Pairs returns the real action-observation pairs in the canonical form that the
// agent's text and M_sa see, thoughts included.
func (e *Episode) Pairs() []llm.Pair {
	p := make([]llm.Pair, len(e.Steps))
	for i, s := range e.Steps {
		p[i] = llm.Pair{
			Thoughts: s.Trace.Thoughts, Action: reflexion.CanonicalAction(s.Action), Observation: reflexion.CanonicalObservation(s.Observation),
		}
	}
	return p
}

// Timing is one line of timing.jsonl: the clock readings of one episode, kept
// apart so that episodes.jsonl stays byte-equal.
type Timing struct {
	ID            string  `json:"id"`
	Millis        float64 `json:"ms"`
	EnvMillis     float64 `json:"env_ms"`
	RolloutMillis float64 `json:"rollout_ms"`
	AssessMillis  float64 `json:"assess_ms"`
	Steps         int     `json:"steps"`
}
