// Package serve puts an OpenAI-compatible endpoint around anything that answers
// conversations: any client that can set a base URL can use it.
//
//	s, err := serve.New(engine, serve.Options{Model: "muse"})
//	err = s.Run(ctx)   // until ctx is done; then it drains
//
// Endpoints: POST /v1/chat/completions (streamed or not), GET /v1/models, GET
// /health, GET /metrics (Prometheus), and with Options.UI a page at / that shows
// what happens inside. It listens on the loopback interface unless told otherwise,
// and then only with a token.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
)

// Query is a conversation to be answered.
type Query struct {
	Messages  []chat.Message
	MaxTokens int    // 0 = the engine's own
	Seed      uint64 // 0 = the engine's own
	// Watch, when set, is told what happens, from one goroutine at a time; values are
	// marshalled as JSON.
	Watch func(kind string, v any)
}

// Problem is the last message, which must be the user's, and History what came before.
func (q Query) Problem() string { return q.Messages[len(q.Messages)-1].Content }

// History is what came before the problem.
func (q Query) History() []chat.Message { return q.Messages[:len(q.Messages)-1] }

// Answer of an engine.
type Answer struct {
	Text   string
	Finish string // chat.FinishStop or chat.FinishLength; "" = stop
	Usage  llm.Usage
	// Extension goes into the answer's field "muse": scores, the chosen path.
	Extension any
}

// Engine answers. Safe for concurrent use. A cancelled context ends it at once.
type Engine interface {
	Answer(ctx context.Context, q Query) (Answer, error)
}

// Options of a server. Zero values are the defaults named at each field.
type Options struct {
	Addr       string        // "127.0.0.1:8700"; another than a loopback address needs a Token
	Model      string        // the name that clients see, "muse"
	Token      string        // clients must send it as bearer token; "" = none
	Concurrent int           // conversations answered at a time, 8
	Queue      int           // conversations that may wait beyond these, 256
	MaxBody    int64         // bytes of a request, 4 MiB
	MaxChars   int           // characters of all messages, 200,000
	Timeout    time.Duration // of one conversation, waiting included, 10 min
	Grace      time.Duration // for conversations under way at the end, 30 s
	Beat       time.Duration // between signs of life in a stream, 10 s
	UI         bool
	About      map[string]any // shown by the page: names of models, mode
	Say        func(string)   // gets lines for people; nil = dropped
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	num := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Model == "" {
		o.Model = "muse"
	}
	num(&o.Concurrent, 8)
	num(&o.Queue, 256)
	num(&o.MaxChars, 200_000)
	if o.MaxBody <= 0 {
		o.MaxBody = 4 << 20
	}
	def(&o.Timeout, 10*time.Minute)
	def(&o.Grace, 30*time.Second)
	def(&o.Beat, 10*time.Second)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return o
}

// DefaultAddr is where a server listens.
const DefaultAddr = "127.0.0.1:8700"

// Server is an endpoint around an engine.
type Server struct {
	o     Options
	e     Engine
	ln    net.Listener
	slots chan struct{}
	seats chan struct{} // running and waiting
	m     metrics
}

// New checks the options and begins to listen, so that Addr is known.
func New(e Engine, o Options) (*Server, error) {
	o = o.withDefaults()
	if e == nil {
		return nil, errors.New("serve: no engine given")
	}
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("serve: address %q: want something like %s: %w", o.Addr, DefaultAddr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && o.Token == "" {
		return nil, fmt.Errorf("serve: address %s can be reached from other machines: set a token, or listen on 127.0.0.1", o.Addr)
	}
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &Server{o: o, e: e, ln: ln, slots: make(chan struct{}, o.Concurrent), seats: make(chan struct{}, o.Concurrent+o.Queue)}
	s.m.init()
	return s, nil
}

// URL is the base address, with the port that was chosen for ":0".
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Close ends a server that was not run.
func (s *Server) Close() error { return s.ln.Close() }

// Run serves until ctx is done. Then no new connection is taken, conversations under
// way go on for Options.Grace, and what is left is cancelled. It returns nil after a
// clean end, and an error when something had to be cut off.
func (s *Server) Run(ctx context.Context) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	h := &http.Server{Handler: s.Handler(), BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(s.ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.o.Say(fmt.Sprintf("ending: %d conversations under way may go on for %s", s.m.running.Load()+s.m.waiting.Load(), s.o.Grace))
	grace, done := context.WithTimeout(context.Background(), s.o.Grace)
	defer done()
	err := h.Shutdown(grace)
	<-failed
	if err != nil {
		cancel(errors.New("the server is shut down"))
		return errors.Join(fmt.Errorf("serve: conversations were cut off after %s of grace: %w", s.o.Grace, err), h.Close())
	}
	return nil
}

// Handler serves all endpoints; for tests and for servers of one's own.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.guarded(s.completions))
	mux.HandleFunc("GET /v1/models", s.guarded(s.models))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET /metrics", s.guarded(s.m.write))
	if s.o.UI {
		s.ui(mux)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "not_found", fmt.Sprintf("no %s %s here; the endpoint is POST /v1/chat/completions", r.Method, r.URL.Path))
	})
	return mux
}

// guarded checks the token and, where there is none, that the request was not made
// by some web page in the user's browser.
func (s *Server) guarded(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Token == "" {
			if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && o != "https://"+r.Host || !s.ownHost(r.Host) {
				fail(w, http.StatusForbidden, "forbidden", "requests of other web pages are refused; set a token to allow them")
				return
			}
			f(w, r)
			return
		}
		got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(s.o.Token))
		if subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "invalid_api_key", "the token is missing or wrong: send it as the API key")
			return
		}
		f(w, r)
	}
}

// ownHost refuses names that some page has pointed at this address.
func (s *Server) ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// enter waits for a free place. The second value ends it; nil means that the
// request was refused and answered.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (context.Context, func()) {
	select {
	case s.seats <- struct{}{}:
	default:
		s.m.refused.Add(1)
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusTooManyRequests, "overloaded", fmt.Sprintf("%d conversations are answered and %d wait already: try again later", s.o.Concurrent, s.o.Queue))
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.o.Timeout, fmt.Errorf("no answer within %s", s.o.Timeout))
	return ctx, func() { cancel(); <-s.seats }
}

// answer waits for its turn and runs the engine.
func (s *Server) answer(ctx context.Context, q Query) (a Answer, err error) {
	s.m.waiting.Add(1)
	select {
	case s.slots <- struct{}{}:
		s.m.waiting.Add(-1)
	case <-ctx.Done():
		s.m.waiting.Add(-1)
		return Answer{}, context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	s.m.running.Add(1)
	defer s.m.running.Add(-1)
	start := time.Now()
	defer func() {
		if p := recover(); p != nil { // one conversation must not end the others
			err = fmt.Errorf("serve: the engine failed: %v", p)
		}
		s.m.done(time.Since(start), a.Usage, err)
	}()
	a, err = s.e.Answer(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return a, err
}
