package train

import (
	"math"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/selfregulate"
)

// oracle is a world model that knows the answers of some episodes: the script finds
// the pair that follows the prefix. wrong changes an answer.
func oracle(es []Episode, wrong func(llm.Pair) string) llm.Model {
	return scripted.New("oracle", func(p scripted.Prompt) (string, error) {
		for i := range es {
			text := llm.RenderTask(es[i].Goal, es[i].Room) + llm.RenderPlan(es[i].Plan)
			for _, pr := range es[i].Pairs() {
				text += llm.RenderPair(pr)
				head := strings.TrimSuffix(text, llm.RenderObservation(pr.Observation))
				if head == p.Prefix {
					return "\n" + wrong(pr), nil
				}
			}
		}
		return "\nI never saw this.", nil
	})
}

func playedToy(t *testing.T, n int) []Episode {
	t.Helper()
	b := &Bench{Games: games(t, n, "pick", "clean"), Seed: 4}
	var out []Episode
	for _, g := range b.Games {
		es, _, _, err := b.play(t.Context(), g, player(t, "react", scripted.Toy(), selfregulate.Off, nil), trials{phase: "eval", arm: "react", n: 1, seedPath: "x"})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, es...)
	}
	return out
}

func pointers(es []Episode) []*Episode {
	out := make([]*Episode, len(es))
	for i := range es {
		out[i] = &es[i]
	}
	return out
}

func TestCheckWorld(t *testing.T) {
	es := playedToy(t, 6)
	right, err := CheckWorld(t.Context(), oracle(es, func(p llm.Pair) string { return p.Observation }), pointers(es), 2, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if right.All.Alone.Value != 1 || right.Decided.Recall.Value != 1 || right.Games != 6 || right.Unread != 0 {
		t.Errorf("a model that knows every answer: %+v", right)
	}
	if !(right.NothingShare.Value > 0 && right.NothingShare.Value < 1) {
		t.Errorf("%.2f of the commands had no effect: the episodes test nothing", right.NothingShare.Value)
	}
	if !math.IsNaN(right.NothingAUROC.Value) {
		t.Errorf("AUROC %v of a model without probabilities", right.NothingAUROC.Value)
	}
	n := 0
	for _, r := range right.Rows {
		n += r.N
	}
	if n != right.Commands {
		t.Errorf("the rows hold %d of %d commands", n, right.Commands)
	}

	// A model that knows the rules and forgets all contents: the memory answers for it.
	blank, err := CheckWorld(t.Context(), oracle(es, func(p llm.Pair) string {
		if i := strings.Index(p.Observation, "you see "); i >= 0 {
			return p.Observation[:i] + "you see a houseplant 9."
		}
		return p.Observation
	}), pointers(es), 1, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if blank.Works.Value != 1 || blank.MustFail.Value != 1 || blank.Known.Alone.Value > .5 || blank.Known.Recall.Value != 1 {
		t.Errorf("a model without memory: works %v, must fail %v, seen alone %v, with recall %v", blank.Works, blank.MustFail, blank.Known.Alone, blank.Known.Recall)
	}

	// A model that foresees failure everywhere is believed, also against the memory.
	gloomy, err := CheckWorld(t.Context(), oracle(es, func(llm.Pair) string { return llm.NothingHappens }), pointers(es), 1, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if gloomy.Works.Value != 0 || gloomy.MustFail.Value != 1 || gloomy.Known.Recall.Value != 0 {
		t.Errorf("a model that foresees failures only: %+v", gloomy)
	}
	if gloomy.All.Alone.Value != right.NothingShare.Value {
		t.Errorf("it is right in %.3f, failures are %.3f", gloomy.All.Alone.Value, right.NothingShare.Value)
	}
}

func TestCheckWorldNeedsEpisodes(t *testing.T) {
	if _, err := CheckWorld(t.Context(), scripted.Toy(), nil, 1, nil, false); err == nil {
		t.Error("no error for no episodes")
	}
}
