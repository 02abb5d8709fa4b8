package onnx

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFindDeps(t *testing.T) {
	root := t.TempDir()
	inner := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(root, ".deps", "models")
	if err := os.MkdirAll(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(DepsEnv, "")
	t.Chdir(inner)
	mod := filepath.Join(root, "go.mod")

	os.WriteFile(mod, []byte("module example.org/other\n"), 0o644)
	if p, tried := FindDeps("models"); p != "" || len(tried) == 0 || slices.Contains(tried, here) {
		t.Errorf("another module's folder was used: %q, tried %v", p, tried)
	}
	os.WriteFile(mod, []byte("module github.com/muse-agent/muse\n\ngo 1.26.0\n"), 0o644)
	if p, _ := FindDeps("models"); p == "" || filepath.Base(filepath.Dir(p)) != ".deps" {
		t.Errorf("from inside the module: %q", p)
	}
	set := t.TempDir()
	os.Mkdir(filepath.Join(set, "models"), 0o755)
	t.Setenv(DepsEnv, set)
	if p, _ := FindDeps("models"); p != filepath.Join(set, "models") {
		t.Errorf("%s is not first: %q", DepsEnv, p)
	}
}
