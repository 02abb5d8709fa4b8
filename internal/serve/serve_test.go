package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/internal/serve"
)

// engine is a function that answers.
type engine func(ctx context.Context, q serve.Query) (serve.Answer, error)

func (e engine) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) { return e(ctx, q) }

var echo = engine(func(_ context.Context, q serve.Query) (serve.Answer, error) {
	return serve.Answer{Text: "You said: " + q.Problem() + " – as the last of several words.", Usage: llm.Usage{PromptTokens: 7, CompletionTokens: 5, Calls: 3}, Extension: map[string]any{"confidence": .9}}, nil
})

// start runs a server; stop ends it and returns what Run said.
func start(t *testing.T, e serve.Engine, o serve.Options) (url string, stop func() error) {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	s, err := serve.New(e, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan error, 1)
	go func() { out <- s.Run(ctx) }()
	var once sync.Once
	stop = func() (err error) {
		once.Do(func() { cancel(); err = <-out })
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return s.URL(), stop
}

func client(url, token string) *goopenai.Client {
	c := goopenai.DefaultConfig(token)
	c.BaseURL = url + "/v1"
	return goopenai.NewClientWithConfig(c)
}

func ask(text string) goopenai.ChatCompletionRequest {
	return goopenai.ChatCompletionRequest{Model: "muse", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: text}}}
}

// receive reads a stream to its end.
func receive(s *goopenai.ChatCompletionStream) (text, finish string, u *goopenai.Usage, err error) {
	defer s.Close()
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return text, finish, u, nil
		}
		if err != nil {
			return text, finish, u, err
		}
		if r.Usage != nil {
			u = r.Usage
		}
		for _, c := range r.Choices {
			text += c.Delta.Content
			if c.FinishReason != "" {
				finish = string(c.FinishReason)
			}
		}
	}
}

func TestGoClient(t *testing.T) {
	url, _ := start(t, echo, serve.Options{})
	c := client(url, "")
	r, err := c.CreateChatCompletion(t.Context(), ask("hello"))
	if err != nil || r.Choices[0].Message.Content != "You said: hello – as the last of several words." || r.Usage.TotalTokens != 12 || r.Choices[0].FinishReason != "stop" {
		t.Errorf("got %+v %v", r, err)
	}
	q := ask("hello")
	q.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	s, err := c.CreateChatCompletionStream(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text, finish, u, err := receive(s)
	if err != nil || text != r.Choices[0].Message.Content || finish != "stop" || u == nil || u.TotalTokens != 12 {
		t.Errorf("stream: %q %q %+v %v", text, finish, u, err)
	}
	m, err := c.ListModels(t.Context())
	if err != nil || len(m.Models) != 1 || m.Models[0].ID != "muse" {
		t.Errorf("models %+v %v", m, err)
	}
}

// upstream is a thinker behind the server, over HTTP.
func upstream(t *testing.T, s *llmtest.Server, parallel int) engine {
	o := s.Options("m")
	o.Concurrency, o.Retries = parallel, -1
	d, err := openai.NewDialog(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		a, err := d.Ask(ctx, chat.Request{Messages: q.Messages, Emit: func(string) error { return nil }})
		return serve.Answer{Text: a.Text, Usage: a.Usage}, err
	}
}

// TestManyAtOnce: 64 concurrent requests against a slow upstream, streamed and not:
// every one gets its own answer.
func TestManyAtOnce(t *testing.T) {
	up := llmtest.New(t, func(r llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "echo of " + r.Prompt()} })
	up.Pace(func(llmtest.Request, int) error { time.Sleep(3 * time.Millisecond); return nil })
	url, stop := start(t, upstream(t, up, 4), serve.Options{Concurrent: 8})
	c := client(url, "")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			want := fmt.Sprintf("echo of question %d", i)
			var text string
			if i%2 == 0 {
				r, err := c.CreateChatCompletion(t.Context(), ask(fmt.Sprintf("question %d", i)))
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				text = r.Choices[0].Message.Content
			} else {
				s, err := c.CreateChatCompletionStream(t.Context(), ask(fmt.Sprintf("question %d", i)))
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				if text, _, _, err = receive(s); err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
			if text != want {
				t.Errorf("%d: got %q", i, text)
			}
		})
	}
	wg.Wait()
	if n := up.Most(); n > 4 {
		t.Errorf("%d calls at a time reached the upstream, 4 are allowed", n)
	}
	m := get(t, url+"/metrics")
	for _, s := range []string{`muse_conversations_total{outcome="ok"} 64`, "muse_running 0", "muse_waiting 0", "muse_conversation_seconds_count 64", "muse_upstream_calls_total 64"} {
		if !strings.Contains(m, s+"\n") {
			t.Errorf("metrics lack %q:\n%s", s, m)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	llmtest.NoLeaks(t)
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// TestUpstreamDies: the upstream's connection breaks in the middle of its stream. A
// streaming client gets an error event and no "[DONE]"; another one a 502.
func TestUpstreamDies(t *testing.T) {
	up := llmtest.New(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "one two three four five"} })
	up.Pace(func(_ llmtest.Request, i int) error {
		if i == 3 {
			return errors.New("broken")
		}
		return nil
	})
	url, _ := start(t, upstream(t, up, 4), serve.Options{})
	c := client(url, "")
	s, err := c.CreateChatCompletionStream(t.Context(), ask("?"))
	if err != nil {
		t.Fatal(err)
	}
	text, finish, _, err := receive(s)
	var api *goopenai.APIError
	if !errors.As(err, &api) || api.Type != "server_error" || finish != "" || text != "" {
		t.Errorf("stream: %q %q %v", text, finish, err)
	}
	_, err = c.CreateChatCompletion(t.Context(), ask("?"))
	if !errors.As(err, &api) || api.HTTPStatusCode != 502 || !strings.Contains(api.Message, up.URL) {
		t.Errorf("not streamed: %v", err)
	}
	body := post(t, url+"/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"?"}]}`, nil)
	if strings.Contains(body, "[DONE]") || !strings.Contains(body, `data: {"error":`) {
		t.Errorf("raw stream %q", body)
	}
}

func post(t *testing.T, url, body string, change func(*http.Request)) string {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(req)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s", r.StatusCode, b)
}

func TestBadRequests(t *testing.T) {
	url, _ := start(t, echo, serve.Options{MaxBody: 2000, MaxChars: 100})
	for body, want := range map[string]string{
		`{`:                              "400",
		`{}`:                             "messages are missing",
		`{"messages":[]}`:                "messages are missing",
		`{"messages":[{"role":"user"}]}`: "content must be text",
		`{"messages":[{"role":"tool","content":"x"}]}`:                                             "role",
		`{"messages":[{"role":"assistant","content":"x"}]}`:                                        "the user's",
		`{"messages":[{"role":"user","content":"x"}],"n":2}`:                                       "one choice",
		`{"messages":[{"role":"user","content":"x"}],"tools":[{}]}`:                                "tools",
		`{"messages":[{"role":"user","content":"x"}],"max_tokens":0}`:                              "max_tokens",
		`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`:                          "content must be text",
		`{"messages":[{"role":"user","content":"` + strings.Repeat("x", 101) + `"}]}`:              "413",
		`{"messages":[{"role":"user","content":"` + strings.Repeat("x", 3000) + `"}]}`:             "larger than 2000",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"unknown_field":[]}`: "200",
		`{"messages":[{"role":"developer","content":"s"},{"role":"user","content":"x"}],"seed":3}`: "200",
	} {
		if got := post(t, url+"/v1/chat/completions", body, nil); !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %q", body, got, want)
		}
	}
	ok := `{"messages":[{"role":"user","content":"x"}]}`
	for name, c := range map[string]struct {
		f    func(*http.Request)
		want string
	}{
		"form":         {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, "415"},
		"other page":   {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, "403"},
		"other name":   {func(r *http.Request) { r.Host = "evil.example" }, "403"},
		"own page":     {func(r *http.Request) { r.Header.Set("Origin", url) }, "200"},
		"unknown path": {func(r *http.Request) { r.URL.Path = "/v2" }, "404"},
	} {
		if got := post(t, url+"/v1/chat/completions", ok, c.f); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTokenAndAddresses(t *testing.T) {
	url, _ := start(t, echo, serve.Options{Token: "s3cret"})
	var api *goopenai.APIError
	if _, err := client(url, "wrong").CreateChatCompletion(t.Context(), ask("x")); !errors.As(err, &api) || api.HTTPStatusCode != 401 {
		t.Errorf("wrong token: %v", err)
	}
	if _, err := client(url, "s3cret").CreateChatCompletion(t.Context(), ask("x")); err != nil {
		t.Errorf("right token: %v", err)
	}
	if m := get(t, url+"/metrics"); strings.Contains(m, "muse_") {
		t.Error("metrics without a token")
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if s, err := serve.New(echo, serve.Options{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("%s was taken without a token", addr)
		}
	}
	if !strings.HasPrefix(serve.DefaultAddr, "127.0.0.1:") {
		t.Errorf("the default is %s", serve.DefaultAddr)
	}
}

// TestLimits: with one place and one seat, the third is sent away; a conversation
// that takes too long ends; a panic of the engine ends only its own.
func TestLimits(t *testing.T) {
	gate := make(chan struct{})
	url, _ := start(t, engine(func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		switch q.Problem() {
		case "panic":
			panic("oh")
		case "wait":
			select {
			case <-gate:
			case <-ctx.Done():
				return serve.Answer{}, ctx.Err()
			}
		case "hang":
			<-ctx.Done()
			return serve.Answer{}, ctx.Err()
		}
		return serve.Answer{Text: "ok"}, nil
	}), serve.Options{Concurrent: 1, Queue: 1, Timeout: 20 * time.Second, Beat: time.Millisecond})
	body := func(s string) string { return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, s) }
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if got := post(t, url+"/v1/chat/completions", body("wait"), nil); !strings.HasPrefix(got, "200") {
				t.Errorf("one of two: %s", got)
			}
		})
	}
	for range 1000 {
		m := get(t, url+"/metrics")
		if strings.Contains(m, "muse_running 1\n") && strings.Contains(m, "muse_waiting 1\n") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got := post(t, url+"/v1/chat/completions", body("x"), nil); !strings.HasPrefix(got, "429") {
		t.Errorf("the third: %s", got)
	}
	close(gate)
	wg.Wait()
	if got := post(t, url+"/v1/chat/completions", body("panic"), nil); !strings.HasPrefix(got, "502") {
		t.Errorf("panic: %s", got)
	}
	if got := post(t, url+"/v1/chat/completions", body("x"), nil); !strings.HasPrefix(got, "200") {
		t.Errorf("after a panic: %s", got)
	}
	short, _ := start(t, engine(func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		<-ctx.Done()
		return serve.Answer{}, ctx.Err()
	}), serve.Options{Timeout: 30 * time.Millisecond})
	if got := post(t, short+"/v1/chat/completions", body("hang"), nil); !strings.HasPrefix(got, "504") || !strings.Contains(got, "30ms") {
		t.Errorf("too long: %s", got)
	}
}

// TestDrain: the end of the context lets a conversation under way come to its end,
// takes no new one, and cuts off what outlasts the grace.
func TestDrain(t *testing.T) {
	begun, gate := make(chan struct{}, 1), make(chan struct{})
	e := engine(func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		begun <- struct{}{}
		select {
		case <-gate:
			return serve.Answer{Text: "made it"}, nil
		case <-ctx.Done():
			return serve.Answer{}, ctx.Err()
		}
	})
	url, stop := start(t, e, serve.Options{Grace: 20 * time.Second})
	got := make(chan string, 1)
	go func() {
		got <- post(t, url+"/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"x"}]}`, nil)
	}()
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for range 1000 {
		if _, err := http.Get(url + "/health"); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(gate)
	if s := <-got; !strings.Contains(s, "made ") || !strings.Contains(s, "[DONE]") {
		t.Errorf("under way: %s", s)
	}
	if err := <-ended; err != nil {
		t.Errorf("a clean end: %v", err)
	}

	gate = make(chan struct{})
	url, stop = start(t, e, serve.Options{Grace: 30 * time.Millisecond})
	go func() {
		r, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
		if err == nil {
			r.Body.Close()
		}
		got <- "ended"
	}()
	<-begun
	if err := stop(); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("after the grace: %v", err)
	}
	<-got
}

// TestClientLeaves: its conversation is cancelled.
func TestClientLeaves(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	url, _ := start(t, engine(func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return serve.Answer{}, ctx.Err()
	}), serve.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = client(url, "").CreateChatCompletion(ctx, ask("x")) }()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPage: the page is there only when asked for, loads nothing from elsewhere, and
// its conversation comes as events.
func TestPage(t *testing.T) {
	s, err := serve.New(echo, serve.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 404 {
		t.Errorf("without --ui: %d", w.Code)
	}
	url, _ := start(t, engine(func(_ context.Context, q serve.Query) (serve.Answer, error) {
		q.Watch("step", map[string]string{"text": "<script>alert(1)</script>"})
		return serve.Answer{Text: "<b>bold</b>"}, nil
	}), serve.Options{UI: true})
	r, err := http.Get(url + "/")
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if p := r.Header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") {
		t.Errorf("policy %q", p)
	}
	for _, name := range []string{"page.js", "page.css"} {
		b := get(t, url+"/"+name)
		page = append(page, b...)
		if len(b) < 500 {
			t.Errorf("%s has %d bytes", name, len(b))
		}
	}
	// Text of models must reach the page as text only.
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://", "http://cdn", "new Function"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the page has %q", bad)
		}
	}
	got := post(t, url+"/ui/ask", `{"messages":[{"role":"user","content":"x"}]}`, nil)
	var kinds []string
	for _, l := range strings.Split(got, "\n") {
		if d, ok := strings.CutPrefix(strings.TrimPrefix(l, "200 "), "data: "); ok {
			var e struct{ Kind string }
			if err := json.Unmarshal([]byte(d), &e); err != nil {
				t.Errorf("event %q: %v", d, err)
			}
			kinds = append(kinds, e.Kind)
		}
	}
	if strings.Join(kinds, " ") != "step answer" {
		t.Errorf("events %v of %q", kinds, got)
	}
}

func Example() {
	s, err := serve.New(echo, serve.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r, err := client(s.URL(), "").CreateChatCompletion(ctx, ask("hello"))
	if err == nil {
		fmt.Println(r.Choices[0].Message.Content)
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// You said: hello – as the last of several words.
	// <nil>
}
