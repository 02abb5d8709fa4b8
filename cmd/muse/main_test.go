package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"muse": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// The scripts see no library, display, network or cache of the machine.
func TestScripts(t *testing.T) {
	golden, err := filepath.Abs("../../testdata/alfworld")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ALFWORLD", golden)
			e.Setenv("MUSE_EMBED_CACHE", "")
			e.Setenv("MUSE_ORT_LIB", filepath.Join(e.WorkDir, "absent.so"))
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// muse runs a command in this process.
func muse(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, bytes.NewReader(nil), &out, &errs)
	return code, out.String(), errs.String()
}

func must(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := muse(t, args...)
	if code != 0 {
		t.Fatalf("muse %v: exit %d\n%s", args, code, errs)
	}
	return out
}

// kill runs the command again and again, killing it hard at random moments, until
// so many kills have happened; then once more to the end. When the command ends
// before its killer comes, its folder out is removed and it begins anew.
func kill(t *testing.T, kills int, out string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript's TestMain runs a command when the program has its name.
	link := filepath.Join(t.TempDir(), "muse")
	if err := os.Symlink(self, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	took := 400 * time.Millisecond
	for k, tries := 0, 0; k < kills; tries++ {
		if tries == 20*kills {
			t.Fatalf("muse %v: only %d of %d kills came in time", args, k, kills)
		}
		cmd := exec.Command(link, args...)
		cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(r.Float64()*float64(took)), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err != nil {
			k++
			continue
		}
		took = took * 3 / 4
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(link, args...).CombinedOutput(); err != nil {
		t.Fatalf("muse %v after %d kills: %v\n%s", args, kills, err, out)
	}
}

func same(t *testing.T, a, b string, names ...string) {
	t.Helper()
	for _, n := range names {
		x, err := os.ReadFile(filepath.Join(a, n))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, n))
		if err != nil {
			t.Fatal(err)
		}
		if len(x) == 0 || !bytes.Equal(x, y) {
			t.Errorf("%s differs between %s (%d bytes) and %s (%d bytes)", n, a, len(x), b, len(y))
		}
	}
}

func TestKilledRunsEndInTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program many times")
	}
	dir := t.TempDir()
	path := func(s string) string { return filepath.Join(dir, s) }
	collect := func(out string) []string {
		return []string{"collect", "--model", "toy", "--split", "seen", "--sample", "12", "--episodes", "4", "--out", path(out)}
	}
	must(t, collect("straight")...)
	kill(t, 10, path("killed"), collect("killed")...)
	same(t, path("straight"), path("killed"), "episodes.jsonl", "index", "metrics.jsonl")

	must(t, "train", "selfassess", "--collect", path("straight"), "--input", "history", "--labels", "outcome", "--folds", "2", "--epochs", "2", "--out", path("msa"))
	adapt := func(out string) []string {
		return []string{"adapt", "--model", "toy", "--sample", "4", "--episodes", "2", "--tests", "1", "--agent", "muse-best,reflexion",
			"--collect", path("straight"), "--msa", path("msa"), "--out", path(out)}
	}
	must(t, adapt("adapt")...)
	kill(t, 10, path("adapt-killed"), adapt("adapt-killed")...)
	same(t, path("adapt"), path("adapt-killed"), "episodes.jsonl", "index", "metrics.jsonl", "adapt.json")
}

// startProcess runs the program in a process of its own.
func startProcess(t *testing.T, stderr io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "muse")
	if err := os.Symlink(self, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	cmd := exec.Command(link, args...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func waitFor(t *testing.T, path string) {
	t.Helper()
	for range 6000 { // five minutes: a machine that is busy with other work is slow, not broken
		if st, err := os.Stat(path); err == nil && st.Size() > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s never came", path)
}

func TestInterruptAndSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	// Far more work than the test has time for.
	args := []string{"collect", "--model", "toy", "--split", "train", "--episodes", "50", "--out", dir}
	var stderr bytes.Buffer
	cmd := startProcess(t, &stderr, args...)
	waitFor(t, filepath.Join(dir, "episodes.jsonl"))
	code, _, errs := muse(t, args...)
	if code != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("second process: exit %d, %q", code, errs)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("interrupted: %v, want exit %d", err, exitInterrupted)
	}
	if !strings.Contains(stderr.String(), "the same command continues") {
		t.Errorf("interrupted: %q", stderr.String())
	}
	for _, name := range []string{"index", "metrics.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("an interrupt leaves no %s: %v", name, err)
		}
	}
}
