package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/muse-agent/muse/internal/llm"
)

// answer is what both endpoints return, reduced to what is used and in the one
// form that go-openai decodes without surprises.
type answer struct {
	Model   string   `json:"model,omitempty"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`

	logprobs bool // some choice carried log probabilities
}

type choice struct {
	Index        int     `json:"index"`
	Text         string  `json:"text"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// wire is the tolerant form of the same: everything may be missing, null or of
// another shape. Reasoning fields are not read: they never reach the parser.
type wire struct {
	Error   json.RawMessage `json:"error"`
	Model   json.RawMessage `json:"model"`
	Choices []wireChoice    `json:"choices"`
	Usage   *struct {
		PromptTokens     float64 `json:"prompt_tokens"`
		CompletionTokens float64 `json:"completion_tokens"`
	} `json:"usage"`
}

type wireChoice struct {
	Index        int             `json:"index"`
	Text         json.RawMessage `json:"text"`
	Message      *wireMessage    `json:"message"`
	Delta        *wireMessage    `json:"delta"`
	FinishReason json.RawMessage `json:"finish_reason"`
	LogProbs     json.RawMessage `json:"logprobs"`
}

type wireMessage struct {
	Content json.RawMessage `json:"content"`
	Refusal json.RawMessage `json:"refusal"`
}

// decode reads a body of status 200: one JSON object or server-sent events.
// The error lacks operation, URL and status.
func decode(contentType string, body []byte) (answer, *llm.Error) {
	trimmed := bytes.TrimSpace(body)
	if strings.HasPrefix(contentType, "text/event-stream") || bytes.HasPrefix(trimmed, []byte("data:")) || bytes.HasPrefix(trimmed, []byte(":")) {
		return decodeEvents(trimmed)
	}
	if len(trimmed) == 0 {
		return answer{}, &llm.Error{Code: llm.CodeTruncated, Message: "the answer is empty", Retryable: true}
	}
	var w wire
	if err := json.Unmarshal(trimmed, &w); err != nil {
		code := llm.CodeNotJSON
		if trimmed[0] == '{' {
			code = llm.CodeTruncated
		}
		return answer{}, &llm.Error{Code: code, Retryable: code == llm.CodeTruncated, Err: err,
			Message: fmt.Sprintf("expected JSON, got %s beginning %s (does the base URL end in /v1?)", orNone(contentType), head(trimmed))}
	}
	if e := insideError(w.Error); e != nil {
		return answer{}, e
	}
	var a answer
	a.add(w)
	if len(a.Choices) == 0 {
		return answer{}, &llm.Error{Code: llm.CodeNoChoices, Message: "the answer has no choices: " + head(trimmed), Retryable: true}
	}
	return a, nil
}

// decodeEvents puts the pieces of a stream together. Comments, keep-alives and
// chunks without choices are fine, in any number.
func decodeEvents(body []byte) (answer, *llm.Error) {
	var (
		a    answer
		done bool
	)
	sc := bufio.NewScanner(bytes.NewReader(body))
	sc.Buffer(nil, maxBody)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		data, isData := strings.CutPrefix(line, "data:")
		data = strings.TrimSpace(data)
		if rest, ok := strings.CutPrefix(line, "error:"); ok { // llama.cpp's way
			isData, data = true, `{"error":`+strings.TrimSpace(rest)+`}`
		} else if strings.HasPrefix(line, "{") { // a bare object between events is an error report
			isData, data = true, line
		}
		if !isData || data == "" {
			continue
		}
		if data == "[DONE]" {
			done = true
			break
		}
		var w wire
		if err := json.Unmarshal([]byte(data), &w); err != nil {
			return a, &llm.Error{Code: llm.CodeTruncated, Message: "unreadable event " + head([]byte(data)), Retryable: true, Err: err}
		}
		if e := insideError(w.Error); e != nil {
			return a, e
		}
		a.add(w)
	}
	if len(a.Choices) == 0 {
		return a, &llm.Error{Code: llm.CodeTruncated, Message: "the stream ended without any text: " + head(body), Retryable: true}
	}
	for i := range a.Choices {
		if a.Choices[i].FinishReason == "" && done {
			a.Choices[i].FinishReason = "stop" // the server said that all is done
		}
	}
	return a, nil
}

// add merges a chunk, or a whole answer, by choice index.
func (a *answer) add(w wire) {
	if s := text(w.Model); s != "" {
		a.Model = s
	}
	if w.Usage != nil {
		a.Usage = &usage{PromptTokens: int(w.Usage.PromptTokens), CompletionTokens: int(w.Usage.CompletionTokens),
			TotalTokens: int(w.Usage.PromptTokens + w.Usage.CompletionTokens)}
	}
	for _, c := range w.Choices {
		at := sort.Search(len(a.Choices), func(i int) bool { return a.Choices[i].Index >= c.Index })
		if at == len(a.Choices) || a.Choices[at].Index != c.Index {
			a.Choices = append(a.Choices, choice{})
			copy(a.Choices[at+1:], a.Choices[at:])
			a.Choices[at] = choice{Index: c.Index, Message: message{Role: "assistant"}}
		}
		d := &a.Choices[at]
		d.Text += text(c.Text)
		for _, m := range []*wireMessage{c.Message, c.Delta} {
			if m != nil {
				d.Message.Content += text(m.Content)
				if r := text(m.Refusal); r != "" && d.FinishReason == "" {
					d.FinishReason = "refusal"
				}
			}
		}
		if f := text(c.FinishReason); f != "" {
			d.FinishReason = f
		}
		if len(c.LogProbs) > 4 { // more than null or {}
			a.logprobs = true
		}
	}
}

// text reads a string, or a list of parts with texts; anything else is "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			if p.Type == "" || p.Type == "text" || p.Type == "output_text" {
				s += p.Text
			}
		}
	}
	return s
}

// insideError reads the "error" field of a body, nil where there is none.
func insideError(raw json.RawMessage) *llm.Error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	e := &llm.Error{}
	e.Code, e.Message = errorFields(raw)
	e.Retryable = transient(e.Code, e.Message)
	if isContext(e.Code, e.Message) {
		e.Err = llm.ErrContext
	}
	return e
}

// errorFields reads {"message","type","code"}, or a plain string.
func errorFields(raw json.RawMessage) (code, msg string) {
	var o struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &o) == nil {
		msg = text(o.Message)
		if code = text(o.Code); code == "" {
			if code = text(o.Type); code == "" && string(o.Code) != "null" {
				code = string(o.Code)
			}
		}
	}
	if msg == "" {
		if msg = text(raw); msg == "" {
			msg = head(raw)
		}
	}
	return code, msg
}

// statusError reads the error of a status other than 2xx, in any of the usual forms.
func statusError(res *http.Response, body []byte) llm.Error {
	e := llm.Error{Status: res.StatusCode}
	var o struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	_ = json.Unmarshal(body, &o)
	switch {
	case len(o.Error) > 0 && string(o.Error) != "null":
		e.Code, e.Message = errorFields(o.Error)
	case len(o.Message) > 0:
		e.Message = text(o.Message)
	case len(o.Detail) > 0:
		e.Message = head(o.Detail)
	default:
		e.Message = head(bytes.TrimSpace(body))
	}
	switch s := res.StatusCode; {
	case s >= 300 && s < 400:
		e.Message = "redirected to " + llm.CleanURL(res.Header.Get("Location")) + "; use that as base URL"
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Message += " (is the key's environment variable set?)"
	case s == http.StatusNotFound:
		e.Message += " (are base URL and model name right?)"
	}
	e.Retryable = res.StatusCode == 408 || res.StatusCode == 429 || res.StatusCode >= 500 && res.StatusCode != 501
	if isContext(e.Code, e.Message) {
		e.Err, e.Retryable = llm.ErrContext, false
	} else if e.Retryable {
		e.Err = llm.ErrUnavailable
	}
	return e
}

func transient(code, msg string) bool {
	s := strings.ToLower(code + " " + msg)
	for _, w := range []string{"overload", "server_error", "unavailable", "timeout", "timed out", "rate_limit", "rate limit", "busy", "loading", "500", "502", "503", "504", "429"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func isContext(code, msg string) bool {
	s := strings.ToLower(code + " " + msg)
	return strings.Contains(s, "context_length") || strings.Contains(s, "exceed_context") ||
		strings.Contains(s, "context") && (strings.Contains(s, "exceed") || strings.Contains(s, "maximum"))
}

// head quotes the beginning of a body for an error message.
func head(b []byte) string {
	const most = 200
	if len(b) > most {
		b = b[:most]
		for len(b) > 0 && !utf8.Valid(b[len(b)-1:]) && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	return fmt.Sprintf("%q", b)
}

func orNone(contentType string) string {
	if contentType == "" {
		return "no content type,"
	}
	return contentType
}
