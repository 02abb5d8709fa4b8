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
	ID          string    `json:"id"` // unique in the run: "<game>#<phase>/<index>"
	Env         string    `json:"env"`
	Split       string    `json:"split"`
	Task        string    `json:"task_id"` // game id
	TaskType    string    `json:"task_type"`
	Goal        string    `json:"goal"`
	Room        string    `json:"init_obs"`
	Phase       string    `json:"phase"` // "collect", "adapt", "test", "eval"
	Trial       int       `json:"trial"`
	Seed        uint64    `json:"seed"`
	Agent       AgentInfo `json:"agent"`
	Reflections []string  `json:"reflections"` // given, oldest first
	Plan        string    `json:"plan,omitempty"`
	Steps       []Step    `json:"steps"`
	Success     bool      `json:"success"`
	Terminated  bool      `json:"terminated"`
	Truncated   bool      `json:"truncated"`
	Reason      string    `json:"reason"` // "goal reached", "step limit", "agent stopped", "error: …"
	Reflection  string    `json:"reflection_after,omitempty"`
	Usage       llm.Usage `json:"usage"` // of the whole episode
}

// AgentInfo names everything that shaped the behaviour.
type AgentInfo struct {
	Config    reflexion.Config `json:"config"`
	Model     llm.Info         `json:"model"`
	Selector  string           `json:"selector"`
	Assessor  string           `json:"assessor,omitempty"`
	ThinkCost int              `json:"think_cost"` // commands a think line costs, default 0
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
