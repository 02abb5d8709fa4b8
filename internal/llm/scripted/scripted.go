// Package scripted is a language model made of a Go function or a list of texts:
// for tests of agents, and for examples that run without weights.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

// ErrExhausted is returned by a List model that was asked more often than it has texts.
var ErrExhausted = errors.New("scripted: no text is left; give List more texts")

// Prompt is what a script is asked.
type Prompt struct {
	Prefix  string // the whole text so far
	Request llm.Request
	Index   int // of the continuation, 0 … N−1
	// Rand is rng.New(Request.Seed, "candidate", Index): the only randomness a
	// script may use if equal requests shall give equal texts.
	Rand *rand.Rand
}

// Func writes one continuation. It may write on as long as it likes: the model
// cuts by the request's Until rule and applies Recall. Func must be safe for
// concurrent use.
type Func func(Prompt) (string, error)

// Option changes what a model says about itself.
type Option func(*Model)

// WithContext limits prefixes to n tokens (words); Append then gives llm.ErrContext.
func WithContext(n int) Option { return func(m *Model) { m.info.Caps.Context = n } }

// WithHidden makes the model give hidden states of size n, drawn from the text.
func WithHidden(n int) Option { return func(m *Model) { m.info.Caps.HiddenSize = n } }

// Model is a scripted model. Safe for concurrent use.
type Model struct {
	info llm.Info
	f    Func

	mu  sync.Mutex
	log []Prompt
}

// New makes a model that writes what f says. One token is one word.
func New(name string, f Func, opts ...Option) *Model {
	m := &Model{f: f, info: llm.Info{Name: "scripted/" + name, Hash: "scripted",
		Caps: llm.Caps{Prefix: true, Deterministic: true, Recall: true}}}
	for _, o := range opts {
		o(m)
	}
	return m
}

// List makes a model that gives the texts one after the other, one a continuation.
func List(name string, texts ...string) *Model {
	var mu sync.Mutex
	next := 0
	return New(name, func(Prompt) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(texts) {
			return "", ErrExhausted
		}
		next++
		return texts[next-1], nil
	})
}

// Asked returns the prompts so far, in order, without their Rand.
func (m *Model) Asked() []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Prompt(nil), m.log...)
}

// Info identifies the model.
func (m *Model) Info() llm.Info { return m.info }

// Close does nothing.
func (m *Model) Close() error { return nil }

// Open starts a session.
func (m *Model) Open(ctx context.Context, prompt string) (llm.Session, error) {
	s := &session{m: m}
	if _, err := s.Append(ctx, prompt); err != nil {
		return nil, err
	}
	return s, nil
}

type session struct {
	m    *Model
	text string
}

func words(s string) int { return len(strings.Fields(s)) }

func (s *session) Append(ctx context.Context, text string) (llm.Usage, error) {
	if err := ctx.Err(); err != nil {
		return llm.Usage{}, err
	}
	if c := s.m.info.Caps.Context; c > 0 && words(s.text+text) > c {
		return llm.Usage{}, fmt.Errorf("%s: %d words, limit %d: %w", s.m.info.Name, words(s.text+text), c, llm.ErrContext)
	}
	s.text += text
	return llm.Usage{PromptTokens: words(text)}, nil
}

func (s *session) Fork(context.Context) (llm.Session, error) {
	return &session{s.m, s.text}, nil
}

func (s *session) Text() string { return s.text }
func (s *session) Len() int     { return words(s.text) }
func (s *session) Close() error { return nil }

func (s *session) Sample(ctx context.Context, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	u := llm.Usage{Requested: max(r.N, 1), Calls: 1}
	var out []llm.Completion
	for i := range u.Requested {
		if err := ctx.Err(); err != nil {
			return nil, u, err
		}
		p := Prompt{Prefix: s.text, Request: r, Index: i}
		s.m.mu.Lock()
		s.m.log = append(s.m.log, p)
		s.m.mu.Unlock()
		p.Rand = rng.New(r.Seed, "candidate", i)
		text, err := s.m.f(p)
		if err != nil {
			return nil, u, fmt.Errorf("%s: continuation %d: %w", s.m.info.Name, i, err)
		}
		c := complete(text, r)
		if n := s.m.info.Caps.HiddenSize; r.Hidden && n > 0 {
			h := rng.New(0, "hidden", c.Text)
			for range 3 * n {
				c.Hidden = append(c.Hidden, float32(h.NormFloat64()))
			}
		}
		out = append(out, c)
		u.Received++
		u.CompletionTokens += c.Tokens
	}
	return out, u, nil
}

// complete cuts a script's text by the request and puts recalled texts in place.
func complete(text string, r llm.Request) llm.Completion {
	cut := llm.Cut(text, r)
	c := llm.Completion{Text: cut.Text, Finish: cut.Finish, LogProb: math.NaN()}
	if c.Finish == "" {
		c.Finish = llm.FinishLength
	}
	if r.Until == llm.UntilPairs {
		pairs, claim, _ := llm.ParseRollout(c.Text)
		for i, p := range pairs {
			nothing := 0.
			if p.Observation == llm.NothingHappens {
				nothing = 1
			} else if r.Recall != nil && p.Observation != "" {
				if o, ok := r.Recall(pairs[:i], p.Action); ok {
					pairs[i].Observation = o
					c.ForcedTokens += words(o)
				}
			}
			c.Nothing = append(c.Nothing, nothing)
		}
		if c.ForcedTokens > 0 {
			c.Text = llm.RenderPairs(pairs)
			if claim != "" {
				c.Text += llm.RenderEnd(claim == "won")
			}
		}
	}
	c.Tokens = words(c.Text)
	return c
}
