package main

import (
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/train"
)

// TestServerOfTheVariables: three variables name the server of every command; flags win.
func TestServerOfTheVariables(t *testing.T) {
	s := llmtest.New(t, func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.Prompt(), "2+2") {
			return llmtest.Reply{Text: "Final answer: 4"}
		}
		return household(r)
	})
	t.Setenv(envServerURL, s.URL+"/v1")
	t.Setenv(envServerModel, "smol")
	t.Setenv(envServerKey, "k3y")
	play := []string{"-q", "eval", "--agent", "react", "--limit", "1", "--max-steps", "1"}
	for model, more := range map[string][]string{"openai/smol": nil, "openai/other": {"--model", "openai:other"}, "toy": {"--model", "toy"}} {
		dir := t.TempDir()
		must(t, append(append(append([]string{}, play...), "--out", dir), more...)...)
		es, err := train.ReadEpisodes(dir)
		if err != nil || len(es) != 1 || !strings.HasSuffix(es[0].Agent.Model.Name, model) {
			t.Errorf("%s: %v, %d episodes, played by %+v", model, err, len(es), es[0].Agent.Model)
		}
	}
	if out := must(t, "-q", "ask", "2+2?", "--mode", "best_of_n", "--paths", "1"); out != "Final answer: 4\n" {
		t.Errorf("asked: %q", out)
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Body["model"] != "smol" || len(s.Requests()) < 5 {
		t.Errorf("%d requests, the last for %v", len(s.Requests()), last.Body["model"])
	}
	t.Setenv(envServerURL, "")
	if code, _, errs := muse(t, append(play, "--out", t.TempDir())...); code != exitUsage || !strings.Contains(errs, envServerURL) {
		t.Errorf("no address: exit %d, %s", code, errs)
	}
}
