package textworld

import (
	"sort"
	"strings"
	"sync"
)

// Dialect names the wording of one release of ALFWorld's games.
type Dialect string

const (
	// DialectMove is the wording of games 2.1.2 and later (alfworld 0.4+):
	// "move X to R", "You arrive at R.", and help is a command.
	DialectMove Dialect = "move"
	// DialectPut is the wording of games 2.1.1 (alfworld 0.2 to 0.3.5):
	// "put X in/on R", "You arrive at loc N.", and there is no help.
	DialectPut Dialect = "put"
)

const noEffect = "Nothing happens."

// nameText holds every text fragment that depends on a name alone. They are
// shared by all games.
type nameText struct {
	name, article                    string // "mug 1", "a mug 1"
	goTo, open, close, examine       string // commands
	arrive, nowOpen, closes          string // answers
	inOpen, isClosed, onIt           string // descriptions of a receptacle
	normal                           string // examine of a container
	takePrefix, usePrefix, turnsOnIt string
}

var names = struct {
	sync.Mutex
	m map[string]*nameText
}{m: map[string]*nameText{}}

// textOf returns the fragments of a name, made once a process.
func textOf(name string) *nameText {
	names.Lock()
	defer names.Unlock()
	if t := names.m[name]; t != nil {
		return t
	}
	t := &nameText{
		name: name, article: "a " + name,
		goTo: "go to " + name, open: "open " + name, close: "close " + name, examine: "examine " + name,
		arrive: "You arrive at " + name + ". ", nowOpen: "You open the " + name + ". ", closes: "You close the " + name + ".",
		inOpen: "The " + name + " is open. In it, you see ", isClosed: "The " + name + " is closed.",
		onIt: "On the " + name + ", you see ", normal: "This is a normal " + name + ". In it, you see ",
		takePrefix: "take " + name + " from ", usePrefix: "use " + name, turnsOnIt: "You turn on the " + name + ".",
	}
	names.m[name] = t
	return t
}

// core is the compiled form of a game: read-only, shared by all its worlds.
//
// A world's state is one slice of words: rows of w words (one bit an object) for
// what each receptacle lists, what was taken from it, and what is recorded at each
// location, then one row each for clean, hot, cool, sliced and on, then the opened
// receptacles.
type core struct {
	data   *gameData
	recs   []coreRec
	objs   []coreObj
	nLoc   int
	start  int16
	w      int              // words of an object row
	lookup map[string]int16 // name -> receptacle index, or ^object index
	recBy  []int16          // receptacles by name as strings: the order of admissible lists
	objBy  []int16
	at     [][]int16 // location -> its receptacles, id order
	atBy   [][]int16 // location -> its receptacles by name
	holds  []uint64  // rows: objects that each receptacle may hold
	flags  [len(flagNames)][]uint64
	knives []uint64
	target []uint64 // objects that the goal may mean
	lamps  []uint64 // lamps that the goal may mean
	goalIn []int16  // receptacles that the goal may mean
	init   []uint64
	intro  string

	lostOnce sync.Once
	lostWhy  string // see lost

	offTaken, offAt, offClean, offHot, offCool, offSliced, offOn, offOpened int
}

type coreRec struct {
	*nameText
	loc     int16
	opens   bool
	locText string // "You arrive at loc N. "
	rtype   string
}

type coreObj struct {
	*nameText
	inner []int
	otype string
}

// compile prepares a game. The data must be consistent, as parser and unpacker leave it.
func compile(d *gameData) *core {
	nr, no := len(d.recs), len(d.objs)
	c := &core{data: d, w: (no + 63) / 64, lookup: make(map[string]int16, nr+no)}
	locs := map[int]int16{}
	loc := func(n int) int16 {
		i, ok := locs[n]
		if !ok {
			i = int16(len(locs))
			locs[n] = i
		}
		return i
	}
	for i := range d.recs {
		loc(d.recs[i].loc)
	}
	c.start = loc(d.start)
	for i := range d.objs {
		for _, l := range d.objs[i].locs {
			loc(l)
		}
	}
	c.nLoc = len(locs)

	w := c.w
	c.offTaken = nr * w
	c.offAt = 2 * nr * w
	c.offClean = c.offAt + c.nLoc*w
	c.offHot, c.offCool, c.offSliced, c.offOn = c.offClean+w, c.offClean+2*w, c.offClean+3*w, c.offClean+4*w
	c.offOpened = c.offClean + 5*w
	c.init = make([]uint64, c.offOpened+(nr+63)/64)

	c.recs, c.at = make([]coreRec, nr), make([][]int16, c.nLoc)
	for i := range d.recs {
		r := &d.recs[i]
		n := r.name()
		l := loc(r.loc)
		c.recs[i] = coreRec{nameText: textOf(n), loc: l, opens: r.opens, locText: textOf(numbered("loc", r.loc)).arrive, rtype: r.rtype}
		c.lookup[n] = int16(i)
		c.recBy = append(c.recBy, int16(i))
		c.at[l] = append(c.at[l], int16(i))
		if r.opened {
			set(c.init[c.offOpened:], i)
		}
	}
	for f := range c.flags {
		c.flags[f] = make([]uint64, w)
	}
	c.knives, c.target, c.lamps = make([]uint64, w), make([]uint64, w), make([]uint64, w)
	c.objs = make([]coreObj, no)
	byType := map[string][]int{}
	for i := range d.objs {
		o := &d.objs[i]
		n := o.name()
		c.objs[i] = coreObj{nameText: textOf(n), inner: o.inner, otype: o.otype}
		c.lookup[n] = ^int16(i)
		c.objBy = append(c.objBy, int16(i))
		byType[o.otype] = append(byType[o.otype], i)
		for f := range c.flags {
			if o.flags&(1<<f) != 0 {
				set(c.flags[f], i)
			}
		}
		if o.otype == "knife" || o.otype == "butterknife" {
			set(c.knives, i)
		}
		for _, r := range o.in {
			set(c.init[r*w:], i)
		}
		for _, l := range o.locs {
			set(c.init[c.offAt+int(loc(l))*w:], i)
		}
	}
	c.compileGoal()
	for _, s := range []struct{ off, bit int }{{c.offClean, flagIsClean}, {c.offHot, flagIsHot}, {c.offCool, flagIsCool}, {c.offSliced, flagIsSliced}, {c.offOn, flagIsOn}} {
		copy(c.init[s.off:s.off+w], c.flags[s.bit])
	}
	c.holds = make([]uint64, nr*w)
	for _, p := range d.contain {
		for i := range c.recs {
			if c.recs[i].rtype == p[0] {
				for _, o := range byType[p[1]] {
					set(c.holds[i*w:], o)
				}
			}
		}
	}
	sort.Slice(c.recBy, func(i, j int) bool { return c.recs[c.recBy[i]].name < c.recs[c.recBy[j]].name })
	sort.Slice(c.objBy, func(i, j int) bool { return c.objs[c.objBy[i]].name < c.objs[c.objBy[j]].name })
	c.atBy = make([][]int16, c.nLoc)
	for _, r := range c.recBy {
		l := c.recs[r].loc
		c.atBy[l] = append(c.atBy[l], r)
	}
	c.intro = c.makeIntro()
	return c
}

func (c *core) compileGoal() {
	g := c.data.goal
	for i := range c.objs {
		if c.objs[i].otype == g.object {
			set(c.target, i)
		}
		if g.kind == goalLook && c.objs[i].otype == g.target {
			set(c.lamps, i)
		}
	}
	and(c.lamps, c.flags[flagToggleable])
	switch g.kind {
	case goalClean:
		and(c.target, c.flags[flagCleanable])
	case goalHeat:
		and(c.target, c.flags[flagHeatable])
	case goalCool:
		and(c.target, c.flags[flagCoolable])
	}
	if g.kind != goalLook {
		for i := range c.recs {
			if c.recs[i].rtype == g.target {
				c.goalIn = append(c.goalIn, int16(i))
			}
		}
	}
}

// makeIntro is the text of a reset: the room when the agent stands nowhere in
// particular, else what it faces.
func (c *core) makeIntro() string {
	var b strings.Builder
	b.WriteString("-= Welcome to TextWorld, ALFRED! =-\n\n")
	w := World{c: c, loc: c.start, held: int16(c.data.held), bits: c.init}
	if len(c.at[c.start]) > 0 {
		b.Write(w.appendLook(nil))
	} else {
		b.WriteString("You are in the middle of a room. Looking quickly around you, you see ")
		l := list{}
		for i := range c.recs {
			l.add(c.recs[i].article)
		}
		b.Write(l.appendTo(nil))
		b.WriteString(".")
	}
	b.WriteString("\n\nYour task is to: ")
	b.WriteString(c.data.goalText)
	return b.String()
}

func numbered(kind string, n int) string { r := recData{kind: kind, num: n}; return r.name() }

// Bit rows.
func set(row []uint64, i int)      { row[i>>6] |= 1 << (i & 63) }
func unset(row []uint64, i int)    { row[i>>6] &^= 1 << (i & 63) }
func has(row []uint64, i int) bool { return row[i>>6]&(1<<(i&63)) != 0 }
func and(row, mask []uint64) {
	for i := range row {
		row[i] &= mask[i]
	}
}
