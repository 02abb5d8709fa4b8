package corpus

import (
	"fmt"
	"io"
	"slices"
	"sort"
)

// RealFailures are the reasons for which the commands of real agents had no
// effect: 55,817 of 309,816 recorded commands, counted with a replay of the
// games. Malformed commands (empty, capitals, unknown verbs; 5 %) are left out:
// the players here write none.
var RealFailures = map[string]int{
	"go: is here already":         11321,
	"go: no such place":           10507 + 1063 + 150,
	"put: not held":               8846,
	"put: closed":                 2070,
	"put: elsewhere or no such":   645 + 615,
	"put: does not go there":      45,
	"take: elsewhere":             4790,
	"take: not there":             1917 + 867,
	"take: hands full":            618,
	"take: closed":                82,
	"take: other":                 561 + 87,
	"treat: not held":             1908 + 1752 + 975,
	"treat: elsewhere or other":   226 + 120 + 12 + 12,
	"open: elsewhere":             1282,
	"open: no such, open, or not": 430 + 289 + 254,
	"use: no such lamp here":      470 + 420 + 281,
}

// failure names the reason why a command had no effect, as far as the text told
// (b is the belief before the command); the names are those of RealFailures.
func (b *belief) failure(action string) string {
	verb, obj, recep := splitCommand(action)
	r, known := b.index[recep]
	switch verb {
	case "go":
		if known {
			return "go: is here already"
		}
		return "go: no such place"
	case "move":
		switch {
		case obj != b.hold:
			return "put: not held"
		case !known || !b.places[r].near:
			return "put: elsewhere or no such"
		case b.places[r].closed || mayOpen[b.places[r].typ] && !b.places[r].seen && !b.places[r].fixed:
			return "put: closed"
		}
		return "put: does not go there"
	case "take":
		switch {
		case known && !b.places[r].near:
			return "take: elsewhere"
		case known && b.places[r].closed:
			return "take: closed"
		case b.hold != "":
			return "take: hands full"
		case known && !slices.Contains(b.places[r].items, obj):
			return "take: not there"
		}
		return "take: other"
	case "clean", "heat", "cool":
		if obj != b.hold {
			return "treat: not held"
		}
		return "treat: elsewhere or other"
	case "open":
		if known && !b.places[r].near {
			return "open: elsewhere"
		}
		return "open: no such, open, or not"
	case "use":
		return "use: no such lamp here"
	}
	return "other"
}

// PrintFailures writes the table that compares failed commands with those of
// real agents, in percent of each.
func PrintFailures(w io.Writer, counts map[string]int) error {
	kinds := make([]string, 0, len(RealFailures))
	real, ours := 0, 0
	for k, n := range RealFailures {
		kinds = append(kinds, k)
		real += n
	}
	for k, n := range counts {
		if _, ok := RealFailures[k]; !ok {
			kinds = append(kinds, k)
		}
		ours += n
	}
	sort.Strings(kinds)
	if _, err := fmt.Fprintf(w, "%-30s %8s %8s\n", "command without effect", "real %", "here %"); err != nil {
		return err
	}
	for _, k := range kinds {
		if _, err := fmt.Fprintf(w, "%-30s %8.1f %8.1f\n", k, share(RealFailures[k], real), share(counts[k], ours)); err != nil {
			return err
		}
	}
	return nil
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
