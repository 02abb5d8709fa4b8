package serve_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/serve"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// thinking is an engine of thinker and judge.
type thinking struct{}

func (thinking) Answer(ctx context.Context, q serve.Query) (serve.Answer, error) {
	n := 0
	gate := make(chan struct{}, 1)
	th := chat.Func{Name: "thinker", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		gate <- struct{}{}
		defer func() { <-gate }()
		if q.Problem() == "break" {
			return chat.Reply{}, errors.New("the upstream is gone")
		}
		n++
		return chat.Reply{Text: fmt.Sprintf("Way %d %s\nFinal answer: %d", n, hostile, n%2)}, nil
	}}
	j := deliberate.JudgeFunc(func(_ context.Context, _ string, c []deliberate.Candidate) (deliberate.Verdict, error) {
		v := deliberate.Verdict{}
		for _, x := range c {
			v.Scores = append(v.Scores, .3+.4*float64(len(x.Answer)*int(x.Answer[0]-'0')))
		}
		return v, nil
	})
	cfg := deliberate.Default()
	cfg.Observe = func(e deliberate.Event) {
		q.Watch("deliberate", map[string]any{"kind": e.Kind, "path": e.Path, "score": e.Score, "note": e.Note, "piece": e.Piece})
	}
	r, err := deliberate.Run(ctx, th, j, deliberate.Problem{Text: q.Problem()}, cfg)
	return serve.Answer{Text: r.Text, Extension: map[string]any{"system": "deliberate", "reason": r.Reason, "judged": r.Judged, "confidence": r.Confidence, "chosen": r.Chosen, "paths": r.Paths}}, err
}

func TestTreeInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	url, _ := start(t, thinking{}, serve.Options{UI: true, Token: "s3cret"})
	b := chromium(t)
	b.open(url + "/#token=s3cret")
	b.eval(`document.getElementById("query").value = "How many?"; document.getElementById("send").click()`)
	b.wait(`document.body.dataset.state === "done"`)
	b.wait(`document.querySelectorAll("#paths .leaf").length === 4`) // the greedy path scores .7: round(2 + .3·4) = 3 more
	if got := fmt.Sprint(b.eval(`document.querySelectorAll("#paths .won").length + " " + document.getElementById("path").textContent.includes("<script>") + " " + document.title`)); got != "1 true muse: metacognition, seen from inside" {
		t.Errorf("tree: %s", got)
	}
	b.shoot("tree-of-paths")
	b.eval(`document.getElementById("query").value = "break"; document.getElementById("send").click()`)
	b.wait(`document.body.dataset.state === "error"`)
	if got := fmt.Sprint(b.eval(`document.getElementById("status").textContent`)); !strings.Contains(got, "the upstream is gone") {
		t.Errorf("error: %q", got)
	}
}
