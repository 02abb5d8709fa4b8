package textworld

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Blueprint is a game written down by hand or by a program, of the known types of
// receptacles and objects; see package generate. Types are lower-case words as in
// names ("mug", "sinkbasin").
type Blueprint struct {
	ID, Split   string // the id is TASK/TRIAL
	TaskType    string // one of ALFWorld's six names
	Object      string // type to place or to look at
	Target      string // type of the receptacle, or of the lamp
	Second      bool   // word the goal in ALFWorld's second way
	Receptacles []BlueprintReceptacle
	Objects     []BlueprintObject
	Walkthrough []string // a plan in the words of DialectMove, may be nil
}

// BlueprintReceptacle is one receptacle. Those with equal Location share it.
type BlueprintReceptacle struct {
	Type     string
	Location int // from 1; the agent starts at a place of its own
	Opens    bool
}

// BlueprintObject is one object and the index of the receptacle it starts in.
type BlueprintObject struct {
	Type string
	In   int
}

// ErrBlueprint is matched when a blueprint makes no game.
var ErrBlueprint = errors.New("textworld: the blueprint makes no game")

// objectKinds are the properties that the shipped games give to each type of object
// (docs/envs/textworld.md); a test compares them.
var objectKinds = struct{ clean, heat, cool, slice, container map[string]bool }{
	clean:     wordSet("apple bowl butterknife cloth cup dishsponge egg fork kettle knife ladle lettuce mug pan plate pot potato soapbar spatula spoon tomato"),
	heat:      wordSet("apple bread cup egg mug plate potato tomato"),
	cool:      wordSet("apple bowl bread cup egg lettuce mug pan plate pot potato tomato winebottle"),
	slice:     wordSet("apple bread egg lettuce potato tomato"),
	container: wordSet("bowl box cup mug pan plate pot"),
}

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// lampType is the type of the lamps that look_at_obj_in_light asks for.
const lampType = "desklamp"

func flagsOf(otype string) uint16 {
	var f uint16
	add := func(on bool, bit int) {
		if on {
			f |= 1 << bit
		}
	}
	lamp := otype == lampType || otype == "floorlamp"
	add(!lamp, flagPickupable)
	add(lamp, flagToggleable)
	add(objectKinds.clean[otype], flagCleanable)
	add(objectKinds.heat[otype], flagHeatable)
	add(objectKinds.cool[otype], flagCoolable)
	add(objectKinds.slice[otype], flagSliceable)
	add(objectKinds.container[otype], flagContainer)
	return f
}

// MayHold reports whether ALFWorld lets an object of one type be put into a
// receptacle of another: the same table in all shipped games.
func MayHold(receptacle, object string) bool {
	for _, p := range mustLibrary().set.contain {
		if p == [2]string{receptacle, object} {
			return true
		}
	}
	return false
}

// goal reads the goal of a blueprint.
func (b *Blueprint) goal() (goalData, error) {
	for k, t := range taskTypes {
		if t == b.TaskType {
			if b.Object == "" || b.Target == "" {
				break
			}
			return goalData{goalKind(k), b.Object, b.Target}, nil
		}
	}
	return goalData{}, fmt.Errorf("%w: task type %q, object %q, target %q; the types are %s", ErrBlueprint, b.TaskType, b.Object, b.Target, strings.Join(taskTypes[:], ", "))
}

// wording is the goal sentence, in either of ALFWorld's two ways.
func (g goalData) wording(second bool) string {
	if !second {
		return g.sentence()
	}
	switch g.kind {
	case goalLook:
		return fmt.Sprintf("examine the %s with the %s.", g.object, g.target)
	case goalClean:
		return fmt.Sprintf("clean some %s and put it in %s.", g.object, g.target)
	case goalHeat:
		return fmt.Sprintf("put a hot %s in %s.", g.object, g.target)
	case goalCool:
		return fmt.Sprintf("put a cool %s in %s.", g.object, g.target)
	case goalTwo:
		return fmt.Sprintf("find two %s and put them in %s.", g.object, g.target)
	}
	return fmt.Sprintf("put a %s in %s.", g.object, g.target)
}

// data lays the blueprint out in the engine's order: types alphabetically, numbers
// downwards in the order of the blueprint.
func (b *Blueprint) data() (*gameData, error) {
	g, err := b.goal()
	if err != nil {
		return nil, err
	}
	if len(b.Receptacles) == 0 || len(b.Receptacles) > maxEntities || len(b.Objects) > maxEntities {
		return nil, fmt.Errorf("%w: %d receptacles and %d objects; from 1 to %d are supported", ErrBlueprint, len(b.Receptacles), len(b.Objects), maxEntities)
	}
	d := &gameData{id: b.ID, split: b.Split, goal: g, goalText: g.wording(b.Second), held: -1, walkthrough: b.Walkthrough}
	count := map[string]int{}
	rec := make([]int, len(b.Receptacles)) // place of a blueprint's receptacle in d.recs
	order := make([]int, len(b.Receptacles))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(x, y int) bool { return b.Receptacles[order[x]].Type < b.Receptacles[order[y]].Type })
	for k, i := range order {
		r := b.Receptacles[i]
		if r.Type == "" || r.Location < 1 {
			return nil, fmt.Errorf("%w: receptacle %d has type %q and location %d", ErrBlueprint, i, r.Type, r.Location)
		}
		rec[i] = k
		d.start = max(d.start, r.Location)
		d.recs = append(d.recs, recData{kind: r.Type, rtype: r.Type, loc: r.Location, opens: r.Opens})
		count[r.Type]++
	}
	d.start++
	objects := make([]int, len(b.Objects))
	for i := range objects {
		objects[i] = i
	}
	sort.SliceStable(objects, func(x, y int) bool { return b.Objects[objects[x]].Type < b.Objects[objects[y]].Type })
	for _, i := range objects {
		o := b.Objects[i]
		if o.In < 0 || o.In >= len(rec) || o.Type == "" {
			return nil, fmt.Errorf("%w: object %d of type %q is in receptacle %d of %d", ErrBlueprint, i, o.Type, o.In, len(rec))
		}
		if count[o.Type] > 0 {
			for _, r := range d.recs {
				if r.kind == o.Type {
					return nil, fmt.Errorf("%w: %q is the type of a receptacle and of an object", ErrBlueprint, o.Type)
				}
			}
		}
		count[o.Type]++
		d.objs = append(d.objs, objData{kind: o.Type, otype: o.Type, flags: flagsOf(o.Type), in: []int{rec[o.In]}, locs: []int{b.Receptacles[o.In].Location}})
	}
	for i := range d.recs {
		d.recs[i].num = count[d.recs[i].kind]
		count[d.recs[i].kind]--
	}
	for i := range d.objs {
		d.objs[i].num = count[d.objs[i].kind]
		count[d.objs[i].kind]--
	}
	d.contain = restrict(mustLibrary().set.contain, d)
	return d, nil
}

// Build makes the game.
func (b *Blueprint) Build() (*Game, error) {
	d, err := b.data()
	if err != nil {
		return nil, err
	}
	return newGame(d), nil
}

// PDDL is the game as a problem in ALFWorld's own language; [ParseProblem] reads it
// back as the same game, but for the goal's second wording, which PDDL lacks.
func (b *Blueprint) PDDL() (string, error) {
	d, err := b.data()
	if err != nil {
		return "", err
	}
	// Ids sort as the engine's do: within a type, the highest number comes first.
	id := func(kind string, num int) string { return fmt.Sprintf("%s_bar_%05d", kind, 99999-num) }
	typ := func(t string) string { return t + "Type" }
	// Locations get their numbers from the order of their ids too.
	loc := func(n int) string { return id("loc", n) }
	var s, init strings.Builder
	fmt.Fprintf(&s, "(define (problem plan_%s)\n(:domain alfred)\n(:objects\nagent1 - agent\n", b.ID[strings.LastIndexByte(b.ID, '/')+1:])
	fact := func(parts ...string) { fmt.Fprintf(&init, "(%s)\n", strings.Join(parts, " ")) }
	types := map[string]string{}
	for n := 1; n <= d.start; n++ {
		fmt.Fprintf(&s, "%s - location\n", loc(n))
	}
	for i := range d.recs {
		r := &d.recs[i]
		n := id(r.kind, r.num)
		fmt.Fprintf(&s, "%s - receptacle\n", n)
		types[typ(r.rtype)] = "rtype"
		fact("receptacleType", n, typ(r.rtype))
		fact("receptacleAtLocation", n, loc(r.loc))
		if r.opens {
			fact("openable", n)
		}
	}
	for i := range d.objs {
		o := &d.objs[i]
		n := id(o.kind, o.num)
		fmt.Fprintf(&s, "%s - object\n", n)
		types[typ(o.otype)] = "otype"
		fact("objectType", n, typ(o.otype))
		for bit, name := range flagNames {
			if o.flags&(1<<bit) != 0 {
				fact(name, n)
			}
		}
		fact("inReceptacle", n, id(d.recs[o.in[0]].kind, d.recs[o.in[0]].num))
		fact("objectAtLocation", n, loc(o.locs[0]))
	}
	for _, p := range d.contain {
		fact("canContain", typ(p[0]), typ(p[1]))
	}
	fact("atLocation", "agent1", loc(d.start))
	types[typ(d.goal.object)] = "otype"
	if d.goal.kind == goalLook {
		types[typ(d.goal.target)] = "otype"
	} else {
		types[typ(d.goal.target)] = "rtype"
	}
	// Every number has a fact, or the engine would not count the id.
	for n := 1; n <= d.start; n++ {
		fact("examined", loc(n))
	}
	for _, t := range sortedKeys(types) {
		fmt.Fprintf(&s, "%s - %s\n", t, types[t])
	}
	fmt.Fprintf(&s, ")\n(:init\n%s)\n(:goal (and %s)))\n", init.String(), d.goal.pddl(typ))
	return s.String(), nil
}

// pddl is the goal condition.
func (g goalData) pddl(typ func(string) string) string {
	in := fmt.Sprintf("(inReceptacle ?o ?r) (objectType ?o %s) (receptacleType ?r %s)", typ(g.object), typ(g.target))
	one := func(more string) string {
		return "(exists (?r - receptacle) (exists (?o - object) (and " + in + more + ")))"
	}
	switch g.kind {
	case goalLook:
		return fmt.Sprintf("(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot %s) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) (exists (?o - object ?a - agent) (and (objectType ?o %s) (holds ?a ?o)))", typ(g.target), typ(g.object))
	case goalClean:
		return one(" (cleanable ?o) (isClean ?o)")
	case goalHeat:
		return one(" (heatable ?o) (isHot ?o)")
	case goalCool:
		return one(" (coolable ?o) (isCool ?o)")
	case goalTwo:
		return fmt.Sprintf("(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 %[1]s) (receptacleType ?r %[2]s) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 %[1]s) (receptacleType ?r %[2]s) (inReceptacle ?o2 ?r))))))", typ(g.object), typ(g.target))
	}
	return one("")
}

// Treatable reports whether an object of the type can be treated as the task asks:
// cleaned, heated or cooled; true for tasks that ask for nothing.
func Treatable(object, task string) bool {
	switch task {
	case taskTypes[goalClean]:
		return objectKinds.clean[object]
	case taskTypes[goalHeat]:
		return objectKinds.heat[object]
	case taskTypes[goalCool]:
		return objectKinds.cool[object]
	}
	return true
}
