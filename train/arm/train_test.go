package arm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// little is a training that takes a second.
func little(t testing.TB, rounds int) Config {
	c, err := Default("debug")
	if err != nil {
		t.Fatal(err)
	}
	c.Tasks = []gridarm.Task{gridarm.Reach, gridarm.DrawerClose}
	c.Scripted, c.Corrupted, c.Pretrain, c.Rounds, c.Capacity = 1, 1, 3, rounds, 500
	c.EvalEvery, c.EvalGames, c.SaveEvery, c.Siblings = 2, 1, 1, 1
	c.Model.TrainRatio = 1
	return c
}

func openRun(t testing.TB, dir string, c any) *train.Run {
	t.Helper()
	r, err := train.OpenRun(dir, train.Manifest{Command: "train-worldmodel", Seed: 3, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// trainIn trains in a folder; stop ends it after so many rounds of this start.
func trainIn(t testing.TB, dir string, c Config, stop int) error {
	t.Helper()
	run := openRun(t, dir, c)
	n := 0
	_, err := Train(t.Context(), run, c, Control{Stop: func() bool { n++; return stop > 0 && n >= stop }})
	return errors.Join(err, run.Close())
}

// results are the files that must not depend on interrupts.
func results(t testing.TB, dir string) (b []byte) {
	t.Helper()
	for _, name := range []string{FileCheckpoint, FileModel, FileCurve, FileCurvePlot, train.FileEpisodes} {
		x, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(x) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(x), err)
		}
		b = append(b, x...)
	}
	return b
}

// TestKilledAndResumed kills a training without warning and lets another process go on;
// a third one is stopped and goes on. All leave the bytes of a straight run.
func TestKilledAndResumed(t *testing.T) {
	c := little(t, 5)
	if dir := os.Getenv("MUSE_TEST_ARM"); dir != "" {
		run := openRun(t, dir, c)
		if _, err := Train(context.Background(), run, c, Control{Stop: func() bool { fmt.Println("saved"); return false }}); err != nil {
			t.Fatal(err)
		}
		return
	}
	root := t.TempDir()
	straight, killed, stopped := filepath.Join(root, "straight"), filepath.Join(root, "killed"), filepath.Join(root, "stopped")
	if err := trainIn(t, straight, c, 0); err != nil {
		t.Fatal(err)
	}
	want := results(t, straight)

	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledAndResumed$", "-test.v")
	cmd.Env = append(os.Environ(), "MUSE_TEST_ARM="+killed)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for s := bufio.NewScanner(out); seen < 3 && s.Scan(); {
		if strings.Contains(s.Text(), "saved") {
			seen++
		}
	}
	cmd.Process.Kill()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself: the test shows nothing")
	}
	if err := trainIn(t, killed, c, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(results(t, killed), want) {
		t.Error("killed and resumed: other bytes")
	}
	if err := trainIn(t, stopped, c, 3); !errors.Is(err, ErrStopped) {
		t.Fatalf("stopped: %v", err)
	}
	if err := trainIn(t, stopped, c, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(results(t, stopped), want) {
		t.Error("stopped and resumed: other bytes")
	}
}

// TestDivergedKeepsTheLastGood lets a learning rate explode: the error says so, and the
// last checkpoint can be gone on from.
func TestDivergedKeepsTheLastGood(t *testing.T) {
	c := little(t, 60)
	c.Model.LR, c.Model.AGC, c.Model.Warmup = 1e30, 0, 0
	dir := t.TempDir()
	err := trainIn(t, dir, c, 0)
	if !errors.Is(err, worldmodel.ErrDiverged) || !strings.Contains(err.Error(), "no checkpoint was written yet") {
		t.Fatalf("error %v", err)
	}
	// After a good start any loss above the usual one counts as exploded.
	c = little(t, 60)
	c.Pretrain, c.Model.Diverge = 1000, 1.0001
	dir = t.TempDir()
	err = trainIn(t, dir, c, 0)
	path := filepath.Join(dir, FileCheckpoint)
	if !errors.Is(err, worldmodel.ErrDiverged) || !strings.Contains(err.Error(), path+" holds round 0") {
		t.Fatalf("error %v", err)
	}
	l, err := OpenLearner(path, c, 3)
	if err != nil {
		t.Fatal(err)
	}
	if l.trainer.Close(); l.trainer.Updates() != pretrainPiece {
		t.Errorf("the last checkpoint has %d updates", l.trainer.Updates())
	}
}

// TestOtherSettings: a folder of other settings is refused, and so is a damaged checkpoint.
func TestOtherSettings(t *testing.T) {
	c := little(t, 1)
	dir := t.TempDir()
	if err := trainIn(t, dir, c, 0); err != nil {
		t.Fatal(err)
	}
	d := c
	d.Scripted++
	if _, err := train.OpenRun(dir, train.Manifest{Command: "train-worldmodel", Seed: 3, Config: d}); !errors.Is(err, train.ErrConfig) {
		t.Errorf("other settings: %v", err)
	}
	path := filepath.Join(dir, FileCheckpoint)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := trainIn(t, dir, c, 0); !errors.Is(err, worldmodel.ErrCheckpoint) {
		t.Errorf("half a checkpoint: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	c := little(t, 1)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c.Scripted, c.Corrupted, c.HideTask, c.EvalEvery, c.Tasks = 0, 0, 2, 0, nil
	err := c.Validate()
	for _, want := range []string{"no task", "hide_task", "eval_every", "pretrain", "imitate"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestLossesFall: what is learnt first from the seeded episodes is the look of the arm and
// the script's actions.
func TestLossesFall(t *testing.T) {
	c := little(t, 0)
	c.Model.LR, c.Model.Imitate = 3e-3, 1
	l, err := NewLearner(c, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer l.trainer.Close()
	mean := func(n int) worldmodel.Metrics {
		l.sums, l.n = worldmodel.Metrics{}, 0
		if err := l.update(n); err != nil {
			t.Fatal(err)
		}
		divideMetrics(&l.sums, l.n)
		return l.sums
	}
	first := mean(10)
	mean(100)
	last := mean(10)
	if last.Reconstruction > 0.7*first.Reconstruction || last.Imitation > first.Imitation-0.3 {
		t.Errorf("reconstruction %.2f, then %.2f; imitation %.2f, then %.2f", first.Reconstruction, last.Reconstruction, first.Imitation, last.Imitation)
	}
}
