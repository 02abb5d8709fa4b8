package textworld

import "fmt"

// Plan returns a shortest-first plan of a player that sees the whole state: the
// commands that win from here when executed in order. It is privileged. ok is
// false when the goal can't be reached any more (why says what stands in the way)
// or already holds.
//
// ALFWorld's rules leave one kind of dead end: a hand that holds something for
// which the room has no place (see [Game.DeadEnds]). Doors can always be opened,
// places always reached and treatments repeated, so every other state can still be
// won as long as the objects exist, and the plan is a short enumeration instead of
// a search.
func (w *World) Plan() (cmds []string, ok bool, why string) {
	if w.won {
		return nil, false, "the goal is already reached"
	}
	if best := w.planWith(w.newRoute(), w.held); best != nil {
		return best.cmds, true, ""
	}
	if w.held < 0 {
		return nil, false, w.missing()
	}
	// What is in the hand does not help: put it down where that costs least.
	var drop *route
	for r := range w.c.recs {
		if has(w.c.holds[r*w.c.w:], int(w.held)) {
			p := w.newRoute()
			p.put(w.held, int16(r))
			drop = shorter(drop, p)
		}
	}
	held := w.c.objs[w.held].name
	if drop == nil {
		return nil, false, fmt.Sprintf("%s is in the hand and no receptacle of this room may hold it", held)
	}
	after := w.Clone()
	for _, c := range drop.cmds {
		if _, did := after.Do(c); !did { // a damaged game at worst
			return nil, false, fmt.Sprintf("%s can't be put down: %q has no effect", held, c)
		}
	}
	if after.won {
		return drop.cmds, true, ""
	}
	rest, ok, why := after.Plan()
	if !ok {
		return nil, false, why
	}
	return append(drop.cmds, rest...), true, ""
}

// planWith plans with held (or -1) in the hand and nothing to put down first.
func (w *World) planWith(p *route, held int16) *route {
	switch w.c.data.goal.kind {
	case goalLook:
		return w.planLook(p, held)
	case goalTwo:
		return w.planTwo(p, held)
	}
	var best *route
	for _, r := range w.c.goalIn {
		for o := range w.c.objs {
			best = shorter(best, w.deliver(p, int16(o), held, r))
		}
	}
	return best
}

// deliver fetches target o (unless it is held), treats it as the goal asks and puts
// it into r. nil when that can't be done.
func (w *World) deliver(p *route, o, held, r int16) *route {
	if !has(w.c.target, int(o)) || !has(w.c.holds[int(r)*w.c.w:], int(o)) {
		return nil
	}
	q := w.fetch(p, o, held)
	if q == nil {
		return nil
	}
	if q = w.treated(q, o); q == nil {
		return nil
	}
	q.put(o, r)
	return q
}

// fetch brings o into the hand; held is what the hand holds at this point.
func (w *World) fetch(p *route, o, held int16) *route {
	if held == o {
		return p.fork()
	}
	if held >= 0 || !has(w.c.flags[flagPickupable], int(o)) {
		return nil
	}
	var best *route
	for r := range w.c.recs {
		if has(w.in(int16(r)), int(o)) {
			q := p.fork()
			q.take(o, int16(r))
			best = shorter(best, q)
		}
	}
	return best
}

// treated adds the cleaning, heating or cooling that o still lacks.
func (w *World) treated(p *route, o int16) *route {
	var v verb
	var state int
	switch w.c.data.goal.kind {
	case goalClean:
		v, state = verbClean, w.c.offClean
	case goalHeat:
		v, state = verbHeat, w.c.offHot
	case goalCool:
		v, state = verbCool, w.c.offCool
	default:
		return p
	}
	if has(w.row(state), int(o)) {
		return p
	}
	rtype, _ := appliance(v)
	var best *route
	for r := range w.c.recs {
		if w.c.recs[r].rtype == rtype {
			q := p.fork()
			q.treat(v, o, int16(r))
			best = shorter(best, q)
		}
	}
	return best
}

// planLook holds a target and goes to a lamp that is, or gets, switched on.
func (w *World) planLook(p *route, held int16) *route {
	var best *route
	for o := range w.c.objs {
		if !has(w.c.target, o) {
			continue
		}
		q := w.fetch(p, int16(o), held)
		if q == nil {
			continue
		}
		for l := range w.c.objs {
			if !has(w.c.lamps, l) {
				continue
			}
			for r := range w.c.recs {
				if !has(w.in(int16(r)), l) {
					continue
				}
				s := q.fork()
				if has(w.row(w.c.offOn), l) {
					s.goTo(int16(r))
				} else {
					s.use(int16(l), int16(r))
				}
				best = shorter(best, s)
			}
		}
	}
	return best
}

// planTwo brings as many targets into one receptacle as it lacks.
func (w *World) planTwo(p *route, held int16) *route {
	var best *route
	for _, r := range w.c.goalIn {
		inside := -1
		for o := range w.c.objs {
			if has(w.c.target, o) && has(w.in(r), o) {
				inside = o
			}
		}
		for a := range w.c.objs {
			if a == inside {
				continue // also when it is in the hand: some objects are listed while held
			}
			q := w.deliver(p, int16(a), held, r)
			if q == nil || inside >= 0 {
				best = shorter(best, q)
				continue
			}
			for b := range w.c.objs {
				if b != a {
					best = shorter(best, w.deliver(q, int16(b), -1, r))
				}
			}
		}
	}
	return best
}

// ExpertAction implements [envs.Expert]: the first command of [World.Plan].
func (w *World) ExpertAction() (action string, ok bool, why string) {
	cmds, ok, why := w.Plan()
	if !ok {
		return "", false, why
	}
	return cmds[0], true, ""
}
