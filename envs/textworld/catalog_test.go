package textworld_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

// The counts are those of ALFWorld's solvable games.
func TestCatalogCounts(t *testing.T) {
	want := map[string][3]int{ // train, seen, unseen
		"pick_and_place_simple": {790, 35, 24}, "look_at_obj_in_light": {308, 13, 18},
		"pick_clean_then_place_in_recep": {650, 27, 31}, "pick_heat_then_place_in_recep": {459, 16, 23},
		"pick_cool_then_place_in_recep": {533, 25, 21}, "pick_two_obj_and_place": {813, 24, 17},
	}
	got := map[string][3]int{}
	refs := textworld.Catalog()
	for _, r := range refs {
		c := got[r.TaskType]
		c[slices.Index([]string{"train", "valid_seen", "valid_unseen"}, r.Split)]++
		got[r.TaskType] = c
		if !strings.HasPrefix(r.ID, r.TaskType+"-") {
			t.Errorf("%s is of type %s", r.ID, r.TaskType)
		}
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: got %v, want %v", k, got[k], v)
		}
	}
	if len(refs) != 3827 {
		t.Errorf("%d games, want 3827", len(refs))
	}
	if !sort.SliceIsSorted(refs, func(i, j int) bool {
		return refs[i].Split+"\x00"+refs[i].ID < refs[j].Split+"\x00"+refs[j].ID
	}) {
		t.Error("the catalog is not sorted by split, then id")
	}
}

func TestEveryWalkthroughWins(t *testing.T) {
	n := 0
	for _, r := range textworld.Catalog() {
		g := mustOpen(t, r.ID)
		for _, d := range []textworld.Dialect{textworld.DialectMove, textworld.DialectPut} {
			w := textworld.NewWorld(g, d)
			cmds := g.WalkthroughIn(d)
			for i, c := range cmds {
				if w.Won() {
					t.Errorf("%s: won before command %d of the walkthrough", r.ID, i+1)
				}
				if _, effect := w.Do(c); !effect {
					t.Errorf("%s %s: %q has no effect: %s", r.ID, d, c, w.Reason(c))
				}
			}
			if !w.Won() || len(cmds) < 3 || len(cmds) > 10 {
				t.Errorf("%s %s: the walkthrough of %d commands does not win", r.ID, d, len(cmds))
			}
		}
		n++
	}
	if n != 3827 {
		t.Errorf("%d walkthroughs, want 3827", n)
	}
}

func TestSelect(t *testing.T) {
	count := func(s textworld.Selection) int {
		t.Helper()
		g, err := textworld.Select(s)
		if err != nil {
			t.Fatal(err)
		}
		return len(g)
	}
	list := filepath.Join(t.TempDir(), "list.txt")
	seen, err := textworld.Select(textworld.Selection{Splits: []string{"seen"}, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	text := "# three games\n" + seen[2].ID() + "\n\n" + seen[0].ID() + " # the first\n"
	if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    textworld.Selection
		want int
	}{
		{textworld.Selection{}, 3827},
		{textworld.Selection{Splits: []string{"all"}}, 3827},
		{textworld.Selection{Splits: []string{"train"}}, 3553},
		{textworld.Selection{Splits: []string{"actor"}}, 3353},
		{textworld.Selection{Splits: []string{"val"}}, 200},
		{textworld.Selection{Splits: []string{"actor", "val"}}, 3553},
		{textworld.Selection{Splits: []string{"seen"}}, 140},
		{textworld.Selection{Splits: []string{"valid_unseen"}}, 134},
		{textworld.Selection{Splits: []string{"seen", "unseen"}}, 274},
		{textworld.Selection{Splits: []string{"unseen"}, Types: []string{"heat"}}, 23},
		{textworld.Selection{Splits: []string{"unseen"}, Types: []string{"look_at_obj_in_light", "two"}}, 35},
		{textworld.Selection{Splits: []string{"train"}, Limit: 7}, 7},
		{textworld.Selection{ListFile: list}, 2},
		{textworld.Selection{GamesFile: testdata + "games-sample.jsonl.gz"}, 36},
		{textworld.Selection{GamesFile: testdata + "games-sample.jsonl.gz", Splits: []string{"unseen"}}, 12},
	} {
		if got := count(c.s); got != c.want {
			t.Errorf("%+v: %d games, want %d", c.s, got, c.want)
		}
	}
	got, err := textworld.Select(textworld.Selection{ListFile: list})
	if err != nil || got[0].ID() != seen[2].ID() || got[1].ID() != seen[0].ID() {
		t.Errorf("the list's order is not kept (%v)", err)
	}
}

func TestSelectErrorsNameTheNearest(t *testing.T) {
	task, _, _ := strings.Cut(sampleID, "/")
	for _, c := range []struct {
		s    textworld.Selection
		want []string
	}{
		{textworld.Selection{Splits: []string{"valid_unsen"}}, []string{"unknown split", `did you mean "valid_unseen"`}},
		{textworld.Selection{Types: []string{"pick_two_obj_and_plce"}}, []string{"unknown task type", `did you mean "pick_two_obj_and_place"`}},
		{textworld.Selection{IDs: []string{sampleID[:len(sampleID)-1] + "9"}}, []string{"no game", `did you mean "` + sampleID}},
		{textworld.Selection{IDs: []string{sampleID}, Splits: []string{"seen"}}, []string{"matches none"}},
		{textworld.Selection{ListFile: "no-such-list"}, []string{"no-such-list"}},
		{textworld.Selection{GamesFile: "no-such.jsonl"}, []string{"no-such.jsonl"}},
		{textworld.Selection{GamesFile: "games.txt"}, []string{"games.txt"}},
	} {
		_, err := textworld.Select(c.s)
		if err == nil {
			t.Errorf("%+v: no error", c.s)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: error %q does not say %q", c.s, err, w)
			}
		}
	}
	if g, err := textworld.Select(textworld.Selection{IDs: []string{task}, Splits: []string{"unseen"}}); err == nil && g[0].ID() != sampleID {
		t.Errorf("task %s gave %s", task, g[0].ID())
	}
}

// A game from PDDL and the same game from the packed set must not differ in
// anything: content, plan, texts, lists.
func TestPackedEqualsPDDL(t *testing.T) {
	games := sampleGames(t)
	if len(games) != 36 {
		t.Fatalf("%d sample games, want 36", len(games))
	}
	for i, g := range games {
		p := mustOpen(t, g.ID())
		if g.Hash() != p.Hash() || g.Ref() != p.Ref() || !slices.Equal(g.Walkthrough(), p.Walkthrough()) {
			t.Fatalf("%s: the packed game differs", g.ID())
		}
		for _, d := range []textworld.Dialect{textworld.DialectMove, textworld.DialectPut} {
			a, b := randomTranscript(g, d, uint64(i)), randomTranscript(p, d, uint64(i))
			if a != b {
				t.Errorf("%s %s: transcripts differ", g.ID(), d)
			}
		}
	}
	// Packing what came out of the pack gives the same bytes, in any order.
	var b1, b2 bytes.Buffer
	if err := textworld.Pack(&b1, games); err != nil {
		t.Fatal(err)
	}
	again, err := textworld.ReadPack(b1.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(again)
	if err := textworld.Pack(&b2, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b1.Bytes(), b2.Bytes()) {
		t.Error("packing twice gives different bytes")
	}
	if _, err := textworld.ReadPack(b1.Bytes()[:b1.Len()-9]); err == nil {
		t.Error("a truncated pack is accepted")
	}
}

func TestSetHash(t *testing.T) {
	hash := func(path string) string {
		t.Helper()
		h, err := textworld.SetHash(path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	src, err := os.Open(testdata + "games-sample.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	z, err := gzip.NewReader(src)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	games := strings.SplitAfter(string(all), "\n")
	file := func(lines ...string) string {
		path := filepath.Join(t.TempDir(), "games.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, turned, part := hash(file(games[0], games[1])), hash(file(games[1], games[0])), hash(file(games[0]))
	if whole != turned || whole == part || whole == hash("") || len(whole) != 16 {
		t.Errorf("two games %s, in another order %s, one of them %s, embedded %s", whole, turned, part, hash(""))
	}
	if _, err := textworld.SetHash("absent.jsonl"); err == nil {
		t.Error("a file that isn't there has a hash")
	}
}
