package openai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

// tokensPerPair is the default limit of a continuation, as for other backends.
const tokensPerPair = 64

type session struct {
	m    *Model
	text string
}

func (s *session) Append(ctx context.Context, text string) (llm.Usage, error) {
	if err := ctx.Err(); err != nil {
		return llm.Usage{}, err
	}
	if c := s.m.o.Context; c > 0 {
		// The server's own tokens are unknown here: the estimate errs on either side,
		// and its refusal (which matches ErrContext too) stays the last word.
		if n := estimate(s.text) + estimate(text); n > c {
			return llm.Usage{}, fmt.Errorf("openai: about %d tokens, %s takes %d: %w", n, s.m.o.Model, c, llm.ErrContext)
		}
	}
	s.text += text
	return llm.Usage{}, nil // paid when it is sent
}

func (s *session) Fork(context.Context) (llm.Session, error) { c := *s; return &c, nil }
func (s *session) Text() string                              { return s.text }
func (s *session) Len() int                                  { return 0 }
func (s *session) Close() error                              { return nil }

// fields are the body settings that are always explicit.
func (m *Model) fields(r llm.Request, seed *int64) map[string]any {
	f := map[string]any{}
	maps.Copy(f, m.o.Extra)
	topP := r.TopP
	if topP <= 0 {
		topP = 1
	}
	f["model"] = m.o.Model
	f["temperature"] = r.Temperature
	f["top_p"] = topP
	f["n"] = 1
	f["max_tokens"] = r.MaxTokens
	f["stream"] = m.o.Stream
	if m.o.Stream {
		f["stream_options"] = map[string]bool{"include_usage": true}
	}
	if s := m.o.stopsFor(r); len(s) > 0 {
		f["stop"] = s
	}
	if seed != nil {
		f["seed"] = *seed
	}
	if m.o.Repeatable {
		f["cache_prompt"] = false // llama.cpp: another batch split gives other last bits
	}
	return f
}

// send makes one request through go-openai; the answer is left in the context's
// call. go-openai is told a neutral model name, since it refuses settings for
// some; the guard writes the real one.
func (m *Model) send(ctx context.Context, prompt, user string) error {
	const neutral = "model"
	var err error
	if m.o.Mode == Completion {
		_, err = m.client.CreateCompletion(ctx, goopenai.CompletionRequest{Model: neutral, Prompt: prompt})
	} else {
		_, err = m.client.CreateChatCompletion(ctx, goopenai.ChatCompletionRequest{Model: neutral, Messages: []goopenai.ChatCompletionMessage{
			{Role: goopenai.ChatMessageRoleSystem, Content: m.o.System},
			{Role: goopenai.ChatMessageRoleUser, Content: user},
		}})
	}
	var e *llm.Error
	if err != nil && !errors.As(err, &e) {
		c, _ := ctx.Value(callKey{}).(*call)
		return &llm.Error{Op: c.op, URL: m.url, Code: llm.CodeNotJSON, Err: err}
	}
	return err
}

// Sample draws continuations. Where the server gives several a call they come
// from one; what is missing is fetched one by one, with seeds drawn from (Seed,
// i). The texts are cut by the rule of the request, whatever the server sent.
// LogProb and Nothing are unknown. FinishStop also stands for a model that ended
// by itself before the rule was met.
func (s *session) Sample(ctx context.Context, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.m.o.Total, errTotal)
	defer cancel()
	r.N = max(r.N, 1)
	if r.MaxTokens <= 0 {
		r.MaxTokens = tokensPerPair
		if r.Until == llm.UntilPairs {
			r.MaxTokens *= max(r.Pairs, 1)
		}
	}
	can, err := s.m.Abilities(ctx)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	g := &gather{s: s, r: r, can: can, out: make([]*llm.Completion, r.N)}
	g.u.Requested = r.N
	if r.N > 1 && can.N && !s.m.o.Repeatable {
		err = g.fetch(ctx, -1)
		if refused(err) && ctx.Err() == nil { // it took n when it was probed: another server by now, or another rule
			s.m.single()
			err = nil
		}
	}
	if err == nil {
		err = g.rest(ctx)
	}
	if err != nil {
		return nil, g.u, err
	}
	out := make([]llm.Completion, r.N)
	for i, c := range g.out {
		out[i] = *c
	}
	g.u.Received = len(out)
	return out, g.u, nil
}

var errTotal = errors.New("the total time limit of a request is over")

// gather collects the continuations of one Sample.
type gather struct {
	s   *session
	r   llm.Request
	can Abilities

	mu  sync.Mutex
	out []*llm.Completion
	u   llm.Usage
}

// rest fetches what is missing, side by side.
func (g *gather) rest(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(g.out))
	var wg sync.WaitGroup
	for i, c := range g.out {
		if c != nil {
			continue
		}
		wg.Go(func() {
			if errs[i] = g.fetch(llm.InUnit(ctx, fmt.Sprint(i)), i); errs[i] != nil {
				cancel() // the others can't save the request
			}
		})
	}
	wg.Wait()
	var first error
	for _, err := range errs { // prefer the cause to the cancellations it brought about
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return first
}

// fetch makes one call: all continuations for i < 0, else continuation i.
func (g *gather) fetch(ctx context.Context, i int) error {
	m, n := g.s.m, 1
	path := []any{"candidate", i}
	if i < 0 {
		n, path = g.r.N, []any{"candidates"}
	}
	var seed *int64
	if g.can.Seed {
		x := int64(rng.Seed(g.r.Seed, path...) & math.MaxInt32) // the range that all servers take
		seed = &x
	}
	c := &call{op: "chat", firstByte: m.o.FirstByte, body: m.fields(g.r, seed)}
	if m.o.Mode == Completion {
		c.op = "completion"
	}
	c.body["n"] = n
	user := g.s.text + "\n\n" + instruction(g.r, g.s.text)
	text := prompt(g.s.text, g.r)

	var got []llm.Completion
	empties := 0
	retries, err := m.withRetries(ctx, c, func(ctx context.Context) error {
		select {
		case m.slots <- struct{}{}:
			defer func() { <-m.slots }()
		case <-ctx.Done():
			return &llm.Error{Op: c.op, URL: m.url, Code: llm.CodeTimeout, Message: "waiting for a free slot", Err: context.Cause(ctx)}
		}
		if err := m.send(ctx, text, user); err != nil {
			return err
		}
		var err error
		got, err = g.take(c.answer, n)
		if err != nil {
			e := err.(*llm.Error)
			e.Op, e.URL, e.Status = c.op, m.url, 200
			if e.Code == llm.CodeEmpty && seed != nil { // the same seed would give the same
				empties++
				c.body["seed"] = int64(rng.Seed(uint64(*seed), "again", empties) & math.MaxInt32)
			}
		}
		return err
	})

	g.mu.Lock()
	defer g.mu.Unlock()
	g.u.Calls += retries + 1
	g.u.Retries += retries
	if err != nil {
		return err
	}
	sent := text
	if m.o.Mode == Chat {
		sent = m.o.System + user
	}
	g.account(c.answer, got, sent)
	if i >= 0 {
		g.out[i] = &got[0]
		return nil
	}
	for k := range got[:min(len(got), len(g.out))] {
		g.out[k] = &got[k]
	}
	return nil
}

// take turns choices into continuations. A choice that wasn't ended is an error;
// an empty one is left out (and fetched again) unless it is the only one.
func (g *gather) take(a answer, n int) ([]llm.Completion, error) {
	var out []llm.Completion
	empty := 0
	for _, c := range a.Choices {
		raw := c.Text
		if g.s.m.o.Mode == Chat {
			raw = c.Message.Content
		}
		switch c.FinishReason {
		case "stop", "length", "eos", "end_turn", "max_tokens":
		case "":
			return nil, &llm.Error{Code: llm.CodeTruncated, Message: fmt.Sprintf("choice %d has no finish_reason: the answer was cut off after %d bytes", c.Index, len(raw)), Retryable: true}
		default:
			return nil, &llm.Error{Code: llm.CodeFinish, Message: fmt.Sprintf("choice %d ended by %q", c.Index, c.FinishReason)}
		}
		if strings.TrimSpace(raw) == "" || strings.TrimSpace(tidy(raw, g.s.text, g.r)) == "" {
			empty++
			continue
		}
		out = append(out, g.completion(raw, c.FinishReason))
	}
	if len(out) == 0 {
		return nil, &llm.Error{Code: llm.CodeEmpty, Retryable: true,
			Message: fmt.Sprintf("%d of %d choices, all without text; a thinking model may need a larger token limit or \"reasoning_effort\": \"none\"", empty, n)}
	}
	return out, nil
}

func (g *gather) completion(raw, reason string) llm.Completion {
	k := cut(tidy(raw, g.s.text, g.r), g.s.text, g.r)
	if k.Foreign {
		g.s.m.cuts.Add(1)
	}
	c := llm.Completion{Text: k.Text, Finish: k.Finish, Foreign: k.Foreign, Tokens: max(1, estimate(raw)), LogProb: math.NaN()}
	if c.Finish == "" {
		c.Finish = llm.FinishStop
		if reason == "length" || reason == "max_tokens" {
			c.Finish = llm.FinishLength
		}
	}
	return c
}

// account adds the cost of a call; missing counts are estimated and marked.
func (g *gather) account(a answer, got []llm.Completion, sent string) {
	about := estimate(sent)
	if a.Usage == nil || a.Usage.PromptTokens <= 0 || a.Usage.CompletionTokens <= 0 {
		g.u.Estimated = true
		g.u.PromptTokens += about
		for _, c := range got {
			g.u.CompletionTokens += c.Tokens
		}
		return
	}
	g.u.PromptTokens += a.Usage.PromptTokens
	g.u.CompletionTokens += a.Usage.CompletionTokens
	if len(got) == 1 && len(a.Choices) == 1 {
		got[0].Tokens = a.Usage.CompletionTokens
	}
	if a.Usage.PromptTokens < about/3 && about > 600 {
		g.s.m.warn("cut", fmt.Sprintf("%s at %s counted %d prompt tokens where about %d were sent: its context is probably smaller and the prompt was cut (Ollama: set OLLAMA_CONTEXT_LENGTH)",
			g.s.m.o.Model, g.s.m.url, a.Usage.PromptTokens, about))
	}
}

// Cuts is the number of answers that went on with lines which only the
// environment may write; these were dropped.
func (m *Model) Cuts() int { return int(m.cuts.Load()) }
