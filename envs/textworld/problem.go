package textworld

import (
	"slices"
	"sort"
	"strings"
)

// signatures are the predicates of ALFWorld's domain that may stand in an initial
// state, with the kinds of their arguments.
var signatures = map[string][]string{
	"receptacletype": {"receptacle", "rtype"}, "objecttype": {"object", "otype"},
	"cancontain": {"rtype", "otype"}, "receptacleatlocation": {"receptacle", "location"},
	"objectatlocation": {"object", "location"}, "inreceptacle": {"object", "receptacle"},
	"atlocation": {"agent", "location"}, "openable": {"receptacle"}, "opened": {"receptacle"},
	"inreceptacleobject": {"object", "object"}, "holds": {"agent", "object"}, "holdsany": {"agent"},
	"pickupable": {"object"}, "cleanable": {"object"}, "heatable": {"object"}, "coolable": {"object"},
	"sliceable": {"object"}, "toggleable": {"object"}, "isreceptacleobject": {"object"},
	"isclean": {"object"}, "ishot": {"object"}, "iscool": {"object"}, "issliced": {"object"},
	"istoggled": {"object"}, "ison": {"object"}, "moveable": {"object"}, "full": {"receptacle"},
	"isreceptacleobjectfull": {"object"}, "wasinreceptacle": {"object", "receptacle"},
	"checked": {"receptacle"}, "examined": {"location"}, "holdsanyreceptacleobject": {"agent"},
}

type fact struct {
	pred string
	args []string // lower case
	line int
}

// problem is a PDDL problem, checked against the signatures.
type problem struct {
	name     string
	declared map[string]string // id -> kind
	facts    []fact
	goal     goalData
}

// parseProblem reads a PDDL problem of ALFWorld's domain.
func parseProblem(src string) (*problem, error) {
	root, err := parseSexpr(src)
	if err != nil {
		return nil, err
	}
	if root.head() != "define" || len(root.kids) < 2 || root.kids[1].head() != "problem" || len(root.kids[1].kids) != 2 || root.kids[1].kids[1].list {
		return nil, faultf(root.line, "not a PDDL problem: expected (define (problem NAME) …); a domain file cannot be played")
	}
	p := &problem{name: root.kids[1].kids[1].atom, declared: map[string]string{}}
	seen := map[string]node{}
	for _, s := range root.kids[2:] {
		h := s.head()
		if first, ok := seen[h]; ok {
			return nil, faultf(s.line, "a second %s section; the first is on line %d", h, first.line)
		}
		seen[h] = s
		switch h {
		case ":objects", ":init", ":goal", ":metric", ":requirements":
		case ":domain":
			if len(s.kids) != 2 || !strings.EqualFold(s.kids[1].atom, "alfred") {
				return nil, faultf(s.line, "the domain is not alfred: only ALFWorld's games can be played")
			}
		default:
			return nil, faultf(s.line, "unknown section %q", clip(h))
		}
	}
	for _, h := range []string{":domain", ":objects", ":init", ":goal"} {
		if _, ok := seen[h]; !ok {
			return nil, faultf(root.line, "the problem has no (%s …) section: is the file cut off?", h)
		}
	}
	if err := p.readObjects(seen[":objects"].kids[1:]); err != nil {
		return nil, err
	}
	if err := p.readInit(seen[":init"].kids[1:]); err != nil {
		return nil, err
	}
	if len(seen[":goal"].kids) != 2 {
		return nil, faultf(seen[":goal"].line, "(:goal …) needs exactly one condition")
	}
	p.goal, err = readGoal(seen[":goal"].kids[1])
	return p, err
}

func (p *problem) readObjects(kids []node) error {
	var pending []node
	for i := 0; i < len(kids); i++ {
		k := kids[i]
		if k.list {
			return faultf(k.line, "a list among the :objects; expected NAME - KIND")
		}
		if k.atom != "-" {
			pending = append(pending, k)
			continue
		}
		if i+1 == len(kids) || kids[i+1].list || len(pending) == 0 {
			return faultf(k.line, "expected NAME - KIND in :objects")
		}
		i++
		kind := strings.ToLower(kids[i].atom)
		switch kind {
		case "agent", "location", "receptacle", "object", "rtype", "otype":
		default:
			return faultf(kids[i].line, "unknown kind %q; expected agent, location, receptacle, object, rtype or otype", clip(kids[i].atom))
		}
		for _, n := range pending {
			id := strings.ToLower(n.atom)
			if _, twice := p.declared[id]; twice {
				return faultf(n.line, "%q is declared twice", clip(n.atom))
			}
			p.declared[id] = kind
		}
		pending = pending[:0]
	}
	if len(pending) > 0 {
		return faultf(pending[0].line, "%q has no kind; expected NAME - KIND", clip(pending[0].atom))
	}
	return nil
}

func (p *problem) readInit(kids []node) error {
	for _, k := range kids {
		pred := k.head()
		if pred == "" {
			return faultf(k.line, "expected a fact (PREDICATE ARGUMENTS)")
		}
		if pred == "=" { // costs: (= (total-cost) 0)
			continue
		}
		sig, ok := signatures[pred]
		if !ok {
			return faultf(k.line, "unknown predicate %q; known are those of ALFWorld's domain%s", clip(pred), suggest(pred, sortedKeys(signatures)))
		}
		if len(k.kids)-1 != len(sig) {
			return faultf(k.line, "%s takes %d arguments, found %d", pred, len(sig), len(k.kids)-1)
		}
		f := fact{pred: pred, line: k.line}
		for i, a := range k.kids[1:] {
			if a.list {
				return faultf(a.line, "argument %d of %s is a list; expected a name", i+1, pred)
			}
			id := strings.ToLower(a.atom)
			kind, ok := p.declared[id]
			if !ok {
				return faultf(a.line, "%q is not declared in :objects", clip(a.atom))
			}
			if kind != sig[i] && pred != "checked" {
				return faultf(a.line, "argument %d of %s must be of kind %s; %q is a %s", i+1, pred, sig[i], clip(a.atom), kind)
			}
			f.args = append(f.args, id)
		}
		p.facts = append(p.facts, f)
	}
	return nil
}

// nameKind is the first word of the name that the engine gives to an id.
func nameKind(id string) string {
	k, _, _ := strings.Cut(id, "_bar_")
	if strings.Contains(id, "basin") && !strings.HasSuffix(k, "basin") {
		k += "basin"
	}
	return k
}

// pddlType strips the ending of a type id: "apple" from "AppleType".
func pddlType(id string) string { return strings.TrimSuffix(strings.ToLower(id), "type") }

// data numbers the names and lays the facts out. The engine numbers the ids of a
// kind from the last one upwards.
func (p *problem) data() (*gameData, error) {
	used := map[string]bool{}
	for _, f := range p.facts {
		for _, a := range f.args {
			used[a] = true
		}
	}
	ids := sortedKeys(used)
	nums, count := map[string]int{}, map[string]int{}
	for i := len(ids) - 1; i >= 0; i-- {
		k := nameKind(ids[i])
		count[k]++
		nums[ids[i]] = count[k]
	}
	d := &gameData{held: -1, start: -1, goal: p.goal}
	ri, oi := map[string]int{}, map[string]int{}
	for _, id := range ids {
		switch p.declared[id] {
		case "receptacle":
			ri[id] = len(d.recs)
			d.recs = append(d.recs, recData{kind: nameKind(id), num: nums[id], loc: -1})
		case "object":
			oi[id] = len(d.objs)
			d.objs = append(d.objs, objData{kind: nameKind(id), num: nums[id]})
		}
	}
	pairs := map[[2]string]bool{}
	for _, f := range p.facts {
		if err := d.addFact(f, ri, oi, nums, pairs); err != nil {
			return nil, err
		}
	}
	return d, d.finish(pairs)
}

// addFact lays one fact out.
func (d *gameData) addFact(f fact, ri, oi, nums map[string]int, pairs map[[2]string]bool) error {
	switch f.pred {
	case "receptacletype":
		r := &d.recs[ri[f.args[0]]]
		if t := pddlType(f.args[1]); r.rtype != "" && r.rtype != t {
			return faultf(f.line, "%s has two types, %s and %s", f.args[0], r.rtype, t)
		}
		r.rtype = pddlType(f.args[1])
	case "objecttype":
		o := &d.objs[oi[f.args[0]]]
		if t := pddlType(f.args[1]); o.otype != "" && o.otype != t {
			return faultf(f.line, "%s has two types, %s and %s", f.args[0], o.otype, t)
		}
		o.otype = pddlType(f.args[1])
	case "cancontain":
		pairs[[2]string{pddlType(f.args[0]), pddlType(f.args[1])}] = true
	case "receptacleatlocation":
		r := &d.recs[ri[f.args[0]]]
		if r.loc >= 0 && r.loc != nums[f.args[1]] {
			return faultf(f.line, "%s is at two locations", f.args[0])
		}
		r.loc = nums[f.args[1]]
	case "atlocation":
		if d.start >= 0 && d.start != nums[f.args[1]] {
			return faultf(f.line, "the agent is at two locations")
		}
		d.start = nums[f.args[1]]
	case "objectatlocation":
		o := &d.objs[oi[f.args[0]]]
		o.locs = insert(o.locs, nums[f.args[1]])
	case "inreceptacle":
		o := &d.objs[oi[f.args[0]]]
		o.in = insert(o.in, ri[f.args[1]])
	case "inreceptacleobject":
		o := &d.objs[oi[f.args[1]]]
		o.inner = insert(o.inner, oi[f.args[0]])
	case "openable":
		d.recs[ri[f.args[0]]].opens = true
	case "opened":
		d.recs[ri[f.args[0]]].opened = true
	case "holds":
		if d.held >= 0 && d.held != oi[f.args[1]] {
			return faultf(f.line, "the agent holds two objects; the game allows one")
		}
		d.held = oi[f.args[1]]
	default:
		for bit, n := range flagNames {
			if strings.EqualFold(n, f.pred) {
				d.objs[oi[f.args[0]]].flags |= 1 << bit
			}
		}
	}
	return nil
}

// finish checks that the facts make a playable game and keeps the canContain
// pairs of types that the game has.
func (d *gameData) finish(pairs map[[2]string]bool) error {
	if d.start < 0 {
		return faultf(1, "no (atLocation agent …) fact: the agent is nowhere")
	}
	if len(d.recs) == 0 {
		return faultf(1, "the game has no receptacle")
	}
	if len(d.recs) > maxEntities || len(d.objs) > maxEntities {
		return faultf(1, "%d receptacles and %d objects; at most %d of each are supported", len(d.recs), len(d.objs), maxEntities)
	}
	rt, ot, named := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range d.recs {
		r := &d.recs[i]
		if r.loc < 0 {
			return faultf(1, "receptacle %s has no receptacleAtLocation fact", r.name())
		}
		rt[r.rtype] = true
		named[r.name()] = true
	}
	for i := range d.objs {
		if named[d.objs[i].name()] {
			return faultf(1, "two things are called %s", d.objs[i].name())
		}
		ot[d.objs[i].otype] = true
	}
	for _, p := range sortedPairs(pairs) {
		if rt[p[0]] && ot[p[1]] {
			d.contain = append(d.contain, p)
		}
	}
	return nil
}

// maxEntities bounds receptacles and objects; real rooms have up to 54 and 72.
const maxEntities = 4096

func insert(s []int, x int) []int {
	i, found := slices.BinarySearch(s, x)
	if found {
		return s
	}
	return slices.Insert(s, i, x)
}

func sortedKeys[V any](m map[string]V) []string {
	s := make([]string, 0, len(m))
	for k := range m {
		s = append(s, k)
	}
	sort.Strings(s)
	return s
}

func sortedPairs(m map[[2]string]bool) [][2]string {
	s := make([][2]string, 0, len(m))
	for k := range m {
		s = append(s, k)
	}
	slices.SortFunc(s, func(a, b [2]string) int {
		if c := strings.Compare(a[0], b[0]); c != 0 {
			return c
		}
		return strings.Compare(a[1], b[1])
	})
	return s
}
