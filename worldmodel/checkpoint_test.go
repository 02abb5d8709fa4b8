package worldmodel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

func TestModelRoundTrip(t *testing.T) {
	m, _ := New(toy(), 3)
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.safetensors"), filepath.Join(dir, "b.safetensors")
	if err := m.Save(a); err != nil {
		t.Fatal(err)
	}
	l, err := Load(a)
	if err != nil {
		t.Fatal(err)
	}
	if l.Config() != m.Config() {
		t.Errorf("config %+v, want %+v", l.Config(), m.Config())
	}
	if err := l.Save(b); err != nil {
		t.Fatal(err)
	}
	x, _ := os.ReadFile(a)
	y, _ := os.ReadFile(b)
	if !bytes.Equal(x, y) {
		t.Error("saving a loaded model gives other bytes")
	}
	if _, _, _, err := LoadTrainer(a); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), a) {
		t.Errorf("a model is not a training: %v", err)
	}
	// A weight that is not finite is refused and the file stays.
	m.net.flat[7] = float32(math.Inf(1))
	if err := m.Save(a); !errors.Is(err, ErrDiverged) {
		t.Errorf("saving an infinite weight: %v", err)
	}
	if z, _ := os.ReadFile(a); !bytes.Equal(x, z) {
		t.Error("a failed save changed the last good checkpoint")
	}
	os.WriteFile(a, x[:len(x)-3], 0o644)
	if _, err := Load(a); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("a cut file: %v", err)
	}
}

// course is a training run with collection between updates: every update adds an episode
// played by the model itself. It saves after each of n updates and reports it.
func course(path string, n int, saved func(update int)) error {
	c := little(2, 1)
	c.Length, c.Horizon, c.Warmup, c.Imitate = 5, 3, 3, 0.5
	var tr *Trainer
	var r *Replay
	var err error
	if _, statErr := os.Stat(path); statErr == nil {
		if tr, r, _, err = LoadTrainer(path); err != nil {
			return err
		}
	} else {
		m, err := New(c, 4)
		if err != nil {
			return err
		}
		if tr, err = NewTrainer(m, 4); err != nil {
			return err
		}
		if r, err = NewReplay(c, 2, 120); err != nil { // small enough to drop steps
			return err
		}
	}
	defer tr.Close()
	for tr.Updates() < n {
		e := tr.Updates()
		rnd, s := rng.New(4, "episode", e), tr.Model().NewSim()
		state, act := make([]float32, s.StateDim()), make([]float32, 1)
		mean, std, x := make([]float32, 1), make([]float32, 1), float32(0)
		for i := range 11 {
			obs := []float32{x, float32(i)}
			s.Observe(state, act, obs, nil, i == 0, rnd)
			var target []float32
			if e%2 == 0 { // one lane has an expert
				target = []float32{-x}
			}
			if err := r.Add(e%2, Step{Obs: obs, Action: act, Reward: x, First: i == 0, Last: i == 10, State: state, Target: target}); err != nil {
				return err
			}
			s.Policy(state, mean, std)
			Act(act, mean, std, rnd)
			x += 0.1 * min(max(act[0], -1), 1)
		}
		if e%3 != 0 { // some episodes stay without labels
			if err := r.Label(e%2, 0, QuantileLabels(c.Quantiles, e%12, 10)); err != nil {
				return err
			}
		}
		if _, err := tr.Update(r); err != nil {
			return err
		}
		if err := tr.Save(path, r, map[string]string{"episodes": fmt.Sprint(e + 1)}); err != nil {
			return err
		}
		saved(tr.Updates())
	}
	return nil
}

// TestKilledAndResumed kills a training process without warning, somewhere after its
// fifth checkpoint, and lets another one go on: the last file has the bytes of a straight run.
func TestKilledAndResumed(t *testing.T) {
	const n = 25
	if path := os.Getenv("MUSE_TEST_COURSE"); path != "" {
		if err := course(path, n, func(i int) { fmt.Println("saved", i) }); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	straight, killed := filepath.Join(dir, "straight.safetensors"), filepath.Join(dir, "killed.safetensors")
	if err := course(straight, n, func(int) {}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledAndResumed$", "-test.v")
	cmd.Env = append(os.Environ(), "MUSE_TEST_COURSE="+killed)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		if strings.HasPrefix(s.Text(), "saved 5") {
			break
		}
	}
	cmd.Process.Kill()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself: the test shows nothing")
	}
	at, _, _, err := LoadTrainer(killed)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("killed after %d of %d updates", at.Updates(), n)
	at.Close()
	if err := course(killed, n, func(int) {}); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(straight)
	b, _ := os.ReadFile(killed)
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("%d bytes after a kill differ from the %d of a straight run", len(b), len(a))
	}
	_, r, user, err := LoadTrainer(straight)
	if err != nil || user["episodes"] != fmt.Sprint(n) || r.Steps() != 120 || r.Added() != n*11 {
		t.Errorf("loaded: %v, user %v, %d steps", err, user, r.Steps())
	}
	if r, err := LoadReplay(straight); err != nil || r.Added() != n*11 {
		t.Errorf("replay alone: %v", err)
	}
}
