package corpus

import (
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

func TestNotes(t *testing.T) {
	mug := pairs("go to desk 1", "On the desk 1, you see a mug 2, and a pen 1.", "take mug 2 from desk 1", "You pick up the mug 2 from the desk 1.",
		"go to shelf 1", "On the shelf 1, you see nothing.", "move mug 2 to shelf 1", "You move the mug 2 to the shelf 1.", "go to shelf 1", "On the shelf 1, you see a mug 2.")
	bed := pairs("go to bed 1", "On the bed 1, you see a book 1.", "go to desk 1", "Nothing happens.")
	lamp := pairs("go to desk 1", "On the desk 1, you see a desklamp 1.", "go to bed 1", "On the bed 1, you see a pen 1.")
	for _, c := range []struct {
		name, goal, want string
		episodes         [][]llm.Pair
	}{
		{"nothing played", "put a mug in shelf.", "", nil},
		{"nothing seen", "put a mug in shelf.", "the mug is not in bed 1.", [][]llm.Pair{bed}},
		{"seen later, moved by the player", "put a mug in shelf.", "the mug was in desk 1, go there first.", [][]llm.Pair{bed, mug}},
		{"two of them", "put two pen in shelf.", "the pen was in desk 1 and bed 1, go there first.", [][]llm.Pair{mug, lamp}},
		{"with the lamp", "look at pen under the desklamp.", "the pen was in bed 1, go there first. the desklamp was in desk 1.", [][]llm.Pair{lamp}},
		{"no goal", "dance.", "", [][]llm.Pair{mug}},
	} {
		if got := Notes(c.goal, c.episodes); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
