package corpus

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// openingCost divides the prior of types that may have to be opened: a look into
// them costs two commands.
const openingCost = 1.7

// maxPlanTypes is how many receptacle types a plan names for a search.
const maxPlanTypes = 6

// player is the searcher: belief, prior, the hints it was given, and a temper
// (rng). It sees text only.
type player struct {
	*belief
	prior *Prior
	class string
	noise float64 // standard deviation of the log of the search scores
	rng   *rand.Rand
	hints hints
	order map[string][]string // object type: receptacle types in search order
}

// newPlayer starts a player from a game's opening text and the reflections it
// remembers (oldest first; the bare sentences).
func newPlayer(prior *Prior, intro string, reflections []string, noise float64, r *rand.Rand) (*player, error) {
	b, err := newBelief(intro)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, t := range b.types {
		has[t] = true
	}
	p := &player{belief: b, prior: prior, class: roomClass(has), noise: noise, rng: r, order: map[string][]string{}}
	p.hints = readReflections(reflections, b.index)
	return p, nil
}

// orderFor is the search order for an object type, drawn once an episode.
func (p *player) orderFor(obj string) []string {
	if o, ok := p.order[obj]; ok {
		return o
	}
	score := make(map[string]float64, len(p.types))
	for _, t := range p.types {
		s := p.prior.chance(p.class, t, obj)
		if mayOpen[t] {
			s /= openingCost
		}
		score[t] = s * math.Exp(p.noise*p.rng.NormFloat64())
	}
	o := append([]string(nil), p.types...)
	sort.SliceStable(o, func(i, j int) bool { return score[o[i]] > score[o[j]] })
	p.order[obj] = o
	return o
}

// target is the next place to search for an object type: hinted places, then the
// search order without the places that reflections exclude, then those too.
// When everything was seen, one place is looked at again.
func (p *player) target(obj string) int {
	for _, r := range p.hints.first[obj] {
		if !p.places[r].seen {
			return r
		}
	}
	avoid := p.hints.avoid[obj]
	for _, all := range []bool{false, true} {
		for _, t := range p.orderFor(obj) {
			for _, r := range p.byType[t] {
				if !p.places[r].seen && (all || !avoid[r]) {
					return r
				}
			}
		}
	}
	r := p.rng.IntN(len(p.places))
	p.places[r].seen = false
	return r
}

// search is the next thought and command to find an object type.
func (p *player) search(obj string) (think, action string) {
	r := p.target(obj)
	t := &p.places[r]
	head := "find " + obj + ": "
	if t.near {
		if mayOpen[t.typ] && !t.fixed {
			if t.closed {
				return head + t.name + " is closed.", "open " + t.name
			}
			return head + t.name + " is here.", "open " + t.name
		}
		return head + t.name + " is here.", "examine " + t.name
	}
	return head + p.notHere(t.typ) + "next " + t.name + ".", "go to " + t.name
}

// notHere says what the place just looked at means for the search: nothing, "not
// here", and that it was the last of its type when the search turns to another.
func (p *player) notHere(next string) string {
	if p.looked < 0 {
		return ""
	}
	if t := p.places[p.looked].typ; t != next && p.exhausted(t) {
		return "not here, last " + t + ". "
	}
	return "not here. "
}

func (p *player) exhausted(t string) bool {
	for _, r := range p.byType[t] {
		if !p.places[r].seen {
			return false
		}
	}
	return true
}

// goTo is the command that brings the player to r, "" when it is there.
func (p *player) goTo(r int) string {
	if p.places[r].near {
		return ""
	}
	return "go to " + p.places[r].name
}

// openUp is the command that makes r accessible once there, "" when it is.
func (p *player) openUp(r int) string {
	t := &p.places[r]
	if mayOpen[t.typ] && !t.fixed && (t.closed || !t.seen) {
		return "open " + t.name
	}
	return ""
}

// destination is the place to put the target: one that holds a target already (a
// pair must lie together), else one at hand, else one known to be open, else the first.
func (p *player) destination() int {
	best, score := -1, -1
	for _, r := range p.byType[p.goal.Place] {
		t := &p.places[r]
		s := 0
		switch {
		case p.refuse[p.goal.Object+">"+t.name]:
		case p.goal.Kind == Two && t.seen && p.holds(r, p.goal.Object):
			s = 4
		case t.near:
			s = 3
		case t.seen && !t.closed:
			s = 2
		default:
			s = 1
		}
		if s > score {
			best, score = r, s
		}
	}
	return best
}

// next is the lucid decision: a thought and a command.
func (p *player) next() (think, action string) {
	g := p.goal
	if p.hold != "" && !p.holdsTarget() {
		return p.putDown()
	}
	if p.holdsTarget() {
		if g.Kind == Look {
			return p.useLamp()
		}
		return p.deliver()
	}
	except, head := -1, ""
	if g.Kind == Two {
		for _, r := range p.byType[g.Place] {
			if p.places[r].seen && p.holds(r, g.Object) {
				except, head = r, "one "+g.Object+" is done. "
				break
			}
		}
	}
	if o, r := p.visible(g.Object, except); o != "" {
		t := &p.places[r]
		think = head + "find " + g.Object + ": i see " + o + " in " + t.name + "."
		if a := p.goTo(r); a != "" {
			return think, a
		}
		if t.closed {
			return think, "open " + t.name
		}
		return think, "take " + o + " from " + t.name
	}
	think, action = p.search(g.Object)
	return head + think, action
}

// deliver treats the target in the hand and puts it where it belongs.
func (p *player) deliver() (think, action string) {
	o := p.hold
	verb, appliance := p.goal.treat()
	if p.pending() {
		if at := p.byType[appliance]; len(at) > 0 {
			r := at[0]
			for _, x := range at {
				if p.places[x].near {
					r = x
				}
			}
			name := p.places[r].name
			think = "i have " + o + ". next " + verb + " it with " + name + "."
			if a := p.goTo(r); a != "" {
				return think, a
			}
			return think, verb + " " + o + " with " + name
		}
	}
	r := p.destination()
	if r < 0 { // no such place in the room: no game of ours, but text is text
		return "i have " + o + ".", "look"
	}
	think = "i have " + o + ". next put it in " + p.places[r].name + "."
	if verb != "" {
		think = o + " is done. next put it in " + p.places[r].name + "."
	}
	return think, p.putAction(r)
}

// putAction goes to r, opens it where needed and puts down what is in the hand.
func (p *player) putAction(r int) string {
	if a := p.goTo(r); a != "" {
		return a
	}
	if a := p.openUp(r); a != "" {
		return a
	}
	return "move " + p.hold + " to " + p.places[r].name
}

// useLamp brings the object in the hand to a lamp.
func (p *player) useLamp() (think, action string) {
	lamp, r := p.visible(p.goal.Place, -1)
	if lamp == "" {
		think, action = p.search(p.goal.Place)
		return "i have " + p.hold + ". " + think, action
	}
	think = "i have " + p.hold + ". next use " + lamp + " in " + p.places[r].name + "."
	if a := p.goTo(r); a != "" {
		return think, a
	}
	return think, "use " + lamp
}

// putDown gets rid of a wrong object: back where it was, else where such things
// were seen in other homes.
func (p *player) putDown() (think, action string) {
	ot := typeOf(p.hold)
	r := -1
	if p.from >= 0 && !p.refuse[ot+">"+p.places[p.from].name] {
		r = p.from
	} else {
	find:
		for _, t := range p.prior.fits[ot] {
			for _, x := range p.byType[t] {
				if !p.refuse[ot+">"+p.places[x].name] {
					r = x
					break find
				}
			}
		}
	}
	if r < 0 {
		r = p.rng.IntN(len(p.places))
	}
	return "not " + p.hold + ". next put it in " + p.places[r].name + ".", p.putAction(r)
}

// plan is the sentence written before the first command: the sub-goals, and the
// order in which receptacle types will be searched.
func (p *player) plan() string {
	g := p.goal
	var b strings.Builder
	if f := p.hints.first[g.Object]; len(f) > 0 {
		b.WriteString("go to " + p.places[f[0]].name + " first, ")
	}
	put := ""
	if r := p.destination(); r >= 0 && g.Kind != Look {
		put = p.places[r].name
	}
	switch g.Kind {
	case Two:
		b.WriteString("find two " + g.Object + " in " + p.planTypes(g.Object) + "; put them in " + put + ".")
	case Look:
		b.WriteString("find " + g.Object + " in " + p.planTypes(g.Object) + "; find " + g.Place + " in " + p.planTypes(g.Place) + "; use " + g.Place + ".")
	default:
		b.WriteString("find " + g.Object + " in " + p.planTypes(g.Object) + "; ")
		if verb, app := g.treat(); verb != "" && len(p.byType[app]) > 0 {
			b.WriteString(verb + " it with " + p.places[p.byType[app][0]].name + "; ")
		}
		b.WriteString("put it in " + put + ".")
	}
	return b.String()
}

// planTypes lists the receptacle types in search order, each by its last
// instance ("shelf 6" is shelf 1 to 6): the place after which the search turns to
// the next type. Types that reflections exclude altogether are left out.
func (p *player) planTypes(obj string) string {
	var out []string
	if obj != p.goal.Object { // a hint for the target itself stands at the front of the plan
		for _, r := range p.hints.first[obj] {
			out = append(out, p.places[r].name)
		}
	}
	avoid := p.hints.avoid[obj]
	for _, t := range p.orderFor(obj) {
		if len(out) == maxPlanTypes {
			break
		}
		l := p.byType[t]
		if slices.ContainsFunc(l, func(r int) bool { return !avoid[r] }) {
			out = append(out, p.places[l[len(l)-1]].name)
		}
	}
	return strings.Join(out, ", ")
}
