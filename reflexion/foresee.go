package reflexion

import (
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/gametext"
)

// Fails reports whether the game will answer "Nothing happens." as far as the
// transcript gives it away: the command was refused since anything last worked; it
// takes a thing with a hand that is full, or from a place whose displayed contents
// don't hold it; it needs a thing in the hand that isn't there; it opens what stands
// open; or it goes to a place that the room line doesn't name. Small language models
// imagine success in such cases, since the players they learnt from were mostly right.
func (m *SeenMemory) Fails(action string) bool {
	a := CanonicalAction(action)
	if slices.Contains(m.failed, a) {
		return true
	}
	c := gametext.ParseCommand(a)
	switch c.Verb {
	case "take":
		q, seen := m.places[c.Place]
		return m.hold != "" || seen && q.known && !slices.Contains(q.items, c.Object)
	case "move", "clean", "heat", "cool":
		return c.Object != m.hold
	case "open":
		return m.places[c.Place].door == doorOpen
	case "go to":
		return m.names != nil && !m.names[c.Place]
	}
	return false
}

// placeNames are the places of a room line: "…, you see a bed 1, a desk 1, and a
// desk 2." nil where it has another form.
func placeNames(room string) map[string]bool {
	_, list, ok := strings.Cut(room, "you see ")
	if !ok {
		return nil
	}
	line, _, _ := strings.Cut(list, "\n")
	items, ok := gametext.ParseList(strings.TrimSpace(line))
	if !ok || len(items) == 0 {
		return nil
	}
	names := make(map[string]bool, len(items))
	for _, n := range items {
		names[n] = true
	}
	return names
}
