package textworld

import "math/bits"

// AppendAdmissible appends every command that has an effect now, sorted as
// strings: the engine's list. Do and this list agree exactly. The strings may be
// shared; the slice is the caller's.
func (w *World) AppendAdmissible(dst []string) []string {
	c := w.c
	here := c.atBy[w.loc]
	dst = w.appendAppliance(dst, verbClean, "clean ")
	for _, r := range here {
		if c.recs[r].opens && w.isOpen(r) {
			dst = append(dst, c.recs[r].close)
		}
	}
	dst = w.appendAppliance(dst, verbCool, "cool ")
	held := ""
	if w.held >= 0 {
		held = c.objs[w.held].examine
	}
	for _, r := range here {
		if held != "" && held < c.recs[r].examine {
			dst = append(dst, held)
			held = ""
		}
		dst = append(dst, c.recs[r].examine)
	}
	if held != "" {
		dst = append(dst, held)
	}
	for _, r := range c.recBy {
		if c.recs[r].loc != w.loc {
			dst = append(dst, c.recs[r].goTo)
		}
	}
	dst = w.appendAppliance(dst, verbHeat, "heat ")
	if !w.put {
		dst = append(dst, "help")
	}
	dst = append(dst, "inventory", "look")
	if !w.put {
		dst = w.appendPuts(dst, "move ", " to ")
	}
	for _, r := range here {
		if c.recs[r].opens && !w.isOpen(r) {
			dst = append(dst, c.recs[r].open)
		}
	}
	if w.put {
		dst = w.appendPuts(dst, "put ", " in/on ")
	}
	return w.appendUses(w.appendTakes(w.appendSlices(dst)))
}

func (w *World) appendAppliance(dst []string, v verb, prefix string) []string {
	if w.held < 0 {
		return dst
	}
	rtype, flag := appliance(v)
	if !has(w.c.flags[flag], int(w.held)) {
		return dst
	}
	for _, r := range w.c.atBy[w.loc] {
		if w.c.recs[r].rtype == rtype {
			dst = append(dst, prefix+w.c.objs[w.held].name+" with "+w.c.recs[r].name)
		}
	}
	return dst
}

func (w *World) appendPuts(dst []string, prefix, middle string) []string {
	if w.held < 0 {
		return dst
	}
	c := w.c
	for _, r := range c.atBy[w.loc] {
		if w.reachable(r) && has(c.holds[int(r)*c.w:], int(w.held)) {
			dst = append(dst, prefix+c.objs[w.held].name+middle+c.recs[r].name)
		}
	}
	return dst
}

func (w *World) appendSlices(dst []string) []string {
	c := w.c
	if w.held < 0 || !has(c.knives, int(w.held)) {
		return dst
	}
	at := w.recorded(w.loc)
	for _, o := range c.objBy {
		if has(c.flags[flagSliceable], int(o)) && has(at, int(o)) {
			dst = append(dst, "slice "+c.objs[o].name+" with "+c.objs[w.held].name)
		}
	}
	return dst
}

func (w *World) appendTakes(dst []string) []string {
	c := w.c
	if w.held >= 0 {
		return dst
	}
	here := c.atBy[w.loc]
	// Most locations hold few objects: collect them before walking the name order.
	n := 0
	for _, r := range here {
		if w.reachable(r) {
			for i, x := range w.in(r) {
				n += bits.OnesCount64(x & c.flags[flagPickupable][i])
			}
		}
	}
	for _, o := range c.objBy {
		if n == 0 {
			break
		}
		if !has(c.flags[flagPickupable], int(o)) {
			continue
		}
		for _, r := range here {
			if w.reachable(r) && has(w.in(r), int(o)) {
				dst = append(dst, c.objs[o].takePrefix+c.recs[r].name)
				n--
			}
		}
	}
	return dst
}

func (w *World) appendUses(dst []string) []string {
	c := w.c
	for _, o := range c.objBy {
		if !has(c.flags[flagToggleable], int(o)) {
			continue
		}
		for _, r := range c.at[w.loc] {
			if has(w.in(r), int(o)) {
				dst = append(dst, c.objs[o].usePrefix)
				break
			}
		}
	}
	return dst
}
