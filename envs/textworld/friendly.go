package textworld

import (
	"regexp"
	"strings"
)

// DialectFriendly is the wording of DialectMove for players who need not match the
// engine's strings: near misses are understood, and a command without effect is
// answered with the reason. It is another game than ALFWorld's, so it has a name that
// stands in every record; results under it can't be compared with published ones.
const DialectFriendly Dialect = "friendly"

var (
	articles  = regexp.MustCompile(`\b(?:the|an|a) ([a-z])`)
	noSpace   = regexp.MustCompile(`\b([a-z]{3,})(\d+)\b`)
	punct     = regexp.MustCompile(`[.!?;,]+$`)
	quotes    = strings.NewReplacer("\"", "", "'", "", "`", "", "_", " ")
	leadWords = []string{"> ", "action:", "command:"}
)

// synonyms are rewritten at the start of a command; the longest that fits first.
var synonyms = []struct{ from, to string }{
	{"walk to ", "go to "}, {"move to ", "go to "}, {"goto ", "go to "}, {"travel to ", "go to "}, {"approach ", "go to "},
	{"pick up ", "take "}, {"pick ", "take "}, {"grab ", "take "}, {"get ", "take "},
	{"put down ", "move "}, {"put ", "move "}, {"place ", "move "}, {"drop ", "move "}, {"insert ", "move "},
	{"turn on ", "use "}, {"switch on ", "use "}, {"toggle ", "use "}, {"wash ", "clean "}, {"rinse ", "clean "},
	{"warm ", "heat "}, {"microwave ", "heat "}, {"chill ", "cool "}, {"cut ", "slice "}, {"look at ", "examine "}, {"inspect ", "examine "},
	{"shut ", "close "},
}

// joints are the words between an object and a place that mean the same.
var joints = map[string][]string{
	"move":  {" in/on ", " into ", " onto ", " inside ", " on top of ", " in ", " on ", " to "},
	"take":  {" out of ", " off ", " from ", " in ", " on "},
	"clean": {" with ", " in ", " at ", " using "}, "heat": {" with ", " in ", " using "}, "cool": {" with ", " in ", " using "},
	"slice": {" with ", " using "},
}

// joint is the engine's own word of each.
var joint = map[string]string{"move": " to ", "take": " from ", "clean": " with ", "heat": " with ", "cool": " with ", "slice": " with "}

// understand rewrites a near miss to the command it means; other lines come back as
// they were. Only what the player can see decides: the names of the room's
// receptacles, the hand, and what lies open at the present place.
func (w *World) understand(cmd string) string {
	s := trim(cmd)
	if w.parse(s).verb != verbNone {
		return s
	}
	s = strings.ToLower(quotes.Replace(s))
	for _, l := range leadWords {
		s = strings.TrimSpace(strings.TrimPrefix(s, l))
	}
	s = punct.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(articles.ReplaceAllString(s, "$1")), " ")
	s = noSpace.ReplaceAllString(s, "$1 $2")
	switch s {
	case "look around", "l":
		return "look"
	case "i", "inv", "check inventory":
		return "inventory"
	}
	for _, y := range synonyms {
		// "move X to R" is a command, "move to R" a walk: the longer form was listed first.
		if rest, ok := strings.CutPrefix(s, y.from); ok {
			s = y.to + rest
			break
		}
	}
	verb, rest, _ := strings.Cut(s, " ")
	switch verb {
	case "go":
		return "go to " + w.place(strings.TrimPrefix(rest, "to "))
	case "open", "close":
		return verb + " " + w.place(rest)
	case "use":
		return "use " + w.thing(rest)
	case "examine":
		if p := w.place(rest); w.c.isReceptacle(p) {
			return "examine " + p
		}
		return "examine " + w.thing(rest)
	}
	for _, j := range joints[verb] {
		x, r, ok := strings.Cut(rest, j)
		if !ok {
			continue
		}
		if verb == "slice" {
			return verb + " " + w.thing(x) + joint[verb] + w.thing(r)
		}
		return verb + " " + w.thing(x) + joint[verb] + w.place(r)
	}
	// "take mug 1", "clean mug 1", "move mug 1": the place is the one that fits here.
	x := w.thing(rest)
	if o, ok := w.c.object(x); ok && joint[verb] != "" && verb != "slice" {
		for _, r := range w.c.at[w.loc] {
			full := verb + " " + x + joint[verb] + w.c.recs[r].name
			if a := w.parse(full); a.verb != verbNone && a.obj == o && w.refusal(a) == fine {
				return full
			}
		}
		for _, r := range w.c.at[w.loc] { // none fits: name one that the thing lies in, for the reason
			if verb == "take" && w.reachable(r) && has(w.in(r), int(o)) {
				return "take " + x + " from " + w.c.recs[r].name
			}
		}
	}
	return s
}

func (c *core) isReceptacle(name string) bool { _, ok := c.receptacle(name); return ok }

// place completes the name of a receptacle: without a number it is the one that the
// player stands at, else the only one of its type.
func (w *World) place(name string) string {
	if w.c.isReceptacle(name) {
		return name
	}
	var one []string
	for _, r := range w.c.at[w.loc] {
		if n := w.c.recs[r].name; strings.HasPrefix(n, name+" ") {
			return n
		}
	}
	for i := range w.c.recs {
		if n := w.c.recs[i].name; strings.HasPrefix(n, name+" ") {
			one = append(one, n)
		}
	}
	if len(one) == 1 {
		return one[0]
	}
	return name
}

// thing completes the name of an object: without a number it is the one in the hand,
// else the first of its type that lies open here.
func (w *World) thing(name string) string {
	if _, ok := w.c.object(name); ok {
		return name
	}
	if h := w.Carrying(); strings.HasPrefix(h, name+" ") {
		return h
	}
	for _, r := range w.c.at[w.loc] {
		for o := range w.c.objs {
			if n := w.c.objs[o].name; strings.HasPrefix(n, name+" ") && w.reachable(r) && has(w.in(r), o) {
				return n
			}
		}
	}
	return name
}

// friendly executes a command in the friendly dialect.
func (w *World) friendly(cmd string) (obs string, effect bool) {
	s := w.understand(cmd)
	if a := w.parse(s); a.verb == verbGo && w.refusal(a) == sameLocation {
		// Neighbours share a place: going there is to look at it.
		w.buf = w.appendReceptacle(append(w.buf[:0], w.c.recs[a.rec].arrive...), a.rec)
		return string(w.buf), true
	}
	if obs, effect = w.Do(s); effect {
		return obs, true
	}
	obs = "Nothing happens: " + w.openReason(s)
	if !strings.HasSuffix(obs, "?") {
		obs += "."
	}
	return obs, false
}

// openReason says why a command had no effect, from what the player can know: whether
// an object exists that was never seen stays untold.
func (w *World) openReason(s string) string {
	a := w.parse(s)
	if a.verb == verbNone {
		verb, rest, _ := strings.Cut(s, " ")
		if _, second, ok := strings.Cut(rest, joint[verb]); joint[verb] != "" && ok && verb != "slice" && !w.c.isReceptacle(second) {
			return "there is no " + clip(second) + " in this room"
		} else if joint[verb] != "" && ok {
			return "you see no such thing here"
		}
		switch verb {
		case "go", "open", "close":
			return "there is no " + clip(strings.TrimPrefix(rest, "to ")) + " in this room"
		case "use", "examine":
			return "you see no such thing here"
		}
		return w.misread(s)
	}
	switch w.refusal(a) {
	case notThere, notHere, lampElsewhere, notALamp, notSliceable:
		return "you see no such thing here"
	case notHeld:
		if w.held < 0 {
			return "you are not carrying anything"
		}
		return "you are carrying " + w.Carrying()
	}
	return w.Reason(s)
}
