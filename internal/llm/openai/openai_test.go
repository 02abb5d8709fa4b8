package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/record"
)

const prefix = "Your task is to: put a mug in shelf.\nYou are in a room."

// server answers by a function of the decoded body and the number of the request.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
}

func serve(t *testing.T, f func(n int, body map[string]any, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request body: %v", err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		n := len(s.bodies) - 1
		s.mu.Unlock()
		f(n, body, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) sent() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.bodies...)
}

// choices builds an answer; usage is left out for tokens < 0.
func choices(tokens int, finish string, texts ...string) string {
	var cs []any
	for i, x := range texts {
		cs = append(cs, map[string]any{"index": i, "finish_reason": finish, "text": x, "message": map[string]any{"role": "assistant", "content": x}})
	}
	m := map[string]any{"choices": cs, "created": 1.5}
	if tokens >= 0 {
		m["usage"] = map[string]any{"prompt_tokens": 10, "completion_tokens": tokens}
	}
	b, _ := json.Marshal(m)
	return string(b)
}

type pause struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (p *pause) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, d)
	return ctx.Err()
}

func model(t *testing.T, url string, change func(*Options)) (*Model, *pause) {
	t.Helper()
	p := &pause{}
	o := Options{BaseURL: url + "/v1", Model: "m", Abilities: &Abilities{N: true, Seed: true}, Sleep: p.sleep}
	if change != nil {
		change(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, p
}

func ask(t *testing.T, m *Model, r llm.Request) ([]llm.Completion, llm.Usage, error) {
	t.Helper()
	s, err := m.Open(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return s.Sample(t.Context(), r)
}

var action = llm.Request{N: 1, Until: llm.UntilAction, ForbidEnd: true, Seed: 1}

func TestSettingsAreExplicit(t *testing.T) {
	s := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, choices(3, "stop", "> look"))
	})
	for _, mode := range []Mode{Chat, Completion} {
		m, _ := model(t, s.URL, func(o *Options) {
			o.Mode, o.Model, o.Repeatable, o.Extra = mode, "o3-local", true, map[string]any{"reasoning_effort": "none"}
		})
		if _, _, err := ask(t, m, action); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range s.sent() {
		for k, want := range map[string]any{"temperature": 0., "top_p": 1., "n": 1., "max_tokens": 64., "model": "o3-local", "stream": false, "cache_prompt": false, "reasoning_effort": "none"} {
			if got, ok := b[k]; !ok || got != want {
				t.Errorf("%s is %v (present: %v), want %v", k, got, ok, want)
			}
		}
		if n, _ := b["stop"].([]any); len(n) != 4 {
			t.Errorf("stop is %v", b["stop"])
		}
	}
	if p := s.sent()[1]["prompt"]; p != prefix+"\n" {
		t.Errorf("prompt %q", p)
	}
}

func TestMissingChoicesAreFetched(t *testing.T) {
	s := serve(t, func(n int, b map[string]any, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			fmt.Fprint(w, choices(6, "stop", "> a", "> b")) // of five
			return
		}
		fmt.Fprint(w, choices(3, "stop", fmt.Sprintf("> seed %v", b["seed"])))
	})
	m, _ := model(t, s.URL, nil)
	r := action
	r.N = 5
	c, u, err := ask(t, m, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(c) != 5 || c[0].Text != "\n> a" || c[1].Text != "\n> b" || !math.IsNaN(c[0].LogProb) {
		t.Errorf("got %+v", c)
	}
	if u.Calls != 4 || u.Requested != 5 || u.Received != 5 || u.CompletionTokens != 15 || u.PromptTokens != 40 || u.Estimated {
		t.Errorf("usage %+v", u)
	}
	if c[2].Text == c[3].Text || c[3].Text == c[4].Text {
		t.Errorf("single calls share a seed: %+v", c)
	}
	// One by one, continuation 0 has its own seed, whatever N.
	m, _ = model(t, s.URL, func(o *Options) { o.Repeatable = true })
	r.N = 1
	one, _, _ := ask(t, m, r)
	r.N = 3
	three, _, _ := ask(t, m, r)
	if one[0].Text != three[0].Text {
		t.Errorf("%q alone, %q of three", one[0].Text, three[0].Text)
	}
}

func TestCutsWhatOnlyTheGameWrites(t *testing.T) {
	s := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, choices(30, "length", "<think>hm\n> no</think>\n```\nThink: a mug?\n>go to desk 1\nOn the desk 1, you see a mug 1.\n> take mug 1\n```"))
	})
	m, _ := model(t, s.URL, nil)
	c, _, err := ask(t, m, action)
	if err != nil {
		t.Fatal(err)
	}
	if c[0].Text != "\nthink: a mug?\n> go to desk 1" || c[0].Finish != llm.FinishStop || m.Cuts() != 1 {
		t.Errorf("got %+v, %d cuts", c[0], m.Cuts())
	}
	c, _, _ = ask(t, m, llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 4})
	if c[0].Finish != llm.FinishLength {
		t.Errorf("finish %q", c[0].Finish)
	}
	sess, _ := m.Open(t.Context(), prefix+"\nthink:")
	c, _, err = sess.Sample(t.Context(), llm.Request{N: 1, Until: llm.UntilLine})
	if err != nil || c[0].Text != " a mug?" {
		t.Errorf("line %q %v", c[0].Text, err)
	}
}

// TestHostile: each row is a way to fail that servers are known for. A second
// good answer follows where the client may try again.
func TestHostile(t *testing.T) {
	good := choices(3, "stop", "> look")
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code); io.WriteString(w, body) }
	}
	body := func(b string) func(http.ResponseWriter) { return status(200, b) }
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		retry  bool   // helped by trying again
		code   string // of the error when it never gets better
		is     error
		says   string
	}{
		"error inside 200":          {body(`{"error":{"message":"model is sick","type":"invalid_request_error"}}`), false, "invalid_request_error", nil, "model is sick"},
		"error text inside 200":     {body(`{"error":"server overloaded"}`), true, "", nil, "overloaded"},
		"no choices":                {body(`{"choices":[]}`), true, llm.CodeNoChoices, nil, "no choices"},
		"null choices":              {body(`{"id":"x","choices":null}`), true, llm.CodeNoChoices, nil, ""},
		"no finish reason":          {body(choices(3, "", "> lo")), true, llm.CodeTruncated, nil, "finish_reason"},
		"null finish reason":        {body(`{"choices":[{"message":{"content":"> l"},"finish_reason":null}]}`), true, llm.CodeTruncated, nil, ""},
		"content filter":            {body(choices(3, "content_filter", "x")), false, llm.CodeFinish, nil, "content_filter"},
		"tool call":                 {body(`{"choices":[{"message":{"content":null,"tool_calls":[]},"finish_reason":"tool_calls"}]}`), false, llm.CodeFinish, nil, ""},
		"empty content":             {body(choices(3, "stop", "")), true, llm.CodeEmpty, nil, "reasoning_effort"},
		"only thinking":             {body(choices(3, "length", "<think>hm")), true, llm.CodeEmpty, nil, ""},
		"only reasoning fields":     {body(`{"choices":[{"message":{"reasoning":"> look","reasoning_content":"> look"},"finish_reason":"stop"}]}`), true, llm.CodeEmpty, nil, ""},
		"empty body":                {body(""), true, llm.CodeTruncated, nil, "empty"},
		"half a body":               {body(good[:len(good)-20]), true, llm.CodeTruncated, nil, ""},
		"a web page":                {body("<html>login</html>"), false, llm.CodeNotJSON, nil, "login"},
		"JSON list":                 {body("[1]"), false, llm.CodeNotJSON, nil, "/v1"},
		"429":                       {status(429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`), true, "rate_limit_exceeded", llm.ErrUnavailable, "slow down"},
		"408":                       {status(408, ""), true, "", llm.ErrUnavailable, ""},
		"503 loading":               {status(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), true, "unavailable_error", llm.ErrUnavailable, "Loading"},
		"502 of a proxy":            {status(502, "<html>bad gateway"), true, "", llm.ErrUnavailable, "bad gateway"},
		"501":                       {status(501, "no"), false, "", nil, ""},
		"Ollama's error":            {status(404, `{"error":"model 'm' not found"}`), false, "", nil, "model name"},
		"FastAPI's error":           {status(422, `{"detail":[{"loc":["body","n"]}]}`), false, "", nil, "loc"},
		"401 quoting the key":       {status(401, `{"error":{"message":"bad key s3cret"}}`), false, "", nil, "(key)"},
		"context exceeded":          {status(400, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), false, "exceed_context_size_error", llm.ErrContext, ""},
		"redirect":                  {func(w http.ResponseWriter) { w.Header().Set("Location", "http://u:p@x/v1?k=1"); w.WriteHeader(307) }, false, "", nil, "http://x/v1;"},
		"connection cut":            {cutOff(""), true, llm.CodeConnect, llm.ErrUnavailable, "server"},
		"cut within the body":       {cutOff("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\":["), true, llm.CodeTruncated, nil, ""},
		"stream without an end":     {body("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"> lo\"}}]}\n\n"), true, llm.CodeTruncated, nil, ""},
		"stream with an error line": {body("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"> lo\"}}]}\n\nerror: {\"message\":\"slot gone\",\"type\":\"server_error\"}\n\n"), true, "server_error", nil, "slot gone"},
		"stream with a bare error":  {body("data: {\"choices\":[]}\n\n{\"error\":\"out of memory\"}\n"), false, "", nil, "out of memory"},
		"stream of comments":        {body(strings.Repeat(": ping\n\n", 400)), true, llm.CodeTruncated, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(DefaultKeyEnv, "s3cret")
			always := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer s3cret" {
					t.Error("the key was not sent")
				}
				c.answer(w)
			})
			m, p := model(t, always.URL, func(o *Options) { o.Retries = 2 })
			_, u, err := ask(t, m, action)
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if c.code != "" && e.Code != c.code || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v (code %q), want code %q, %v, saying %q", err, e.Code, c.code, c.is, c.says)
			}
			if strings.Contains(err.Error(), "s3cret") || e.URL != always.URL+"/v1/chat/completions" && e.URL != always.URL+"/v1" {
				t.Errorf("URL %q in %v", e.URL, err)
			}
			tries := 1
			if c.retry {
				tries = 3
			}
			if len(always.sent()) != tries || u.Calls != tries || len(p.waits) != tries-1 {
				t.Errorf("%d requests, %d calls counted, want %d", len(always.sent()), u.Calls, tries)
			}
			if !c.retry {
				return
			}
			once := serve(t, func(n int, _ map[string]any, w http.ResponseWriter, _ *http.Request) {
				if n == 0 {
					c.answer(w)
					return
				}
				io.WriteString(w, good)
			})
			m, _ = model(t, once.URL, nil)
			got, u, err := ask(t, m, action)
			if err != nil || got[0].Text != "\n> look" || u.Retries != 1 {
				t.Errorf("after one failure: %+v %+v %v", got, u, err)
			}
		})
	}
}

// cutOff writes raw bytes to the connection and closes it.
func cutOff(raw string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(c, raw)
		if tcp, ok := c.(*net.TCPConn); ok && raw == "" {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
}

func TestStreamIsPutTogether(t *testing.T) {
	s := serve(t, func(_ int, b map[string]any, w http.ResponseWriter, _ *http.Request) {
		if b["stream"] != true {
			t.Error("no stream was asked for")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": ping\n\n"+
			`data: {"choices":[{"index":1,"delta":{"role":"assistant","content":"> b"}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"> "}}]}`+"\r\n\r\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":4}}`+"\n\n"+
			`data: [DONE]`) // no newline behind it, and choice 1 never ended by itself
	})
	m, _ := model(t, s.URL, func(o *Options) { o.Stream = true })
	r := action
	r.N = 2
	c, u, err := ask(t, m, r)
	if err != nil || len(c) != 2 || c[0].Text != "\n> a" || c[1].Text != "\n> b" || u.PromptTokens != 7 || u.CompletionTokens != 4 {
		t.Errorf("got %+v %+v %v", c, u, err)
	}
}

func TestRetryAfter(t *testing.T) {
	after := "7"
	s := serve(t, func(n int, _ map[string]any, w http.ResponseWriter, _ *http.Request) {
		if n%2 == 0 {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(429)
			return
		}
		io.WriteString(w, choices(-1, "stop", "> look"))
	})
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	m, p := model(t, s.URL, func(o *Options) { o.Now = func() time.Time { return now } })
	_, u, err := ask(t, m, action)
	if err != nil || len(p.waits) != 1 || p.waits[0] != 7*time.Second {
		t.Errorf("waits %v, %v", p.waits, err)
	}
	if !u.Estimated || u.PromptTokens == 0 || u.CompletionTokens == 0 {
		t.Errorf("missing counts were not estimated: %+v", u)
	}
	after = now.Add(9 * time.Second).Format(http.TimeFormat)
	if _, _, err = ask(t, m, action); err != nil || p.waits[1] != 9*time.Second {
		t.Errorf("a date: waits %v, %v", p.waits, err)
	}
	after = "3600"
	if _, _, err = ask(t, m, action); err == nil || !strings.Contains(err.Error(), "1h0m0s") || len(p.waits) != 2 {
		t.Errorf("an hour: waits %v, %v", p.waits, err)
	}
}

func TestTimeLimits(t *testing.T) {
	stop := make(chan struct{})
	s := serve(t, func(_ int, _ map[string]any, w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/idle/") {
			io.WriteString(w, `{"choices":`)
			w.(http.Flusher).Flush()
		}
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	short := 30 * time.Millisecond
	for name, c := range map[string]struct {
		url    string
		change func(*Options)
		is     error
	}{
		"first byte": {s.URL, func(o *Options) { o.FirstByte = short }, errFirstByte},
		"idle":       {s.URL + "/idle", func(o *Options) { o.Idle = short }, errIdle},
		"total":      {s.URL, func(o *Options) { o.Total = short }, errTotal},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := model(t, c.url, func(o *Options) { o.Retries = -1; c.change(o) })
			_, _, err := ask(t, m, action)
			var e *llm.Error
			if !errors.As(err, &e) || e.Code != llm.CodeTimeout || !errors.Is(err, c.is) {
				t.Errorf("got %v", err)
			}
		})
	}
	m, _ := model(t, s.URL, nil)
	sess, _ := m.Open(t.Context(), prefix)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, _, err := sess.Sample(ctx, action); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's deadline: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	m, p := model(t, strings.Replace(s.URL, "http://", "http://user:pass@", 1), func(o *Options) { o.Retries = 1 })
	_, _, err := ask(t, m, action)
	if !errors.Is(err, llm.ErrUnavailable) || len(p.waits) != 1 || strings.Contains(err.Error(), "pass") {
		t.Errorf("got %v", err)
	}
}

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		refuse map[string]string // field → message of a 400
		want   Abilities
	}{
		"all":         {nil, Abilities{true, true, true}},
		"llama.cpp n": {map[string]string{"n": "Field 'n': Value must be between 1 <= value <= 1"}, Abilities{false, true, true}},
		"no logprobs": {map[string]string{"logprobs": "logprobs is not supported"}, Abilities{true, true, false}},
		"mute":        {map[string]string{"n": "bad request", "seed": "bad request", "logprobs": "bad request"}, Abilities{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int, b map[string]any, w http.ResponseWriter, _ *http.Request) {
				for f, msg := range c.refuse {
					if v, ok := b[f]; ok && !(f == "n" && v == 1.) {
						w.WriteHeader(400)
						json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": msg}})
						return
					}
				}
				if b["logprobs"] != nil {
					fmt.Fprint(w, `{"choices":[{"index":0,"message":{"content":"y"},"finish_reason":"length","logprobs":{"content":[{"token":"y"}]}},{"index":1,"message":{"content":"y"},"finish_reason":"length"}]}`)
					return
				}
				fmt.Fprint(w, choices(1, "length", "y", "y"))
			})
			var warned []string
			m, _ := model(t, s.URL, func(o *Options) { o.Abilities = nil; o.Warn = func(w string) { warned = append(warned, w) } })
			for range 2 {
				got, err := m.Abilities(t.Context())
				if err != nil || got != c.want {
					t.Fatalf("got %+v %v, want %+v", got, err, c.want)
				}
			}
			n := len(s.sent())
			if _, err := m.Abilities(t.Context()); err != nil || len(s.sent()) != n {
				t.Error("the answer was not kept")
			}
			if (len(warned) == 1) != !(c.want.N && c.want.Seed) {
				t.Errorf("warned %q", warned)
			}
		})
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	gate := make(chan struct{})
	s := serve(t, func(n int, _ map[string]any, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		full := now == 2
		mu.Unlock()
		if full && n < 2 {
			close(gate)
		}
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		fmt.Fprint(w, choices(1, "stop", "> a"))
	})
	m, _ := model(t, s.URL, func(o *Options) { o.Repeatable = true })
	r := action
	r.N = 6
	if c, _, err := ask(t, m, r); err != nil || len(c) != 6 || most != 2 {
		t.Errorf("%d continuations, %d calls at a time, %v", len(c), most, err)
	}
}

func TestRecordAndReplay(t *testing.T) {
	s := serve(t, func(n int, b map[string]any, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, choices(3, "stop", fmt.Sprintf("> answer %d", n)))
	})
	var file bytes.Buffer
	t.Setenv(DefaultKeyEnv, "s3cret")
	m, _ := model(t, s.URL, func(o *Options) { o.Transport = record.New(&file, http.DefaultTransport) })
	want, _, err := ask(t, m, action)
	if err != nil || strings.Contains(file.String(), "s3cret") {
		t.Fatalf("%v, or the key was recorded: %s", err, file.String())
	}
	p, err := record.Replay(&file)
	if err != nil {
		t.Fatal(err)
	}
	m, waits := model(t, "http://nowhere.invalid", func(o *Options) { o.Transport = p })
	got, _, err := ask(t, m, action)
	if err != nil || got[0].Text != want[0].Text {
		t.Errorf("got %+v %v", got, err)
	}
	if _, _, err := ask(t, m, action); !errors.Is(err, record.ErrUnknown) || len(waits.waits) != 0 {
		t.Errorf("a second time: %v, %d waits", err, len(waits.waits))
	}
}

func TestContextAndOptions(t *testing.T) {
	m, _ := model(t, "http://h", func(o *Options) { o.Context = 20 })
	sess, err := m.Open(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sess.Append(t.Context(), strings.Repeat(" word", 20)); !errors.Is(err, llm.ErrContext) || sess.Text() != prefix {
		t.Errorf("got %v", err)
	}
	for _, o := range []Options{{Model: "m"}, {BaseURL: "localhost:8080", Model: "m"}, {BaseURL: "http://h"}, {BaseURL: "ftp://h", Model: "m"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	a, _ := model(t, "http://h", nil)
	b, _ := model(t, "http://user:key@h", nil)
	if !reflect.DeepEqual(a.Info(), b.Info()) {
		t.Error("a password changes the identity")
	}
}

// FuzzDecode: no body panics; what is accepted has an end the guard can judge.
func FuzzDecode(f *testing.F) {
	f.Add("application/json", []byte(choices(3, "stop", "> a")))
	f.Add("text/event-stream", []byte("data: {\"choices\":[{\"index\":-1,\"delta\":{\"content\":[{\"text\":\"x\"}]}}]}\n\ndata: [DONE]"))
	f.Add("", []byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, ct string, body []byte) {
		a, err := decode(ct, body)
		if (err == nil) != (len(a.Choices) > 0) && err == nil {
			t.Fatalf("no choices and no error: %q", body)
		}
	})
}
