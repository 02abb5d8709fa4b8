package reflexion_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
)

// seen is a transcript as pairs: command, answer, command, answer …
func seen(lines ...string) []llm.Pair {
	var out []llm.Pair
	for i := 0; i+1 < len(lines); i += 2 {
		out = append(out, llm.Pair{Action: lines[i], Observation: lines[i+1]})
	}
	return out
}

func TestSeenMemory(t *testing.T) {
	desk := seen("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cup 2, a cup 1, and a pen 1.")
	fridge := seen("go to fridge 1", "The fridge 1 is closed.", "open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.")
	away := seen("go to bed 1", "On the bed 1, you see nothing.")
	for _, c := range []struct {
		name    string
		history [][]llm.Pair
		action  string
		want    string // "" = no answer
	}{
		{"never seen", [][]llm.Pair{away}, "go to desk 1", ""},
		{"seen", [][]llm.Pair{desk, away}, "go to desk 1", "On the desk 1, you see a cup 2, a cup 1, and a pen 1."},
		{"already there", [][]llm.Pair{desk}, "go to desk 1", ""},
		{"examine there", [][]llm.Pair{desk}, "examine desk 1", "On the desk 1, you see a cup 2, a cup 1, and a pen 1."},
		{"examine elsewhere", [][]llm.Pair{desk, away}, "examine desk 1", ""},
		{"taken", [][]llm.Pair{desk, seen("take cup 2 from desk 1", "You pick up the cup 2 from the desk 1."), away}, "go to desk 1", "On the desk 1, you see a cup 1, and a pen 1."},
		{"not taken", [][]llm.Pair{desk, seen("take cup 2 from desk 1", "Nothing happens."), away}, "go to desk 1", "On the desk 1, you see a cup 2, a cup 1, and a pen 1."},
		{"put in order", [][]llm.Pair{away, desk, seen("move cup 3 to desk 1", "You move the cup 3 to the desk 1."), away}, "go to desk 1", "On the desk 1, you see a cup 3, a cup 2, a cup 1, and a pen 1."},
		{"put between", [][]llm.Pair{desk, seen("put mug 1 in/on desk 1", "You put the mug 1 in/on the desk 1."), away}, "go to desk 1", "On the desk 1, you see a cup 2, a cup 1, a mug 1, and a pen 1."},
		{"put on nothing", [][]llm.Pair{away, seen("move cup 3 to bed 1", "You move the cup 3 to the bed 1."), desk}, "go to bed 1", "On the bed 1, you see a cup 3."},
		{"closed", [][]llm.Pair{fridge[:1], away}, "go to fridge 1", "The fridge 1 is closed."},
		{"closed, never opened", [][]llm.Pair{fridge[:1]}, "open fridge 1", ""},
		{"left open", [][]llm.Pair{fridge, away}, "go to fridge 1", "The fridge 1 is open. In it, you see a egg 1."},
		{"open already", [][]llm.Pair{fridge}, "open fridge 1", ""},
		{"closed again", [][]llm.Pair{fridge, seen("close fridge 1", "You close the fridge 1."), away}, "go to fridge 1", "The fridge 1 is closed."},
		{"opened again", [][]llm.Pair{fridge, seen("close fridge 1", "You close the fridge 1.")}, "open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1."},
		{"opened again, other place", [][]llm.Pair{fridge, seen("close fridge 1", "You close the fridge 1."), away}, "open fridge 1", ""},
		{"neighbour refused", [][]llm.Pair{desk, seen("go to bed 1", "On the bed 1, you see nothing.", "go to desk 1", "Nothing happens.")}, "go to desk 1", ""},
		{"neighbour refused, other way", [][]llm.Pair{desk, seen("go to bed 1", "Nothing happens.", "go to sofa 1", "On the sofa 1, you see nothing.", "go to bed 1", "On the bed 1, you see nothing.")}, "go to desk 1", ""},
		{"neighbour, by look", [][]llm.Pair{desk, away, seen("look", "You are facing the bed 1, and desk 1. Next to it, you see nothing.")}, "go to desk 1", ""},
		{"examine a neighbour", [][]llm.Pair{desk, away, seen("take pen 1 from desk 1", "You pick up the pen 1 from the desk 1.")}, "examine desk 1", "On the desk 1, you see a cup 2, and a cup 1."},
		{"garbled imagination", [][]llm.Pair{desk, away, seen("go to desk 1", "On the desk 1, you see cup cup."), away}, "go to desk 1", "On the desk 1, you see a cup 2, a cup 1, and a pen 1."},
		{"not a command of places", [][]llm.Pair{desk}, "take pen 1 from desk 1", ""},
		{"nonsense", [][]llm.Pair{desk}, "dance", ""},
		{"empty", nil, "", ""},
	} {
		var history []llm.Pair
		for _, h := range c.history {
			history = append(history, h...)
		}
		got, ok := reflexion.NewSeenMemory(history).Recall(c.action)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, ok, c.want)
		}
		// Pure: split anywhere into real and imagined pairs, the answer is the same.
		for i := range history {
			f := reflexion.RecallFrom(history[:i])
			for range 2 {
				if again, _ := f(history[i:], c.action); again != c.want {
					t.Errorf("%s, split at %d: %q", c.name, i, again)
				}
			}
		}
	}
}

func TestSeenMemoryClone(t *testing.T) {
	m := reflexion.NewSeenMemory(seen("go to desk 1", "On the desk 1, you see a cup 1.", "go to bed 1", "On the bed 1, you see nothing."))
	c := m.Clone()
	for _, p := range seen("go to desk 1", "On the desk 1, you see a cup 1.", "take cup 1 from desk 1", "You pick up the cup 1 from the desk 1.", "go to sofa 1", "On the sofa 1, you see nothing.") {
		c.Add(p)
	}
	if got, _ := m.Recall("go to desk 1"); got != "On the desk 1, you see a cup 1." {
		t.Errorf("the original says %q", got)
	}
	if got, _ := c.Recall("go to desk 1"); got != "On the desk 1, you see nothing." {
		t.Errorf("the clone says %q", got)
	}
}

// recallCount is what recall gave along played episodes.
type recallCount struct {
	asked    int // effective go to, examine or open of places seen before
	answered int // of these, answered
	exact    int // of these, equal to the game's text
	refused  int // answered although the game says "Nothing happens."
	wrong    []string
}

// play sends n commands and compares recall with the engine before each.
func (k *recallCount) play(g *textworld.Game, r *rand.Rand, n int) {
	w := textworld.NewWorld(g, textworld.DialectMove)
	m := reflexion.NewSeenMemory(nil)
	shown := map[string]bool{}
	var admissible []string
	for range n {
		admissible = w.AppendAdmissible(admissible[:0])
		// Verbs with equal chance: a uniform draw would nearly always be "go to".
		verbs := map[string][]string{}
		var order []string
		for _, a := range admissible {
			v, _, _ := strings.Cut(a, " ")
			if verbs[v] == nil {
				order = append(order, v)
			}
			verbs[v] = append(verbs[v], a)
		}
		v := order[r.IntN(len(order))]
		if r.IntN(2) == 0 {
			v = "go"
		}
		if verbs[v] == nil {
			v = order[0]
		}
		cmd := verbs[v][r.IntN(len(verbs[v]))]
		// Return to places seen before, as searching players do; some are refused.
		if v == "go" && len(shown) > 0 && r.IntN(2) == 0 {
			var places []string
			for _, a := range verbs["go"] {
				if shown[strings.TrimPrefix(a, "go to ")] {
					places = append(places, a)
				}
			}
			if len(places) > 0 {
				cmd = places[r.IntN(len(places))]
			}
		}
		if r.IntN(10) == 0 && len(shown) > 0 { // a command that may be refused
			cmd = [...]string{"go to ", "examine ", "open "}[r.IntN(3)] + g.Walkthrough()[0][len("go to "):]
		}
		said, ok := m.Recall(cmd)
		obs, effect := w.Do(cmd)
		text := reflexion.CanonicalObservation(obs)
		place := ""
		for _, p := range [...]string{"go to ", "examine ", "open "} {
			if rest, is := strings.CutPrefix(cmd, p); is {
				place = rest
			}
		}
		switch {
		case !effect:
			if ok {
				k.refused++
			}
		case place != "" && shown[place]:
			k.asked++
			if ok {
				k.answered++
				if said == text {
					k.exact++
				} else {
					k.wrong = append(k.wrong, cmd+": "+said+" / "+text)
				}
			}
		}
		if effect && place != "" && !strings.HasPrefix(text, "This is ") && strings.Contains(text, ", you see ") {
			shown[place] = true
		}
		m.Add(llm.Pair{Action: cmd, Observation: obs})
		if w.Won() {
			return
		}
	}
}

// TestSeenMemoryAgainstEngine plays random commands in evaluation games: where the
// memory answers and the command has an effect, its text is the engine's.
func TestSeenMemoryAgainstEngine(t *testing.T) {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"seen", "unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	n := 60
	if testing.Short() {
		n = 20
	}
	var k recallCount
	for i, g := range games {
		k.play(g, rng.New(5, "walk", i), n)
	}
	t.Logf("%d games: %d commands about places seen before, %d answered, %d exact; %d answered though refused", len(games), k.asked, k.answered, k.exact, k.refused)
	if k.answered < 2000 && !testing.Short() {
		t.Fatalf("only %d answers: the walk shows nothing", k.answered)
	}
	if float64(k.exact) < .99*float64(k.answered) {
		t.Errorf("%d of %d answers are exact, want 99 %%; first faults: %q", k.exact, k.answered, k.wrong[:min(5, len(k.wrong))])
	}
	if float64(k.answered) < .95*float64(k.asked) {
		t.Errorf("%d of %d places seen before are answered", k.answered, k.asked)
	}
}

func TestRecallFromIsDeterministic(t *testing.T) {
	h := seen("go to desk 1", "On the desk 1, you see a cup 1.", "go to bed 1", "On the bed 1, you see nothing.")
	f := reflexion.RecallFrom(h)
	before := append([]llm.Pair(nil), h...)
	for range 3 {
		if got, ok := f(nil, "go to desk 1"); !ok || got != "On the desk 1, you see a cup 1." {
			t.Fatalf("%q, %v", got, ok)
		}
		if _, ok := f(seen("go to desk 1", "On the desk 1, you see a cup 1."), "go to desk 1"); ok {
			t.Fatal("answers where the player stands")
		}
	}
	if !reflect.DeepEqual(h, before) {
		t.Error("the history changed")
	}
}

func BenchmarkRecall(b *testing.B) {
	h := seen("go to desk 1", "On the desk 1, you see a cup 2, a cup 1, and a pen 1.", "take cup 2 from desk 1", "You pick up the cup 2 from the desk 1.", "go to bed 1", "On the bed 1, you see nothing.")
	for range 4 {
		h = append(h, h...)
	}
	f := reflexion.RecallFrom(h)
	im := h[:3]
	b.ResetTimer()
	for b.Loop() {
		f(im, "go to desk 1")
	}
}
