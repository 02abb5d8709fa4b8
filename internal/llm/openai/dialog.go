package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
)

// defaultReply is the token limit of a reply where the request names none.
const defaultReply = 1024

// Dialog is a served model as a [chat.Model]: messages in, one reply out, streamed
// where the caller wants pieces. It shares limits, retries and error forms with
// [Model]; each reply is a call of its own, so servers that ignore or refuse n
// make no difference. Safe for concurrent use.
type Dialog struct {
	m        *Model
	identity string
	seedless atomic.Bool // the server refused the field
	formless atomic.Bool // it refused a schema

	mu     sync.Mutex
	probed map[chat.Ability]error
	prefix map[string]any // what makes this server continue a prefix
}

// NewDialog checks the options; nothing is sent. Mode, System, Stops and Stream
// are not used: the endpoint is /chat/completions and requests decide the rest.
func NewDialog(o Options) (*Dialog, error) {
	o.Mode = Chat
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Dialog{m: m, identity: m.o.Model + " at " + address(m.o.BaseURL), probed: map[chat.Ability]error{}}, nil
}

// address is the part of a base URL that says where a model lives; spellings of
// one place give one address.
func address(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return llm.CleanURL(base)
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch host {
	case "localhost", "::1", "0.0.0.0":
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return host + ":" + port
}

// Identity is "model at host:port".
func (d *Dialog) Identity() string { return d.identity }

// Close ends idle connections.
func (d *Dialog) Close() error { return d.m.Close() }

// Ask sends one request, repeated while that may help and nothing was emitted.
func (d *Dialog) Ask(ctx context.Context, r chat.Request) (chat.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.m.o.Total, errTotal)
	defer cancel()
	var extra map[string]any
	if r.Prefix != "" {
		if err := d.Probe(ctx, chat.Prefix); err != nil {
			return chat.Reply{}, err
		}
		extra = d.prefix
	}
	return d.ask(ctx, r, extra)
}

func (d *Dialog) ask(ctx context.Context, r chat.Request, extra map[string]any) (chat.Reply, error) {
	c := &call{op: "chat", firstByte: d.m.o.FirstByte, body: d.fields(r, extra)}
	var (
		got     talk
		empties int
	)
	try := func(ctx context.Context) error {
		got = talk{emit: r.Emit}
		e := d.once(ctx, c, &got)
		if e == nil {
			if e = got.judge(r); e == nil {
				return nil
			}
			e.Status = http.StatusOK
		}
		e.Op, e.URL = c.op, d.m.url+"/chat/completions"
		if key := os.Getenv(d.m.o.KeyEnv); key != "" {
			e.Message = strings.ReplaceAll(e.Message, key, "(key)")
		}
		if got.emitted > 0 {
			e.Retryable = false
		}
		if s, ok := c.body["seed"].(int64); ok && e.Code == llm.CodeEmpty { // the same seed would give the same
			empties++
			c.body["seed"] = int64(rng.Seed(uint64(s), "again", empties) & math.MaxInt32)
		}
		return e
	}
	retries, err := d.m.withRetries(ctx, c, try)
	var e *llm.Error
	if errors.As(err, &e) && (e.Status == 400 || e.Status == 422) && c.body["seed"] != nil && strings.Contains(strings.ToLower(e.Message), "seed") {
		d.seedless.Store(true)
		delete(c.body, "seed")
		var more int
		more, err = d.m.withRetries(ctx, c, try)
		retries += more + 1
	}
	if refused(err) && e.Code != llm.CodeEmpty && c.body["response_format"] != nil && ctx.Err() == nil {
		d.formless.Store(true)
		d.m.warn("schema", fmt.Sprintf("%s refuses a schema for its answers (%s): they are asked for in words only", d.identity, e.Message))
		delete(c.body, "response_format")
		var more int
		more, err = d.m.withRetries(ctx, c, try)
		retries += more + 1
	}
	reply := got.reply()
	reply.Usage = d.usage(&got, r, reply)
	reply.Usage.Calls, reply.Usage.Retries, reply.Usage.Requested = retries+1, retries, 1
	if err == nil {
		reply.Usage.Received = 1
	}
	return reply, err
}

// fields is the request body: sampling settings are always explicit, since servers
// put other values in place of missing ones.
func (d *Dialog) fields(r chat.Request, extra map[string]any) map[string]any {
	f := map[string]any{}
	maps.Copy(f, d.m.o.Extra)
	maps.Copy(f, extra)
	msgs := make([]chat.Message, 0, len(r.Messages)+1)
	for _, m := range r.Messages {
		if m.Content == "" {
			m.Content = " "
		}
		msgs = append(msgs, m)
	}
	if r.Prefix != "" {
		msgs = append(msgs, chat.Message{Role: chat.Assistant, Content: r.Prefix})
	}
	f["model"], f["messages"] = d.m.o.Model, msgs
	f["temperature"], f["top_p"] = r.Temperature, r.TopP
	if r.TopP <= 0 {
		f["top_p"] = 1
	}
	f["max_tokens"] = r.MaxTokens
	if r.MaxTokens <= 0 {
		f["max_tokens"] = defaultReply
	}
	if len(r.Stop) > 0 {
		f["stop"] = r.Stop[:min(len(r.Stop), maxStops)]
	}
	if r.TopLogProbs > 0 {
		f["logprobs"], f["top_logprobs"] = true, min(r.TopLogProbs, 20)
	}
	f["stream"] = r.Emit != nil
	if r.Emit != nil {
		f["stream_options"] = map[string]bool{"include_usage": true}
	}
	if !d.seedless.Load() {
		f["seed"] = int64(rng.Seed(r.Seed, "chat") & math.MaxInt32)
	}
	if len(r.Schema) > 0 && !d.formless.Load() {
		f["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "reply", "strict": true, "schema": r.Schema}}
	}
	if d.m.o.Repeatable {
		f["cache_prompt"] = false
	}
	return f
}

// once makes one HTTP request and reads its answer into t.
func (d *Dialog) once(ctx context.Context, c *call, t *talk) *llm.Error {
	select {
	case d.m.slots <- struct{}{}:
		defer func() { <-d.m.slots }()
	case <-ctx.Done():
		return &llm.Error{Code: llm.CodeTimeout, Message: "waiting for a free slot", Err: context.Cause(ctx)}
	}
	raw, err := json.Marshal(c.body)
	if err != nil {
		return &llm.Error{Code: "request", Err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(c.firstByte, func() { cancel(errFirstByte) })
	defer clock.Stop()
	req, err := http.NewRequestWithContext(inner, http.MethodPost, strings.TrimSuffix(d.m.o.BaseURL, "/")+"/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return &llm.Error{Code: "request", Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if key := os.Getenv(d.m.o.KeyEnv); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := d.m.guard.client.Do(req)
	if err != nil {
		e := transportError(inner, ctx, err, "connecting")
		return &e
	}
	defer res.Body.Close()
	clock.Stop()
	idle := time.AfterFunc(d.m.o.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	alive := func() { idle.Reset(d.m.o.Idle) }
	broken := func(err error) *llm.Error {
		var own errEmit
		if errors.As(err, &own) {
			return &llm.Error{Code: "emit", Message: "handing on the answer", Err: own.error}
		}
		e := transportError(inner, ctx, err, "reading the answer")
		if e.Code == llm.CodeConnect {
			e.Code, e.Status = llm.CodeTruncated, res.StatusCode
		}
		return &e
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		body, err := readAll(res.Body, alive)
		if err != nil && ctx.Err() != nil {
			return broken(err)
		}
		c.wait = retryAfter(res.Header.Get("Retry-After"), d.m.o.Now())
		e := statusError(res, body)
		return &e
	}
	e, err := t.read(res, alive)
	if err != nil {
		return broken(err)
	}
	if e != nil {
		e.Status = res.StatusCode
	}
	return e
}

// usage is the server's count, or an estimate that says so.
func (d *Dialog) usage(t *talk, r chat.Request, reply chat.Reply) llm.Usage {
	about := estimate(r.Prefix)
	for _, m := range r.Messages {
		about += estimate(m.Content) + 4
	}
	if t.usage == nil || t.usage.PromptTokens <= 0 {
		return llm.Usage{PromptTokens: about, CompletionTokens: reply.Tokens, Estimated: true}
	}
	if t.usage.PromptTokens < about/3 && about > 600 {
		d.m.warn("cut", fmt.Sprintf("%s counted %d prompt tokens where about %d were sent: its context is probably smaller and the prompt was cut (Ollama: set OLLAMA_CONTEXT_LENGTH)",
			d.identity, t.usage.PromptTokens, about))
	}
	return llm.Usage{PromptTokens: t.usage.PromptTokens, CompletionTokens: t.usage.CompletionTokens}
}
