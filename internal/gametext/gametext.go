// Package gametext takes apart what ALFWorld's games write and read: commands, lists of
// things, and names with a number.
//
// It looks at the words only. What a command may do, and what a list tells about a
// room, is the matter of the player that reads it.
package gametext

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Command is a command taken apart.
type Command struct {
	Verb   string // "go to", else the first word
	Object string // what is acted on; the rest of a command of no known form
	Place  string // receptacle or appliance, the knife of "slice"; "" where none is named
}

// joints stand between the object and the place of a command.
var joints = map[string]string{
	"take": " from ", "move": " to ", "clean": " with ", "heat": " with ", "cool": " with ", "slice": " with ",
}

// ParseCommand takes a command in the "move" dialect apart: "take X from R" is {take, X,
// R}, "go to R" and "open R" have a place only. One that lacks its second half has an
// empty Place, and whatever follows an unknown word is its Object.
func ParseCommand(a string) Command {
	if r, ok := strings.CutPrefix(a, "go to "); ok {
		return Command{Verb: "go to", Place: r}
	}
	c := Command{}
	c.Verb, c.Object, _ = strings.Cut(a, " ")
	switch joint, ok := joints[c.Verb]; {
	case ok:
		c.Object, c.Place, _ = strings.Cut(c.Object, joint)
	case c.Verb == "open" || c.Verb == "close" || c.Verb == "examine":
		c.Object, c.Place = "", c.Object
	}
	return c
}

// ParseList reads "nothing." or "a cup 2, a cup 1, and a fork 1." strictly: anything
// else is not ok.
func ParseList(s string) (items []string, ok bool) {
	s, ok = strings.CutSuffix(s, ".")
	if !ok {
		return nil, false
	}
	if s == "nothing" {
		return nil, true
	}
	parts := strings.Split(s, ", ")
	for i, p := range parts {
		if i > 0 && i == len(parts)-1 {
			if p, ok = strings.CutPrefix(p, "and "); !ok {
				return nil, false
			}
		}
		if p, ok = strings.CutPrefix(p, "a "); !ok {
			return nil, false
		}
		if _, n := SplitName(p); n < 0 {
			return nil, false
		}
		parts[i] = p
	}
	return parts, true
}

// RenderList is the inverse of ParseList without the full stop: with two items, too,
// the game writes a comma before "and".
func RenderList(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	var b strings.Builder
	for i, it := range items {
		if i > 0 {
			b.WriteString(", ")
			if i == len(items)-1 {
				b.WriteString("and ")
			}
		}
		b.WriteString("a " + it)
	}
	return b.String()
}

// Insert puts x where the game prints it, types alphabetical and numbers downwards; a
// list that holds it already stays. The argument is not changed.
func Insert(items []string, x string) []string {
	i, found := slices.BinarySearchFunc(items, x, compare)
	if found {
		return items
	}
	return slices.Insert(slices.Clone(items), i, x)
}

func compare(a, b string) int {
	ta, na := SplitName(a)
	tb, nb := SplitName(b)
	return cmp.Or(cmp.Compare(ta, tb), cmp.Compare(nb, na))
}

// SplitName splits "mug 2" into type and number; anything else is a type with number −1.
func SplitName(s string) (kind string, number int) {
	t, n, ok := strings.Cut(s, " ")
	k, err := strconv.Atoi(n)
	if !ok || t == "" || err != nil || k < 0 {
		return s, -1
	}
	return t, k
}
