package corpus

import (
	"slices"

	"github.com/muse-agent/muse/internal/llm"
)

// Witness follows an episode's text and says which commands can only fail, as far
// as the text and the rules tell. World models are judged by it: an answer that
// nobody could know is no test of what a model has learnt. It reads texts only.
// Not safe for concurrent use.
type Witness struct {
	b *belief
	// apart holds pairs of places (lower index first) at different locations: one
	// was gone to from the other. Places share locations, and nothing says which.
	apart map[[2]int]bool
}

// NewWitness starts from the opening text, or from its task and room lines joined
// by a newline ("Your task is to: …", "You are in the middle of a room. …").
func NewWitness(intro string) (*Witness, error) {
	b, err := newBelief(intro)
	if err != nil {
		return nil, err
	}
	return &Witness{b: b, apart: map[[2]int]bool{}}, nil
}

// Reason names why a command had no effect, by the names of [RealFailures]
// ("other" for what is no command).
func (w *Witness) Reason(action string) string { return w.b.failure(action) }

// MustFail reports whether a command, in the canonical "move" form, can only be
// answered by "Nothing happens.": by the rules, or by what was displayed. False
// means that it may work, or that the text does not tell.
func (w *Witness) MustFail(action string) bool {
	b := w.b
	verb, obj, recep := splitCommand(action)
	r, known := b.index[recep]
	switch verb {
	case "look", "inventory", "help", "slice":
		return false // slicing is left to the engine
	case "use":
		return w.noLamp(obj)
	case "examine":
		// Objects are examined as well, in the hand or in sight: not followed here.
		return known && w.elsewhere(r)
	case "go":
		return !known || b.places[r].near
	case "open", "close", "take", "move", "clean", "heat", "cool":
		if !known || w.elsewhere(r) {
			return true
		}
	default:
		return true
	}
	p := &b.places[r]
	open := p.near && p.seen && !p.closed
	switch verb {
	case "open":
		return !mayOpen[p.typ] || p.fixed || open
	case "close":
		return !mayOpen[p.typ] || p.fixed || p.near && p.closed
	case "take":
		return b.hold != "" || p.near && p.closed || open && !slices.Contains(p.items, obj)
	case "move":
		return obj == "" || obj != b.hold || p.near && p.closed || b.refuse[typeOf(obj)+">"+p.name]
	}
	return obj == "" || obj != b.hold || p.typ != appliances[verb]
}

// appliances do the treatments.
var appliances = map[string]string{"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}

// noLamp reports whether no lamp of that name can be at the player's location.
func (w *Witness) noLamp(lamp string) bool {
	if t := typeOf(lamp); t != "desklamp" && t != "floorlamp" {
		return true
	}
	for i := range w.b.places { // lamps can't be carried: one that was seen is nowhere else
		if slices.Contains(w.b.places[i].items, lamp) {
			return w.elsewhere(i)
		}
	}
	for i := range w.b.places {
		if p := &w.b.places[i]; !w.elsewhere(i) && !(p.near && p.seen && !p.closed) {
			return false
		}
	}
	return true
}

// elsewhere reports whether place r is known to be at another location than the player.
func (w *Witness) elsewhere(r int) bool {
	if w.b.places[r].near {
		return false
	}
	start := true // the start location holds no place
	for i := range w.b.places {
		if w.b.places[i].near {
			if w.apart[pair(i, r)] {
				return true
			}
			start = false
		}
	}
	return start && w.b.here < 0
}

func pair(i, j int) [2]int { return [2]int{min(i, j), max(i, j)} }

// Add learns from a command and its answer, both in canonical form (arrival
// sentence cut off).
func (w *Witness) Add(action, obs string) {
	verb, _, recep := splitCommand(action)
	r, known := w.b.index[recep]
	var left []int // places at the location that the command may leave
	for i := range w.b.places {
		if w.b.places[i].near {
			left = append(left, i)
		}
	}
	w.b.update(action, obs)
	if !known || obs == llm.NothingHappens {
		return
	}
	switch verb {
	case "go":
		for _, i := range left {
			w.apart[pair(i, r)] = true
		}
	case "take", "move", "clean", "heat", "cool", "close":
		w.b.places[r].near = true // it worked, so the place is here
	}
}
