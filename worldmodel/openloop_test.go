package worldmodel

import (
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// TestOpenLoop counts rows and checks the copy baseline against a ramp whose error is known:
// the observation (in symlog units) grows by one a step, so k steps ahead it is off by k.
func TestOpenLoop(t *testing.T) {
	c := little(1, 1)
	c.ObsScale = 2
	m, _ := New(c, 1)
	var ep []Step
	for i := range 10 {
		ep = append(ep, Step{Obs: []float32{symexp(float32(i)) / 2}, Action: []float32{0}, Reward: float32(i), First: i == 0, Last: i == 9})
	}
	out, err := OpenLoop(m, [][]Step{ep, ep}, 2, 3, 2, rng.New(1, "open"))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range out {
		k := float64(i + 1)
		// Positions 1, 3 and 5 of ten leave three steps ahead, in each of two episodes.
		if e.Ahead != i+1 || e.Rows != 6 || e.Copy < k*k*0.999 || e.Copy > k*k*1.001 || e.Still != k || !(e.Model > 0) {
			t.Errorf("%d ahead: %+v", i+1, e)
		}
	}
	if _, err := OpenLoop(m, [][]Step{ep[:3]}, 2, 3, 1, rng.New(1)); err == nil {
		t.Error("an episode that is too short must be an error")
	}
}
