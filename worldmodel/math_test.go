package worldmodel

import (
	"math"
	"testing"
)

func TestExp32(t *testing.T) {
	worst := 0.0
	for x := -86.9; x < 88; x += 0.00137 {
		f := float32(x)
		want := math.Exp(float64(f))
		worst = max(worst, math.Abs(float64(exp32(f))-want)/want)
	}
	if worst > 2e-7 {
		t.Errorf("relative error %g", worst)
	}
	nan := float32(math.NaN())
	if exp32(float32(math.Inf(-1))) != 0 || !math.IsInf(float64(exp32(100)), 1) || exp32(nan) == exp32(nan) {
		t.Error("exp32 at the edges")
	}
	for x := float32(-30); x < 30; x += 0.01 {
		if d := math.Abs(float64(tanh(x)) - math.Tanh(float64(x))); d > 3e-7 {
			t.Fatalf("tanh(%g) is off by %g", x, d)
		}
		want := 1 / (1 + math.Exp(-float64(x)))
		if d := math.Abs(float64(sigmoid(x))-want) / want; d > 3e-7 {
			t.Fatalf("sigmoid(%g) is off by %g", x, d)
		}
	}
}
