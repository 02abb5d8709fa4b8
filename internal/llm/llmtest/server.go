// Package llmtest has what tests of anything that talks to a model server need: a
// fake OpenAI-compatible server that counts tokens sent and spared, the faults
// that real servers are known for ([Faults]), and a check that no goroutine is
// left behind ([NoLeaks]).
//
//	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "Final answer: 4"} })
//	s.Break(llmtest.Fault{…}, llmtest.Always)
//	d, err := openai.NewDialog(s.Options("model"))
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/openai"
)

// Request is a decoded request.
type Request struct {
	Number      int // from 0, in order of arrival
	Path        string
	Body        map[string]any
	Messages    []chat.Message
	Prefix      string // the last message where it is the assistant's
	Stream      bool
	Temperature float64
	MaxTokens   int
	TopLogProbs int
	Seed        int64
	Context     context.Context

	over func() // the request is not open any more
}

// Prompt is the last message of the user.
func (r Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == chat.User {
			return r.Messages[i].Content
		}
	}
	return ""
}

// Reply is what the server answers. A token is a word with the space before it.
type Reply struct {
	Text      string
	Reasoning string
	Finish    string       // default "stop"
	Top       []chat.Token // alternatives of the first token, sent when asked for
}

func (a Reply) end() string {
	if a.Finish == "" {
		return "stop"
	}
	return a.Finish
}

// Server is a fake model server. Its methods are safe for concurrent use.
type Server struct {
	*httptest.Server
	answer func(Request) Reply

	mu       sync.Mutex
	requests []Request
	fault    *Fault
	when     func(int) bool
	pace     func(Request, int) error
	active   int
	most     int
	sent     int
	spared   int
}

// New starts a server; it ends with the test.
func New(t testing.TB, answer func(Request) Reply) *Server {
	t.Helper()
	s := &Server{answer: answer, when: func(int) bool { return false }}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Always and First say which requests meet a fault.
func Always(int) bool { return true }

// First is true for the first n requests.
func First(n int) func(int) bool { return func(i int) bool { return i < n } }

// Break makes the requests for which when is true meet a fault.
func (s *Server) Break(f Fault, when func(number int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.when = &f, when
}

// Pace is called before each streamed token; it may wait, and its error ends the
// stream as a broken connection.
func (s *Server) Pace(f func(r Request, token int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace = f
}

// Requests returns what came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Tokens returns how many streamed tokens were sent, and how many were spared
// because the client had left.
func (s *Server) Tokens() (sent, spared int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.spared
}

// Most is the largest number of requests that were open at one time.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Impatient shortens the limits of a client, for faults that would keep it waiting.
func Impatient(o openai.Options) openai.Options {
	o.FirstByte, o.Warmup, o.Idle, o.Retries = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond, 1
	return o
}

// Options are settings of a client for this server that skip the pauses between
// tries.
func (s *Server) Options(model string) openai.Options {
	return openai.Options{
		BaseURL: s.URL + "/v1", Model: model, KeyEnv: "MUSE_TEST_NO_KEY", Concurrency: 16, Retries: 2,
		Abilities: &openai.Abilities{N: true, Seed: true, LogProbs: true},
		FirstByte: 20 * time.Second, Warmup: 20 * time.Second, Idle: 20 * time.Second, Total: time.Minute,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func (s *Server) serve(w http.ResponseWriter, hr *http.Request) {
	r := Request{Path: hr.URL.Path, Context: hr.Context()}
	if err := json.NewDecoder(hr.Body).Decode(&r.Body); err != nil && hr.Method == http.MethodPost {
		http.Error(w, "unreadable request: "+err.Error(), http.StatusBadRequest)
		return
	}
	num := func(k string) float64 { v, _ := r.Body[k].(float64); return v }
	r.Stream, _ = r.Body["stream"].(bool)
	r.Temperature, r.MaxTokens, r.TopLogProbs, r.Seed = num("temperature"), int(num("max_tokens")), int(num("top_logprobs")), int64(num("seed"))
	msgs, _ := r.Body["messages"].([]any)
	for _, m := range msgs {
		o, _ := m.(map[string]any)
		role, _ := o["role"].(string)
		content, _ := o["content"].(string)
		r.Messages = append(r.Messages, chat.Message{Role: role, Content: content})
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == chat.Assistant {
		r.Prefix = r.Messages[n-1].Content
	}
	s.mu.Lock()
	r.Number = len(s.requests)
	s.requests = append(s.requests, r)
	s.active++
	s.most = max(s.most, s.active)
	active := s.active
	fault, broken := s.fault, s.when(r.Number)
	s.mu.Unlock()
	// A client may go on at the last byte, before this function returns: a request is
	// over when its end is written.
	r.over = sync.OnceFunc(func() { s.mu.Lock(); s.active--; s.mu.Unlock() })
	defer r.over()
	if fault == nil || !broken {
		s.good(w, r, s.answer(r))
		return
	}
	fault.Serve(Scene{W: w, Request: r, Active: active, server: s})
}

// good writes a regular answer.
func (s *Server) good(w http.ResponseWriter, r Request, a Reply) {
	a.Finish = a.end()
	tokens := strings.SplitAfter(a.Text, " ")
	prompt := 0
	for _, m := range r.Messages {
		prompt += (len(m.Content) + 3) / 4
	}
	usage := map[string]any{"prompt_tokens": max(1, prompt), "completion_tokens": len(tokens), "total_tokens": prompt + len(tokens)}
	probs := func() any {
		if r.TopLogProbs == 0 || len(a.Top) == 0 {
			return nil
		}
		var top []any
		for _, t := range a.Top {
			top = append(top, map[string]any{"token": t.Text, "logprob": t.LogProb})
		}
		return map[string]any{"content": []any{map[string]any{"token": a.Top[0].Text, "logprob": a.Top[0].LogProb, "top_logprobs": top}}}
	}
	if !r.Stream {
		msg := map[string]any{"role": "assistant", "content": a.Text}
		if a.Reasoning != "" {
			msg["reasoning"] = a.Reasoning
		}
		r.over()
		writeJSON(w, map[string]any{"id": "x", "object": "chat.completion", "created": 1, "model": r.Body["model"], "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": a.Finish, "logprobs": probs()}}})
		return
	}
	e := events{w}
	e.head()
	if a.Reasoning != "" {
		e.delta(map[string]any{"reasoning": a.Reasoning}, nil)
	}
	s.mu.Lock()
	pace := s.pace
	s.mu.Unlock()
	for i, tok := range tokens {
		var err error
		if pace != nil {
			err = pace(r, i)
		}
		if err != nil || r.Context.Err() != nil {
			s.mu.Lock()
			s.spared += len(tokens) - i
			s.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		e.delta(map[string]any{"content": tok}, nil)
		s.mu.Lock()
		s.sent++
		s.mu.Unlock()
	}
	r.over()
	e.delta(map[string]any{}, a.Finish)
	e.object(map[string]any{"choices": []any{}, "usage": usage})
	e.line("data: [DONE]\n\n")
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events writes server-sent events, each flushed.
type events struct{ w http.ResponseWriter }

func (e events) head() {
	if e.w.Header().Get("Content-Type") == "text/event-stream" {
		return // a fault has begun the answer already
	}
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.WriteHeader(http.StatusOK)
	e.w.(http.Flusher).Flush()
}

func (e events) line(s string) {
	fmt.Fprint(e.w, s)
	e.w.(http.Flusher).Flush()
}

func (e events) object(v any) {
	b, _ := json.Marshal(v)
	e.line("data: " + string(b) + "\n\n")
}

func (e events) delta(d map[string]any, finish any) {
	e.object(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}})
}
