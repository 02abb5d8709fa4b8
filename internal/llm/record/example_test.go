package record_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/internal/llm/record"
)

// A run with a served model, and the same run when the server is gone.
func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","text":"> go to desk 1"}]}`)
	}))
	play := func(t http.RoundTripper) {
		m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "m", Mode: openai.Completion, Transport: t})
		if err != nil {
			panic(err)
		}
		defer m.Close()
		s, err := m.Open(context.Background(), "Your task is to: put a mug in shelf.")
		if err != nil {
			panic(err)
		}
		c, _, err := s.Sample(context.Background(), llm.Request{N: 1, Until: llm.UntilAction})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q\n", c[0].Text)
	}
	var file bytes.Buffer
	play(record.New(&file, http.DefaultTransport))
	srv.Close()
	tape, err := record.Replay(&file)
	if err != nil {
		panic(err)
	}
	play(tape)
	fmt.Println(tape.Left(), "left")
	// Output:
	// "\n> go to desk 1"
	// "\n> go to desk 1"
	// 0 left
}
