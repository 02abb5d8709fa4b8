package llmtest

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Real starts llama.cpp's server with a language model of 135 million parameters and
// returns the base address, ending in /v1. It ends with the test, and with its process.
//
// Server and model are what scripts/deps.sh llm gets. Where they are missing the test is
// skipped; in CI (the variable CI is set) they are fetched, and a failure is one.
func Real(t testing.TB) string {
	t.Helper()
	missing := t.Skipf
	ci := os.Getenv("CI") != ""
	if ci {
		missing = t.Fatalf
	}
	_, self, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(self), "..", "..", "..")
	deps := os.Getenv("MUSE_DEPS")
	if deps == "" {
		deps = filepath.Join(root, ".deps")
	}
	var errs bytes.Buffer
	if ci { // costs nothing where all is there
		c := exec.Command("bash", filepath.Join(root, "scripts", "deps.sh"), "llm")
		c.Env = append(os.Environ(), "DEPS="+deps)
		c.Stderr = &errs
		if err := c.Run(); err != nil {
			t.Fatalf("scripts/deps.sh llm: %v\n%s", err, errs.String())
		}
	}
	python, model := filepath.Join(deps, "llm", "bin", "python"), filepath.Join(deps, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
	for _, f := range []string{python, model} {
		if _, err := os.Stat(f); err != nil {
			missing("no small model server: %v; scripts/deps.sh llm gets it", err)
		}
	}
	cmd := exec.Command(python, filepath.Join(root, "scripts", "llm_server.py"), model)
	errs.Reset()
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe() // it ends when this closes, also when the test is killed
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		missing("the small model server: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(url, "http") {
		t.Fatalf("the small model server said %q and no address: %v\n%s", line, err, errs.String())
	}
	for range 6000 { // it answers 503 while the model loads; a busy machine is slow, not broken
		if healthy(t.Context(), url) {
			return url + "/v1"
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the small model server at %s does not become ready\n%s", url, errs.String())
	return ""
}

func healthy(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}
