// Package openai talks to OpenAI-compatible servers (llama.cpp, vLLM, Ollama and
// hosted ones) through go-openai, behind a guard of our own.
//
//	m, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:8080/v1", Model: "llama-3-8b", Mode: openai.Completion})
//	s, err := m.Open(ctx, llm.RenderTask(goal, room))
//	c, usage, err := s.Sample(ctx, llm.Request{N: 5, Temperature: .5, Until: llm.UntilPairs, Pairs: 4})
//
// The guard sits below go-openai as its HTTP client. On the way out it writes
// the sampling settings explicitly (temperature 0 stays 0); on the way back it
// accepts an answer only when it is JSON, names an end and holds text, and turns
// everything else into one [llm.Error]. Requests are bounded in number, time and
// repetitions. See design notes at [Options] and in guard.go.
//
// A session is the text itself: it is sent again with every request. The key
// comes from an environment variable and appears in no error, log or record.
package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/muse-agent/muse/internal/llm"
)

// Mode chooses the endpoint.
type Mode int

const (
	Chat       Mode = iota // /chat/completions: system message, then the text with an instruction
	Completion             // /completions: the text as it stands, for base models
)

// Options of a served model. Zero values are the defaults named at each field.
type Options struct {
	BaseURL string // "http://127.0.0.1:8080/v1"; required
	Model   string // the server's name of it; required
	Mode    Mode
	// KeyEnv names the environment variable that holds the key; default
	// MUSE_API_KEY. An empty variable means no key.
	KeyEnv  string
	System  string // system message of chat mode; default describes the line format
	Context int    // tokens the server takes; 0 = unknown, then only the server refuses
	// Stops are texts at which the server shall end an action: openings of lines that
	// only the environment writes. At most four are sent. Default: ALFWorld's.
	// What slips through is cut here and counted.
	Stops []string
	// Repeatable asks for one continuation a call, each with a seed of its own, and
	// no prompt cache: equal requests then give equal texts where the server keeps
	// its promises (best effort; record HTTP for certainty).
	Repeatable bool
	Stream     bool           // answers by server-sent events, so that Idle watches generation
	Extra      map[string]any // further fields of the body, e.g. "reasoning_effort"
	Abilities  *Abilities     // known abilities: no probe is sent

	Connect   time.Duration // 10 s: to make a connection
	FirstByte time.Duration // 2 min: from request to answer header (without Stream: the whole generation)
	Warmup    time.Duration // 10 min: the same for the first call, which may load the model
	Idle      time.Duration // 60 s: between two pieces of an answer
	Total     time.Duration // 15 min: one Sample with all repetitions

	Retries     int           // repetitions of one call, default 4; negative = none
	MaxWait     time.Duration // 60 s: longest wait that a server may ask for
	Concurrency int           // calls at a time, default 2

	Transport http.RoundTripper                          // default: a new one with Connect and FirstByte
	Sleep     func(context.Context, time.Duration) error // for tests
	Now       func() time.Time                           // for tests; used for Retry-After dates only
	// Warn gets remarks for people, each kind once: a prompt that the server cut,
	// abilities that it lacks. Default: dropped.
	Warn func(string)
}

// DefaultKeyEnv names the variable of the key.
const DefaultKeyEnv = "MUSE_API_KEY"

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Connect, 10*time.Second)
	def(&o.FirstByte, 2*time.Minute)
	def(&o.Warmup, 10*time.Minute)
	def(&o.Idle, time.Minute)
	def(&o.Total, 15*time.Minute)
	def(&o.MaxWait, time.Minute)
	if o.KeyEnv == "" {
		o.KeyEnv = DefaultKeyEnv
	}
	if o.System == "" {
		o.System = defaultSystem
	}
	if o.Stops == nil {
		o.Stops = defaultStops
	}
	if o.Retries == 0 {
		o.Retries = 4
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 2
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Model is a served model. Safe for concurrent use.
type Model struct {
	o      Options
	url    string // clean, for errors and records
	client *goopenai.Client
	guard  *guard
	slots  chan struct{}

	probing sync.Mutex
	can     *Abilities

	cuts   atomic.Int64
	mu     sync.Mutex
	warned map[string]bool
}

// New checks the options; no request is sent before the first Sample.
func New(o Options) (*Model, error) {
	o = o.withDefaults()
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("openai: base URL %q: want something like http://127.0.0.1:8080/v1", llm.CleanURL(o.BaseURL))
	case o.Model == "":
		return nil, errors.New("openai: a model name is required (the server lists them at /models)")
	case o.Mode != Chat && o.Mode != Completion:
		return nil, fmt.Errorf("openai: unknown mode %d", o.Mode)
	}
	m := &Model{o: o, url: llm.CleanURL(o.BaseURL), slots: make(chan struct{}, o.Concurrency), warned: map[string]bool{}, can: o.Abilities}
	m.guard = newGuard(o)
	cfg := goopenai.DefaultConfig(os.Getenv(o.KeyEnv))
	cfg.BaseURL = o.BaseURL
	cfg.HTTPClient = m.guard
	m.client = goopenai.NewClientWithConfig(cfg)
	return m, nil
}

// Info identifies server and model; the hash is of URL, model name and mode.
func (m *Model) Info() llm.Info {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", m.url, m.o.Model, m.o.Mode))
	return llm.Info{Name: "openai/" + m.o.Model, Hash: hex.EncodeToString(h[:]), Caps: llm.Caps{Context: m.o.Context}}
}

// Close ends idle connections.
func (m *Model) Close() error { m.guard.close(); return nil }

// Open starts a session.
func (m *Model) Open(ctx context.Context, prompt string) (llm.Session, error) {
	s := &session{m: m}
	if _, err := s.Append(ctx, prompt); err != nil {
		return nil, err
	}
	return s, nil
}

// warn passes a remark on, once a kind.
func (m *Model) warn(kind, text string) {
	m.mu.Lock()
	seen := m.warned[kind]
	m.warned[kind] = true
	m.mu.Unlock()
	if !seen {
		m.o.Warn(text)
	}
}

// estimate is the number of tokens of a text where nobody counts: four bytes a token.
func estimate(s string) int { return (len(s) + 3) / 4 }
