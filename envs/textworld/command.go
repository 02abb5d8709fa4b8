package textworld

import "strings"

type verb uint8

const (
	verbNone verb = iota
	verbGo
	verbOpen
	verbClose
	verbTake
	verbPut
	verbClean
	verbHeat
	verbCool
	verbUse
	verbSlice
	verbExamineRec
	verbExamineObj
	verbLook
	verbInventory
	verbHelp
)

// action is a parsed command: verb and indices, -1 where it has none. For slice,
// obj is what is cut and tool the knife.
type action struct {
	verb           verb
	obj, rec, tool int16
}

var notACommand = action{verb: verbNone, obj: -1, rec: -1, tool: -1}

// receptacle and object look a name up.
func (c *core) receptacle(name string) (int16, bool) {
	i, ok := c.lookup[name]
	return i, ok && i >= 0
}

func (c *core) object(name string) (int16, bool) {
	i, ok := c.lookup[name]
	return ^i, ok && i < 0
}

// parse reads a trimmed command. verbNone: no game has such a command, or one of
// its names does not exist in this room.
func (w *World) parse(s string) action {
	c := w.c
	if s == "" {
		return notACommand
	}
	a := notACommand
	ok := false
	switch s[0] {
	case 'g':
		if n, is := strings.CutPrefix(s, "go to "); is {
			a.verb = verbGo
			a.rec, ok = c.receptacle(n)
		}
	case 'o':
		if n, is := strings.CutPrefix(s, "open "); is {
			a.verb = verbOpen
			a.rec, ok = c.receptacle(n)
		}
	case 't':
		if n, is := strings.CutPrefix(s, "take "); is {
			a.verb = verbTake
			a.obj, a.rec, ok = c.pair(n, " from ")
		}
	case 'm':
		if n, is := strings.CutPrefix(s, "move "); is && !w.put {
			a.verb = verbPut
			a.obj, a.rec, ok = c.pair(n, " to ")
		}
	case 'p':
		if n, is := strings.CutPrefix(s, "put "); is && w.put {
			a.verb = verbPut
			a.obj, a.rec, ok = c.pair(n, " in/on ")
		}
	case 'c':
		if n, is := strings.CutPrefix(s, "clean "); is {
			a.verb = verbClean
			a.obj, a.rec, ok = c.pair(n, " with ")
		} else if n, is := strings.CutPrefix(s, "close "); is {
			a.verb = verbClose
			a.rec, ok = c.receptacle(n)
		} else if n, is := strings.CutPrefix(s, "cool "); is {
			a.verb = verbCool
			a.obj, a.rec, ok = c.pair(n, " with ")
		}
	case 'h':
		if n, is := strings.CutPrefix(s, "heat "); is {
			a.verb = verbHeat
			a.obj, a.rec, ok = c.pair(n, " with ")
		} else if s == "help" && !w.put {
			a.verb, ok = verbHelp, true
		}
	case 'u':
		if n, is := strings.CutPrefix(s, "use "); is {
			a.verb = verbUse
			a.obj, ok = c.object(n)
		}
	case 's':
		if n, is := strings.CutPrefix(s, "slice "); is {
			x, k, found := strings.Cut(n, " with ")
			var okx, okk bool
			a.obj, okx = c.object(x)
			a.tool, okk = c.object(k)
			a.verb, ok = verbSlice, found && okx && okk
		}
	case 'e':
		if n, is := strings.CutPrefix(s, "examine "); is {
			if a.rec, ok = c.receptacle(n); ok {
				a.verb = verbExamineRec
			} else if a.obj, ok = c.object(n); ok {
				a.verb, a.rec = verbExamineObj, -1
			}
		}
	case 'l':
		a.verb, ok = verbLook, s == "look"
	case 'i':
		a.verb, ok = verbInventory, s == "inventory"
	}
	if !ok {
		return notACommand
	}
	return a
}

// pair reads "OBJECT sep RECEPTACLE".
func (c *core) pair(s, sep string) (obj, rec int16, ok bool) {
	x, r, found := strings.Cut(s, sep)
	if !found {
		return -1, -1, false
	}
	obj, ok = c.object(x)
	if !ok {
		return -1, -1, false
	}
	rec, ok = c.receptacle(r)
	return obj, rec, ok
}

// refusal is the first precondition that a command fails, fine when none.
type refusal uint8

const (
	fine refusal = iota
	sameLocation
	elsewhere
	cannotOpen
	alreadyOpen
	alreadyClosed
	isClosed
	notThere
	handFull
	notTakeable
	notHeld
	mayNotHold
	wrongAppliance
	lacksProperty
	notALamp
	lampElsewhere
	notAKnife
	notSliceable
	notHere
)

// refusal checks the preconditions of a parsed command (docs/envs/textworld.md,
// action space); the first that fails is the reason that is named.
func (w *World) refusal(a action) refusal {
	c := w.c
	here := a.rec >= 0 && c.recs[a.rec].loc == w.loc
	switch a.verb {
	case verbGo:
		if here {
			return sameLocation
		}
		return fine
	case verbOpen, verbClose:
		switch {
		case !here:
			return elsewhere
		case !c.recs[a.rec].opens:
			return cannotOpen
		case a.verb == verbOpen && w.isOpen(a.rec):
			return alreadyOpen
		case a.verb == verbClose && !w.isOpen(a.rec):
			return alreadyClosed
		}
		return fine
	case verbTake:
		switch {
		case !here:
			return elsewhere
		case !w.reachable(a.rec):
			return isClosed
		case !has(w.in(a.rec), int(a.obj)):
			return notThere
		case w.held >= 0:
			return handFull
		case !has(c.flags[flagPickupable], int(a.obj)):
			return notTakeable
		}
		return fine
	case verbPut:
		switch {
		case w.held != a.obj:
			return notHeld
		case !here:
			return elsewhere
		case !w.reachable(a.rec):
			return isClosed
		case !has(c.holds[int(a.rec)*c.w:], int(a.obj)):
			return mayNotHold
		}
		return fine
	case verbClean, verbHeat, verbCool:
		return w.refuseAppliance(a, here)
	case verbUse:
		if !has(c.flags[flagToggleable], int(a.obj)) {
			return notALamp
		}
		for _, r := range c.at[w.loc] {
			if has(w.in(r), int(a.obj)) {
				return fine
			}
		}
		return lampElsewhere
	case verbSlice:
		switch {
		case w.held != a.tool:
			return notHeld
		case !has(c.knives, int(a.tool)):
			return notAKnife
		case !has(c.flags[flagSliceable], int(a.obj)):
			return notSliceable
		case !has(w.recorded(w.loc), int(a.obj)):
			return notHere
		}
		return fine
	case verbExamineRec:
		if !here {
			return elsewhere
		}
	case verbExamineObj:
		if w.held != a.obj {
			return notHeld
		}
	}
	return fine
}

// appliance is the receptacle type that a verb needs, and the flag of the objects.
func appliance(v verb) (rtype string, flag int) {
	switch v {
	case verbClean:
		return "sinkbasin", flagCleanable
	case verbHeat:
		return "microwave", flagHeatable
	}
	return "fridge", flagCoolable
}

func (w *World) refuseAppliance(a action, here bool) refusal {
	rtype, flag := appliance(a.verb)
	switch {
	case w.held != a.obj:
		return notHeld
	case w.c.recs[a.rec].rtype != rtype:
		return wrongAppliance
	case !here:
		return elsewhere
	case !has(w.c.flags[flag], int(a.obj)):
		return lacksProperty
	}
	return fine
}
