package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/selfassess"
)

func onePart(set string, game string) *Part {
	p := NewPart("muse-best", PartSpec{Trials: 1, MaxSteps: 50, Agent: AgentInfo{Selector: "best"}})
	p.Spec.Agent.Config.Name = "muse"
	p.Key = p.Spec.key()
	p.Games = set
	p.Rows = []PartRow{{Game: game, Won: []int{1}, Steps: []int{3}}}
	return p
}

// The same id means another room in another set: rows of two sets never meet.
func TestPartsOfTwoSets(t *testing.T) {
	dir := t.TempDir()
	a := onePart("aaaa", "g")
	if err := a.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, a.File())
	b := onePart("bbbb", "h")
	if a.Key != b.Key {
		t.Fatal("the set changes the key")
	}
	err := b.Save(dir)
	wantError(t, err, path)
	wantError(t, err, "set aaaa, here is bbbb")
	if !errors.Is(err, ErrGames) {
		t.Errorf("%v doesn't match ErrGames", err)
	}
	if err := onePart("aaaa", "h").Save(dir); err != nil {
		t.Errorf("more rows of the same set: %v", err)
	}
	got, err := ReadPart(path)
	if err != nil || len(got.Rows) != 2 || got.Games != "aaaa" {
		t.Errorf("the file holds %+v, %v", got, err)
	}
	boot := selfassess.Bootstrap{Seed: 1, Draws: 10}
	lowest := onePart("bbbb", "g")
	lowest.Arm, lowest.Spec.Agent.Selector = "muse-lowest", "lowest"
	if _, ok := compareParts(a, lowest, boot); ok {
		t.Error("rows of two sets are compared")
	}
	lowest.Games = "aaaa"
	if _, ok := compareParts(a, lowest, boot); !ok {
		t.Error("rows of one set are not compared")
	}
}

// Parts of before, which name no set, are of the games that shipped then and keep their bytes.
func TestPartsWithoutSet(t *testing.T) {
	dir := t.TempDir()
	old := onePart("", "g")
	if err := old.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, old.File())
	before := read(t, path)
	if strings.Contains(before, "games") {
		t.Fatalf("a part without set names one: %s", before)
	}
	if err := onePart("bbbb", "h").Save(dir); !errors.Is(err, ErrGames) {
		t.Errorf("rows of other games: %v", err)
	}
	if err := onePart(unnamedSet, "g").Save(dir); err != nil {
		t.Fatal(err)
	}
	if after := read(t, path); after != before {
		t.Errorf("the same rows change the file from\n%s\nto\n%s", before, after)
	}
	// The games that ship are still those; when they change, old parts are of others.
	if h, err := textworld.SetHash(""); err != nil || h != unnamedSet {
		t.Errorf("the shipped games have hash %s, %v; parts that name none are of %s: give the rules a new version (textworld.SpecVersion)", h, err, unnamedSet)
	}
}

func TestEvalRefusesPartsOfOtherGames(t *testing.T) {
	parts := filepath.Join(t.TempDir(), "parts")
	b := testBench(t, 2, 2)
	b.Set = "one"
	evalToy(t, t.TempDir(), b, toyArms(t, 1), EvalConfig{Seeds: 1, Parts: parts})
	b.Set = "two"
	dir := t.TempDir()
	r, err := OpenRun(dir, Manifest{Command: "eval", Seed: b.Seed})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Eval(context.Background(), r, b, toyArms(t, 1), EvalConfig{Seeds: 1, Parts: parts})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, err, "--parts")
	if !errors.Is(err, ErrGames) {
		t.Errorf("%v doesn't match ErrGames", err)
	}
	if st, err := os.Stat(filepath.Join(dir, FileEpisodes)); err == nil && st.Size() > 0 {
		t.Error("episodes were played before the refusal")
	}
}

func TestSetOf(t *testing.T) {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	es := []*Episode{{Task: games[0].ID()}, {Task: games[0].ID()}, {Task: games[1].ID()}}
	for hash, want := range map[string]string{GameSetHash(games): unnamedSet, "other": "other"} {
		if got, err := setOf(es, hash); err != nil || got != want {
			t.Errorf("games of hash %s are of set %s, %v; want %s", hash, got, err, want)
		}
	}
	if got, err := setOf(append(es, &Episode{Task: "mine"}), "x"); err != nil || got != "x" {
		t.Errorf("a game that doesn't ship: %s, %v", got, err)
	}
}
