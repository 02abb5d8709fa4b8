package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The embedded model and MiniLM behind the command line. CI sets REQUIRE_NATIVE=1,
// which makes a missing native build a failure.
func TestNativeLoop(t *testing.T) {
	if !nativeBuild() {
		if os.Getenv("REQUIRE_NATIVE") != "" {
			t.Fatal("REQUIRE_NATIVE is set, but this test was built without -tags native")
		}
		t.Skip("built without the native parts")
	}
	t.Setenv("MUSE_EMBED_CACHE", "")
	dir := t.TempDir()
	path := func(s string) string { return filepath.Join(dir, s) }
	must(t, "doctor")
	must(t, "collect", "--model", "base", "--sample", "4", "--episodes", "1", "--out", path("c"))
	must(t, "train", "selfassess", "--collect", path("c"), "--paper", "--folds", "2", "--epochs", "2", "--out", path("m"))
	eval := func(out, workers string) string {
		return must(t, "eval", "--model", "base", "--sample", "2", "--max-steps", "12", "--msa", path("m"), "--agent", "react,muse-off,muse-random,muse-best",
			"--workers", workers, "--out", path(out), "--json")
	}
	one, two := eval("one", "1"), eval("two", "2")
	if one != two {
		t.Errorf("two workers give another table than one:\n%s\n%s", one, two)
	}
	same(t, path("one"), path("two"), "episodes.jsonl", "selection.json")
	var s struct {
		Rows []struct {
			Arm     string
			Success float64
			Steps   float64
		}
	}
	if err := json.Unmarshal([]byte(one), &s); err != nil || len(s.Rows) != 4 {
		t.Fatalf("table %s: %v", one, err)
	}
	if s.Rows[0].Success != s.Rows[1].Success || s.Rows[0].Steps != s.Rows[1].Steps {
		t.Errorf("muse-off is not plain sampling: %+v", s.Rows)
	}
}
