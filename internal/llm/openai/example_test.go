package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/openai"
)

// A server that goes on writing what only the game may write.
func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","text":"think: a mug?\n> go to desk 1\nOn the desk 1, you see a mug 1."}]}`)
	}))
	defer srv.Close()
	m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "m", Mode: openai.Completion})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	s, _ := m.Open(context.Background(), "Your task is to: put a mug in shelf.\nYou are in a room.")
	c, _, err := s.Sample(context.Background(), llm.Request{N: 1, Until: llm.UntilAction, ForbidEnd: true})
	fmt.Printf("%q %s %v, %d cut\n", c[0].Text, c[0].Finish, err, m.Cuts())
	// Output: "\nthink: a mug?\n> go to desk 1" stop <nil>, 1 cut
}
