package textworld

import "math/bits"

// helpText is the answer to help. The engine's parser drops the blank line that
// the grammar puts first and keeps the last newline.
const helpText = "Available commands:\n" +
	"  look:                             look around your current location\n" +
	"  inventory:                        check your current inventory\n" +
	"  go to (receptacle):               move to a receptacle\n" +
	"  open (receptacle):                open a receptacle\n" +
	"  close (receptacle):               close a receptacle\n" +
	"  take (object) from (receptacle):  take an object from a receptacle\n" +
	"  move (object) to (receptacle):  place an object in or on a receptacle\n" +
	"  examine (something):              examine a receptacle or an object\n" +
	"  use (object):                     use an object\n" +
	"  heat (object) with (receptacle):  heat an object using a receptacle\n" +
	"  clean (object) with (receptacle): clean an object using a receptacle\n" +
	"  cool (object) with (receptacle):  cool an object using a receptacle\n" +
	"  slice (object) with (object):     slice an object using a sharp object\n"

// list prints "nothing", "a x 1", "a x 1, and a y 1", "a x 1, a y 1, and a z 1".
type list struct{ items []string }

func (l *list) add(s string) { l.items = append(l.items, s) }

func (l *list) appendTo(b []byte) []byte {
	if len(l.items) == 0 {
		return append(b, "nothing"...)
	}
	for i, s := range l.items {
		b = appendSeparator(b, i, len(l.items))
		b = append(b, s...)
	}
	return b
}

// appendSeparator prints what stands before item i of n.
func appendSeparator(b []byte, i, n int) []byte {
	switch {
	case i == 0:
		return b
	case i == n-1:
		return append(b, ", and "...)
	}
	return append(b, ", "...)
}

// appendObjects prints a row of objects as a list with articles.
func (c *core) appendObjects(b []byte, row []uint64) []byte {
	n := 0
	for _, x := range row {
		n += bits.OnesCount64(x)
	}
	if n == 0 {
		return append(b, "nothing"...)
	}
	k := 0
	for i, x := range row {
		for ; x != 0; x &= x - 1 {
			b = appendSeparator(b, k, n)
			b = append(b, c.objs[i<<6+bits.TrailingZeros64(x)].article...)
			k++
		}
	}
	return b
}

// appendReceptacle describes a receptacle.
func (w *World) appendReceptacle(b []byte, r int16) []byte {
	t := &w.c.recs[r]
	switch {
	case !t.opens:
		b = append(b, t.onIt...)
	case w.isOpen(r):
		b = append(b, t.inOpen...)
	default:
		return append(b, t.isClosed...)
	}
	return append(w.c.appendObjects(b, w.in(r)), '.')
}

// appendAnswer prints the engine's answer to a command that took effect.
func (w *World) appendAnswer(b []byte, a action) []byte {
	c := w.c
	switch a.verb {
	case verbGo:
		if w.put {
			b = append(b, c.recs[a.rec].locText...)
		} else {
			b = append(b, c.recs[a.rec].arrive...)
		}
		return w.appendReceptacle(b, a.rec)
	case verbOpen:
		return w.appendReceptacle(append(b, c.recs[a.rec].nowOpen...), a.rec)
	case verbClose:
		return append(b, c.recs[a.rec].closes...)
	case verbTake:
		return sentence(b, "You pick up the ", c.objs[a.obj].name, " from the ", c.recs[a.rec].name)
	case verbPut:
		if w.put {
			return sentence(b, "You put the ", c.objs[a.obj].name, " in/on the ", c.recs[a.rec].name)
		}
		return sentence(b, "You move the ", c.objs[a.obj].name, " to the ", c.recs[a.rec].name)
	case verbClean:
		return sentence(b, "You clean the ", c.objs[a.obj].name, " using the ", c.recs[a.rec].name)
	case verbHeat:
		return sentence(b, "You heat the ", c.objs[a.obj].name, " using the ", c.recs[a.rec].name)
	case verbCool:
		return sentence(b, "You cool the ", c.objs[a.obj].name, " using the ", c.recs[a.rec].name)
	case verbSlice:
		return sentence(b, "You sliced the ", c.objs[a.obj].name, " with the ", c.objs[a.tool].name)
	case verbUse:
		return append(b, c.objs[a.obj].turnsOnIt...)
	case verbExamineRec:
		return w.appendReceptacle(b, a.rec)
	case verbExamineObj:
		return w.appendExamine(b, a.obj)
	case verbLook:
		return w.appendLook(b)
	case verbInventory:
		if w.held < 0 {
			return append(b, "You are not carrying anything."...)
		}
		return append(append(append(b, "You are carrying: "...), c.objs[w.held].article...), '.')
	case verbHelp:
		return append(b, helpText...)
	}
	return append(b, noEffect...)
}

func sentence(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = append(b, p...)
	}
	return append(b, '.')
}

// appendLook prints the answer to look. Next to the
// receptacles stand objects recorded at this location, once for each receptacle
// here from which they were taken and not put back.
func (w *World) appendLook(b []byte) []byte {
	c := w.c
	at := c.at[w.loc]
	if len(at) == 0 {
		return append(b, "You are in the middle of a room. Looking quickly around you, you see nothing."...)
	}
	b = append(b, "You are facing the "...)
	for i, r := range at {
		b = appendSeparator(b, i, len(at))
		b = append(b, c.recs[r].name...)
	}
	b = append(b, ". Next to it, you see "...)
	l := list{}
	for i, x := range w.recorded(w.loc) {
		for ; x != 0; x &= x - 1 {
			o := i<<6 + bits.TrailingZeros64(x)
			for _, r := range at {
				if has(w.taken(r), o) {
					l.add(c.objs[o].article)
				}
			}
		}
	}
	return append(l.appendTo(b), '.')
}

// appendExamine prints the answer to examining a held object; the order of the
// cases is the engine's.
func (w *World) appendExamine(b []byte, o int16) []byte {
	c, i := w.c, int(o)
	t := &c.objs[o]
	if has(c.flags[flagContainer], i) {
		l := list{}
		for _, x := range t.inner {
			l.add(c.objs[x].article)
		}
		return append(l.appendTo(append(b, t.normal...)), '.')
	}
	clean, hot, cool, sliced := has(w.row(c.offClean), i), has(w.row(c.offHot), i), has(w.row(c.offCool), i), has(w.row(c.offSliced), i)
	kind := ""
	switch {
	case clean && hot:
		kind = "hot and clean "
	case clean && cool:
		kind = "cool and clean "
	case sliced && clean:
		kind = "clean "
	case hot:
		kind = "hot "
	case sliced && cool:
		kind = "cool "
	case clean:
		kind = "clean "
	case cool:
		kind = "cold "
	case has(c.flags[flagToggleable], i):
		if has(w.row(c.offOn), i) {
			return sentence(b, "This ", t.name, " is on")
		}
		return sentence(b, "This ", t.name, " is off")
	case !sliced || !has(c.flags[flagSliceable], i):
		return sentence(b, "There's nothing special about ", t.name)
	}
	if sliced {
		kind += "sliced "
	}
	return sentence(b, "This is a ", kind, t.name)
}
