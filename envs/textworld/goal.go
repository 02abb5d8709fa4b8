package textworld

import (
	"fmt"
	"sort"
	"strings"
)

// atom is one condition of a goal with its line.
type goalAtom struct {
	args string // "objecttype ?o appletype"
	line int
}

// readGoal recognises the goals of the six task types. Anything else is refused
// by name: an unknown condition would silently change what a win means.
func readGoal(n node) (goalData, error) {
	atoms, err := goalAtoms(n, nil)
	if err != nil {
		return goalData{}, err
	}
	g := goalData{}
	var shape []string
	objects := map[string]bool{}
	for _, a := range atoms {
		f := strings.Fields(a.args)
		switch {
		case f[0] == "objecttype" && len(f) == 3:
			t := pddlType(f[2])
			objects[t] = true
			shape = append(shape, "objecttype "+f[1])
			if f[1] == "?ot" {
				g.target = t
			} else {
				if g.object != "" && g.object != t {
					return g, faultf(a.line, "the goal asks for two object types, %s and %s", g.object, t)
				}
				g.object = t
			}
		case f[0] == "receptacletype" && len(f) == 3:
			t := pddlType(f[2])
			if g.target != "" && g.target != t {
				return g, faultf(a.line, "the goal asks for two receptacle types, %s and %s", g.target, t)
			}
			g.target = t
			shape = append(shape, "receptacletype "+f[1])
		default:
			shape = append(shape, a.args)
		}
	}
	sort.Strings(shape)
	kind, ok := goalShapes[strings.Join(shape, "; ")]
	if !ok || g.object == "" || g.target == "" {
		return g, faultf(n.line, "unsupported goal (%s); supported are those of %s", clip(strings.Join(shape, "; ")), strings.Join(taskTypes[:], ", "))
	}
	g.kind = kind
	return g, nil
}

// goalShapes maps the sorted conditions of a goal to its task type.
var goalShapes = func() map[string]goalKind {
	in := []string{"inreceptacle ?o ?r", "objecttype ?o", "receptacletype ?r"}
	m := map[string]goalKind{}
	add := func(k goalKind, atoms ...string) {
		sort.Strings(atoms)
		m[strings.Join(atoms, "; ")] = k
	}
	add(goalPick, in...)
	add(goalClean, append([]string{"cleanable ?o", "isclean ?o"}, in...)...)
	add(goalHeat, append([]string{"heatable ?o", "ishot ?o"}, in...)...)
	add(goalCool, append([]string{"coolable ?o", "iscool ?o"}, in...)...)
	add(goalTwo, "objecttype ?o1", "receptacletype ?r", "inreceptacle ?o1 ?r", "not = ?o1 ?o2",
		"objecttype ?o2", "receptacletype ?r", "inreceptacle ?o2 ?r")
	add(goalLook, "objecttype ?ot", "toggleable ?ot", "istoggled ?ot", "receptacleatlocation ?r ?l",
		"atlocation ?a ?l", "inreceptacle ?ot ?r", "objecttype ?o", "holds ?a ?o")
	return m
}()

// goalAtoms flattens and/exists. The quantified kinds are fixed by the variables'
// names in all of ALFWorld's goals, so they need no reading.
func goalAtoms(n node, out []goalAtom) ([]goalAtom, error) {
	switch n.head() {
	case "and":
		var err error
		for _, k := range n.kids[1:] {
			if out, err = goalAtoms(k, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	case "exists":
		if len(n.kids) != 3 || !n.kids[1].list {
			return nil, faultf(n.line, "expected (exists (VARIABLES) CONDITION) in the goal")
		}
		return goalAtoms(n.kids[2], out)
	case "":
		return nil, faultf(n.line, "expected a condition in the goal")
	}
	text, err := flat(n)
	return append(out, goalAtom{text, n.line}), err
}

func flat(n node) (string, error) {
	var parts []string
	for _, k := range n.kids {
		if !k.list {
			parts = append(parts, strings.ToLower(k.atom))
			continue
		}
		if n.head() != "not" {
			return "", faultf(k.line, "unsupported condition %q in the goal", clip(n.head()))
		}
		s, err := flat(k)
		if err != nil {
			return "", err
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " "), nil
}

// sentence words a goal for problems that come without a grammar, in the first
// of ALFWorld's two wordings.
func (g goalData) sentence() string {
	switch g.kind {
	case goalLook:
		return fmt.Sprintf("look at %s under the %s.", g.object, g.target)
	case goalClean:
		return fmt.Sprintf("put a clean %s in %s.", g.object, g.target)
	case goalHeat:
		return fmt.Sprintf("heat some %s and put it in %s.", g.object, g.target)
	case goalCool:
		return fmt.Sprintf("cool some %s and put it in %s.", g.object, g.target)
	case goalTwo:
		return fmt.Sprintf("put two %s in %s.", g.object, g.target)
	}
	return fmt.Sprintf("put some %s on %s.", g.object, g.target)
}
