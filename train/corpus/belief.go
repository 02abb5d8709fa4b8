package corpus

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/internal/gametext"
	"github.com/muse-agent/muse/internal/llm"
)

// mayOpen are the receptacle types of which some or all instances open.
var mayOpen = map[string]bool{"cabinet": true, "drawer": true, "safe": true, "fridge": true, "microwave": true}

// place is one receptacle as far as the text has told.
type place struct {
	name, typ string
	num       int
	seen      bool // its contents were displayed
	closed    bool // displayed as closed, and not opened since
	fixed     bool // opening it failed: it does not open
	near      bool // at the player's present location
	items     []string
}

// belief is everything a player knows. It is built from the opening text and the
// (command, answer) pairs only; it holds no reference to the game.
type belief struct {
	goal   Goal
	places []place // by type, then number
	index  map[string]int
	byType map[string][]int // ascending numbers
	types  []string         // sorted
	here   int              // the place gone to last; -1 at the start
	looked int              // the place whose contents the last answer displayed; -1 if none
	hold   string           // name of the object in the hand, "" if none
	from   int              // where it was taken
	done   map[string]bool  // objects that were cleaned, heated or cooled as the goal asks
	refuse map[string]bool  // "object type>place name" where putting failed
}

// newBelief reads the room line and the task line of the opening text.
func newBelief(intro string) (*belief, error) {
	task, room, err := openingLines(intro)
	if err != nil {
		return nil, err
	}
	g, err := ParseGoal(task)
	if err != nil {
		return nil, err
	}
	b := &belief{goal: g, index: map[string]int{}, byType: map[string][]int{}, here: -1, looked: -1, from: -1,
		done: map[string]bool{}, refuse: map[string]bool{}}
	for _, n := range listAfter(room, "you see ") {
		t, num, _ := strings.Cut(n, " ")
		k, err := strconv.Atoi(num)
		if err != nil {
			return nil, fmt.Errorf("corpus: receptacle %q in the opening text is not of the form \"type number\"", n)
		}
		b.places = append(b.places, place{name: n, typ: t, num: k})
	}
	sort.Slice(b.places, func(i, j int) bool {
		p, q := &b.places[i], &b.places[j]
		return p.typ < q.typ || p.typ == q.typ && p.num < q.num
	})
	for i := range b.places {
		p := &b.places[i]
		b.index[p.name] = i
		if len(b.byType[p.typ]) == 0 {
			b.types = append(b.types, p.typ)
		}
		b.byType[p.typ] = append(b.byType[p.typ], i)
	}
	return b, nil
}

// openingLines finds the task line and the room line in a game's opening text.
func openingLines(intro string) (task, room string, err error) {
	for _, l := range strings.Split(intro, "\n") {
		switch {
		case strings.HasPrefix(l, "Your task is to: "):
			task = l
		case strings.HasPrefix(l, "You are in the middle of a room."):
			room = l
		}
	}
	if task == "" || room == "" {
		return "", "", fmt.Errorf("corpus: opening text has no room or no task line: %.80q", intro)
	}
	return task, room, nil
}

// listAfter reads the list "a mug 1, a pen 2, and a pan 1." that follows the
// last occurrence of intro in s.
func listAfter(s, intro string) []string {
	k := strings.LastIndex(s, intro)
	if k < 0 {
		return nil
	}
	items, _ := gametext.ParseList(strings.TrimSuffix(s[k+len(intro):], ".") + ".")
	return items
}

// splitCommand takes a command apart: verb ("go" for "go to"), object and place (""
// where absent).
func splitCommand(a string) (verb, obj, recep string) {
	c := gametext.ParseCommand(a)
	if c.Verb == "go to" {
		c.Verb = "go"
	}
	return c.Verb, c.Object, c.Place
}

// update learns from one command and its answer (arrival sentence cut off).
func (b *belief) update(action, obs string) {
	verb, obj, recep := splitCommand(action)
	r, known := b.index[recep]
	b.looked = -1
	if obs == llm.NothingHappens {
		b.learnFromNothing(verb, obj, r, known)
		return
	}
	switch verb {
	case "go":
		if !known {
			return
		}
		for i := range b.places {
			b.places[i].near = false
		}
		b.places[r].near, b.here = true, r
		b.readContents(r, obs)
	case "open", "examine":
		if known {
			b.places[r].near, b.here = true, r
			b.readContents(r, obs)
		}
	case "close":
		if known {
			b.places[r].closed = true
		}
	case "take":
		b.hold, b.from = obj, r
		if known {
			b.remove(r, obj)
		}
	case "move":
		b.hold, b.from = "", -1
		if known {
			b.places[r].items = append(b.places[r].items, obj)
		}
	case "clean", "heat", "cool":
		if v, _ := b.goal.treat(); v == verb {
			b.done[obj] = true
		} else if verb != "clean" {
			delete(b.done, obj) // heating clears cold and the other way round
		}
	}
}

// learnFromNothing draws what can be concluded from "Nothing happens.".
func (b *belief) learnFromNothing(verb, obj string, r int, known bool) {
	if !known {
		return
	}
	p := &b.places[r]
	switch {
	case verb == "go":
		p.near = true // a place of the room that can't be gone to is here already
		b.here = r
	case verb == "open" && p.near && (p.closed || !p.seen):
		p.fixed, p.closed = true, false
	case verb == "take" && p.near && !p.closed && b.hold == "":
		b.remove(r, obj)
	case verb == "move" && p.near && !p.closed && b.hold == obj:
		b.refuse[typeOf(obj)+">"+p.name] = true
	}
}

func (b *belief) readContents(r int, obs string) {
	p := &b.places[r]
	if strings.HasSuffix(obs, " is closed.") {
		p.closed = true
		return
	}
	p.closed, p.seen = false, true
	p.items = listAfter(obs, "you see ")
	b.looked = r
}

func (b *belief) remove(r int, obj string) {
	p := &b.places[r]
	for i, x := range p.items {
		if x == obj {
			p.items = append(p.items[:i:i], p.items[i+1:]...)
			return
		}
	}
}

// holds reports whether place r is known to hold an object of type t.
func (b *belief) holds(r int, t string) bool {
	for _, x := range b.places[r].items {
		if typeOf(x) == t {
			return true
		}
	}
	return false
}

// visible finds a known object of type t, at the present location first. Place
// except (-1 for none) and the objects in it don't count.
func (b *belief) visible(t string, except int) (obj string, r int) {
	for _, near := range []bool{true, false} {
		for i := range b.places {
			p := &b.places[i]
			if p.near != near || i == except || !p.seen {
				continue
			}
			for _, x := range p.items {
				if typeOf(x) == t && x != b.hold && !(except >= 0 && slices.Contains(b.places[except].items, x)) {
					return x, i
				}
			}
		}
	}
	return "", -1
}

// pending reports whether the object in the hand still needs the goal's treatment.
func (b *belief) pending() bool {
	v, _ := b.goal.treat()
	return v != "" && b.hold != "" && !b.done[b.hold]
}

func (b *belief) holdsTarget() bool { return b.hold != "" && typeOf(b.hold) == b.goal.Object }
