package logs

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// subjects makes rows of three subjects, whose words never meet.
func subjects(n int) []Row {
	var rows []Row
	for i := range n {
		r := rng.New(3, "subjects", i)
		var b strings.Builder
		for range 30 {
			fmt.Fprintf(&b, "%c%02d ", 'a'+rune(i%3), r.IntN(60))
		}
		rows = append(rows, Row{Goal: "do it", Steps: []Step{{b.String(), "done"}}, N: 1})
	}
	return rows
}

// The leading topics tell subjects apart, and the vectors are orthonormal.
func TestTopicsTellSubjectsApart(t *testing.T) {
	rows := subjects(600)
	m := fitTopics(rows, 1)
	if m == nil {
		t.Fatal("no topics")
	}
	for a := range 5 {
		for b := range a + 1 {
			dot := 0.0
			for i := range m.voc.idf {
				dot += float64(m.v[i*m.n+a]) * float64(m.v[i*m.n+b])
			}
			if want := float64(bit(a == b)); math.Abs(dot-want) > 1e-4 {
				t.Errorf("vectors %d and %d: %.5f", a, b, dot)
			}
		}
	}
	// Rows of one subject are near each other in three topics, rows of two are not.
	x := make([][]float32, 60)
	for i := range x {
		x[i] = m.beside(nil, &rows[i])
	}
	cos := func(a, b []float32) float64 {
		var ab, aa, bb float64
		for j := range 3 {
			ab += float64(a[j] * b[j])
			aa += float64(a[j] * a[j])
			bb += float64(b[j] * b[j])
		}
		return ab / math.Sqrt(aa*bb)
	}
	for i := range x {
		for j := range i {
			if c := cos(x[i], x[j]); (i%3 == j%3) != (c > 0.8) {
				t.Fatalf("rows %d and %d: cosine %.3f", i, j, c)
			}
		}
	}
	if again := fitTopics(rows, 1); !reflect.DeepEqual(m, again) {
		t.Error("equal rows gave other topics")
	}
	if fitTopics(rows[:50], 1) != nil {
		t.Error("topics of too few rows")
	}
}

func TestTopicsAreStored(t *testing.T) {
	rows := subjects(300)
	m := fitTopics(rows, 1)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Topics
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.beside(nil, &rows[7]), back.beside(nil, &rows[7])) {
		t.Error("topics that were read back differ")
	}
	for _, bad := range []string{`{"n":0}`, `{"n":2,"terms":["a"],"idf":[1],"v":[1]}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Trees that see shares of rows and columns are fixed by the seed, and still fit.
func TestTreesOfSharesAreFixedBySeed(t *testing.T) {
	var x [][]float32
	var y, w []float64
	for i := range 600 {
		r := rng.New(1, "shares", i)
		a, b := float32(r.Float64()), float32(r.Float64())
		x, w = append(x, []float32{a, b, float32(r.Float64()), float32(r.Float64())}), append(w, 1)
		y = append(y, float64(bit(a+b > 1)))
	}
	c := TreeConfig{Trees: 60, Depth: 3, Rate: .2, L2: 1, MinWeight: 5, Rows: .7, Columns: .5, Seed: 4}
	one, two := FitTrees(x, y, w, c), FitTrees(x, y, w, c)
	if !reflect.DeepEqual(one, two) {
		t.Fatal("equal seeds gave other trees")
	}
	c.Seed = 5
	if reflect.DeepEqual(one, FitTrees(x, y, w, c)) {
		t.Error("another seed gave the same trees")
	}
	right := 0
	for i := range x {
		right += int(bit((one.Logit(x[i]) > 0) == (y[i] == 1)))
	}
	if right < 560 {
		t.Errorf("%d of 600 rows", right)
	}
}
