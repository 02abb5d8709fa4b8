package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

// request is what clients send; fields that make no difference here are not read.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N                   *int              `json:"n"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Seed                *int64            `json:"seed"`
	Tools               []json.RawMessage `json:"tools"`
}

// errorBody is OpenAI's form of an error.
func errorBody(code, msg string) map[string]any {
	kind := "invalid_request_error"
	switch code {
	case "overloaded", "upstream", "timeout", "internal":
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": msg, "type": kind, "code": code, "param": nil}}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, code, msg string) {
	writeJSON(w, status, errorBody(code, msg))
}

// parse reads a request; a mistake is answered and gives false.
func (s *Server) parse(w http.ResponseWriter, r *http.Request) (request, Query, bool) {
	var req request
	bad := func(status int, format string, a ...any) (request, Query, bool) {
		s.m.bad.Add(1)
		fail(w, status, "bad_request", fmt.Sprintf(format, a...))
		return request{}, Query{}, false
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return bad(http.StatusUnsupportedMediaType, "content type is %q; send application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return bad(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", s.o.MaxBody)
		}
		return bad(http.StatusBadRequest, "reading the request: %v", err)
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return bad(http.StatusBadRequest, "the request is not readable: %v", err)
	}
	switch {
	case len(req.Messages) == 0:
		return bad(http.StatusBadRequest, "messages are missing")
	case req.N != nil && *req.N != 1:
		return bad(http.StatusBadRequest, "n is %d; one choice a request is given", *req.N)
	case len(req.Tools) > 0:
		return bad(http.StatusBadRequest, "tools are not supported")
	}
	q := Query{}
	chars := 0
	for i, m := range req.Messages {
		if m.Role == "developer" {
			m.Role = chat.System
		}
		if m.Role != chat.System && m.Role != chat.User && m.Role != chat.Assistant {
			return bad(http.StatusBadRequest, "messages[%d].role is %q; use system, user or assistant", i, m.Role)
		}
		text, ok := content(m.Content)
		if !ok {
			return bad(http.StatusBadRequest, "messages[%d].content must be text (a string, or parts of type text)", i)
		}
		chars += utf8.RuneCountInString(text)
		q.Messages = append(q.Messages, chat.Message{Role: m.Role, Content: text})
	}
	last := q.Messages[len(q.Messages)-1]
	switch {
	case last.Role != chat.User || strings.TrimSpace(last.Content) == "":
		return bad(http.StatusBadRequest, "the last message must be the user's, and not empty")
	case chars > s.o.MaxChars:
		return bad(http.StatusRequestEntityTooLarge, "the messages have %d characters; at most %d are taken", chars, s.o.MaxChars)
	}
	for _, n := range []*int{req.MaxTokens, req.MaxCompletionTokens} {
		if n != nil {
			if *n < 1 {
				return bad(http.StatusBadRequest, "max_tokens is %d; at least 1 is needed", *n)
			}
			q.MaxTokens = *n
		}
	}
	if req.Seed != nil {
		q.Seed = uint64(*req.Seed)
	}
	return req, q, true
}

// content is the text of a message: a string, or parts of type text.
func content(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", false
		}
		s += p.Text
	}
	return s, true
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, 200, map[string]any{"object": "list", "data": []any{map[string]any{"id": s.o.Model, "object": "model", "created": 0, "owned_by": "muse"}}})
}

var counter atomic.Int64

func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	req, q, ok := s.parse(w, r)
	if !ok {
		return
	}
	ctx, leave := s.enter(w, r)
	if leave == nil {
		return
	}
	defer leave()
	id := fmt.Sprintf("chatcmpl-muse-%d", counter.Add(1))
	now := time.Now().Unix()
	if req.Stream {
		s.stream(ctx, w, req, q, id, now)
		return
	}
	a, err := s.answer(ctx, q)
	if err != nil {
		status, code := classify(err)
		fail(w, status, code, err.Error())
		return
	}
	writeJSON(w, 200, map[string]any{
		"id": id, "object": "chat.completion", "created": now, "model": s.o.Model,
		"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": chat.Assistant, "content": a.Text}, "finish_reason": a.finish()}},
		"usage":   usage(a.Usage), "muse": a.Extension,
	})
}

func (a Answer) finish() string {
	if a.Finish == "" {
		return chat.FinishStop
	}
	return a.Finish
}

func usage(u llm.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.PromptTokens + u.CompletionTokens,
		"usage_estimated": u.Estimated}
}

// classify finds the status of an engine's error.
func classify(err error) (status int, code string) {
	switch {
	case errors.Is(err, llm.ErrContext):
		return http.StatusBadRequest, "context_length_exceeded"
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "timeout"
	case errors.Is(err, context.Canceled):
		return 499, "cancelled" // nobody reads it
	}
	return http.StatusBadGateway, "upstream"
}

// stream answers by events. The header goes out at once, so that clients see the
// request was taken; signs of life follow until there is text. An error after that
// is an event of its own, without "[DONE]": nobody takes the stream for whole.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, req request, q Query, id string, now int64) {
	e := newEvents(w)
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{"id": id, "object": "chat.completion.chunk", "created": now, "model": s.o.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	e.send(chunk(map[string]any{"role": chat.Assistant, "content": ""}, nil))
	a, err := s.alive(ctx, e, q)
	if err != nil {
		_, code := classify(err)
		e.send(errorBody(code, err.Error()))
		return
	}
	for _, p := range pieces(a.Text) {
		e.send(chunk(map[string]any{"content": p}, nil))
	}
	last := chunk(map[string]any{}, a.finish())
	last["muse"] = a.Extension
	e.send(last)
	if req.StreamOptions != nil && req.StreamOptions.IncludeUsage {
		u := chunk(nil, nil)
		u["choices"], u["usage"] = []any{}, usage(a.Usage)
		e.send(u)
	}
	e.line("data: [DONE]\n\n")
}

// alive runs the engine and sends comments while it works.
func (s *Server) alive(ctx context.Context, e *events, q Query) (Answer, error) {
	type result struct {
		a   Answer
		err error
	}
	out := make(chan result, 1)
	go func() {
		a, err := s.answer(ctx, q)
		out <- result{a, err}
	}()
	beat := time.NewTicker(s.o.Beat)
	defer beat.Stop()
	for {
		select {
		case r := <-out:
			return r.a, r.err
		case <-beat.C:
			e.line(": working\n\n")
		}
	}
}

// pieces cuts a text into parts of a few words; together they are the text.
func pieces(s string) []string {
	const words = 4
	var out []string
	for s != "" {
		n, at := 0, 0
		for at < len(s) && n < words {
			i := strings.IndexAny(s[at:], " \n")
			if i < 0 {
				at = len(s)
				break
			}
			at += i + 1
			n++
		}
		out = append(out, s[:at])
		s = s[at:]
	}
	return out
}
