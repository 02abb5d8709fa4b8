package deliberate

import (
	"context"
	"errors"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

var (
	// ErrSelfJudge: thinker and judge are the same model at the same address.
	ErrSelfJudge = errors.New("deliberate: the judge is the thinker")
	// ErrNoPath: no path came to its end.
	ErrNoPath = errors.New("deliberate: no path finished")
	// ErrVerdict: a judge's scores can't be used: not one a candidate, or outside [0,1].
	ErrVerdict = errors.New("deliberate: unusable verdict")
)

// Problem is what is to be answered.
type Problem struct {
	Text    string
	History []chat.Message // earlier turns, oldest first; a system message among them replaces the default
}

// Kind says what a judge is asked about.
type Kind string

const (
	KindPath     Kind = "path"     // a whole solution: is it correct?
	KindAnswer   Kind = "answer"   // a bare final answer: is it correct?
	KindPartial  Kind = "partial"  // the beginning of a solution: does it lead to the correct answer?
	KindSketch   Kind = "sketch"   // an outline: does it lead there?
	KindProblem  Kind = "problem"  // no text: would a first attempt be correct?
	KindComplete Kind = "complete" // a whole solution: does it answer all that was asked?
)

// Candidate is one thing to be scored.
type Candidate struct {
	Kind   Kind   `json:"kind"`
	Text   string `json:"text"`
	Answer string `json:"answer,omitempty"` // its final answer, where known
}

// Verdict is what a judge says of each candidate, in order.
type Verdict struct {
	// Scores are probabilities of "yes", in [0,1]; NaN where a candidate was lost to
	// the network.
	Scores []float64
	Usage  llm.Usage
	Notes  []string
}

// Judge scores candidates, each on its own. Safe for concurrent use. An error means
// that no candidate could be scored; one that matches chat.ErrUnable ends the run.
//
// A judge with a method Identity() string is compared with the thinker's. One with
// a method Ready(ctx) error is asked before the first path; an error that matches
// chat.ErrUnable ends the run.
type Judge interface {
	Score(ctx context.Context, problem string, candidates []Candidate) (Verdict, error)
}

// Chooser is a judge that can also compare: Scores are then each candidate's share
// of one choice, at most 26 candidates.
type Chooser interface {
	Judge
	Choose(ctx context.Context, problem string, candidates []Candidate) (Verdict, error)
}

// JudgeFunc makes a judge of a function.
type JudgeFunc func(ctx context.Context, problem string, c []Candidate) (Verdict, error)

// Score calls the function.
func (f JudgeFunc) Score(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	return f(ctx, problem, c)
}

// Origin says where a path comes from.
type Origin string

const (
	OriginGreedy    Origin = "greedy"
	OriginSample    Origin = "sample"
	OriginSketch    Origin = "sketch"    // an outline
	OriginExpanded  Origin = "expanded"  // written out from its parent, an outline
	OriginBranch    Origin = "branch"    // written with its parent, the best path so far, as an example
	OriginSplit     Origin = "split"     // one approach of its parent
	OriginEscalated Origin = "escalated" // by the stronger model
	OriginStep      Origin = "step"      // its parent with one more continuation
	OriginCommit    Origin = "commit"    // its parent with the whole rest
	OriginStream    Origin = "stream"    // of a race
)

// Path is one attempt.
type Path struct {
	ID       int      `json:"id"` // its index in Result.Paths
	Parent   int      `json:"parent"`
	Origin   Origin   `json:"origin"`
	Hint     string   `json:"hint,omitempty"`
	Text     string   `json:"text"`
	Answer   string   `json:"answer,omitempty"`
	Finished bool     `json:"finished"`
	Score    *float64 `json:"score,omitempty"`        // of the path itself
	OnAnswer *float64 `json:"answer_score,omitempty"` // of its bare answer
	// Combined is what is compared: Score + AnswerPrior × OnAnswer, or the share of a
	// comparative choice.
	Combined  *float64 `json:"combined,omitempty"`
	Partial   []Point  `json:"partial,omitempty"` // race: scores on the way
	Tokens    int      `json:"tokens"`
	Retries   int      `json:"retries,omitempty"`
	Cancelled bool     `json:"cancelled,omitempty"` // race: ended mid-flight
	Lost      string   `json:"lost,omitempty"`      // why there is no text
}

// Point is a score of a stream's beginning.
type Point struct {
	Chars int     `json:"chars"`
	Score float64 `json:"score"`
}

// Event is one thing that happened, in order.
type Event struct {
	Kind  string   `json:"kind"`
	Path  int      `json:"path"` // -1 where it concerns none
	Score *float64 `json:"score,omitempty"`
	Note  string   `json:"note,omitempty"`
	// Piece is new text of a stream; such events are observed, not kept.
	Piece string `json:"-"`
}

// Kinds of events.
const (
	EventTriage    = "triage"
	EventBegin     = "begin"  // a path is asked for
	EventPiece     = "piece"  // text of a stream
	EventPath      = "path"   // a path is there
	EventLost      = "lost"   // a path is lost
	EventScore     = "score"  // of a path, or of its beginning in a race
	EventBranch    = "branch" // how many more paths, and why
	EventJudgeLost = "judge lost"
	EventCancelled = "cancelled"
	EventVerify    = "verify"
	EventChosen    = "chosen"
)

// Result is an answer with all that led to it.
type Result struct {
	Answer     string    `json:"answer"`
	Text       string    `json:"text"` // of the chosen path
	Chosen     int       `json:"chosen"`
	Confidence float64   `json:"confidence"` // the chosen path's own score; 0 where it was not judged
	Judged     bool      `json:"judged"`
	Finished   bool      `json:"finished"`
	Reason     string    `json:"reason"`
	Paths      []Path    `json:"paths"`
	Events     []Event   `json:"events"`
	Verify     *Verify   `json:"verify,omitempty"`
	Thinker    llm.Usage `json:"thinker"`
	Judge      llm.Usage `json:"judge"`
}

// Verify holds the judge's answers to the two questions about a winner.
type Verify struct {
	Complete float64 `json:"complete"`
	Correct  float64 `json:"correct"`
}

// Usage is what thinker and judge cost together.
func (r Result) Usage() llm.Usage { return r.Thinker.Add(r.Judge) }
