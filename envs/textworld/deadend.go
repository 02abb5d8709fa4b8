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
		if !has(c.flags[flagPickupable], o) || len(c.data.objs[o].in) == 0 {
			continue
		}
		fits := false
		for r := range c.recs {
			fits = fits || has(c.holds[r*c.w:], o)
		}
		if !fits {
			out = append(out, c.objs[o].name)
		}
	}
	return out
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
