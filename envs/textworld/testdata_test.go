package textworld_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

// sampleGames reads the committed PDDL games: two of each type and split.
func sampleGames(t testing.TB) []*textworld.Game {
	t.Helper()
	games, err := textworld.LoadFile(testdata + "games-sample.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return games
}

func gunzipFile(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const sampleID = "pick_and_place_simple-SaltShaker-None-Drawer-10/trial_T20190909_021613_077537"

// twFile writes a game.tw-pddl into a folder tree like ALFWorld's.
func twFile(t testing.TB, packed string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "valid_unseen", filepath.FromSlash(sampleID))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "game.tw-pddl")
	if err := os.WriteFile(path, gunzipFile(t, testdata+packed), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, id string) *textworld.Game {
	t.Helper()
	g, err := textworld.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
