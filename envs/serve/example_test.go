package serve_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/muse-agent/muse/envs/serve"
	"github.com/muse-agent/muse/envs/textworld"
)

// A program in any language writes requests and reads answers, a line each.
func Example() {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}, Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := serve.New(serve.Textworld(games))
	defer s.Close()
	in := `{"op": "make"}` + "\n" + `{"op": "reset"}` + "\n" + `{"op": "step", "actions": ["inventory"]}` + "\n"
	var out strings.Builder
	if err := s.Pipe(context.Background(), strings.NewReader(in), &out); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Print(strings.SplitAfter(out.String(), "\n")[2])
	// Output:
	// {"obs":["You are not carrying anything."],"reward":[0],"terminated":[false],"truncated":[false]}
}
