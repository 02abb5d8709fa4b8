// Package llm is the one client for everything that generates text: the embedded
// model, OpenAI-compatible servers, and scripted models for tests.
//
// The unit is a [Session]: a text prefix that grows by Append and from which
// [Session.Sample] draws continuations without changing it. The embedded model
// keeps the prefix's cache; a server is sent the text again.
//
// All texts follow the line format of ReAct, the same for every backend:
//
//	Your task is to: put a clean mug in shelf.
//	You are in the middle of a room. Looking quickly around you, you see a bed 1, and a desk 1.
//	reflection: the mug is not in desk 1.
//	plan: find a mug, clean it with sinkbasin 1, put it in shelf 1.
//	think: find mug: not here. next desk 1.
//	> go to desk 1
//	On the desk 1, you see nothing.
//	[end: lost]
//	reflection: the mug is not in desk 1.
//
// A line begins with "think:", "> ", "plan:", "reflection:", "[end: won]" or
// "[end: lost]"; a line with none of these is an observation (or task or room).
// "\n" separates lines; a prefix never ends in "\n".
package llm

import "context"

// Until says where a continuation ends. The terminating newline is never part of the text.
type Until int

const (
	// UntilLine ends before the first newline: for a plan or reflection whose tag was already appended.
	UntilLine Until = iota
	// UntilAction ends after the first complete "> …" line (thoughts before it are kept).
	UntilAction
	// UntilPairs ends after Request.Pairs complete action-observation pairs, or at an end claim.
	UntilPairs
)

// Request asks for continuations of a session's prefix.
type Request struct {
	N           int     // number of continuations, ≥ 1
	Temperature float64 // 0 = greedy; always sent explicitly
	TopP        float64 // 0 or 1 = off
	MaxTokens   int     // a continuation; 0 = backend's default (64 a pair)
	Until       Until
	Pairs       int    // for UntilPairs
	Seed        uint64 // continuation i draws from rng.New(Seed, "candidate", i): N=1 equals candidate 0 of N=5
	// ForbidEnd masks "[end: …]" lines: in real play only the environment ends an episode.
	ForbidEnd bool
	// Recall is a memory of seen text, used by backends that generate token by token
	// (others ignore it; the caller then applies it to the parsed pairs). It is asked
	// after an imagined action, with the imagined pairs so far of this candidate,
	// unless the model foresees "Nothing happens."; a returned text replaces the
	// model's own observation. It must be pure and is called from one goroutine.
	Recall func(pairs []Pair, action string) (observation string, ok bool)
	// Hidden asks for hidden states where Caps.Hidden.
	Hidden bool
}

// Pair is one action and what followed.
type Pair struct {
	Thoughts    []string `json:"thoughts,omitempty"`
	Action      string   `json:"action"`
	Observation string   `json:"observation"`
}

// Finish says why a continuation ended.
type Finish string

const (
	FinishStop   Finish = "stop"   // the Until rule was met
	FinishEnd    Finish = "end"    // the model claimed the end of the episode
	FinishLength Finish = "length" // MaxTokens or the context was used up
)

// Completion is one continuation.
type Completion struct {
	Text         string // begins with "\n" where the continuation starts a new line
	Finish       Finish
	Tokens       int     // generated (forced ones included)
	ForcedTokens int     // of these, given by Recall
	Foreign      bool    // the backend cut it at a line that only the environment may write
	LogProb      float64 // sum over sampled tokens at temperature 1; NaN where unknown
	// Nothing is the model's probability, at the start of each imagined
	// observation, that it is "Nothing happens."; nil where unknown.
	Nothing []float64
	// Hidden is nil or 3·Caps.HiddenSize long: mean over the continuation, state at
	// the end of the first action, last state.
	Hidden []float32
}

// Usage counts what a call cost. Estimated is set when a backend gave no counts.
type Usage struct {
	PromptTokens     int  `json:"prompt_tokens"`
	CompletionTokens int  `json:"completion_tokens"`
	Calls            int  `json:"calls"`
	Retries          int  `json:"retries,omitempty"`
	Requested        int  `json:"n_requested"`
	Received         int  `json:"n_received"`
	Estimated        bool `json:"usage_estimated,omitempty"`
}

// Add sums two accounts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens, u.Calls + v.Calls,
		u.Retries + v.Retries, u.Requested + v.Requested, u.Received + v.Received, u.Estimated || v.Estimated}
}

// Caps says what a backend can do.
type Caps struct {
	Prefix        bool // Append and Fork are cheap: the prefix is cached
	Deterministic bool // same request, same bytes
	Recall        bool // honours Request.Recall
	HiddenSize    int  // 0 = no hidden states
	Context       int  // tokens; 0 = unknown
}

// Info identifies a model in records.
type Info struct {
	Name string `json:"name"` // "embedded/base", "openai/llama-3-8b"
	Hash string `json:"hash"` // of the weights or of URL and model name; never a key
	Caps Caps   `json:"-"`
}

// Model opens sessions. Safe for concurrent use.
type Model interface {
	Info() Info
	Open(ctx context.Context, prompt string) (Session, error)
	Close() error
}

// Session is a prefix. Not safe for concurrent use; forks are independent of each other.
type Session interface {
	// Append extends the prefix by text (usually starting with "\n").
	// It returns an error that matches ErrContext when the context would overflow;
	// the session is then unchanged.
	Append(ctx context.Context, text string) (Usage, error)
	// Sample draws continuations; the prefix is unchanged.
	Sample(ctx context.Context, r Request) ([]Completion, Usage, error)
	// Fork returns an independent copy.
	Fork(ctx context.Context) (Session, error)
	// Text is the whole prefix, Len its length in tokens (0 where unknown).
	Text() string
	Len() int
	Close() error
}
