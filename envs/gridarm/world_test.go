package gridarm_test

import (
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
)

// Every scripted policy solves its task in all of 200 seeds within 60 % of the limit,
// and still has it solved at the end.
func TestScriptedPoliciesSolveEverySeed(t *testing.T) {
	const seeds, within = 200, gridarm.DefaultMaxSteps * 6 / 10
	for _, task := range gridarm.Tasks() {
		t.Run(task.String(), func(t *testing.T) {
			w, err := gridarm.NewWorld(task, gridarm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			policy := gridarm.Scripted(task)
			obs, a := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
			solved, kept, latest := 0, 0, 0
			for seed := range uint64(seeds) {
				w.ResetInto(seed, 0, obs)
				if w.Success() {
					t.Fatalf("seed %d starts in success", seed)
				}
				first := 0
				for !w.Over() {
					policy(obs, a)
					if r := w.StepInto(a, obs); r.Success && first == 0 {
						first = w.Steps()
					}
				}
				if first > 0 && first <= within {
					solved++
				} else if !t.Failed() {
					t.Errorf("seed %d: first success at decision %d, want 1 to %d; %+v", seed, first, within, w.State())
				}
				if w.Success() {
					kept++
				}
				latest = max(latest, first)
			}
			if solved != seeds || kept != seeds {
				t.Errorf("%d of %d seeds solved within %d decisions, %d still solved at the end", solved, seeds, within, kept)
			}
			t.Logf("latest first success at decision %d", latest)
		})
	}
}
