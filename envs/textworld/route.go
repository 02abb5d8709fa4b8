package textworld

import "slices"

// route builds a sequence of commands from the present state, tracking only what
// later commands of the same route depend on: the place and the doors opened.
type route struct {
	w      *World
	loc    int16
	opened []int16
	cmds   []string
}

func (w *World) newRoute() *route { return &route{w: w, loc: w.loc} }

func (p *route) goTo(r int16) {
	if rec := &p.w.c.recs[r]; rec.loc != p.loc {
		p.cmds = append(p.cmds, rec.goTo)
		p.loc = rec.loc
	}
}

// reach goes to r and opens it where needed.
func (p *route) reach(r int16) {
	p.goTo(r)
	if p.w.reachable(r) || slices.Contains(p.opened, r) {
		return
	}
	p.cmds = append(p.cmds, p.w.c.recs[r].open)
	p.opened = append(p.opened, r)
}

func (p *route) take(o, r int16) {
	p.reach(r)
	p.cmds = append(p.cmds, "take "+p.w.c.objs[o].name+" from "+p.w.c.recs[r].name)
}

func (p *route) put(o, r int16) {
	p.reach(r)
	cmd := "move " + p.w.c.objs[o].name + " to " + p.w.c.recs[r].name
	if p.w.put {
		cmd = putForm(cmd)
	}
	p.cmds = append(p.cmds, cmd)
}

func (p *route) treat(v verb, o, r int16) {
	p.goTo(r)
	word := map[verb]string{verbClean: "clean ", verbHeat: "heat ", verbCool: "cool "}[v]
	p.cmds = append(p.cmds, word+p.w.c.objs[o].name+" with "+p.w.c.recs[r].name)
}

func (p *route) use(lamp int16, r int16) {
	p.goTo(r)
	p.cmds = append(p.cmds, p.w.c.objs[lamp].usePrefix)
}

// fork copies the route, so that alternatives can share a beginning.
func (p *route) fork() *route {
	return &route{w: p.w, loc: p.loc, opened: append([]int16(nil), p.opened...), cmds: append([]string(nil), p.cmds...)}
}

// shorter keeps the shorter of two routes, the earlier one on a tie; nil loses.
func shorter(a, b *route) *route {
	if a == nil || b != nil && len(b.cmds) < len(a.cmds) {
		return b
	}
	return a
}
