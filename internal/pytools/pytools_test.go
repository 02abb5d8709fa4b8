package pytools_test

import (
	"os/exec"
	"testing"

	"github.com/muse-agent/muse/internal/pytools"
)

func TestPython(t *testing.T) {
	out, err := exec.Command(pytools.Python(t), "-c", "import gymnasium, openai; print('here')").CombinedOutput()
	if err != nil || string(out) != "here\n" {
		t.Errorf("%v: %s", err, out)
	}
}
