//go:build cgo && native

package main

import (
	"encoding/json"
	"testing"

	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/ensemble"
	"github.com/muse-agent/muse/train"
)

// TestRealServer: the whole path with a real model behind a real server: the MUSE agent
// plays five tasks, a question is thought through, an ensemble goes through its five
// phases. The model is tiny: this shows the path, not skill.
func TestRealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of a language model's work")
	}
	url := llmtest.Real(t)
	t.Run("play", func(t *testing.T) {
		dir := t.TempDir()
		must(t, "-q", "eval", "--agent", "muse-best", "--model", "openai:smol", "--url", url, "--endpoint", "completions", "--msa", "../../docs/results/msa/paper-base.safetensors",
			"--split", "unseen", "--sample", "5", "--max-steps", "2", "--rollouts", "2", "--horizon", "1", "--workers", "1", "--out", dir)
		es, err := train.ReadEpisodes(dir)
		if err != nil || len(es) != 5 {
			t.Fatalf("%d episodes, %v", len(es), err)
		}
		assessed := 0
		for _, e := range es {
			if len(e.Steps) == 0 || !e.Terminated && !e.Truncated || e.Usage.CompletionTokens == 0 || e.Usage.Estimated {
				t.Errorf("%s: %d steps, ended %v %v, %+v", e.ID, len(e.Steps), e.Terminated, e.Truncated, e.Usage)
			}
			for _, s := range e.Steps {
				for _, c := range s.Trace.Candidates {
					if c.Assessed != nil && c.Valid {
						assessed++
					}
				}
			}
		}
		if assessed == 0 {
			t.Error("no future had a command")
		}
		t.Logf("%d futures with a command were assessed", assessed)
	})
	t.Run("ask", func(t *testing.T) {
		var r deliberate.Result
		out := must(t, "-q", "ask", "What is 2 + 2?", "--json", "--thinker", "smol@"+url, "--judge", "smol@"+url, "--allow-self-judge",
			"--min-paths", "1", "--max-paths", "2", "--max-tokens", "64")
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Text == "" || r.Chosen < 0 || len(r.Paths) == 0 || r.Thinker.CompletionTokens == 0 || r.Judged && (r.Confidence <= 0 || r.Confidence >= 1) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("ensemble", func(t *testing.T) {
		var r ensemble.Result
		node := "smol@" + url
		out := must(t, "-q", "ask", "What is the capital of California?", "--json", "--system", "ensemble", "--node", node+","+node+","+node, "--max-tokens", "40")
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.System == 0 || r.Reason == "" || r.Text == "" || len(r.Contributions) == 0 {
			t.Fatalf("%v: %s", err, out)
		}
		for _, s := range r.States {
			if !s.Rated {
				t.Errorf("%s (%v): rated %v: %s", s.Node, s.Role, s.Rated, s.Error)
			}
		}
	})
}
