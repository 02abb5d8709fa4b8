// Package testpython finds, for tests, a Python that has gymnasium, tensorboard and the openai package, so
// that the real packages judge what muse writes and serves.
//
//	python := testpython.Find(t)
//	out, err := exec.Command(python, "test_muse_env.py").CombinedOutput()
package testpython

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Find returns the path of the interpreter: that of MUSE_PYTHON, else the one that
// scripts/python-env.sh keeps in the cache folder. Where CI is set it is installed when
// it is missing, and a failure to do so fails the test; elsewhere the test is skipped.
func Find(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("MUSE_PYTHON"); p != "" {
		return p
	}
	_, self, _, ok := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(self), "../../scripts/python-env.sh")
	if _, err := os.Stat(script); !ok || err != nil {
		t.Skip("scripts/python-env.sh is not beside the sources; MUSE_PYTHON can name a Python with gymnasium and tensorboard")
	}
	ci := os.Getenv("CI") != ""
	args := []string{script}
	if !ci {
		args = append(args, "--if-made")
	}
	cmd := exec.Command("bash", args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	switch p := strings.TrimSpace(out.String()); {
	case err == nil && p != "":
		return p
	case ci:
		t.Fatalf("scripts/python-env.sh: %v\n%s", err, stderr.String())
	}
	t.Skip("no Python with gymnasium and tensorboard; scripts/python-env.sh makes one (or MUSE_PYTHON names one)")
	return ""
}
