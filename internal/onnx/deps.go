package onnx

import (
	"bytes"
	"os"
	"path/filepath"
)

// DepsEnv names the variable that points at the folder which `make deps` fills,
// for programs that run far from it.
const DepsEnv = "MUSE_DEPS"

// FindDeps looks for rel (for example "lib" or "models/minilm") in the folder
// that `make deps` fills: $MUSE_DEPS; .deps beside the program or beside its
// parent folder (bin/muse → .deps); .deps of this project's module root when
// the working folder is inside it. It returns the first that exists, or "" and
// all places tried.
func FindDeps(rel string) (path string, tried []string) {
	var roots []string
	if d := os.Getenv(DepsEnv); d != "" {
		roots = append(roots, d)
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dir := filepath.Dir(exe)
		roots = append(roots, filepath.Join(dir, ".deps"), filepath.Join(filepath.Dir(dir), ".deps"))
	}
	if root := moduleRoot(); root != "" {
		roots = append(roots, filepath.Join(root, ".deps"))
	}
	seen := map[string]bool{}
	for _, r := range roots {
		p := filepath.Join(r, filepath.FromSlash(rel))
		if seen[p] {
			continue
		}
		seen[p] = true
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
		tried = append(tried, p)
	}
	return "", tried
}

// moduleRoot walks up from the working folder to this project's go.mod. Other
// modules are not trusted: a library is code.
func moduleRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(b, []byte("module github.com/muse-agent/muse\n")) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
