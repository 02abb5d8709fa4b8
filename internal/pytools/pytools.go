// Package pytools finds a Python with the packages that tests with real clients need:
// the openai package, gymnasium and tensorboard.
//
//	cmd := exec.Command(pytools.Python(t), "-c", program)
//
// scripts/python.sh makes it, once a machine. Where that fails the test is skipped; in
// CI (the variable CI is set) it fails, so that nothing is skipped there unseen.
package pytools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Python is the path of the interpreter. MUSE_PYTHON names another one.
func Python(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("MUSE_PYTHON"); p != "" {
		return p
	}
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	} else if testing.Short() {
		t.Skip("installs packages on its first run")
	}
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		missing("the place of the scripts is not known")
	}
	cmd := exec.Command("bash", filepath.Join(filepath.Dir(self), "..", "..", "scripts", "python.sh"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" {
		missing("no Python with the packages of scripts/python.txt: %v\n%s", err, errs.String())
	}
	return path
}
