package gridarm_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
)

// trajectory is every byte of an episode of half random, half scripted decisions.
func trajectory(t *testing.T, w *gridarm.World, seed uint64, episode int) []byte {
	t.Helper()
	var out bytes.Buffer
	obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
	r, policy := rng.New(seed, "golden", episode), gridarm.Scripted(w.Task())
	w.ResetInto(seed, episode, obs)
	write := func(v any) {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	write(obs)
	for !w.Over() {
		if policy(obs, a); r.IntN(4) == 0 {
			for k := range a {
				a[k] = 2*r.Float32() - 1
			}
		}
		res := w.StepInto(a, obs)
		write(obs)
		write(res)
	}
	return out.Bytes()
}

// The same seed, task and episode give the same bytes: as those in the repository, and
// whatever the world has played before. A change here is a change of SpecVersion or
// RewardVersion.
func TestSameSeedSameBytes(t *testing.T) {
	var table bytes.Buffer
	fmt.Fprintf(&table, "# SHA-256 of observations, rewards, success and ends; rules %s, rewards %s\n", gridarm.SpecVersion, gridarm.RewardVersion)
	for _, task := range gridarm.Tasks() {
		w, err := gridarm.NewWorld(task, gridarm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		used, err := gridarm.NewWorld(task, gridarm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		trajectory(t, used, 99, 5)
		h := sha256.New()
		for seed := range uint64(3) {
			for episode := range 2 {
				b := trajectory(t, w, seed, episode)
				if !bytes.Equal(b, trajectory(t, used, seed, episode)) {
					t.Errorf("%s, seed %d, episode %d: what was played before changes the bytes", task, seed, episode)
				}
				h.Write(b)
			}
		}
		fmt.Fprintf(&table, "%x  %s\n", h.Sum(nil), task)
	}
	gridarm.Golden(t, "testdata/trajectories.sha256", table.Bytes())
}

// Seeds, episodes and tasks have starts of their own.
func TestStartsDiffer(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		w, _ := gridarm.NewWorld(task, gridarm.Options{})
		var seen [][]float32
		for seed := range uint64(4) {
			for episode := range 4 {
				obs := make([]float32, w.ObsSize())
				w.ResetInto(seed, episode, obs)
				for _, o := range seen {
					if slices.Equal(o, obs) {
						t.Errorf("%s: two of 16 starts are equal", task)
					}
				}
				seen = append(seen, obs)
			}
		}
	}
}

// The text pictures of one scripted episode of each task.
func TestPictures(t *testing.T) {
	var out bytes.Buffer
	for _, task := range gridarm.Tasks() {
		w, _ := gridarm.NewWorld(task, gridarm.Options{})
		obs, a, policy := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize), gridarm.Scripted(task)
		w.ResetInto(1, 0, obs)
		fmt.Fprintf(&out, "%s\n%s\n", gridarm.Legend(task), w.Render())
		for !w.Success() && !w.Over() {
			policy(obs, a)
			w.StepInto(a, obs)
		}
		fmt.Fprintln(&out, w.Render())
	}
	gridarm.Golden(t, "testdata/pictures.txt", out.Bytes())
}
