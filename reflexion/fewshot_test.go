package reflexion

import (
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

// TestFewShots: each kind of task is shown an episode of its kind, whole and won.
func TestFewShots(t *testing.T) {
	for goal, want := range map[string]string{
		"put a mug in shelf.": "put some book", "clean some plate and put it in fridge.": "clean", "put a clean plate in fridge.": "clean",
		"cool some pan and put it in stoveburner.": "cool", "put a hot mug in cabinet.": "heat", "put two cd in safe.": "two",
		"look at bowl under the desklamp.": "examine", "do something else.": "put some book",
	} {
		e := fewShot(goal)
		first, _, _ := strings.Cut(e, "\n")
		if !strings.Contains(first, want) || !strings.HasSuffix(e, llm.EndWon) || !strings.Contains(e, "\nplan: ") || len(llm.Parse(e).Pairs) < 3 {
			t.Errorf("%s: %s", goal, e)
		}
		p := ChatTemplate{}.Prompt(Task{Goal: goal, Room: "You are in a room."}, []string{"go there first."})
		if !strings.Contains(p, e) || !strings.HasSuffix(p, "reflection: go there first.") || strings.Contains(p, "%!") {
			t.Errorf("%s: prompt\n%s", goal, p)
		}
	}
	if len(fewShots) != 6 {
		t.Errorf("%d kinds", len(fewShots))
	}
}
