package textworld

import "fmt"

// DeadEnds lists the visible objects that can be taken and then put nowhere: no
// receptacle of the room may hold their type, though one holds them at the start
// (a papertowelroll on a countertop). Whoever takes one has a full hand for the rest
// of the episode and can win only a look_at_obj_in_light game that asks for it.
// Privileged; in printing order.
func (g *Game) DeadEnds() []string {
	c := g.core()
	var out []string
	for o := range c.objs {
		if has(c.flags[flagPickupable], o) && len(c.data.objs[o].in) > 0 && !c.fits(o) {
			out = append(out, c.objs[o].name)
		}
	}
	return out
}

// fits reports whether some receptacle of the room may hold object o.
func (c *core) fits(o int) bool {
	for r := range c.recs {
		if has(c.holds[r*c.w:], o) {
			return true
		}
	}
	return false
}

// lost is DeadEnd of the start state, planned once a game; "" where that hand is full
// for ever, which is told by its holder.
func (c *core) lost() string {
	c.lostOnce.Do(func() {
		start := World{c: c, bits: make([]uint64, len(c.init))}
		start.restart()
		if start.held < 0 || c.fits(int(start.held)) {
			c.lostWhy = start.DeadEnd()
		}
	})
	return c.lostWhy
}

// fullHand remembers the reason of a hand that is full for ever: it is the same at
// every step, so an episode pays for one plan at most.
type fullHand struct {
	c    *core
	held int16
	why  string
}

// deadEnd is w.DeadEnd() without a plan where none is needed: what could be reached
// from the start stays in reach (see [World.Plan]) unless the hand is full for ever.
func (f *fullHand) deadEnd(w *World) string {
	switch {
	case w.won:
		return ""
	case w.held < 0 || w.c.fits(int(w.held)):
		return w.c.lost()
	case f.c != w.c || f.held != w.held:
		*f = fullHand{w.c, w.held, w.DeadEnd()}
	}
	return f.why
}

// DeadEnd says why the goal can't be reached any more, "" while it still can.
// Given enough commands, [World.Plan] wins from every state for which this is "".
func (w *World) DeadEnd() string {
	if w.won {
		return ""
	}
	_, ok, why := w.Plan()
	if ok {
		return ""
	}
	return why
}

// missing explains why there is no plan with empty hands.
func (w *World) missing() string {
	g := w.c.data.goal
	if g.kind == goalLook {
		return fmt.Sprintf("no %s that can be taken, or no %s, is left in the receptacles", g.object, g.target)
	}
	return fmt.Sprintf("not enough of %s that could be taken, treated and put into a %s are left in the receptacles", g.object, g.target)
}
