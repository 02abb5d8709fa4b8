package textworld

import (
	"fmt"
	"strings"
)

// verbForms are the shapes of commands, for reasons.
var verbForms = []struct{ word, form, middle string }{
	{"go", "go to R", ""}, {"open", "open R", ""}, {"close", "close R", ""},
	{"take", "take X from R", " from "}, {"clean", "clean X with R", " with "},
	{"heat", "heat X with R", " with "}, {"cool", "cool X with R", " with "},
	{"use", "use X", ""}, {"slice", "slice X with K", " with "}, {"examine", "examine R", ""},
	{"look", "look", ""}, {"inventory", "inventory", ""},
}

// Reason says why a command has no effect in the present state, "" when it has
// one. A command without effect changes nothing, so Reason may be asked before or
// after Do. The words are ours; the game itself only says "Nothing happens.".
// Privileged: reasons tell what stands behind closed doors.
func (w *World) Reason(cmd string) string {
	s := trim(cmd)
	a := w.parse(s)
	if a.verb == verbNone {
		return w.misread(s)
	}
	c := w.c
	name := func(i int16) string { return c.objs[i].name }
	rec := ""
	if a.rec >= 0 {
		rec = c.recs[a.rec].name
	}
	switch w.refusal(a) {
	case fine:
		return ""
	case sameLocation:
		return "already at the location of " + rec
	case elsewhere:
		return rec + " is elsewhere"
	case cannotOpen:
		return rec + " cannot be opened or closed"
	case alreadyOpen:
		return rec + " is already open"
	case alreadyClosed:
		return rec + " is already closed"
	case isClosed:
		return rec + " is closed"
	case notThere:
		return name(a.obj) + " is not in " + rec
	case handFull:
		return "the hand already holds " + w.Carrying()
	case notTakeable:
		return name(a.obj) + " cannot be taken"
	case notHeld:
		if a.verb == verbSlice {
			return name(a.tool) + " is not in the hand"
		}
		return name(a.obj) + " is not in the hand"
	case mayNotHold:
		return rec + " may not hold " + name(a.obj)
	case wrongAppliance:
		want, _ := appliance(a.verb)
		return fmt.Sprintf("%s is not a %s", rec, want)
	case lacksProperty:
		_, flag := appliance(a.verb)
		return fmt.Sprintf("%s is not %s", name(a.obj), flagNames[flag])
	case notALamp:
		return name(a.obj) + " is not a lamp"
	case lampElsewhere:
		return name(a.obj) + " is elsewhere"
	case notAKnife:
		return name(a.tool) + " is not a knife"
	case notSliceable:
		return name(a.obj) + " is not sliceable"
	case notHere:
		return name(a.obj) + " is not here"
	}
	return "not possible now"
}

// misread explains a line that parse did not understand.
func (w *World) misread(s string) string {
	if s == "" {
		return "not a command: empty"
	}
	if low := strings.ToLower(s); low != s && w.parse(low).verb != verbNone {
		return "not a command: capital letters"
	}
	if t := strings.TrimRight(s, ".!"); t != s && w.parse(t).verb != verbNone {
		return "not a command: punctuation at the end"
	}
	word, rest, _ := strings.Cut(s, " ")
	switch {
	case word == "put" && !w.put:
		return `not a command in this dialect: use "move X to R"`
	case word == "move" && w.put:
		return `not a command in this dialect: use "put X in/on R"`
	case word == "help" && w.put && rest == "":
		return "not a command in this dialect"
	case word == "put":
		return w.misnamed(rest, "put X in/on R", " in/on ", false)
	case word == "move":
		return w.misnamed(rest, "move X to R", " to ", false)
	}
	for _, v := range verbForms {
		if v.word == word {
			if word == "go" {
				var ok bool
				if rest, ok = strings.CutPrefix(rest, "to "); !ok {
					rest = ""
				}
			}
			return w.misnamed(rest, v.form, v.middle, word == "slice")
		}
	}
	return "not a command: unknown verb" + suggest(word, verbWords())
}

func verbWords() []string {
	var s []string
	for _, v := range verbForms {
		s = append(s, v.word)
	}
	return append(s, "move", "put")
}

// misnamed explains which name of a command does not fit its form.
func (w *World) misnamed(rest, form, middle string, twoObjects bool) string {
	bad := fmt.Sprintf("not a command: expected %q", form)
	if rest == "" || form == "look" || form == "inventory" {
		return bad
	}
	known := func(n string) bool { _, ok := w.c.lookup[n]; return ok }
	if middle == "" {
		switch {
		case !known(rest):
			return fmt.Sprintf("no %q in this room", clip(rest))
		case form == "use X":
			return rest + " is not an object"
		}
		return rest + " is not a receptacle"
	}
	x, r, ok := strings.Cut(rest, middle)
	if !ok {
		return bad
	}
	if _, is := w.c.object(x); !is {
		if known(x) {
			return x + " is not an object"
		}
		return fmt.Sprintf("no %q in this room", clip(x))
	}
	if !known(r) {
		return fmt.Sprintf("no %q in this room", clip(r))
	}
	if twoObjects {
		return r + " is not an object"
	}
	return r + " is not a receptacle"
}
