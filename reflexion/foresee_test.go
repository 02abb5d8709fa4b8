package reflexion_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
)

// clumsy plays n commands of which about half are bad: things from elsewhere, things
// not in the hand, places that don't exist, repeated refusals.
func clumsy(g *textworld.Game, r *rand.Rand, n int, each func(m func(action string) (string, bool), action, obs string)) []llm.Pair {
	w := textworld.NewWorld(g, textworld.DialectMove)
	task, err := reflexion.ParseIntro(w.Intro())
	if err != nil {
		panic(err)
	}
	var (
		pairs      []llm.Pair
		admissible []string
		tried      []string
	)
	for range n {
		admissible = w.AppendAdmissible(admissible[:0])
		cmd := admissible[r.IntN(len(admissible))]
		switch r.IntN(6) {
		case 0: // again, perhaps where it no longer applies
			if len(tried) > 0 {
				cmd = tried[r.IntN(len(tried))]
			}
		case 1:
			cmd = strings.Replace(cmd, " 1", " 2", 1)
		case 2:
			if len(tried) > 0 {
				cmd = tried[len(tried)-1]
			}
		}
		foresee := reflexion.ForeseeFrom(task.Room, pairs)
		obs, _ := w.Do(cmd)
		text := reflexion.CanonicalObservation(obs)
		each(func(a string) (string, bool) { return foresee(nil, a) }, cmd, text)
		pairs = append(pairs, llm.Pair{Action: cmd, Observation: text})
		tried = append(tried, cmd)
		if w.Won() {
			break
		}
	}
	return pairs
}

func someGames(t *testing.T, n int) []*textworld.Game {
	t.Helper()
	games, err := textworld.Select(textworld.Selection{Splits: []string{"seen", "unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		n /= 3
	}
	var out []*textworld.Game
	for i := 0; i < len(games); i += max(1, len(games)/n) {
		out = append(out, games[i])
	}
	return out
}

// TestForeseenFailuresHappen: what is said to fail is refused by the engine, always.
func TestForeseenFailuresHappen(t *testing.T) {
	refused, foreseen := 0, 0
	for i, g := range someGames(t, 90) {
		clumsy(g, rng.New(3, "clumsy", i), 60, func(m func(string) (string, bool), action, obs string) {
			said, ok := m(action)
			if obs == llm.NothingHappens {
				refused++
			}
			if ok && said == llm.NothingHappens {
				foreseen++
				if obs != llm.NothingHappens {
					t.Errorf("%s: %q is said to fail, but the game says %q", g.ID(), action, obs)
				}
			}
		})
	}
	t.Logf("%d of %d refusals are foreseen", foreseen, refused)
	if foreseen*3 < refused {
		t.Errorf("only %d of %d refusals are foreseen: the walk or the rule shows nothing", foreseen, refused)
	}
}

// TestLayoutIsTheRoomAtTheStart: what earlier episodes have shown is what a new one
// shows, whatever the player had moved or opened.
func TestLayoutIsTheRoomAtTheStart(t *testing.T) {
	known, same := 0, 0
	for i, g := range someGames(t, 60) {
		var episodes [][]llm.Pair
		for e := range 3 {
			episodes = append(episodes, clumsy(g, rng.New(4, "clumsy", i, e), 60, func(func(string) (string, bool), string, string) {}))
		}
		w := textworld.NewWorld(g, textworld.DialectMove)
		for _, a := range w.AppendAdmissible(nil) {
			if !strings.HasPrefix(a, "go to ") {
				continue
			}
			fresh := textworld.NewWorld(g, textworld.DialectMove)
			obs, _ := fresh.Do(a)
			at := llm.Pair{Action: a, Observation: reflexion.CanonicalObservation(obs)}
			recall := reflexion.RecallFrom(nil, episodes...)
			check := func(said string, ok bool, want string) {
				if !ok {
					return
				}
				if known++; said == want {
					same++
				} else {
					t.Logf("%s: %q: recalled %q, is %q", g.ID(), a, said, want)
				}
			}
			said, ok := recall(nil, a)
			check(said, ok, at.Observation)
			if strings.HasSuffix(at.Observation, " is closed.") {
				open := "open " + strings.TrimPrefix(a, "go to ")
				obs, _ := fresh.Do(open)
				said, ok := recall([]llm.Pair{at}, open)
				check(said, ok, reflexion.CanonicalObservation(obs))
			}
		}
	}
	t.Logf("%d places known, %d as they are", known, same)
	if known < 100 || same < known {
		t.Errorf("%d of %d places are as they are remembered", same, known)
	}
}
