package deliberate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// regular is a server that thinks, continues, and judges.
func regular(r llmtest.Request) llmtest.Reply {
	switch {
	case r.TopLogProbs > 0:
		return llmtest.Reply{Text: "Yes", Top: []chat.Token{{Text: "Yes", LogProb: -.5}, {Text: "No", LogProb: -1}}}
	case strings.HasPrefix(r.Prefix, "1 2 3"):
		return llmtest.Reply{Text: " 8 9 10"}
	case r.Prefix == "" && r.MaxTokens == 16 && r.Temperature > 0:
		return llmtest.Reply{Text: "Two and two ", Finish: "length"}
	}
	return llmtest.Reply{Text: "Two and two make four.\nFinal answer: 4"}
}

func served(t *testing.T, o openai.Options) *openai.Dialog {
	t.Helper()
	d, err := openai.NewDialog(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func modeConfig(m deliberate.Mode) deliberate.Config {
	cfg := deliberate.Default()
	cfg.Mode, cfg.MinPaths, cfg.MaxPaths, cfg.Paths, cfg.StepTokens, cfg.MaxTokens, cfg.RaceScoreChars = m, 2, 2, 3, 16, 64, 10
	return cfg
}

// TestFaults: every fault of the thinker's server, and of the judge's, in all modes:
// an answer or one clear error, soon, and nothing left behind.
func TestFaults(t *testing.T) {
	for _, f := range llmtest.Faults() {
		for _, mode := range deliberate.Modes() {
			for _, broken := range []string{"thinker", "judge"} {
				t.Run(fmt.Sprintf("%s %s/%s/%s", f.ID, f.Name, mode, broken), func(t *testing.T) {
					ts, js := llmtest.New(t, regular), llmtest.New(t, regular)
					to, jo := ts.Options("thinker"), js.Options("judge")
					to.Repeatable = true
					if f.Waits {
						to, jo = llmtest.Impatient(to), llmtest.Impatient(jo)
					}
					bad := ts
					if broken == "judge" {
						bad = js
					}
					bad.Break(f, llmtest.Always)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					j := &deliberate.LogProb{Model: served(t, jo)}
					res, err := deliberate.Run(ctx, served(t, to), j, deliberate.Problem{Text: "2+2?"}, modeConfig(mode))
					if ctx.Err() != nil {
						t.Fatal("it hangs")
					}
					switch {
					case err == nil && (res.Answer != "4" || !res.Finished || !strings.Contains(res.Text, "Two and two")):
						t.Errorf("answer %q of %q", res.Answer, res.Text)
					case err == nil && f.Want == llmtest.Fails && broken == "thinker":
						t.Errorf("an answer from nothing: %+v", res)
					case err == nil && f.Want == llmtest.Fails && res.Judged && mode != deliberate.Stepwise:
						t.Errorf("a judge that is broken judged: %+v", res)
					case err != nil && f.Want == llmtest.Answers:
						t.Errorf("got %v", err)
					case err != nil && !strings.Contains(err.Error(), bad.URL[len("http://"):]):
						t.Errorf("an error that doesn't say where: %v", err)
					case err != nil && strings.Contains(err.Error(), "\n"):
						t.Errorf("not one error: %v", err)
					}
					if f.ID == "C18" && strings.HasPrefix(f.Name, "no log") && broken == "judge" && !errors.Is(err, chat.ErrUnable) {
						t.Errorf("the logprob judge must refuse: %v", err)
					}
				})
			}
		}
	}
	llmtest.NoLeaks(t)
}

// TestFaultsThatPass: when only the first requests meet a fault, the run succeeds.
func TestFaultsThatPass(t *testing.T) {
	for _, f := range llmtest.Faults() {
		for _, mode := range deliberate.Modes() {
			if !f.Once || f.Waits {
				continue
			}
			t.Run(fmt.Sprintf("%s %s/%s", f.ID, f.Name, mode), func(t *testing.T) {
				ts, js := llmtest.New(t, regular), llmtest.New(t, regular)
				ts.Break(f, llmtest.First(2))
				js.Break(f, llmtest.First(1))
				res, err := deliberate.Run(t.Context(), served(t, ts.Options("thinker")), &deliberate.LogProb{Model: served(t, js.Options("judge"))},
					deliberate.Problem{Text: "2+2?"}, modeConfig(mode))
				if err != nil || res.Answer != "4" {
					t.Errorf("got %q %v", res.Answer, err)
				}
			})
		}
	}
	llmtest.NoLeaks(t)
}

// TestRaceSparesTokens: the losers' streams are cancelled; the server counts what it
// need not send.
func TestRaceSparesTokens(t *testing.T) {
	const long = 200
	ts, js := llmtest.New(t, func(r llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: strings.Repeat("word ", long) + "\nFinal answer: 4"}
	}), llmtest.New(t, regular)
	// The others hold after ten tokens until they are cancelled; the first runs on when all
	// of them do, however slow the machine is.
	held := make(chan struct{}, 3)
	ts.Pace(func(r llmtest.Request, i int) error {
		switch {
		case r.Number > 0 && i == 10:
			held <- struct{}{}
			<-r.Context.Done()
		case r.Number == 0 && i == 10:
			for range cap(held) {
				select {
				case <-held:
				case <-r.Context.Done():
				}
			}
		}
		return r.Context.Err()
	})
	cfg := modeConfig(deliberate.Race)
	cfg.Paths, cfg.MaxTokens, cfg.RaceScoreChars, cfg.RaceConfidence = 4, 1000, 300, .6
	res, err := deliberate.Run(t.Context(), served(t, ts.Options("thinker")), &deliberate.LogProb{Model: served(t, js.Options("judge"))}, deliberate.Problem{Text: "2+2?"}, cfg)
	if err != nil || res.Answer != "4" {
		t.Fatalf("got %q %v", res.Answer, err)
	}
	cancelled := 0
	for _, p := range res.Paths {
		if p.Cancelled {
			cancelled++
		}
	}
	for range 200 {
		if _, spared := ts.Tokens(); spared >= 3*(long-10) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	sent, spared := ts.Tokens()
	if cancelled != 3 || spared < 3*(long-10) || sent > long+40 {
		t.Errorf("%d streams cancelled, %d tokens sent, %d spared", cancelled, sent, spared)
	}
	llmtest.NoLeaks(t)
}

// TestStepwiseRefusesServers without prefix continuation.
func TestStepwiseRefusesServers(t *testing.T) {
	ts, js := llmtest.New(t, func(r llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "1 2 3 4"} }), llmtest.New(t, regular)
	_, err := deliberate.Run(t.Context(), served(t, ts.Options("thinker")), &deliberate.LogProb{Model: served(t, js.Options("judge"))}, q, modeConfig(deliberate.Stepwise))
	if !errors.Is(err, chat.ErrUnable) || !strings.Contains(err.Error(), "adaptive") {
		t.Errorf("got %v", err)
	}
}

// TestCancelled: the caller's cancellation ends every mode at once.
func TestCancelled(t *testing.T) {
	for _, mode := range deliberate.Modes() {
		ts, js := llmtest.New(t, regular), llmtest.New(t, regular)
		ts.Break(llmtest.Fault{Serve: llmtest.Scene.Hang}, func(n int) bool { return n > 0 || mode != deliberate.Stepwise })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		_, err := deliberate.Run(ctx, served(t, ts.Options("thinker")), &deliberate.LogProb{Model: served(t, js.Options("judge"))}, q, modeConfig(mode))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	llmtest.NoLeaks(t)
}
