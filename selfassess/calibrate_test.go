package selfassess

import (
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// overconfident draws labels from σ(slope·z + shift).
func overconfident(n int, slope, shift float64) (z, y []float64) {
	r := rng.New(2, "calibration")
	for range n {
		v := r.NormFloat64() * 3
		z = append(z, v)
		y = append(y, float64(bit(r.Float64() < sigmoid(slope*v+shift))))
	}
	return z, y
}

func TestCalibrationRecovers(t *testing.T) {
	z, y := overconfident(20000, .5, 0)
	c, err := fitCalibration("temperature", z, y)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "temperature", 1/c.A, 2, .1)
	z, y = overconfident(20000, .5, -.8)
	c, err = fitCalibration("platt", z, y)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Platt slope", c.A, .5, .03)
	near(t, "Platt shift", c.B, -.8, .06)
	iso, err := fitCalibration("isotonic", z, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{-4, -1, 0, 2, 5} {
		near(t, "isotonic", iso.Apply(v), sigmoid(.5*v-.8), .05)
	}
	for _, kind := range calibrationKinds[1:] {
		c, _ := fitCalibration(kind, z, y)
		var before, after []float64
		for _, v := range z {
			before, after = append(before, sigmoid(v)), append(after, c.Apply(v))
		}
		e0, _, _ := ECE(y, before, ECEBins)
		if e1, _, _ := ECE(y, after, ECEBins); kind != "temperature" && e1 > e0/3 {
			t.Errorf("%s: ECE %.3f → %.3f", kind, e0, e1)
		}
	}
}

// Every kind keeps the order of candidates, also on separable and tiny data.
func TestCalibrationIsMonotone(t *testing.T) {
	z, y := overconfident(500, .7, .2)
	for _, data := range [][2][]float64{{z, y}, {{-2, -1, 1, 2}, {0, 0, 1, 1}}, {{-2, -1, 1, 2}, {1, 1, 0, 0}}, {{1}, {1}}, {{0, 0}, {0, 1}}} {
		for _, kind := range calibrationKinds {
			c, err := fitCalibration(kind, data[0], data[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := c.validate(); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			last := math.Inf(-1)
			for v := -8.0; v <= 8; v += .05 {
				p := c.Apply(v)
				if !(p > last || p == last && (p < 1e-9 || p > 1-1e-9)) || p < 0 || p > 1 {
					t.Fatalf("%s on %d rows: P(%.2f) = %v after %v", kind, len(data[0]), v, p, last)
				}
				last = p
			}
		}
	}
	if _, err := fitCalibration("magic", z, y); err == nil {
		t.Error("an unknown kind must be an error")
	}
}

func TestIsotonicPools(t *testing.T) {
	x, p := fitIsotonic([]float64{1, 2, 3, 4, 4}, []float64{0, 1, 0, 1, 1})
	want := [][2]float64{{1, .1}, {2.5, .5}, {4, .9}}
	if len(x) != len(want) {
		t.Fatalf("knots %v %v", x, p)
	}
	for i, w := range want {
		near(t, "knot", x[i], w[0], 1e-12)
		near(t, "value", p[i], w[1], 1e-12)
	}
}
