package textworld

import (
	"math/bits"
	"strings"
	"unicode"
)

// World is the bare engine: one game in play, without step limit, rewards or
// think lines. It goes on after a win, as ALFWorld's own engine does. A World is
// not safe for concurrent use; clones are independent of each other.
type World struct {
	c         *core
	put       bool  // the older dialect
	loc, held int16 // location index; object index or -1
	won       bool
	bits      []uint64
	buf       []byte
}

// NewWorld starts a game. The empty dialect means DialectMove.
func NewWorld(g *Game, d Dialect) *World {
	c := g.core()
	w := &World{c: c, put: d == DialectPut, bits: make([]uint64, len(c.init))}
	w.restart()
	return w
}

func (w *World) restart() {
	copy(w.bits, w.c.init)
	w.loc, w.held = w.c.start, int16(w.c.data.held)
	w.won = w.goalHolds()
}

// Clone returns an independent copy of the present state.
func (w *World) Clone() *World {
	n := &World{c: w.c, put: w.put, loc: w.loc, held: w.held, won: w.won, bits: make([]uint64, len(w.bits))}
	copy(n.bits, w.bits)
	return n
}

// CopyFrom makes w equal to src, reusing w's memory; the games may differ.
func (w *World) CopyFrom(src *World) {
	w.c, w.put, w.loc, w.held, w.won = src.c, src.put, src.loc, src.held, src.won
	w.bits = append(w.bits[:0], src.bits...)
}

// Won reports whether the goal holds now.
func (w *World) Won() bool { return w.won }

// Intro is the text of a reset: welcome, room and task.
func (w *World) Intro() string { return w.c.intro }

// Carrying names the object in the hand, "" when it is empty.
func (w *World) Carrying() string {
	if w.held < 0 {
		return ""
	}
	return w.c.objs[w.held].name
}

// Dialect returns the wording in use.
func (w *World) Dialect() Dialect {
	if w.put {
		return DialectPut
	}
	return DialectMove
}

// Do executes one command and returns the engine's answer, byte for byte. effect
// is false when the command was not possible; the state is then unchanged and the
// answer is "Nothing happens.". Space around the command is ignored, all else is
// compared exactly.
func (w *World) Do(cmd string) (obs string, effect bool) {
	a := w.parse(trim(cmd))
	if a.verb == verbNone || w.refusal(a) != fine {
		return noEffect, false
	}
	w.apply(a)
	w.buf = w.appendAnswer(w.buf[:0], a)
	return string(w.buf), true
}

// trim cuts what Python's str.strip cuts.
func trim(s string) string {
	if s != "" && s[0] > ' ' && s[0] < 0x7f && s[len(s)-1] > ' ' && s[len(s)-1] < 0x7f {
		return s
	}
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}

// Rows of the state.
func (w *World) in(r int16) []uint64 { i := int(r) * w.c.w; return w.bits[i : i+w.c.w] }
func (w *World) taken(r int16) []uint64 {
	i := w.c.offTaken + int(r)*w.c.w
	return w.bits[i : i+w.c.w]
}
func (w *World) recorded(l int16) []uint64 {
	i := w.c.offAt + int(l)*w.c.w
	return w.bits[i : i+w.c.w]
}
func (w *World) row(off int) []uint64   { return w.bits[off : off+w.c.w] }
func (w *World) isOpen(r int16) bool    { return has(w.bits[w.c.offOpened:], int(r)) }
func (w *World) reachable(r int16) bool { return !w.c.recs[r].opens || w.isOpen(r) }

// apply changes the state; a must have passed refusal.
func (w *World) apply(a action) {
	c := w.c
	switch a.verb {
	case verbGo:
		w.loc = c.recs[a.rec].loc
	case verbOpen:
		set(w.bits[c.offOpened:], int(a.rec))
		return
	case verbClose:
		unset(w.bits[c.offOpened:], int(a.rec))
		return
	case verbTake:
		unset(w.in(a.rec), int(a.obj))
		set(w.taken(a.rec), int(a.obj))
		unset(w.recorded(w.loc), int(a.obj))
		w.held = a.obj
	case verbPut:
		set(w.in(a.rec), int(a.obj))
		unset(w.taken(a.rec), int(a.obj))
		set(w.recorded(w.loc), int(a.obj))
		w.held = -1
	case verbClean:
		set(w.row(c.offClean), int(a.obj))
	case verbHeat:
		set(w.row(c.offHot), int(a.obj))
		unset(w.row(c.offCool), int(a.obj))
	case verbCool:
		set(w.row(c.offCool), int(a.obj))
		unset(w.row(c.offHot), int(a.obj))
	case verbUse:
		set(w.row(c.offOn), int(a.obj))
	case verbSlice:
		set(w.row(c.offSliced), int(a.obj))
		return
	default:
		return
	}
	w.won = w.goalHolds()
}

// goalHolds evaluates the goal predicate (docs/envs/textworld.md, description).
func (w *World) goalHolds() bool {
	c := w.c
	if c.data.goal.kind == goalLook {
		if w.held < 0 || !has(c.target, int(w.held)) {
			return false
		}
		on := w.row(c.offOn)
		for _, r := range c.at[w.loc] {
			for i, x := range w.in(r) {
				if x&on[i]&c.lamps[i] != 0 {
					return true
				}
			}
		}
		return false
	}
	var state []uint64
	need := 1
	switch c.data.goal.kind {
	case goalClean:
		state = w.row(c.offClean)
	case goalHeat:
		state = w.row(c.offHot)
	case goalCool:
		state = w.row(c.offCool)
	case goalTwo:
		need = 2
	}
	for _, r := range c.goalIn {
		n := 0
		for i, x := range w.in(r) {
			x &= c.target[i]
			if state != nil {
				x &= state[i]
			}
			n += bits.OnesCount64(x)
		}
		if n >= need {
			return true
		}
	}
	return false
}
