package viewer

import (
	"slices"
	"strings"
	"unicode"
)

// Door is what is known of a receptacle's door.
type Door uint8

// The doors.
const (
	NoDoor Door = iota
	Opened
	Closed
)

// Place is a receptacle as far as the record has shown it.
type Place struct {
	Name  string
	Door  Door
	Seen  bool // its content is known
	Items []string
}

// Room is what a person who reads the game's answers knows after some commands: never
// more, so nothing on the plan is hidden from the agent. (The engine's own state isn't in
// the record.)
type Room struct {
	Places []Place // in the order of the first text, which is the game's own
	At     string  // the receptacle the agent last went to, "" at the start
	Before string  // the one before that
	Held   string  // object in the hand
	Lamp   string  // turned on
	// Changed are objects that were cleaned, heated or cooled: name → "clean", "hot", "cool".
	Changed map[string]string
	// New are the objects whose place the last command showed or changed.
	New map[string]bool
}

// NewRoom reads the first text of an episode.
func NewRoom(intro string) *Room {
	r := &Room{Changed: map[string]string{}, New: map[string]bool{}}
	if _, list, ok := strings.Cut(intro, "you see "); ok {
		list, _, _ = strings.Cut(list, ".")
		for _, name := range things(list) {
			r.place(name)
		}
	}
	return r
}

// RoomAt is the room after the first n steps of an episode.
func RoomAt(e *Episode, n int) *Room {
	r := NewRoom(e.Room)
	for i := range min(n, len(e.Steps)) {
		r.Add(e.Steps[i].Action.Text, e.Steps[i].Observation.Text)
	}
	return r
}

// maxPlaces bounds what a hostile record can put into a room.
const maxPlaces = 200

// place returns the receptacle called name, which is added if it is new; nil when there
// are too many.
func (r *Room) place(name string) *Place {
	for i := range r.Places {
		if r.Places[i].Name == name {
			return &r.Places[i]
		}
	}
	if name == "" || len(name) > 80 || len(r.Places) >= maxPlaces {
		return nil
	}
	r.Places = append(r.Places, Place{Name: name})
	return &r.Places[len(r.Places)-1]
}

// things splits "a bed 1, a desk 2, and a shelf 1".
func things(list string) []string {
	var out []string
	for s := range strings.SplitSeq(list, ",") {
		s = strings.TrimSpace(s)
		s = strings.TrimPrefix(s, "and ")
		for _, article := range []string{"a ", "an "} {
			if t, ok := strings.CutPrefix(s, article); ok {
				s = t
				break
			}
		}
		if s != "" && s != "nothing" && len(out) < maxPlaces {
			out = append(out, s)
		}
	}
	return out
}

// Add learns from one command and its answer.
func (r *Room) Add(action, answer string) {
	clear(r.New)
	action, answer = strings.TrimSpace(action), canonical(answer)
	if answer == "Nothing happens." || answer == "" {
		return
	}
	verb, rest, _ := strings.Cut(action, " ")
	switch verb {
	case "go":
		name := strings.TrimPrefix(rest, "to ")
		if name != r.At {
			r.Before, r.At = r.At, name
		}
		r.show(name, answer)
	case "open":
		r.show(rest, answer)
	case "close":
		if p := r.place(rest); p != nil && strings.HasPrefix(answer, "You close ") {
			p.Door = Closed
		}
	case "examine":
		r.show(rest, answer)
	case "take":
		if x, from, ok := strings.Cut(rest, " from "); ok && strings.HasPrefix(answer, "You pick up ") {
			r.drop(x)
			r.Held = x
			r.New[x] = true
			_ = from
		}
	case "move", "put":
		x, to, ok := strings.Cut(rest, " to ")
		if !ok {
			x, to, ok = strings.Cut(rest, " in/on ")
		}
		if ok && strings.HasPrefix(answer, "You move ") {
			r.drop(x)
			r.Held = ""
			if p := r.place(to); p != nil {
				p.Items = append(p.Items, x)
				p.Seen = true
			}
			r.New[x] = true
		}
	case "clean", "heat", "cool":
		if x, _, ok := strings.Cut(rest, " with "); ok && strings.HasPrefix(answer, "You "+verb) {
			r.Changed[x] = map[string]string{"clean": "clean", "heat": "hot", "cool": "cool"}[verb]
			r.New[x] = true
		}
	case "use":
		if strings.HasPrefix(answer, "You turn on ") {
			r.Lamp = rest
			r.New[rest] = true
		}
	}
}

// drop takes an object out of every place that is known to hold it.
func (r *Room) drop(x string) {
	for i := range r.Places {
		p := &r.Places[i]
		p.Items = slices.DeleteFunc(slices.Clone(p.Items), func(s string) bool { return s == x })
	}
}

// show reads the description of a receptacle.
func (r *Room) show(name, answer string) {
	if strings.Contains(answer, "The "+name+" is closed.") {
		if p := r.place(name); p != nil {
			p.Door = Closed
		}
		return
	}
	before, list, ok := strings.Cut(answer, "you see ")
	if !ok {
		return
	}
	open := strings.Contains(before, "The "+name+" is open.") || strings.HasPrefix(before, "You open the ")
	if !open && !strings.Contains(before, "On the "+name) && !strings.Contains(before, "In it") {
		return // of something else
	}
	p := r.place(name)
	if p == nil {
		return
	}
	if open {
		p.Door = Opened
	}
	list, _, _ = strings.Cut(list, ".")
	items := things(list)
	for _, x := range items {
		if !p.Seen || !slices.Contains(p.Items, x) {
			r.New[x] = true
		}
	}
	p.Items, p.Seen = items, true
}

// kindOf is the kind of a thing: "desk" of "desk 12".
func kindOf(name string) string {
	return strings.TrimRightFunc(name, func(r rune) bool { return unicode.IsDigit(r) || r == ' ' })
}

// inGoal says whether the goal's sentence names the kind of a thing.
func inGoal(goal, name string) bool {
	k := kindOf(name)
	if k == "" {
		return false
	}
	for w := range strings.FieldsFuncSeq(goal, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if w == k || w == k+"s" {
			return true
		}
	}
	return false
}
