package testpython

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamedPython(t *testing.T) {
	t.Setenv("MUSE_PYTHON", "/some/python")
	if p := Find(t); p != "/some/python" {
		t.Errorf("got %q", p)
	}
}

// Outside CI a missing environment skips and installs nothing.
func TestMissingIsSkipped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MUSE_PYTHON", "")
	t.Setenv("CI", "")
	t.Setenv("DEPS_CACHE", dir)
	skipped := false
	t.Run("find", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Find(t)
	})
	if left, _ := filepath.Glob(dir + "/*"); !skipped || len(left) > 0 {
		t.Errorf("skipped %t, made %v", skipped, left)
	}
}

// The packages are there, at the versions that the script names.
func TestPackagesAreThere(t *testing.T) {
	out, err := exec.Command(Find(t), "-c", "import gymnasium, tensorboard; print(gymnasium.__version__, tensorboard.__version__)").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1.") {
		t.Errorf("%v\n%s", err, out)
	}
}
