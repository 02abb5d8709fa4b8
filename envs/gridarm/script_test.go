package gridarm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
)

// A policy may not write into the observation that it is given.
func TestPoliciesArePure(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		w, _ := gridarm.NewWorld(task, gridarm.Options{})
		obs, a, b := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize), make([]float32, gridarm.ActionSize)
		p := gridarm.Scripted(task)
		w.ResetInto(5, 0, obs)
		for !w.Over() {
			before := slices.Clone(obs)
			p(obs, a)
			p(obs, b)
			if !slices.Equal(before, obs) {
				t.Fatalf("%s: the policy changes its observation", task)
			}
			if !slices.Equal(a, b) {
				t.Fatalf("%s: the policy has a memory", task)
			}
			w.StepInto(a, obs)
		}
	}
}

// No corruption is the scripted policy itself; more of it fails more often; and every
// task can be failed.
func TestCorruptionsFailByDegrees(t *testing.T) {
	const episodes = 40
	severities := []float64{0, .25, .5, 1}
	total := make([]int, len(severities))
	for _, task := range gridarm.Tasks() {
		w, _ := gridarm.NewWorld(task, gridarm.Options{})
		obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
		solved := make([]int, len(severities))
		for i, severity := range severities {
			for e := range episodes {
				r := rng.New(7, "corrupt", task.String(), e)
				c := gridarm.RandomCorruption(task, severity, r)
				if err := c.Validate(task); err != nil {
					t.Fatal(err)
				}
				p := c.Policy(task, r)
				w.ResetInto(7, e, obs)
				for !w.Over() {
					p(obs, a)
					w.StepInto(a, obs)
				}
				if w.State().Solved {
					solved[i]++
				}
			}
			total[i] += solved[i]
		}
		t.Logf("%s: solved %v of %d", task, solved, episodes)
		if solved[0] != episodes || solved[len(solved)-1] == episodes {
			t.Errorf("%s: solved %v of %d at severities %v", task, solved, episodes, severities)
		}
	}
	n := episodes * len(gridarm.Tasks())
	for i := 1; i < len(total); i++ {
		if total[i] >= total[i-1] {
			t.Errorf("solved %v of %d at severities %v: more corruption must fail more", total, n, severities)
		}
	}
	if last := total[len(total)-1]; last < n/20 || last > n*19/20 {
		t.Errorf("at full severity %d of %d are solved: not graded", last, n)
	}
}

func TestCorruptionKinds(t *testing.T) {
	for name, c := range map[string]gridarm.Corruption{
		"wrong goal": {Goal: [3]float64{.15, 0, 0}}, "missed object": {Object: [3]float64{.1, .1, 0}},
		"no descent": {Skip: 2}, "noise": {Noise: 1}, "limp": {Limp: .02},
	} {
		w, _ := gridarm.NewWorld(gridarm.PickPlace, gridarm.Options{})
		obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
		p := c.Policy(gridarm.PickPlace, rng.New(1, "kind", name))
		w.ResetInto(1, 0, obs)
		for !w.Over() {
			p(obs, a)
			w.StepInto(a, obs)
		}
		if w.State().Solved {
			t.Errorf("%s solves pick-place", name)
		}
	}
	for _, c := range []gridarm.Corruption{{Noise: 2}, {Skip: 9}, {Limp: -1}} {
		if c.Validate(gridarm.Push) == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestStages(t *testing.T) {
	if got, want := fmt.Sprint(gridarm.Stages(gridarm.PegInsertSide)), "[hover descend grip lift align insert]"; got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
	w, _ := gridarm.NewWorld(gridarm.Push, gridarm.Options{})
	obs := make([]float32, w.ObsSize())
	w.ResetInto(1, 0, obs)
	if s := gridarm.Stage(gridarm.Push, obs); s != 0 {
		t.Errorf("the episode begins in stage %d", s)
	}
}
