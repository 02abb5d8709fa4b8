package deliberate_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// A thinker that is wrong at first, and a judge that notices.
func Example() {
	thinker := chat.Func{Name: "thinker", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		if r.Temperature == 0 {
			return chat.Reply{Text: "17 × 3 is about 50.\nFinal answer: 50"}, nil
		}
		return chat.Reply{Text: "17 × 3 = 30 + 21 = 51.\nFinal answer: 51"}, nil
	}}
	judge := deliberate.JudgeFunc(func(_ context.Context, _ string, c []deliberate.Candidate) (deliberate.Verdict, error) {
		v := deliberate.Verdict{}
		for _, x := range c {
			p := .3
			if strings.HasSuffix(x.Text, "51") {
				p = .9
			}
			v.Scores = append(v.Scores, p)
		}
		return v, nil
	})
	res, err := deliberate.Run(context.Background(), thinker, judge, deliberate.Problem{Text: "17 × 3?"}, deliberate.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Answer, "from", len(res.Paths), "paths:", res.Reason)
	// Output: 51 from 6 paths: highest score of 6 finished paths
}
