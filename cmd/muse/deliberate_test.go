package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/ensemble"
)

// thinkAndJudge is a server that answers, and judges: right answers are fours.
func thinkAndJudge(r llmtest.Request) llmtest.Reply {
	switch {
	case strings.Contains(r.Prompt(), "quick_answer"):
		return llmtest.Reply{Text: `{"logic":90,"facts":90,"fit":90,"knowledge":90,"history":90,"cues":90,"internal":5,"sources":5,"time":5,"consequences":5,"urgency":5,"scope":5,"quick_answer":"4"}`}
	case r.TopLogProbs > 0 && strings.Contains(r.Prompt(), "Final answer: 4"):
		return llmtest.Reply{Text: "Yes", Top: []chat.Token{{Text: "Yes", LogProb: -.1}, {Text: "No", LogProb: -2.4}}}
	case r.TopLogProbs > 0:
		return llmtest.Reply{Text: "No", Top: []chat.Token{{Text: "No", LogProb: -.1}, {Text: "Yes", LogProb: -2.4}}}
	case r.Temperature == 0:
		return llmtest.Reply{Text: "A guess.\nFinal answer: 5"}
	}
	return llmtest.Reply{Text: "Two and two.\nFinal answer: 4"}
}

func TestAsk(t *testing.T) {
	s, j := llmtest.New(t, thinkAndJudge), llmtest.New(t, thinkAndJudge)
	models := []string{"--thinker", "m@" + s.URL + "/v1", "--judge", "j@" + j.URL + "/v1"}
	for _, mode := range []string{"adaptive", "best_of_n", "race"} {
		var r deliberate.Result
		if err := json.Unmarshal([]byte(must(t, append([]string{"ask", "2+2?", "--json", "--mode", mode}, models...)...)), &r); err != nil || r.Answer != "4" || len(r.Events) == 0 {
			t.Errorf("%s: %+v %v", mode, r, err)
		}
	}
	code, out, errs := muse(t, append([]string{"ask", "2+2?"}, models...)...)
	if code != 0 || !strings.HasSuffix(out, "Final answer: 4\n") || !strings.Contains(errs, "score 0 0.091") || !strings.Contains(errs, "chosen") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	var e ensemble.Result
	node := "m@" + s.URL + "/v1"
	if err := json.Unmarshal([]byte(must(t, "ask", "2+2?", "--json", "--system", "ensemble", "--node", node+","+node)), &e); err != nil || e.System != 1 || e.Text == "" {
		t.Errorf("ensemble: %+v %v", e, err)
	}
}

func TestEvalDeliberate(t *testing.T) {
	s, j := llmtest.New(t, thinkAndJudge), llmtest.New(t, thinkAndJudge)
	file := filepath.Join(t.TempDir(), "p.jsonl")
	lines := ""
	for _, p := range []string{"2+2?", "1+3?", "5-1?"} {
		lines += `{"id":"` + p + `","problem":"` + p + `","answer":"4"}` + "\n"
	}
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	var r deliberate.Report
	out := must(t, "eval", "deliberate", "--problems", file, "--thinker", "m@"+s.URL+"/v1", "--judge", "j@"+j.URL+"/v1", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Problems != 3 || r.Alone.Value != 0 || r.Loop.Value != 1 || r.Ceiling.Value != 1 || r.Fixed != 3 || r.TokenRatio < 2 {
		t.Errorf("%s\n%v", out, err)
	}
}

// lockedBuffer is written by a process and read meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestServeDrains: SIGTERM lets a conversation under way come to its end; exit 0.
func TestServeDrains(t *testing.T) {
	begun, gate := make(chan struct{}, 8), make(chan struct{})
	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply {
		begun <- struct{}{}
		<-gate
		return llmtest.Reply{Text: "Final answer: 4"}
	})
	var stderr lockedBuffer
	cmd := startProcess(t, &stderr, "serve", "--addr", "127.0.0.1:0", "--thinker", "m@"+s.URL+"/v1", "--mode", "best_of_n", "--paths", "1")
	var base string
	for range 6000 {
		if m := regexp.MustCompile(`listening on (http://\S+)`).FindStringSubmatch(stderr.String()); m != nil {
			base = m[1]
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Fatalf("not listening: %s", stderr.String())
	}
	got := make(chan string, 1)
	go func() {
		r, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"2+2?"}]}`))
		if err != nil {
			got <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}()
	<-begun
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if strings.Contains(stderr.String(), "ending") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(gate)
	if b := <-got; !strings.Contains(b, "Final answer: 4") {
		t.Errorf("under way: %s", b)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
}
