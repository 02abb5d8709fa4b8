// Package nearest measures how far a mistyped word is from a known one, for errors
// that say what was probably meant.
package nearest

import (
	"slices"
	"strings"
)

// Distance is the optimal string alignment distance of two words, over bytes and
// without regard to case: insertions, deletions, replacements and swaps of
// neighbours count 1 each. With a limit above 0 it stops early and returns limit
// when the distance is not less.
func Distance(a, b string, limit int) int {
	if limit <= 0 {
		limit = len(a) + len(b) + 1
	}
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	// Rows i−2, i−1 and i of the table of distances between prefixes.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) >= limit { // a later row is never lower
			return limit
		}
	}
	return min(row[len(b)], limit)
}

// Of returns the first of names with the least distance to word, and that distance;
// "" and −1 where there are no names.
func Of(word string, names []string) (name string, distance int) {
	distance = -1
	for _, n := range names {
		if d := Distance(word, n, 0); distance < 0 || d < distance {
			name, distance = n, d
		}
	}
	return name, distance
}
