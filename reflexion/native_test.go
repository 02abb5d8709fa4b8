//go:build cgo && native

package reflexion_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate"
)

// TestEmbeddedEpisodes plays the shipped model in a few games: plain sampling is
// candidate 0's first command, resumed episodes go on alike, equal seeds give
// equal episodes, and the prefix is the canonical text of what happened.
func TestEmbeddedEpisodes(t *testing.T) {
	m, err := embedded.Open("base", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	games, err := textworld.Select(textworld.Selection{Splits: []string{"seen"}, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	muse := newAgent(t, config(t, "muse"), m, &mugs{}, selfregulate.Random)
	off := newAgent(t, config(t, "muse"), m, nil, selfregulate.Off)
	play := func(i int, check bool) []llm.Pair {
		w := textworld.NewWorld(games[i], textworld.DialectMove)
		intro, err := reflexion.ParseIntro(w.Intro())
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := muse.Begin(ctx, intro, []string{"the mug was in drawer 2, go there first."}, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		defer muse.Close(c)
		for range 6 {
			var plain string
			var thoughts []string
			if check {
				r := &reflexion.Carry{Task: c.Task, Reflections: c.Reflections, Plan: c.Plan, Pairs: slices.Clone(c.Pairs), Seed: c.Seed}
				a, tr := act(t, off, r)
				plain, thoughts = a, tr.Thoughts
				if r.Session.Text() != c.Session.Text() {
					t.Fatalf("resumed prefix\n%q, played\n%q", r.Session.Text(), c.Session.Text())
				}
				off.Close(r)
			}
			action, tr := act(t, muse, c)
			if first := tr.Candidates[0]; check && first.Valid && (first.Pairs[0].Action != plain || !reflect.DeepEqual(first.Pairs[0].Thoughts, thoughts)) {
				t.Fatalf("game %d, step %d: off (resumed) sends %q %q, candidate 0 begins with %+v", i, len(c.Pairs), thoughts, plain, first.Pairs[0])
			}
			if len(tr.Candidates[0].Hidden) == 0 {
				t.Fatal("no hidden states")
			}
			obs, _ := w.Do(action)
			if err := muse.Observe(ctx, c, action, tr, obs); err != nil {
				t.Fatal(err)
			}
			if w.Won() {
				break
			}
		}
		if text := c.Session.Text(); strings.Contains(text, "You arrive at") || !strings.HasSuffix(text, llm.RenderPairs(c.Pairs)) {
			t.Errorf("prefix %q", text)
		}
		if _, _, err := muse.Reflect(ctx, c); err != nil {
			t.Fatal(err)
		}
		return c.Pairs
	}
	for i := range games {
		if first, again := play(i, true), play(i, false); !reflect.DeepEqual(first, again) {
			t.Errorf("game %d: equal seeds, different episodes", i)
		}
	}
}
