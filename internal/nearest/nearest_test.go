package nearest_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/nearest"
)

func Example() {
	name, distance := nearest.Of("lowset", []string{"off", "lowest", "random", "best"})
	fmt.Println(name, distance)
	// Output: lowest 1
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 0, 0}, {"abc", "", 0, 3}, {"best", "BEST", 0, 0}, {"kitten", "sitting", 0, 3},
		{"ab", "ba", 0, 1}, {"ca", "abc", 0, 3}, // not 2: no letter is moved twice
		{"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 2}, {"abcdef", "a", 3, 3},
	} {
		if got := nearest.Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", c.a, c.b, c.limit, got, c.want)
		}
	}
	if name, d := nearest.Of("x", nil); name != "" || d != -1 {
		t.Errorf("of nothing: %q %d", name, d)
	}
}

// A limit changes nothing but where the search stops.
func TestLimitOnlyCuts(t *testing.T) {
	word := rapid.StringMatching(`[ab]{0,7}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, limit := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(1, 9).Draw(t, "limit")
		full := nearest.Distance(a, b, 0)
		if got := nearest.Distance(a, b, limit); got != min(full, limit) {
			t.Fatalf("Distance(%q, %q, %d) = %d, the whole distance is %d", a, b, limit, got, full)
		}
		if back := nearest.Distance(b, a, 0); back != full {
			t.Fatalf("%q and %q: %d one way, %d the other", a, b, full, back)
		}
	})
}
