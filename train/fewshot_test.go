package train

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
)

var updateFewShot = flag.Bool("update-fewshot", false, "write reflexion/fewshot.txt")

// TestFewShotIsRealPlay: the examples in the prompts of served models are the shortest
// won episodes of the committed play, of each kind of task one, whose commands all had an
// effect; played again, their games give the same answers.
func TestFewShotIsRealPlay(t *testing.T) {
	const path = "../reflexion/fewshot.txt"
	best := map[string]*Episode{}
	err := EachEpisode("data/base/episodes.jsonl.gz", func(e *Episode) error {
		if !e.Success || e.Plan == "" {
			return nil
		}
		last := e.Steps[len(e.Steps)-1].Action
		if !strings.HasPrefix(last, "move ") && !strings.HasPrefix(last, "use ") {
			return nil // won by what was left from before
		}
		for _, s := range e.Steps {
			if s.Observation == nothing {
				return nil
			}
		}
		b := best[e.TaskType]
		if b == nil || len(e.Steps) < len(b.Steps) || len(e.Steps) == len(b.Steps) && e.ID < b.ID {
			x := *e
			best[e.TaskType] = &x
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(best)) {
		e := best[kind]
		g, err := textworld.Open(e.Task)
		if err != nil {
			t.Fatal(err)
		}
		if won, diff, err := e.verify(t.Context(), g, 50); err != nil || !won || diff != "" {
			t.Errorf("%s: won %v, %s, %v", e.ID, won, diff, err)
		}
		text := llm.RenderTask(e.Goal, e.Room) + llm.RenderPlan(e.Plan)
		for _, p := range e.Pairs() {
			text += llm.RenderPair(p)
		}
		texts = append(texts, text+llm.RenderEnd(true))
	}
	want := strings.Join(texts, "\n\n") + "\n"
	if *updateFewShot {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(best) != 6 || read(t, path) != want {
		t.Errorf("%s does not hold the %d episodes; write it with go test ./train -run FewShot -update-fewshot", path, len(best))
	}
}
