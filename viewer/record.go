package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/runindex"
)

// ErrVersion is matched when a file has a format that this program doesn't read.
var ErrVersion = runindex.ErrVersion

// Limits of what is read from one episode. Records come from files that anybody may have
// written: what is above the limits is left out, and never fills memory.
const (
	MaxEpisode    = 16 << 20 // bytes of a line; longer ones are refused
	maxSteps      = 4096
	maxCandidates = 16
	maxPairs      = 16
	maxTexts      = 64
	maxMoments    = 32
)

// Episode is one line of episodes.jsonl (format muse/episode@1), as far as it is shown.
type Episode struct {
	Format      string               `json:"format"`
	ID          string               `json:"id"`
	Env         string               `json:"env"`
	Split       string               `json:"split"`
	Task        string               `json:"task_id"`
	TaskType    string               `json:"task_type"`
	Goal        string               `json:"goal"`
	Room        string               `json:"init_obs"`
	Phase       string               `json:"phase"`
	Arm         string               `json:"arm"`
	Rep         uint64               `json:"rep"`
	Trial       int                  `json:"trial"`
	Seed        uint64               `json:"seed"`
	Agent       Agent                `json:"agent"`
	Reflections capped[string, text] `json:"reflections"`
	Plan        string               `json:"plan"`
	Steps       capped[Step, steps]  `json:"steps"`
	Success     bool                 `json:"success"`
	Terminated  bool                 `json:"terminated"`
	Truncated   bool                 `json:"truncated"`
	Reason      string               `json:"reason"`
	Reflection  string               `json:"reflection_after"`
	Usage       Usage                `json:"usage"`

	// Of the arm.
	Start    Value  `json:"init_state"` // observation at reset
	GoalAt   Vector `json:"goal_at"`    // where observations hide it
	SolvedAt int    `json:"solved_at"`  // decision, from 1; 0 = never

	task   gridarm.Task // not valid for text games
	object string       // class of the task's object
}

// Vector is a list of numbers.
type Vector = capped[float64, numbers]

// Agent names what shaped the behaviour.
type Agent struct {
	Config struct {
		Name        string  `json:"name"`
		Rollouts    int     `json:"rollouts"`
		Horizon     int     `json:"horizon"`
		Temperature float64 `json:"temperature"`
		Limit       int     `json:"limit"`
	} `json:"config"`
	Model struct {
		Name string `json:"name"`
	} `json:"model"`
	Selector string `json:"selector"`
	Assessor string `json:"assessor"`
}

// Usage is an account of tokens.
type Usage struct {
	PromptTokens     int  `json:"prompt_tokens"`
	CompletionTokens int  `json:"completion_tokens"`
	Calls            int  `json:"calls"`
	Estimated        bool `json:"usage_estimated"`
}

func (u *Usage) clamp() {
	const most = 1 << 40 // sums of them stay far from overflow
	for _, n := range []*int{&u.PromptTokens, &u.CompletionTokens, &u.Calls} {
		*n = min(max(*n, 0), most)
	}
}

// Step is one command with its answer.
type Step struct {
	Action      Value   `json:"action"`
	Observation Value   `json:"observation"`
	Reward      float64 `json:"reward"`
	Success     bool    `json:"success"` // the goal is reached now
	Touch       bool    `json:"touch"`   // the hand is at the object
	Held        bool    `json:"held"`    // and has it between its fingers
	Trace       Trace   `json:"trace"`
}

// Trace explains a decision.
type Trace struct {
	Candidates capped[Candidate, candidates] `json:"candidates"`
	Choice     Choice                        `json:"choice"`
	Thoughts   capped[string, text]          `json:"thoughts"`
	Usage      Usage                         `json:"usage"`
	Cut        int                           `json:"cut"`
	Events     capped[string, text]          `json:"events"`
	State      *StateTrace                   `json:"state"`
}

// StateTrace says what regulation did to the latent state before an action.
type StateTrace struct {
	Regulator string  `json:"regulator"`
	Before    float64 `json:"before"` // Σψ
	After     float64 `json:"after"`
	Moved     float64 `json:"moved"` // ‖Δs‖
	Gain      float64 `json:"gain"`  // change of Σψ by the gradient steps alone
	KL        float64 `json:"kl"`    // of the policy before ‖ after, nats
}

// Choice is which candidate was taken, and why.
type Choice struct {
	Index  int    `json:"index"`
	Reason string `json:"reason"`
}

// Candidate is one imagined future.
type Candidate struct {
	Pairs    capped[Pair, pairs] `json:"pairs"`
	Claim    string              `json:"claim"`
	Valid    bool                `json:"valid"`
	Assessed *Assessment         `json:"assessment"`
	Tokens   int                 `json:"tokens"`
	Same     int                 `json:"same"`

	// Of the arm.
	Label string                  `json:"label"` // whose future it is: "policy", a regulator's name
	Psi   Vector                  `json:"psi"`   // P(solved within the i-th N-th of the limit)
	Path  capped[Vector, moments] `json:"path"`  // imagined moments: hand 3, opening, object 3
}

// Assessment is a probability that the episode succeeds.
type Assessment struct {
	P float64 `json:"p"`
}

// Pair is an imagined command with its imagined answer.
type Pair struct {
	Thoughts    capped[string, text] `json:"thoughts"`
	Action      string               `json:"action"`
	Observation string               `json:"observation"`
}

// Value is an action or observation: a text, or numbers.
type Value struct {
	Text    string
	Numbers []float64
}

// UnmarshalJSON reads a string or a list of numbers; anything else is kept as its text.
func (v *Value) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &v.Text); err == nil {
		return nil
	}
	v.Text = ""
	var list capped[float64, numbers]
	if err := json.Unmarshal(b, &list); err == nil {
		v.Numbers = list
		return nil
	}
	if len(b) > MaxText {
		b = b[:MaxText]
	}
	v.Text = string(b)
	return nil
}

// String is the text, or the numbers with three digits.
func (v Value) String() string {
	if v.Text != "" || len(v.Numbers) == 0 {
		return v.Text
	}
	parts := make([]string, len(v.Numbers))
	for i, x := range v.Numbers {
		parts[i] = strconv.FormatFloat(x, 'g', 3, 64)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// most says how long a list may get.
type most interface{ most() int }

type (
	steps      struct{}
	candidates struct{}
	pairs      struct{}
	text       struct{}
	numbers    struct{}
	moments    struct{}
)

func (steps) most() int      { return maxSteps }
func (candidates) most() int { return maxCandidates }
func (pairs) most() int      { return maxPairs }
func (text) most() int       { return maxTexts }
func (numbers) most() int    { return maxTexts }
func (moments) most() int    { return maxMoments }

// capped is a list that keeps what it has room for and passes over the rest.
type capped[T any, M most] []T

func (c *capped[T, M]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("want a list")
	}
	var m M
	for d.More() && len(*c) < m.most() {
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		*c = append(*c, v)
	}
	return nil
}

// Decode reads one episode and makes it consistent: probabilities lie in [0,1], and what
// is counted has no negative number.
func Decode(line []byte) (*Episode, error) {
	if len(line) > MaxEpisode {
		return nil, fmt.Errorf("the episode has %d bytes, more than %d are not read", len(line), MaxEpisode)
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	if head.Format != runindex.EpisodeFormat {
		return nil, fmt.Errorf("%w: %q, this program reads %q", ErrVersion, Ellipsis(Style{Mono, 1}, head.Format, 40), runindex.EpisodeFormat)
	}
	e := new(Episode)
	if err := json.Unmarshal(line, e); err != nil {
		return nil, err
	}
	e.Usage.clamp()
	for i := range e.Steps {
		e.Steps[i].Trace.Usage.clamp()
		for j := range e.Steps[i].Trace.Candidates {
			c := &e.Steps[i].Trace.Candidates[j]
			if c.Assessed != nil {
				c.Assessed.P = min(max(c.Assessed.P, 0), 1)
			}
			for k, p := range c.Psi {
				c.Psi[k] = min(max(p, 0), 1)
			}
		}
	}
	e.task = armTask(e)
	e.object = objectOf(e)
	return e, nil
}

// Chosen is the chosen candidate of a step, nil if there is none.
func (s *Step) Chosen() *Candidate {
	if k := s.Trace.Choice.Index; k >= 0 && k < len(s.Trace.Candidates) {
		return &s.Trace.Candidates[k]
	}
	return nil
}

// P is the probability of success of the chosen future; ok is false where none was given.
func (s *Step) P() (p float64, ok bool) {
	if c := s.Chosen(); c != nil && c.Assessed != nil {
		return c.Assessed.P, true
	}
	return 0, false
}

// Spread is the lowest and the highest P of the step's futures.
func (s *Step) Spread() (low, high float64, ok bool) {
	for i := range s.Trace.Candidates {
		a := s.Trace.Candidates[i].Assessed
		if a == nil {
			continue
		}
		if !ok {
			low, high, ok = a.P, a.P, true
		}
		low, high = min(low, a.P), max(high, a.P)
	}
	return low, high, ok
}

// Nothing says that the command had no effect.
func (s *Step) Nothing() bool { return s.Observation.Text == runindex.NothingHappens }

// canonical is what a model sees of an answer: without the sentence of arrival.
func canonical(obs string) string {
	obs = strings.TrimSpace(obs)
	if rest, ok := strings.CutPrefix(obs, "You arrive at "); ok {
		if _, after, ok := strings.Cut(rest, ". "); ok {
			return after
		}
	}
	if rest, ok := strings.CutPrefix(obs, "You put the "); ok {
		if x, r, ok := strings.Cut(rest, " in/on the "); ok {
			return "You move the " + x + " to the " + r
		}
	}
	return obs
}
