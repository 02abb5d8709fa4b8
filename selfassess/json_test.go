package selfassess

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A head that needs hidden states has no chunks to be judged by, only siblings; its
// report must still be writable, with null for what is not defined.
func TestEvaluationWithoutChunksIsJSON(t *testing.T) {
	var ps []Prediction
	for i := range 40 {
		ps = append(ps, Prediction{Task: fmt.Sprint("t", i%5), State: fmt.Sprint("s", i/4), Label: float64(i % 2), P: float64(i%7) / 7, Raw: .3})
	}
	for _, v := range []any{Evaluate(ps, Bootstrap{Seed: 1}), SiblingLift(ps, Bootstrap{Seed: 1})} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := v.(Evaluation); ok && !strings.Contains(string(b), `"m_ratio":null,"m_diff"`) {
			t.Errorf("the M-ratio of no predictions is not null in %s", b)
		}
	}
}
