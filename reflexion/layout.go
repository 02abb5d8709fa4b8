package reflexion

import (
	"slices"

	"github.com/muse-agent/muse/internal/gametext"
	"github.com/muse-agent/muse/internal/llm"
)

// Layout is a memory of how a room looks when an episode begins, from earlier
// episodes that began in the same way: each place as it was displayed before the
// player had changed anything about it. The first episode that saw a place counts.
func Layout(episodes ...[]llm.Pair) *SeenMemory {
	room := NewSeenMemory(nil)
	for _, ps := range episodes {
		room.learn(ps)
	}
	return room
}

// learn adds what one earlier episode tells about the room's beginning.
func (m *SeenMemory) learn(episode []llm.Pair) {
	now := NewSeenMemory(nil)
	touched := map[string]bool{} // contents changed by the player
	shut := map[string]bool{}    // doors that the player closed
	for _, p := range episode {
		c := gametext.ParseCommand(CanonicalAction(p.Action))
		before, seen := now.places[c.Place]
		now.Add(p)
		if p.Observation == llm.NothingHappens {
			continue
		}
		switch c.Verb {
		case "move", "take":
			touched[c.Place] = true
		case "close":
			shut[c.Place] = true
		}
		after := now.places[c.Place]
		old, have := m.places[c.Place]
		if !after.known && after.door != doorClosed || touched[c.Place] || have && old.known {
			continue
		}
		// A door that the player opened was closed when the episode began.
		if !shut[c.Place] && (seen && before.door == doorClosed || c.Verb == "open") {
			after.door = doorClosed
		}
		after.items = slices.Clone(after.items)
		m.places[c.Place] = after
	}
	for a, g := range now.group {
		for b, h := range now.group {
			if g == h && a < b {
				m.pair(a, b)
			}
		}
	}
}

// pair notes that two places share a location.
func (m *SeenMemory) pair(a, b string) {
	at := m.at
	m.at = a
	m.join(b)
	m.at = at
}
