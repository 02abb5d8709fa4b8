package llmtest_test

import (
	"fmt"
	"testing"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
)

// The list has every fault from C1 to C25, and each is told what to expect of it.
func TestFaultsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	names := map[string]bool{}
	for _, f := range llmtest.Faults() {
		seen[f.ID] = true
		if names[f.ID+f.Name] || f.Name == "" || f.Serve == nil || f.Want == "" {
			t.Errorf("%s %q: twice, or not whole", f.ID, f.Name)
		}
		names[f.ID+f.Name] = true
	}
	for i := 1; i <= 25; i++ {
		if id := fmt.Sprint("C", i); !seen[id] {
			t.Errorf("no fault %s", id)
		}
	}
}

// A leak is found, and its end is awaited.
func TestGoroutines(t *testing.T) {
	stop := make(chan struct{})
	go leak(stop)
	found := false
	for range 1000 {
		if found = len(llmtest.Goroutines()) > 0; found {
			break
		}
	}
	if !found {
		t.Error("a leaked goroutine is not found")
	}
	close(stop)
	llmtest.NoLeaks(t)
}

func leak(stop chan struct{}) { <-stop }

// Tokens are counted, and requests noted.
func TestServer(t *testing.T) {
	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply { return llmtest.Reply{Text: "echo of " + r.Prompt()} })
	d, err := openai.NewDialog(s.Options("m"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, err := d.Ask(t.Context(), chat.Request{Messages: []chat.Message{{Role: chat.User, Content: "hello"}}, Emit: func(string) error { return nil }})
	if err != nil || a.Text != "echo of hello" {
		t.Errorf("got %+v %v", a, err)
	}
	if sent, spared := s.Tokens(); sent != 3 || spared != 0 || len(s.Requests()) != 1 || s.Most() != 1 {
		t.Errorf("%d sent, %d spared, %d requests, %d at a time", sent, spared, len(s.Requests()), s.Most())
	}
}
