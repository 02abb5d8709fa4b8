package reflexion

import (
	"maps"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/gametext"
	"github.com/muse-agent/muse/internal/llm"
)

// SeenMemory knows what the player has been shown: for each place its last
// displayed contents, less what was taken, plus what was put, and whether its
// door is open. In imagination it supplies the text of places that were seen
// before, which small language models copy badly (contents seen before: 12–14 %
// exact), and which needs no knowledge beyond the transcript.
//
// It is a pure function of the pairs it was given, in order. Not safe for
// concurrent use; Clone is independent.
type SeenMemory struct {
	places map[string]place
	// group joins places known to share a location: the game refuses "go to" from
	// one to the other. Places without an entry are alone as far as known.
	group map[string]string
	at    string // the place last gone to, "" at the start
	// failed are the commands refused since anything last worked.
	failed []string
	// hold is what the player carries, "" for nothing.
	hold string
	// names are the places that the room has; nil where nobody said.
	names map[string]bool
}

type door byte

const (
	doorNone door = iota
	doorOpen
	doorClosed
)

type place struct {
	door  door
	known bool     // items are known
	items []string // in printed order; never changed in place, clones share it
}

// NewSeenMemory reads the pairs of an episode, real ones or imagined.
func NewSeenMemory(pairs []llm.Pair) *SeenMemory {
	m := &SeenMemory{places: map[string]place{}, group: map[string]string{}}
	for _, p := range pairs {
		m.Add(p)
	}
	return m
}

// RecallFrom returns a function for llm.Request.Recall: the memory of history,
// continued by the imagined pairs. known are earlier episodes from the same start.
func RecallFrom(history []llm.Pair, known ...[]llm.Pair) func(pairs []llm.Pair, action string) (string, bool) {
	base := Layout(known...)
	for _, p := range history {
		base.Add(p)
	}
	return base.recall((*SeenMemory).Recall)
}

// ForeseeFrom is RecallFrom of a memory that also knows failures: see [SeenMemory.Fails].
// room is the task's room line.
func ForeseeFrom(room string, history []llm.Pair, known ...[]llm.Pair) func(pairs []llm.Pair, action string) (string, bool) {
	base := Layout(known...)
	base.names = placeNames(room)
	for _, p := range history {
		base.Add(p)
	}
	return base.recall(func(m *SeenMemory, action string) (string, bool) {
		if m.Fails(action) {
			return llm.NothingHappens, true
		}
		return m.Recall(action)
	})
}

// recall answers by the memory continued by imagined pairs; the memory itself stays.
func (base *SeenMemory) recall(answer func(*SeenMemory, string) (string, bool)) func(pairs []llm.Pair, action string) (string, bool) {
	return func(pairs []llm.Pair, action string) (string, bool) {
		m := base
		if len(pairs) > 0 {
			m = base.Clone()
			for _, p := range pairs {
				m.Add(p)
			}
		}
		return answer(m, action)
	}
}

// Clone returns an independent copy.
func (m *SeenMemory) Clone() *SeenMemory {
	return &SeenMemory{
		places: maps.Clone(m.places), group: maps.Clone(m.group), at: m.at,
		failed: slices.Clone(m.failed), hold: m.hold, names: m.names,
	}
}

// Add learns from one pair. What it can't read changes nothing but the position.
func (m *SeenMemory) Add(p llm.Pair) {
	c := gametext.ParseCommand(CanonicalAction(p.Action))
	x, r := c.Object, c.Place
	obs := CanonicalObservation(p.Observation)
	if obs == llm.NothingHappens {
		m.failed = append(m.failed, CanonicalAction(p.Action))
		// A known place that can't be gone to is where the player already is. (Of an
		// unknown one it may only mean that it doesn't exist: then the note is idle,
		// since nothing can be recalled of a place that was never seen.)
		if c.Verb == "go to" {
			m.join(r)
		}
		return
	}
	m.failed = m.failed[:0:0]
	switch c.Verb {
	case "go to":
		m.at = r
		m.look(r, obs)
	case "open":
		if m.look(r, obs) {
			m.join(r)
		}
	case "examine":
		if m.look(r, obs) {
			m.join(r)
		}
	case "close":
		if strings.HasPrefix(obs, "You close the ") {
			q := m.places[r]
			q.door = doorClosed
			m.places[r] = q
			m.join(r)
		}
	case "take":
		if strings.HasPrefix(obs, "You pick up the ") {
			m.hold = x
			if q := m.places[r]; q.known {
				q.items = slices.DeleteFunc(slices.Clone(q.items), func(s string) bool { return s == x })
				m.places[r] = q
			}
			m.join(r)
		}
	case "move":
		if strings.HasPrefix(obs, "You move the ") {
			m.hold = ""
			if q := m.places[r]; q.known {
				q.items = gametext.Insert(q.items, x)
				m.places[r] = q
			}
			m.join(r)
		}
	case "clean", "heat", "cool":
		if strings.HasPrefix(obs, "You "+c.Verb+" the ") {
			m.join(r)
		}
	case "look":
		if rest, ok := strings.CutPrefix(obs, "You are facing the "); ok {
			names, _, _ := strings.Cut(rest, ". ")
			for name := range strings.SplitSeq(names, ", ") {
				m.join(strings.TrimPrefix(name, "and "))
			}
		}
	}
}

// Recall answers a command with the game's exact text where the transcript gives
// it away: going to, examining or opening a place whose contents were displayed.
// It gives no answer where the game would say "Nothing happens." as far as known.
func (m *SeenMemory) Recall(action string) (observation string, ok bool) {
	c := gametext.ParseCommand(CanonicalAction(action))
	r := c.Place
	q, seen := m.places[r]
	if !seen {
		return "", false
	}
	switch c.Verb {
	case "go to":
		if m.near(r) {
			return "", false
		}
		return q.describe(r)
	case "examine":
		if !m.near(r) {
			return "", false
		}
		return q.describe(r)
	case "open":
		if !m.near(r) || q.door != doorClosed || !q.known {
			return "", false
		}
		q.door = doorOpen
		text, ok := q.describe(r)
		return "You open the " + r + ". " + text, ok
	}
	return "", false
}

// look reads a description of r from obs; false where there is none.
func (m *SeenMemory) look(r, obs string) bool {
	if rest, ok := strings.CutPrefix(obs, "You open the "+r+". "); ok {
		obs = rest
	}
	if obs == "The "+r+" is closed." {
		q := m.places[r] // its contents stay known
		q.door = doorClosed
		m.places[r] = q
		return true
	}
	q := place{known: true, door: doorOpen}
	text, ok := strings.CutPrefix(obs, "The "+r+" is open. In it, you see ")
	if !ok {
		if text, ok = strings.CutPrefix(obs, "On the "+r+", you see "); !ok {
			return false
		}
		q.door = doorNone
	}
	if q.items, ok = gametext.ParseList(text); !ok {
		return false
	}
	m.places[r] = q
	return true
}

func (q place) describe(r string) (string, bool) {
	switch {
	case q.door == doorClosed:
		return "The " + r + " is closed.", true
	case !q.known:
		return "", false
	case q.door == doorOpen:
		return "The " + r + " is open. In it, you see " + gametext.RenderList(q.items) + ".", true
	}
	return "On the " + r + ", you see " + gametext.RenderList(q.items) + ".", true
}

// near reports whether r is known to be where the player is.
func (m *SeenMemory) near(r string) bool {
	if m.at == "" {
		return false // the start location holds no place
	}
	return r == m.at || m.key(r) == m.key(m.at)
}

func (m *SeenMemory) key(r string) string {
	if g, ok := m.group[r]; ok {
		return g
	}
	return r
}

// join notes that r shares the player's location.
func (m *SeenMemory) join(r string) {
	if m.at == "" || r == "" {
		return
	}
	from, to := m.key(r), m.key(m.at)
	if from == to {
		return
	}
	for name, g := range m.group { // the result does not depend on the order
		if g == from {
			m.group[name] = to
		}
	}
	m.group[r], m.group[from], m.group[m.at] = to, to, to
}
