// Package chat is the vocabulary of conversations: what a question-answering
// system asks of a model that takes messages and gives one reply. It stands
// beside llm.Session, whose unit is a text prefix: agents play with sessions,
// thinkers, judges and ensembles talk in messages.
//
//	reply, err := m.Ask(ctx, chat.Request{Messages: []chat.Message{{Role: chat.User, Content: "2+2?"}}, MaxTokens: 64})
//
// Package openai implements [Model] for served models; [Func] makes one of a Go
// function, for tests and examples.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Roles of messages.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
)

// Message is one turn. Content is never empty on the wire: implementations send a
// space instead (Ollama refuses a message without content).
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request asks for one reply.
type Request struct {
	Messages []Message
	// Prefix is the beginning of the reply, to be continued; the reply's text does
	// not repeat it. Needs the ability [Prefix].
	Prefix      string
	Temperature float64 // 0 = greedy; always sent
	TopP        float64 // 0 or 1 = off; always sent
	MaxTokens   int     // 0 = 1024
	Seed        uint64  // of the sampling, as far as the server keeps such promises
	Stop        []string
	// TopLogProbs asks for that many alternatives of each token, at most 20. Needs
	// the ability [LogProbs].
	TopLogProbs int
	// Schema is a JSON schema for the reply. It is sent where the server takes one, and
	// servers may still answer in another form: check what comes.
	Schema json.RawMessage
	// Emit, when set, gets the text in pieces as it comes, without reasoning, from
	// one goroutine. Its error ends the call. After the first piece a broken answer
	// is not asked for again: what was emitted can't be taken back.
	Emit func(piece string) error
}

// Finish reasons of a reply.
const (
	FinishStop   = "stop"   // the model ended by itself, or at a stop text
	FinishLength = "length" // MaxTokens or the context was used up
)

// Token is one generated token with its alternatives, most probable first.
type Token struct {
	Text    string
	LogProb float64
	Top     []Token
}

// Reply is what came back. With an error it holds what had come until then.
type Reply struct {
	Text      string // without reasoning
	Reasoning string // side channel or think block, "" where there was none
	Finish    string
	Tokens    int     // generated, reasoning included
	LogProbs  []Token // of the generated tokens, where asked for and given
	Usage     llm.Usage
}

// Ability is something that not every server can do.
type Ability string

const (
	Prefix   Ability = "prefix continuation"
	LogProbs Ability = "log probabilities"
)

// ErrUnable is matched by errors about a missing ability.
var ErrUnable = errors.New("chat: the model lacks an ability")

// Model answers requests. Safe for concurrent use.
type Model interface {
	// Identity names the model and where it lives: two models with equal identities
	// are one. No user, password or key is part of it.
	Identity() string
	// Ask returns one reply. A cancelled context ends it at once; no goroutine is
	// left behind.
	Ask(ctx context.Context, r Request) (Reply, error)
	// Probe returns nil when the ability is there, an error that matches ErrUnable
	// when it isn't, and another error when that could not be found out.
	Probe(ctx context.Context, a Ability) error
}

// Func is a model made of a function. It has all abilities of its function; Lacks
// lists those to be denied.
type Func struct {
	Name  string
	Reply func(ctx context.Context, r Request) (Reply, error)
	Lacks []Ability
}

// Identity is the name.
func (f Func) Identity() string { return f.Name }

// Ask calls the function. When the request wants pieces and the function did not
// emit any, the whole text is emitted at the end.
func (f Func) Ask(ctx context.Context, r Request) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	emitted := false
	if emit := r.Emit; emit != nil {
		r.Emit = func(s string) error { emitted = true; return emit(s) }
	}
	a, err := f.Reply(ctx, r)
	if err != nil {
		return a, fmt.Errorf("%s: %w", f.Name, err)
	}
	if a.Finish == "" {
		a.Finish = FinishStop
	}
	if a.Tokens == 0 {
		a.Tokens = len(strings.Fields(a.Text))
	}
	if a.Usage == (llm.Usage{}) {
		n := 0
		for _, m := range r.Messages {
			n += len(strings.Fields(m.Content))
		}
		a.Usage = llm.Usage{PromptTokens: n, CompletionTokens: a.Tokens, Calls: 1, Requested: 1, Received: 1}
	}
	if r.Emit != nil && !emitted && a.Text != "" {
		return a, r.Emit(a.Text)
	}
	return a, nil
}

// Probe denies what Lacks lists.
func (f Func) Probe(_ context.Context, a Ability) error {
	for _, l := range f.Lacks {
		if l == a {
			return fmt.Errorf("%w: %s has no %s", ErrUnable, f.Name, a)
		}
	}
	return nil
}
