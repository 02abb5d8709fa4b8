package textworld_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/rng"
)

// randomTranscript plays 60 random admissible commands, every eighth replaced by
// one that may have no effect, and returns everything that was printed.
func randomTranscript(g *textworld.Game, d textworld.Dialect, seed uint64) string {
	r := rng.New(seed, "transcript")
	w := textworld.NewWorld(g, d)
	var b strings.Builder
	b.WriteString(w.Intro())
	for i := range 60 {
		adm := w.AppendAdmissible(nil)
		cmd := adm[r.IntN(len(adm))]
		if i%8 == 7 {
			cmd = strings.Replace(cmd, "1", "2", 1)
		}
		obs, effect := w.Do(cmd)
		fmt.Fprintf(&b, "> %s\n%s %v %v\n%s\n", cmd, obs, effect, w.Won(), strings.Join(adm, ";"))
	}
	return b.String()
}

func TestConcurrentPlayEqualsSolo(t *testing.T) {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	together := make([]string, len(games))
	var wg sync.WaitGroup
	for i, g := range games { // the games are compiled here, by several goroutines at once
		wg.Go(func() { together[i] = randomTranscript(g, textworld.DialectMove, uint64(i)) })
	}
	wg.Wait()
	for i, g := range games {
		if randomTranscript(g, textworld.DialectMove, uint64(i)) != together[i] {
			t.Errorf("%s: another transcript when played beside others", g.ID())
		}
	}
}

func TestReasons(t *testing.T) {
	g := mustOpen(t, sampleID)
	w := textworld.NewWorld(g, textworld.DialectMove)
	for _, c := range []struct{ cmd, want string }{
		{"", "not a command: empty"},
		{"Look", "not a command: capital letters"},
		{"look.", "not a command: punctuation"},
		{"dance", "not a command: unknown verb"},
		{"opne fridge 1", `did you mean "open"`},
		{"put saltshaker 1 in/on drawer 1", `use "move X to R"`},
		{"go to fridge 9", `no "fridge 9" in this room`},
		{"go to saltshaker 1", "saltshaker 1 is not a receptacle"},
		{"go fridge 1", `expected "go to R"`},
		{"take saltshaker 1", `expected "take X from R"`},
		{"take saltshaker 1 from saltshaker 1", "saltshaker 1 is not a receptacle"},
		{"open fridge 1", "fridge 1 is elsewhere"},
		{"use fridge 1", "fridge 1 is not an object"},
		{"move saltshaker 1 to drawer 1", "saltshaker 1 is not in the hand"},
		{"look", ""},
	} {
		if got := w.Reason(c.cmd); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: reason %q, want %q", c.cmd, got, c.want)
		}
	}
	w.Do("go to fridge 1")
	for _, c := range []struct{ cmd, want string }{
		{"go to fridge 1", "already at the location"},
		{"close fridge 1", "already closed"},
		{"take apple 1 from fridge 1", "fridge 1 is closed"},
	} {
		if got := w.Reason(c.cmd); !strings.Contains(got, c.want) {
			t.Errorf("%q: reason %q, want %q", c.cmd, got, c.want)
		}
	}
}
