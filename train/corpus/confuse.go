package corpus

import (
	"slices"
	"strconv"
	"strings"
)

// confusion is the state of mind of a player of one level.
type confusion struct {
	level Level
	modes []ModeWeight
	mode  Mode // "" when lucid
	last  [2]string
	steps int
}

// tireOfWandering is the chance a step that a wandering player does something
// else: walking to and fro between long lists fills texts without teaching.
const tireOfWandering = 0.25

// decide is one decision of a player of mixed competence.
func (p *player) decide(c *confusion) (think, action string) {
	switch {
	case c.mode == "" && c.steps > 0 && c.level.Confuse > 0 && p.rng.Float64() < c.level.Confuse:
		c.mode = p.drawMode(c)
	case c.mode != "" && p.rng.Float64() < c.level.Recover:
		c.mode = ""
	}
	if c.mode == Wander && p.rng.Float64() < tireOfWandering {
		c.mode = p.drawMode(c)
	}
	if c.mode != "" {
		think, action = p.confused(c)
		if action == "" { // the mode can't go on: another one
			c.mode = p.drawMode(c)
			think, action = p.confused(c)
		}
	}
	if action == "" {
		c.mode = ""
		think, action = p.next()
	}
	c.last = [2]string{think, action}
	c.steps++
	return think, action
}

// drawMode draws a mode by weight. A reminder of the forgotten step keeps a
// player from forgetting it again.
func (p *player) drawMode(c *confusion) Mode {
	sum := 0.0
	for _, m := range c.modes {
		if p.possible(m.Mode, c) {
			sum += m.Weight
		}
	}
	u := p.rng.Float64() * sum
	for _, m := range c.modes {
		if !p.possible(m.Mode, c) {
			continue
		}
		if u -= m.Weight; u < 0 {
			return m.Mode
		}
	}
	return ""
}

// possible reports whether a mode has something to do in the present situation.
func (p *player) possible(m Mode, c *confusion) bool {
	switch m {
	case Loop:
		return c.last[1] != "" && !strings.HasPrefix(c.last[1], "take ")
	case Ghost:
		return p.hold == "" && p.here >= 0
	case Wrong:
		return p.hold == "" && p.here >= 0 && !p.hints.recall
	case Order:
		return p.hold == "" && !p.hints.recall
	case Skip:
		return p.pending() && p.holdsTarget() && !p.hints.recall
	case Closed:
		return p.holdsTarget() && p.goal.Kind != Look && p.closedDestination() >= 0 ||
			p.hold == "" && mayOpen[p.places[p.nextUnseen()].typ]
	case Far:
		return p.hold == "" || p.holdsTarget() && !p.pending()
	}
	return true
}

// confused is the thought and command of a confused player; "" for action when
// its mode has nothing to do here.
func (p *player) confused(c *confusion) (think, action string) {
	if !p.possible(c.mode, c) {
		return "", ""
	}
	switch c.mode {
	case Loop:
		return c.last[0], c.last[1]
	case Ghost:
		return p.takeGhost(p.pickNear())
	case Far:
		return p.actFar(c)
	case Order:
		return p.useUnheld()
	case Skip:
		r := p.destination()
		return "i have " + p.hold + ". next put it in " + p.places[r].name + ".", p.putAction(r)
	case Wrong:
		return p.takeWrong()
	case Nowhere:
		return p.goNowhere()
	case Closed:
		return p.forgetOpening()
	}
	return p.wander()
}

func (p *player) find(obj string) string { return "find " + obj + ": " }

// pickNear is a place at the present location, preferably not closed.
func (p *player) pickNear() int {
	if t := &p.places[p.here]; !t.closed {
		return p.here
	}
	for i := range p.places {
		if p.places[i].near && !p.places[i].closed {
			return i
		}
	}
	return p.here
}

// nextUnseen is the place the search would turn to; it changes nothing.
func (p *player) nextUnseen() int {
	for _, t := range p.orderFor(p.goal.Object) {
		for _, r := range p.byType[t] {
			if !p.places[r].seen {
				return r
			}
		}
	}
	return 0
}

// takeGhost imagines a target in r.
func (p *player) takeGhost(r int) (string, string) {
	t := &p.places[r]
	x := p.goal.Object + " " + strconv.Itoa(1+p.rng.IntN(3))
	if slices.Contains(t.items, x) {
		x = p.goal.Object + " " + strconv.Itoa(4+p.rng.IntN(2))
	}
	return p.find(p.goal.Object) + "i see " + x + " in " + t.name + ".", "take " + x + " from " + t.name
}

// actFar acts on a place without going there.
func (p *player) actFar(c *confusion) (string, string) {
	g := p.goal
	if p.holdsTarget() {
		if g.Kind == Look {
			if lamp, r := p.visible(g.Place, -1); lamp != "" && !p.places[r].near {
				return "i have " + p.hold + ". next use " + lamp + " in " + p.places[r].name + ".", "use " + lamp
			}
			return "", ""
		}
		if r := p.destination(); r >= 0 && !p.places[r].near && !strings.HasPrefix(c.last[1], "move ") { // once is enough
			n := p.places[r].name
			return "i have " + p.hold + ". next put it in " + n + ".", "move " + p.hold + " to " + n
		}
		return "", ""
	}
	if o, r := p.visible(g.Object, -1); o != "" && !p.places[r].near {
		n := p.places[r].name
		return p.find(g.Object) + "i see " + o + " in " + n + ".", "take " + o + " from " + n
	}
	r := p.nextUnseen()
	if p.places[r].near {
		return "", ""
	}
	if n := p.places[r]; mayOpen[n.typ] && p.rng.IntN(3) > 0 {
		return p.find(g.Object) + n.name + " is closed.", "open " + n.name
	}
	return p.takeGhost(r)
}

// useUnheld treats or puts an object that is not in the hand.
func (p *player) useUnheld() (string, string) {
	g := p.goal
	x, _ := p.visible(g.Object, -1)
	if x == "" {
		x = g.Object + " 1"
	}
	if g.Kind == Look {
		return "i have " + x + ". next use " + g.Place + " 1.", "use " + g.Place + " 1"
	}
	if verb, app := g.treat(); verb != "" && len(p.byType[app]) > 0 && p.rng.IntN(2) == 0 {
		n := p.places[p.byType[app][0]].name
		return "i have " + x + ". next " + verb + " it with " + n + ".", verb + " " + x + " with " + n
	}
	r := p.destination()
	if r < 0 {
		return "", ""
	}
	n := p.places[r].name
	return "i have " + x + ". next put it in " + n + ".", "move " + x + " to " + n
}

// fixtures are seen but can't be taken: nobody's wrong object.
var fixtures = map[string]bool{"desklamp": true, "floorlamp": true, "houseplant": true, "television": true, "sink": true,
	"bathtub": true, "mirror": true, "window": true, "curtains": true, "showerglass": true}

// takeWrong takes something for the target.
func (p *player) takeWrong() (string, string) {
	var objs, from []string
	for i := range p.places {
		if t := &p.places[i]; t.near && t.seen && !t.closed {
			for _, x := range t.items {
				if k := typeOf(x); k != p.goal.Object && !fixtures[k] {
					objs, from = append(objs, x), append(from, t.name)
				}
			}
		}
	}
	if len(objs) == 0 {
		return "", ""
	}
	k := p.rng.IntN(len(objs))
	return p.find(p.goal.Object) + "i see " + objs[k] + " in " + from[k] + ".", "take " + objs[k] + " from " + from[k]
}

// goNowhere walks past the last place of a type.
func (p *player) goNowhere() (string, string) {
	t := p.places[p.rng.IntN(len(p.places))].typ
	if p.here >= 0 && p.rng.IntN(2) == 0 {
		t = p.places[p.here].typ
	}
	l := p.byType[t]
	n := t + " " + strconv.Itoa(p.places[l[len(l)-1]].num+[]int{1, 1, 2}[p.rng.IntN(3)])
	if p.holdsTarget() {
		return "i have " + p.hold + ". next put it in " + n + ".", "go to " + n
	}
	return p.find(p.goal.Object) + "not here. next " + n + ".", "go to " + n
}

// closedDestination is a place of the goal's type that may be closed; -1 if none.
func (p *player) closedDestination() int {
	if !mayOpen[p.goal.Place] {
		return -1
	}
	for _, r := range p.byType[p.goal.Place] {
		if t := &p.places[r]; !t.fixed && (t.closed || !t.seen) {
			return r
		}
	}
	return -1
}

// forgetOpening acts on a closed place as if it were open.
func (p *player) forgetOpening() (string, string) {
	if p.holdsTarget() {
		r := p.closedDestination()
		n := p.places[r].name
		think := "i have " + p.hold + ". next put it in " + n + "."
		if a := p.goTo(r); a != "" {
			return think, a
		}
		return think, "move " + p.hold + " to " + n
	}
	r := p.nextUnseen()
	if !p.places[r].near {
		return p.find(p.goal.Object) + p.notHere(p.places[r].typ) + "next " + p.places[r].name + ".", "go to " + p.places[r].name
	}
	return p.takeGhost(r)
}

// wander goes to a place already seen, or to any other when there is none.
func (p *player) wander() (string, string) {
	var old, other []int
	for i := range p.places {
		if t := &p.places[i]; !t.near {
			other = append(other, i)
			if t.seen {
				old = append(old, i)
			}
		}
	}
	if len(old) == 0 {
		old = other
	}
	if len(old) == 0 {
		return "", ""
	}
	n := p.places[old[p.rng.IntN(len(old))]].name
	if p.holdsTarget() {
		return "i have " + p.hold + ". next put it in " + n + ".", "go to " + n
	}
	return p.find(p.goal.Object) + "not here. next " + n + ".", "go to " + n
}
