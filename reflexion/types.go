package reflexion

import (
	"context"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/search"
)

// Task is what an agent is told at the start of an episode.
type Task struct {
	Goal string // "put a clean mug in shelf." (without "Your task is to: ")
	Room string // "You are in the middle of a room. …"
	// Known are earlier episodes in the same room from the same start, real pairs
	// only: with Config.Recall futures are imagined with what they have shown.
	Known [][]llm.Pair
}

// Config of an agent. See Default.
type Config struct {
	Name         string  `json:"name"`          // "react", "reflexion", "muse"
	Rollouts     int     `json:"rollouts"`      // K, paper: 5
	Horizon      int     `json:"horizon"`       // H in action-observation pairs, default 4
	Temperature  float64 `json:"temperature"`   // paper: 0.5
	Reflections  int     `json:"reflections"`   // reflections kept in the prompt, Reflexion: 3; 0 = none (ReAct)
	Plan         bool    `json:"plan"`          // write P^e at reset
	ContextPairs int     `json:"context_pairs"` // real pairs before the rollout in M_sa's text (must equal the assessor's own setting), default 0 = paper
	Recall       bool    `json:"recall"`        // memory of seen text in the world model
	// Foresee lets that memory also foresee failures that the transcript gives away.
	Foresee bool `json:"foresee,omitempty"`
	Limit   int  `json:"limit"` // the episode's command limit, 50
	// Dialect of the game: "" or "move" ("move X to R"), or "put" ("put X in/on R").
	// The model always sees and writes the "move" form; see [EnvAction].
	Dialect string `json:"dialect,omitempty"`
	// Rethink is how often a doubtful decision draws futures again (see doubt.go), 0 =
	// never, the paper's. Doubt is the P below which the best future is doubtful.
	Rethink int     `json:"rethink,omitempty"`
	Doubt   float64 `json:"doubt,omitempty"`
	// Forget keeps failed commands out of the text that the model goes on from:
	// ForgetNever (""), ForgetDoubt (in second thoughts) or ForgetAlways.
	Forget Forget `json:"forget,omitempty"`
	// GreedyReflection samples reflections at temperature 0 instead of Temperature.
	GreedyReflection bool `json:"greedy_reflection,omitempty"`
	// Search are the settings of an agent made by [NewSearch]; zero for all others.
	Search search.Config `json:"search,omitzero"`
}

// Candidate is one imagined future in a trace.
type Candidate struct {
	Pairs    []llm.Pair             `json:"pairs"`
	Claim    string                 `json:"claim,omitempty"` // "won", "lost": the model's own claim
	Valid    bool                   `json:"valid"`
	Assessed *selfassess.Assessment `json:"assessment,omitempty"`
	Tokens   int                    `json:"tokens"`
	// Same is the index of the first candidate with an equal first action, -1 if none.
	Same int `json:"same"`
	// Round is 0 for the futures drawn first and counts second thoughts.
	Round int `json:"round,omitempty"`
	// Hidden states of the generator (see llm.Completion), nil where unknown. Kept
	// out of records for their size; collectors of sibling labels read them here.
	Hidden []float32 `json:"-"`
}

// Trace explains one decision; logs and viewers read it, agents do not log.
type Trace struct {
	Candidates []Candidate         `json:"candidates,omitempty"`
	Choice     selfregulate.Choice `json:"choice"`
	Thoughts   []string            `json:"thoughts,omitempty"`
	Usage      llm.Usage           `json:"usage"`
	Cut        int                 `json:"cut,omitempty"`    // outputs cut at a line only the environment may write
	Events     []string            `json:"events,omitempty"` // "no valid candidate", "history trimmed"
	// Search is what a tree search did; Candidates are then the futures of its root.
	Search *search.Summary `json:"search,omitempty"`
	// Millis of rollouts and of assessment; kept out of episodes.jsonl (timing.jsonl).
	RolloutMillis float64 `json:"-"`
	AssessMillis  float64 `json:"-"`
}

// Carry is the explicit state of one running episode. All that shapes the next
// decision is in the exported fields: a copy with Session nil goes on exactly
// where the original stood (the prefix is built again).
type Carry struct {
	Task        Task
	Reflections []string   // in the prompt: the newest Config.Reflections of those given
	Plan        string     // P^e, "" where none was written
	Pairs       []llm.Pair // real pairs so far, in the "move" dialect
	From        int        // index of the first pair that the prompt still holds; > 0 after trimming
	Seed        uint64     // of the episode
	Session     llm.Session
	// Lucid is the session without the commands that failed, for second thoughts;
	// nil where none was needed yet.
	Lucid     llm.Session
	LucidFrom int // as From, of the pairs that worked

	// What happened between two decisions: goes into the next trace.
	events []string
	usage  llm.Usage
}

// Agent plays episodes. Safe for concurrent use with different carries.
type Agent interface {
	Config() Config
	// Begin opens an episode: writes the plan. reflections are oldest first.
	Begin(ctx context.Context, t Task, reflections []string, seed uint64) (*Carry, llm.Usage, error)
	// Act chooses the next command.
	Act(ctx context.Context, c *Carry) (action string, tr Trace, err error)
	// Observe appends what the environment answered to the command of the last Act.
	// After an error the carry is as before the call.
	Observe(ctx context.Context, c *Carry, action string, tr Trace, obs string) error
	// Reflect writes a reflection after a lost episode, from the carry's own trace only.
	Reflect(ctx context.Context, c *Carry) (string, llm.Usage, error)
	// Close releases the carry's session.
	Close(c *Carry) error
}
