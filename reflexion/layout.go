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
	touched := map[string]bool{}
	for _, p := range episode {
		c := gametext.ParseCommand(CanonicalAction(p.Action))
		before, seen := now.places[c.Place]
		now.Add(p)
		if p.Observation == llm.NothingHappens {
			continue
		}
		if c.Verb == "move" || c.Verb == "take" {
			touched[c.Place] = true
		}
		after := now.places[c.Place]
		old, have := m.places[c.Place]
		if !after.known && after.door != doorClosed || touched[c.Place] || have && old.known {
			continue
		}
		// A door that the player opened was closed when the episode began.
		if seen && before.door == doorClosed {
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
