package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
)

const said = "Two and two make four. Final answer: 4"

func plain(r llmtest.Request) llmtest.Reply {
	a := llmtest.Reply{Text: said}
	if r.TopLogProbs > 0 {
		a = llmtest.Reply{Text: "Yes", Top: []chat.Token{{Text: "Yes", LogProb: -.1}, {Text: " no", LogProb: -2.4}}}
	}
	return a
}

func dialog(t *testing.T, o openai.Options) *openai.Dialog {
	t.Helper()
	d, err := openai.NewDialog(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

var question = []chat.Message{{Role: chat.User, Content: "2+2?"}}

// TestDialogFaults: every fault ends in an answer or in one error that names the
// URL, streamed or not, and goes away where trying again can help.
func TestDialogFaults(t *testing.T) {
	for _, f := range llmtest.Faults() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s stream=%t", f.ID, f.Name, stream), func(t *testing.T) {
				s := llmtest.New(t, plain)
				s.Break(f, llmtest.Always)
				o := s.Options("o1-local")
				if f.Waits {
					o = llmtest.Impatient(o)
				}
				got := ""
				r := chat.Request{Messages: question, MaxTokens: 50}
				if stream {
					r.Emit = func(p string) error { got += p; return nil }
				}
				a, err := dialog(t, o).Ask(t.Context(), r)
				var e *llm.Error
				switch {
				case err == nil && f.Want == llmtest.Fails:
					t.Fatalf("got %+v", a)
				case err != nil && (f.Want == llmtest.Answers || !errors.As(err, &e) || !strings.Contains(err.Error(), s.URL)):
					t.Fatalf("got %v", err)
				case err == nil && (!strings.HasSuffix(a.Text, said) || stream && got != a.Text || a.Usage.PromptTokens == 0 || strings.Contains(a.Text, "wrong")):
					t.Fatalf("got %+v, emitted %q", a, got)
				}
				if err == nil || !f.Once || f.Waits {
					return
				}
				s = llmtest.New(t, plain)
				s.Break(f, llmtest.First(1))
				got = ""
				a, err = dialog(t, s.Options("m")).Ask(t.Context(), r)
				if err != nil && got == "" { // what was emitted can't be taken back
					t.Errorf("after one failure: %v", err)
				}
			})
		}
	}
	llmtest.NoLeaks(t)
}

func TestDialogSendsAndReads(t *testing.T) {
	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: "<think>let me see</think>\n" + said}
	})
	d := dialog(t, s.Options("m"))
	pieces := 0
	got := ""
	a, err := d.Ask(t.Context(), chat.Request{Messages: question, Temperature: 0, MaxTokens: 9, Seed: 3, Emit: func(p string) error {
		pieces++
		got += p
		return nil
	}})
	if err != nil || a.Text != said || got != said || a.Reasoning != "let me see" || pieces < 5 || a.Finish != chat.FinishStop {
		t.Errorf("got %+v, %q in %d pieces, %v", a, got, pieces, err)
	}
	b := s.Requests()[0].Body
	if b["temperature"] != 0. || b["top_p"] != 1. || b["max_tokens"] != 9. || b["model"] != "m" || b["seed"] == nil {
		t.Errorf("sent %v", b)
	}
	stop := errors.New("enough")
	if _, err = d.Ask(t.Context(), chat.Request{Messages: question, Emit: func(string) error { return stop }}); !errors.Is(err, stop) || len(s.Requests()) != 2 {
		t.Errorf("an error of the caller: %v after %d requests", err, len(s.Requests()))
	}
	if d.Identity() != "m at "+strings.TrimPrefix(s.URL, "http://") {
		t.Errorf("identity %q", d.Identity())
	}
}

func TestDialogIdentity(t *testing.T) {
	id := func(url string) string { return dialog(t, openai.Options{BaseURL: url, Model: "m"}).Identity() }
	if id("http://LOCALHOST:80/v1") != id("http://user:pw@127.0.0.1/v1/") {
		t.Errorf("%q and %q are one place", id("http://LOCALHOST:80/v1"), id("http://user:pw@127.0.0.1/v1/"))
	}
	if id("http://a/v1") == id("http://a:8080/v1") {
		t.Error("two ports are two places")
	}
}

func TestDialogAbilities(t *testing.T) {
	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply {
		if strings.HasPrefix(r.Prefix, "1 2 3") {
			return llmtest.Reply{Text: " 8 9 10"}
		}
		if r.Prefix != "" {
			return llmtest.Reply{Text: " and so on"}
		}
		return plain(r)
	})
	d := dialog(t, s.Options("m"))
	for _, ab := range []chat.Ability{chat.Prefix, chat.LogProbs, chat.Prefix} {
		if err := d.Probe(t.Context(), ab); err != nil {
			t.Errorf("%s: %v", ab, err)
		}
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want one for each ability", n)
	}
	a, err := d.Ask(t.Context(), chat.Request{Messages: question, Prefix: "Well,"})
	last := s.Requests()[2]
	if err != nil || a.Text != " and so on" || last.Prefix != "Well," || last.Body["continue_final_message"] != true {
		t.Errorf("got %+v %v, sent %v", a, err, last.Body)
	}
	a, err = d.Ask(t.Context(), chat.Request{Messages: question, MaxTokens: 1, TopLogProbs: 50})
	if err != nil || len(a.LogProbs) != 1 || len(a.LogProbs[0].Top) != 2 || a.LogProbs[0].Top[0].LogProb != -.1 {
		t.Errorf("got %+v %v", a, err)
	}

	lacking := llmtest.New(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "1 2 3 4"} })
	d = dialog(t, lacking.Options("m"))
	for _, ab := range []chat.Ability{chat.Prefix, chat.LogProbs} {
		if err := d.Probe(t.Context(), ab); !errors.Is(err, chat.ErrUnable) || !strings.Contains(err.Error(), d.Identity()) {
			t.Errorf("%s: %v", ab, err)
		}
	}
	if _, err := d.Ask(t.Context(), chat.Request{Messages: question, Prefix: "Well,"}); !errors.Is(err, chat.ErrUnable) {
		t.Errorf("a prefix without the ability: %v", err)
	}
	down := dialog(t, openai.Options{BaseURL: "http://127.0.0.1:1/v1", Model: "m", Retries: -1})
	if err := down.Probe(t.Context(), chat.Prefix); err == nil || errors.Is(err, chat.ErrUnable) {
		t.Errorf("a server that is away doesn't lack an ability: %v", err)
	}
}

func TestDialogIsCancelled(t *testing.T) {
	s := llmtest.New(t, plain)
	s.Pace(func(r llmtest.Request, i int) error {
		if i < 3 {
			return nil
		}
		<-r.Context.Done()
		return r.Context.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	got := ""
	a, err := dialog(t, s.Options("m")).Ask(ctx, chat.Request{Messages: question, Emit: func(p string) error {
		if got += p; strings.Count(got, " ") == 3 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || a.Text != "Two and two " {
		t.Errorf("got %+v %v", a, err)
	}
	for range 100 {
		if _, spared := s.Tokens(); spared > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if sent, spared := s.Tokens(); sent != 3 || spared != 5 {
		t.Errorf("%d tokens sent, %d spared", sent, spared)
	}
	llmtest.NoLeaks(t)
}

func TestSeedIsDropped(t *testing.T) {
	s := llmtest.New(t, plain)
	s.Break(llmtest.Fault{Serve: func(sc llmtest.Scene) {
		if sc.Request.Body["seed"] != nil {
			sc.Status(400, `{"error":{"message":"unknown field: seed"}}`)
			return
		}
		sc.Good(nil)
	}}, llmtest.Always)
	d := dialog(t, s.Options("m"))
	for range 2 {
		if a, err := d.Ask(t.Context(), chat.Request{Messages: question}); err != nil || math.Abs(float64(len(a.Text)-len(said))) > 0 {
			t.Fatalf("got %+v %v", a, err)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: the refusal is remembered", n)
	}
}

// TestSchema: a schema is sent; a server that refuses it gets none from then on.
func TestSchema(t *testing.T) {
	s := llmtest.New(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "{}"} })
	var warned []string
	o := s.Options("m")
	o.Warn = func(s string) { warned = append(warned, s) }
	d := dialog(t, o)
	q := chat.Request{Messages: []chat.Message{{Role: chat.User, Content: "x"}}, Schema: json.RawMessage(`{"type":"object"}`)}
	if _, err := d.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	f, _ := s.Requests()[0].Body["response_format"].(map[string]any)
	if inner, _ := f["json_schema"].(map[string]any); f["type"] != "json_schema" || fmt.Sprint(inner["schema"]) != "map[type:object]" {
		t.Errorf("sent %v", f)
	}
	s.Break(llmtest.Fault{Serve: func(c llmtest.Scene) {
		if c.Request.Body["response_format"] != nil {
			c.Status(400, `{"error":{"message":"response_format is not supported"}}`)
			return
		}
		c.Good(nil)
	}}, llmtest.Always)
	for range 2 {
		if a, err := d.Ask(t.Context(), q); err != nil || a.Text != "{}" {
			t.Errorf("got %q, %v", a.Text, err)
		}
	}
	if n := len(s.Requests()); n != 4 || len(warned) != 1 || !strings.Contains(warned[0], "response_format") {
		t.Errorf("%d requests, warned %q", n, warned)
	}
}
