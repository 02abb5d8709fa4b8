package llmtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/muse-agent/muse/internal/llm/chat"
)

// Outcome is what a client may make of a fault that never goes away.
type Outcome string

const (
	Answers Outcome = "answer" // the client copes
	Fails   Outcome = "error"  // one clear error
	Either  Outcome = "either" // depends on what was asked
)

// Fault is one way in which real servers misbehave.
type Fault struct {
	ID    string // "C1": the entry of the list of pitfalls
	Name  string
	Want  Outcome // when every request meets it
	Once  bool    // trying again helps, when only some requests meet it
	Serve func(Scene)
	Waits bool // the client is kept waiting: see Impatient
}

// Scene is one request that meets a fault.
type Scene struct {
	W       http.ResponseWriter
	Request Request
	Active  int // requests that are open, this one included
	server  *Server
}

// Good answers as if nothing was wrong, with the reply changed by f (may be nil).
func (s Scene) Good(f func(*Reply)) {
	a := s.server.answer(s.Request)
	if f != nil {
		f(&a)
	}
	s.server.good(s.W, s.Request, a)
}

// Status answers by an error.
func (s Scene) Status(code int, body string) {
	s.W.Header().Set("Content-Type", "application/json")
	s.W.WriteHeader(code)
	io.WriteString(s.W, body)
}

// Hang waits until the client leaves.
func (s Scene) Hang() { <-s.Request.Context.Done() }

// Cut writes raw bytes to the connection and breaks it.
func (s Scene) Cut(raw string) {
	c, _, err := s.W.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(c, raw)
	if tcp, ok := c.(*net.TCPConn); ok && raw == "" {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// half begins the answer and stops in the middle, without an end.
func (s Scene) half() events {
	e := events{s.W}
	e.head()
	text := s.server.answer(s.Request).Text
	e.delta(map[string]any{"content": text[:len(text)/2]}, nil)
	return e
}

const invalid = `{"error":{"message":%q,"type":"invalid_request_error"}}`

// Faults lists the faults C1 to C25 of the design's pitfalls, some in several forms.
func Faults() []Fault {
	json200 := func(body string) func(Scene) {
		return func(s Scene) { s.W.Header().Set("Content-Type", "application/json"); io.WriteString(s.W, body) }
	}
	status := func(code int, body string) func(Scene) { return func(s Scene) { s.Status(code, body) } }
	good := func(f func(*Reply)) func(Scene) { return func(s Scene) { s.Good(f) } }
	// only refuses requests for which bad is not "", as a server does that checks its input.
	only := func(bad func(Request) string) func(Scene) {
		return func(s Scene) {
			if why := bad(s.Request); why != "" {
				s.Status(400, fmt.Sprintf(invalid, why))
				return
			}
			s.Good(nil)
		}
	}
	return []Fault{
		{ID: "C1", Name: "stream ends in the middle", Want: Fails, Once: true, Serve: func(s Scene) {
			if !s.Request.Stream {
				s.Cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"choices\":[")
				return
			}
			s.half()
		}},
		{ID: "C2", Name: "error inside 200", Want: Fails, Once: false, Serve: json200(`{"error":{"message":"model is sick","type":"invalid_request_error"}}`)},
		{ID: "C2", Name: "no choices", Want: Fails, Once: true, Serve: json200(`{"choices":[]}`)},
		{ID: "C3", Name: "error line in a stream", Want: Fails, Once: false, Serve: func(s Scene) {
			if !s.Request.Stream {
				json200(`{"error":"slot gone"}`)(s)
				return
			}
			s.half().line("error: {\"message\":\"slot gone\",\"type\":\"internal\"}\n\n")
		}},
		{ID: "C3", Name: "last line without newline", Want: Answers, Once: true, Serve: func(s Scene) {
			if !s.Request.Stream {
				s.Good(nil)
				return
			}
			e := events{s.W}
			e.head()
			e.delta(map[string]any{"content": s.server.answer(s.Request).Text}, "stop")
			e.line("data: [DONE]")
		}},
		{ID: "C4", Name: "400 keep-alive lines", Want: Answers, Once: true, Serve: func(s Scene) {
			if s.Request.Stream {
				e := events{s.W}
				e.head()
				e.line(strings.Repeat(": ping\n\n", 400))
			}
			s.Good(nil)
		}},
		{ID: "C5", Name: "usage without choices comes first", Want: Answers, Once: true, Serve: func(s Scene) {
			if s.Request.Stream {
				e := events{s.W}
				e.head()
				e.object(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 3, "completion_tokens": 0}})
			}
			s.Good(nil)
		}},
		{ID: "C6", Name: "temperature must be sent", Want: Answers, Once: true, Serve: only(func(r Request) string {
			if _, ok := r.Body["temperature"].(float64); !ok {
				return "temperature is missing: it would be 1.0"
			}
			return ""
		})},
		{ID: "C7", Name: "content must not be empty", Want: Answers, Once: true, Serve: only(func(r Request) string {
			for _, m := range r.Messages {
				if m.Content == "" {
					return "invalid message content type: <nil>"
				}
			}
			return ""
		})},
		{ID: "C8", Name: "limits are sent whatever the model's name", Want: Answers, Once: true, Serve: only(func(r Request) string {
			if r.MaxTokens == 0 {
				return "max_tokens is missing"
			}
			return ""
		})},
		{ID: "C9", Name: "error as plain text", Want: Fails, Once: false, Serve: status(404, `{"error":"model 'm' not found, try pulling it first"}`)},
		{ID: "C10", Name: "content as a list, time as a fraction", Want: Answers, Once: true, Serve: func(s Scene) {
			if s.Request.Stream || s.Request.TopLogProbs > 0 {
				s.Good(nil)
				return
			}
			a := s.server.answer(s.Request)
			writeJSON(s.W, map[string]any{"created": 1.5, "choices": []any{map[string]any{"finish_reason": a.end(),
				"message": map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": a.Text}}}}},
				"usage": map[string]any{"prompt_tokens": 5, "completion_tokens": 5}})
		}},
		{ID: "C10", Name: "empty body", Want: Fails, Once: true, Serve: json200("")},
		{ID: "C10", Name: "empty content", Want: Fails, Once: true, Serve: json200(`{"choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}`)},
		{ID: "C11", Name: "no usage", Want: Answers, Once: true, Serve: func(s Scene) {
			if s.Request.Stream || s.Request.TopLogProbs > 0 {
				s.Good(nil)
				return
			}
			a := s.server.answer(s.Request)
			writeJSON(s.W, map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": a.end(), "message": map[string]any{"content": a.Text}}}})
		}},
		{ID: "C12", Name: "429 with Retry-After", Want: Fails, Once: true, Serve: func(s Scene) {
			s.W.Header().Set("Retry-After", "1")
			s.Status(429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
		}},
		{ID: "C12", Name: "connection reset", Want: Fails, Once: true, Serve: func(s Scene) { s.Cut("") }},
		{ID: "C12", Name: "no answer", Want: Fails, Once: true, Serve: Scene.Hang, Waits: true},
		{ID: "C12", Name: "answer stands still", Want: Fails, Once: true, Serve: func(s Scene) {
			s.half()
			s.Hang()
		}, Waits: true},
		{ID: "C13", Name: "reasoning in a field of its own", Want: Answers, Once: true, Serve: good(func(a *Reply) { a.Reasoning = "Final answer: the wrong one" })},
		{ID: "C14", Name: "n is ignored", Want: Answers, Once: true, Serve: good(nil)},
		{ID: "C15", Name: "top_p must be sent", Want: Answers, Once: true, Serve: only(func(r Request) string {
			if _, ok := r.Body["top_p"].(float64); !ok {
				return "top_p is missing: it would be 1.0"
			}
			return ""
		})},
		{ID: "C16", Name: "the prompt is cut without a word", Want: Answers, Once: true, Serve: func(s Scene) {
			s.Request.Messages = []chat.Message{{Role: chat.User, Content: "cut"}}
			s.server.good(s.W, s.Request, s.server.answer(s.server.request(s.Request.Number)))
		}},
		{ID: "C17", Name: "error after the header: an empty chunk, then the end", Want: Fails, Once: true, Serve: func(s Scene) {
			e := events{s.W}
			e.head()
			e.delta(map[string]any{"content": ""}, nil)
		}},
		{ID: "C18", Name: "no log probabilities", Want: Either, Once: false, Serve: good(func(a *Reply) { a.Top = nil })},
		{ID: "C18", Name: "at most 20 alternatives", Want: Answers, Once: true, Serve: only(func(r Request) string {
			if r.TopLogProbs > 20 {
				return "top_logprobs must be between 0 and 20"
			}
			return ""
		})},
		{ID: "C19", Name: "all tokens spent on thinking", Want: Fails, Once: false, Serve: func(s Scene) {
			s.Good(func(a *Reply) { a.Text, a.Reasoning, a.Finish, a.Top = "", "hm, let me think", "length", nil })
		}},
		{ID: "C20", Name: "503 when more than two ask", Want: Either, Once: true, Serve: func(s Scene) {
			if s.Active > 2 {
				s.Status(503, `{"error":"server busy, please try again. maximum pending requests exceeded"}`)
				return
			}
			s.Good(nil)
		}},
		{ID: "C21", Name: "only one choice is allowed", Want: Answers, Once: true, Serve: only(func(r Request) string {
			if n, ok := r.Body["n"].(float64); ok && n != 1 {
				return "Only one completion choice is allowed"
			}
			return ""
		})},
		{ID: "C22", Name: "the same request, another answer", Want: Answers, Once: true, Serve: func(s Scene) {
			s.Good(func(a *Reply) {
				if a.Top == nil {
					a.Text = strings.Repeat("Well. ", s.Request.Number%5) + a.Text
				}
			})
		}},
		{ID: "C23", Name: "the wanted form is not kept", Want: Either, Once: true, Serve: good(func(a *Reply) {
			if strings.HasPrefix(strings.TrimSpace(a.Text), "{") {
				a.Text = "Sure! Here is what you asked for."
			}
		})},
		{ID: "C24", Name: "still loading", Want: Fails, Once: true, Serve: status(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)},
		{ID: "C24", Name: "context exceeded", Want: Fails, Once: false, Serve: status(400, `{"error":{"message":"the request exceeds the available context size (2048)","type":"exceed_context_size_error"}}`)},
		{ID: "C25", Name: "log probabilities without alternatives", Want: Either, Once: true, Serve: func(s Scene) {
			a := s.server.answer(s.Request)
			if s.Request.TopLogProbs == 0 || len(a.Top) == 0 {
				s.Good(nil)
				return
			}
			writeJSON(s.W, map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": "length", "message": map[string]any{"content": a.Top[0].Text},
				"logprobs": map[string]any{"content": []any{map[string]any{"token": a.Top[0].Text, "logprob": a.Top[0].LogProb, "top_logprobs": []any{}}}}}}})
		}},
	}
}

func (s *Server) request(number int) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[number]
}
