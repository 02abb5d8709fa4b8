package train

import (
	"fmt"
	"strings"
	"testing"
)

func TestVariants(t *testing.T) {
	for selector, want := range map[string]string{
		"gated/single":         "gate: single | --gate single",
		"first/2":              "2 commands | --first 2",
		"planned/adaptive/2-6": "adaptive, 2-6 more plans | --min-plans 2 --max-plans 6",
		"best":                 " | ", "off": " | ",
	} {
		if got := variant(selector) + " | " + strings.Join(variantFlags(selector), " "); got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	for _, c := range []struct {
		x, y string
		want bool
	}{
		{"gated/single", "best", true}, {"best", "gated/single", false}, {"planned/adaptive/2-6", "off", true},
		{"planned/adaptive/2-6", "first/2", true}, {"first/2", "off", true}, {"first/2", "best", false}, {"off", "first/2", false},
	} {
		if got := variantPair(c.x, c.y); got != c.want {
			t.Errorf("%s against %s: %v", c.x, c.y, got)
		}
	}
}

// TestVariantsInTheResults: rows name the setting and how to play them again, and the
// gate is compared with firing always.
func TestVariantsInTheResults(t *testing.T) {
	dir := t.TempDir()
	msa := "msa/" + ActingSetting + "@12345678"
	madePart(t, dir, "muse-best", msa, "best", 30, 1, func(i, j int) bool { return i%2 == 0 })
	madePart(t, dir, "muse-gated", msa, "gated/single", 30, 1, func(i, j int) bool { return i%3 != 0 })
	r, err := CompileResults(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	page := r.Page()
	if !strings.Contains(page, "| muse-gated, gate: single |") || !strings.Contains(fmt.Sprint(r.Selection.Rows), "--agent muse-gated --gate single") {
		t.Errorf("page:\n%s", page)
	}
	found := false
	for _, c := range r.Selection.Paired {
		found = found || strings.HasPrefix(c.A, "muse-gated") && strings.HasPrefix(c.B, "muse-best") && c.NTasks == 30
	}
	if !found {
		t.Errorf("differences: %+v", r.Selection.Paired)
	}
}
