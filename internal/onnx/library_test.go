//go:build cgo && native

package onnx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCandidateLibraries(t *testing.T) {
	deps := t.TempDir()
	lib := filepath.Join(deps, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"libonnxruntime.so.1.9.0", "libonnxruntime.so.1.24.4", "libonnxruntime.so"} {
		if err := os.WriteFile(filepath.Join(lib, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(LibEnv, "")
	t.Setenv(DepsEnv, deps)
	files, _ := candidateLibraries()
	if want := filepath.Join(lib, "libonnxruntime.so.1.24.4"); files[0] != want {
		t.Errorf("first choice %s, want %s", files[0], want)
	}
	if !slices.Contains(files, "libonnxruntime.so.1") {
		t.Error("the system's library is not tried")
	}
	t.Setenv(LibEnv, "/somewhere/else.so")
	if files, _ := candidateLibraries(); len(files) != 1 || files[0] != "/somewhere/else.so" {
		t.Errorf("an explicit choice was overruled: %v", files)
	}
}

func TestLibrary(t *testing.T) {
	native(t)
	path, version, err := Library()
	if err != nil || !strings.HasPrefix(version, "1.") || path == "" {
		t.Errorf("%q %q %v", path, version, err)
	}
}
