package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

// talk gathers one reply, whole or piece by piece.
type talk struct {
	emit    func(string) error
	emitted int // bytes of the visible text that were handed on

	some      bool // a choice was there
	done      bool // "[DONE]" was there
	raw       string
	reasoning string
	finish    string
	usage     *usage
	probs     []chat.Token
}

// talkWire is the tolerant form of an answer or of one event.
type talkWire struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int             `json:"index"`
		Text         json.RawMessage `json:"text"`
		Message      *talkMessage    `json:"message"`
		Delta        *talkMessage    `json:"delta"`
		FinishReason json.RawMessage `json:"finish_reason"`
		LogProbs     json.RawMessage `json:"logprobs"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     float64 `json:"prompt_tokens"`
		CompletionTokens float64 `json:"completion_tokens"`
	} `json:"usage"`
}

type talkMessage struct {
	Content          json.RawMessage `json:"content"`
	Reasoning        json.RawMessage `json:"reasoning"`         // Ollama, newer vLLM
	ReasoningContent json.RawMessage `json:"reasoning_content"` // older vLLM, llama.cpp
	Refusal          json.RawMessage `json:"refusal"`
}

// read takes an answer of status 200: one JSON object, or events as they come.
// The second error is one of the connection, or of the caller's Emit.
func (t *talk) read(res *http.Response, alive func()) (*llm.Error, error) {
	br := bufio.NewReaderSize(res.Body, 32<<10)
	ct := res.Header.Get("Content-Type")
	if strings.HasPrefix(ct, "text/event-stream") {
		return t.events(br, alive)
	}
	// Some servers send events under another name; their first byte tells.
	first, err := peek(br)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if first == 'd' || first == ':' || first == 'e' {
		return t.events(br, alive)
	}
	body, err := readAll(br, alive)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return &llm.Error{Code: llm.CodeTruncated, Message: "the answer is empty", Retryable: true}, nil
	}
	var w talkWire
	if err := json.Unmarshal(body, &w); err != nil {
		code := llm.CodeNotJSON
		if body[0] == '{' {
			code = llm.CodeTruncated
		}
		return &llm.Error{Code: code, Retryable: code == llm.CodeTruncated, Err: err,
			Message: fmt.Sprintf("expected JSON, got %s beginning %s (does the base URL end in /v1?)", orNone(ct), head(body))}, nil
	}
	if e := insideError(w.Error); e != nil {
		return e, nil
	}
	if len(w.Choices) == 0 {
		return &llm.Error{Code: llm.CodeNoChoices, Message: "the answer has no choices: " + head(body), Retryable: true}, nil
	}
	return nil, t.add(w)
}

// peek is the first byte that isn't space, 0 at the end.
func peek(br *bufio.Reader) (byte, error) {
	for {
		b, err := br.Peek(1)
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsAny(b, " \t\r\n") {
			return b[0], nil
		}
		_, _ = br.Discard(1)
	}
}

// events reads server-sent events until "[DONE]" or the end. Comments, pings and
// events without choices may come in any number; a last line needs no newline.
func (t *talk) events(br *bufio.Reader, alive func()) (*llm.Error, error) {
	size := 0
	for {
		line, err := br.ReadString('\n')
		alive()
		if size += len(line); size > maxBody {
			return &llm.Error{Code: llm.CodeTruncated, Message: fmt.Sprintf("the stream is larger than %d MiB", maxBody>>20)}, nil
		}
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return nil, err
		}
		data, ok := eventData(line)
		if ok && data == "[DONE]" {
			t.done = true
			return nil, nil
		}
		if ok && data != "" {
			var w talkWire
			if err := json.Unmarshal([]byte(data), &w); err != nil {
				return &llm.Error{Code: llm.CodeTruncated, Message: "unreadable event " + head([]byte(data)), Retryable: true, Err: err}, nil
			}
			if e := insideError(w.Error); e != nil {
				return e, nil
			}
			if err := t.add(w); err != nil {
				return nil, err
			}
		}
		if end {
			return nil, nil
		}
	}
}

// eventData is the payload of a line. Two more forms than the standard's are in
// use for reports of errors: "error: {…}" (llama.cpp) and a bare object.
func eventData(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if s, ok := strings.CutPrefix(line, "data:"); ok {
		return strings.TrimSpace(s), true
	}
	if s, ok := strings.CutPrefix(line, "error:"); ok {
		return `{"error":` + strings.TrimSpace(s) + `}`, true
	}
	return line, strings.HasPrefix(line, "{")
}

// errEmit marks an error of the caller's own function.
type errEmit struct{ error }

func (e errEmit) Unwrap() error { return e.error }

func (t *talk) add(w talkWire) error {
	if w.Usage != nil {
		t.usage = &usage{PromptTokens: int(w.Usage.PromptTokens), CompletionTokens: int(w.Usage.CompletionTokens)}
	}
	for i, c := range w.Choices {
		if c.Index != 0 && !(i == 0 && len(w.Choices) == 1 && !t.some) {
			continue // only one reply was asked for
		}
		t.some = true
		t.raw += text(c.Text)
		for _, m := range []*talkMessage{c.Message, c.Delta} {
			if m == nil {
				continue
			}
			t.raw += text(m.Content)
			if r := text(m.Reasoning); r != "" {
				t.reasoning += r
			} else {
				t.reasoning += text(m.ReasoningContent)
			}
			if text(m.Refusal) != "" && t.finish == "" {
				t.finish = "refusal"
			}
		}
		if f := text(c.FinishReason); f != "" {
			t.finish = f
		}
		t.probs = append(t.probs, logProbs(c.LogProbs)...)
	}
	if t.emit == nil {
		return nil
	}
	shown := chat.Visible(t.raw)
	return t.hand(shown)
}

// hand emits what of the visible text is new.
func (t *talk) hand(shown string) error {
	if len(shown) <= t.emitted {
		return nil
	}
	piece := shown[t.emitted:]
	t.emitted = len(shown)
	if err := t.emit(piece); err != nil {
		return errEmit{err}
	}
	return nil
}

// judge decides whether the gathered reply may count as one.
func (t *talk) judge(r chat.Request) *llm.Error {
	if !t.some {
		return &llm.Error{Code: llm.CodeTruncated, Message: "the stream ended without any text", Retryable: true}
	}
	if t.finish == "" && t.done {
		t.finish = chat.FinishStop // the server said that all is done
	}
	visible, thought := chat.SplitThinking(t.raw)
	switch t.finish {
	case "stop", "eos", "end_turn", "length", "max_tokens":
	case "":
		return &llm.Error{Code: llm.CodeTruncated, Message: fmt.Sprintf("no finish_reason: the answer was cut off after %d bytes", len(t.raw)), Retryable: true}
	default:
		return &llm.Error{Code: llm.CodeFinish, Message: fmt.Sprintf("the answer ended by %q", t.finish)}
	}
	if strings.TrimSpace(visible) == "" && !(r.TopLogProbs > 0 && len(t.probs) > 0) {
		// A model that spent all tokens on thinking would do so again.
		spent := thought+t.reasoning != "" && t.finish != "stop"
		return &llm.Error{Code: llm.CodeEmpty, Retryable: !spent,
			Message: "an answer without text; a thinking model may need a larger token limit or \"reasoning_effort\": \"none\""}
	}
	if t.emit != nil {
		if err := t.hand(visible); err != nil {
			return &llm.Error{Code: "emit", Err: err}
		}
	}
	return nil
}

func (t *talk) reply() chat.Reply {
	visible, thought := chat.SplitThinking(t.raw)
	a := chat.Reply{Text: visible, Reasoning: strings.TrimSpace(t.reasoning + thought), LogProbs: t.probs, Finish: chat.FinishStop}
	if t.finish == "length" || t.finish == "max_tokens" || t.finish == "" {
		a.Finish = chat.FinishLength
	}
	if t.raw+t.reasoning != "" {
		a.Tokens = max(1, estimate(t.raw)+estimate(t.reasoning))
	}
	if t.usage != nil && t.usage.CompletionTokens > 0 {
		a.Tokens = t.usage.CompletionTokens
	}
	return a
}

// logProbs reads both shapes in use: a list "content" of tokens with their
// alternatives (chat), and parallel lists (completions, some vLLM versions). A
// token without alternatives has itself as the only one.
func logProbs(raw json.RawMessage) []chat.Token {
	type entry struct {
		Token   string   `json:"token"`
		LogProb *float64 `json:"logprob"`
	}
	var w struct {
		Content []struct {
			entry
			Top []entry `json:"top_logprobs"`
		} `json:"content"`
		Tokens   []string             `json:"tokens"`
		LogProbs []*float64           `json:"token_logprobs"`
		Top      []map[string]float64 `json:"top_logprobs"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &w) != nil {
		return nil
	}
	var out []chat.Token
	add := func(text string, p *float64, top []chat.Token) {
		t := chat.Token{Text: text, LogProb: math.NaN(), Top: top}
		if p != nil {
			t.LogProb = *p
			if len(top) == 0 {
				t.Top = []chat.Token{{Text: text, LogProb: *p}}
			}
		}
		slices.SortStableFunc(t.Top, func(a, b chat.Token) int {
			switch {
			case a.LogProb > b.LogProb:
				return -1
			case a.LogProb < b.LogProb:
				return 1
			}
			return strings.Compare(a.Text, b.Text)
		})
		out = append(out, t)
	}
	for _, c := range w.Content {
		var top []chat.Token
		for _, e := range c.Top {
			if e.LogProb != nil {
				top = append(top, chat.Token{Text: e.Token, LogProb: *e.LogProb})
			}
		}
		add(c.Token, c.LogProb, top)
	}
	for i, s := range w.Tokens {
		var p *float64
		if i < len(w.LogProbs) {
			p = w.LogProbs[i]
		}
		var top []chat.Token
		if i < len(w.Top) {
			for s, v := range w.Top[i] {
				top = append(top, chat.Token{Text: s, LogProb: v})
			}
		}
		add(s, p, top)
	}
	return out
}
