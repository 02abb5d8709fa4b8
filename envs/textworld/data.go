package textworld

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Flags of an object, by bit: what its type allows and how it starts. The order is
// part of the packed format.
const (
	flagPickupable = iota
	flagCleanable
	flagHeatable
	flagCoolable
	flagSliceable
	flagToggleable
	flagContainer // isReceptacleObject: only the text of examine differs
	flagIsClean
	flagIsHot
	flagIsCool
	flagIsSliced
	flagIsOn
)

// flagNames are the PDDL predicates of the flags, by bit.
var flagNames = [...]string{
	"pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable",
	"isReceptacleObject", "isClean", "isHot", "isCool", "isSliced", "isToggled",
}

// goalKind tells the six task types apart.
type goalKind uint8

const (
	goalPick goalKind = iota
	goalLook
	goalClean
	goalHeat
	goalCool
	goalTwo
)

// taskTypes are ALFWorld's names of the task types, by goalKind.
var taskTypes = [...]string{
	"pick_and_place_simple", "look_at_obj_in_light", "pick_clean_then_place_in_recep",
	"pick_heat_then_place_in_recep", "pick_cool_then_place_in_recep", "pick_two_obj_and_place",
}

// goalData is the goal predicate: types are PDDL types in lower case without
// the ending "type".
type goalData struct {
	kind   goalKind
	object string // type of the object to place or to look at
	target string // type of the receptacle, or of the lamp for goalLook
}

// recData is one receptacle.
type recData struct {
	kind   string // first word of the name
	rtype  string // PDDL type; differs from kind for bathtub basins that count as sinks
	num    int    // number in the name
	loc    int    // number of the location
	opens  bool
	opened bool // at the start; never in ALFWorld's own games
}

// objData is one object, seen or on the floor.
type objData struct {
	kind  string
	otype string // PDDL type, "" when the problem gives none
	num   int
	flags uint16
	in    []int // receptacles that list it, ascending indices
	locs  []int // location numbers recorded for it, ascending
	inner []int // objects inside it, ascending indices
}

// gameData is a game without its PDDL: all that decides a byte of its texts.
// Receptacles and objects stand in the engine's id order.
type gameData struct {
	id, split, goalText string
	goal                goalData
	start               int // number of the location where the agent starts
	held                int // index of the object in the hand, -1 for none
	recs                []recData
	objs                []objData
	contain             [][2]string // (rtype, otype) pairs that matter here, sorted
	walkthrough         []string
}

func (r *recData) name() string { return fmt.Sprintf("%s %d", r.kind, r.num) }
func (o *objData) name() string { return fmt.Sprintf("%s %d", o.kind, o.num) }

// canonical writes the content in a fixed text form. Split and walkthrough are
// left out: the same game has the same hash wherever its file came from.
func (d *gameData) canonical() string {
	var b strings.Builder
	fmt.Fprintf(&b, "muse/textworld-game@1\n%s\n%s\n", d.id, d.goalText)
	fmt.Fprintf(&b, "goal %d %s %s\nstart %d held %d\n", d.goal.kind, d.goal.object, d.goal.target, d.start, d.held)
	for i := range d.recs {
		r := &d.recs[i]
		fmt.Fprintf(&b, "r %s %d %s %d %t %t\n", r.kind, r.num, r.rtype, r.loc, r.opens, r.opened)
	}
	for i := range d.objs {
		o := &d.objs[i]
		fmt.Fprintf(&b, "o %s %d %s %x %v %v %v\n", o.kind, o.num, o.otype, o.flags, o.in, o.locs, o.inner)
	}
	for _, p := range d.contain {
		fmt.Fprintf(&b, "c %s %s\n", p[0], p[1])
	}
	return b.String()
}

func (d *gameData) hash() string {
	s := sha256.Sum256([]byte(d.canonical()))
	return hex.EncodeToString(s[:])
}
