// Package generate makes text games without end: new rooms and goals of the known types
// of receptacles and objects, solvable by construction and proven so by the expert.
//
//	g, err := generate.New(generate.Options{Seed: 7})
//	game, err := g.Game(0) // the same for ever
//
// What rooms look like is learnt from the shipped training games: which receptacles a
// kitchen has and how many, which of them open or share a place, and what lies
// together in one. A new room draws these parts independently. Goals are of the six
// types; the pairs of object and target are those of the training games or, with
// [Options.NewGoals], any that the rules allow. Game i depends on seed, settings and i
// alone. No generated game is a shipped one, and their splits have names of their own.
package generate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/rng"
)

// Version names the rules of generation: equal versions, options and numbers give the
// same game.
const Version = "2"

// Difficulty says how much there is to search.
type Difficulty string

const (
	Easy   Difficulty = "easy"   // small rooms, the goal's object in plain sight
	Normal Difficulty = "normal" // like the shipped games
	Hard   Difficulty = "hard"   // large rooms, one object, behind a door where the room has one that may hold it
)

// Options are the settings of a [Generator]; the zero value is usable.
type Options struct {
	Seed       uint64
	Difficulty Difficulty // "" means Normal
	Types      []string   // task types (ALFWorld's names); empty means all six, as often as in training
	NewGoals   bool       // also pairs of object and target that no training game asks for
}

// Split is the name of the games' split: generated, generated_easy or generated_hard.
func (o Options) Split() string {
	if o.Difficulty == "" || o.Difficulty == Normal {
		return "generated"
	}
	return "generated_" + string(o.Difficulty)
}

// ErrNoGame is matched when no solvable game was found; it would be a fault of the rules.
var ErrNoGame = errors.New("generate: no solvable game found")

// Generator makes games. Safe for concurrent use.
type Generator struct {
	opt   Options
	model *model
	goals []goal
}

// goal is a kind of task with how often it is drawn.
type goal struct {
	task, object, target string
	room                 string // kind of room: kitchen, living, bedroom, bathroom
	weight               int
}

// New prepares a generator: it reads one training game of every room, some
// hundredths of a second.
func New(o Options) (*Generator, error) {
	switch o.Difficulty {
	case "":
		o.Difficulty = Normal
	case Easy, Normal, Hard:
	default:
		return nil, fmt.Errorf("generate: unknown difficulty %q; known are %s, %s, %s", o.Difficulty, Easy, Normal, Hard)
	}
	m, err := learned()
	if err != nil {
		return nil, err
	}
	g := &Generator{opt: o, model: m}
	for _, t := range o.Types {
		if !slices.ContainsFunc(m.goals, func(x goal) bool { return x.task == t }) {
			return nil, fmt.Errorf("generate: unknown task type %q", t)
		}
	}
	goals := m.goals
	if o.NewGoals {
		goals = m.allGoals()
	}
	for _, x := range goals {
		if len(o.Types) == 0 || slices.Contains(o.Types, x.task) {
			g.goals = append(g.goals, x)
		}
	}
	return g, nil
}

// Options returns the effective settings.
func (g *Generator) Options() Options { return g.opt }

// attempts bounds the draws for one game; nearly all need one.
const attempts = 64

// Game makes game i.
func (g *Generator) Game(i int) (*textworld.Game, error) {
	b, err := g.Blueprint(i)
	if err != nil {
		return nil, err
	}
	return b.Build()
}

// Blueprint makes game i as a blueprint, with the expert's plan.
func (g *Generator) Blueprint(i int) (*textworld.Blueprint, error) {
	for try := range attempts {
		r := rng.New(g.opt.Seed, "generate", Version, g.opt.Split(), i, try)
		b := g.draw(r)
		if b == nil {
			continue
		}
		room := strings.ToUpper(b.Target[:1]) + b.Target[1:]
		b.ID = fmt.Sprintf("%s-%s-None-%s-%s/gen_%d_%06d", b.TaskType, strings.ToUpper(b.Object[:1])+b.Object[1:], room, g.opt.Split(), g.opt.Seed, i)
		b.Split = g.opt.Split()
		game, err := b.Build()
		if err != nil {
			return nil, err
		}
		w := textworld.NewWorld(game, textworld.DialectMove)
		if w.Won() {
			continue // nothing to do
		}
		plan, ok, _ := w.Plan()
		if !ok || len(plan) > textworld.DefaultMaxSteps/2 {
			continue
		}
		for _, c := range plan {
			w.Do(c)
		}
		if !w.Won() {
			return nil, fmt.Errorf("%w: the expert's plan doesn't win %s", ErrNoGame, b.ID)
		}
		b.Walkthrough = plan
		return b, nil
	}
	return nil, fmt.Errorf("%w: game %d of seed %d after %d draws", ErrNoGame, i, g.opt.Seed, attempts)
}

// draw makes a room and puts the goal's things into it; nil when they don't fit.
func (g *Generator) draw(r *rand.Rand) *textworld.Blueprint {
	total := 0
	for _, x := range g.goals {
		total += x.weight
	}
	k := r.IntN(total)
	var want goal
	for _, x := range g.goals {
		if k -= x.weight; k < 0 {
			want = x
			break
		}
	}
	b := &textworld.Blueprint{TaskType: want.task, Object: want.object, Target: want.target, Second: r.IntN(2) == 1}
	g.room(r, b, g.model.rooms[want.room], want)
	if !g.furnish(r, b, g.model.rooms[want.room], want) {
		return nil
	}
	return b
}

// room draws the receptacles.
func (g *Generator) room(r *rand.Rand, b *textworld.Blueprint, m *roomModel, want goal) {
	place := 0
	for _, t := range m.types {
		n := m.counts[t][r.IntN(len(m.counts[t]))]
		switch g.opt.Difficulty {
		case Easy:
			n = min(n, 2)
		case Hard:
			n += n / 2
		}
		if n == 0 && (t == want.target || t == need[want.task]) {
			n = 1
		}
		for k := range n {
			// Neighbours of one type may share a place, where a move between them does nothing.
			if k == 0 || r.Float64() >= m.shared[t] {
				place++
			}
			b.Receptacles = append(b.Receptacles, textworld.BlueprintReceptacle{Type: t, Location: place, Opens: r.Float64() < m.opens[t]})
		}
	}
}

// need is the appliance of a task.
var need = map[string]string{
	"pick_clean_then_place_in_recep": "sinkbasin", "pick_heat_then_place_in_recep": "microwave", "pick_cool_then_place_in_recep": "fridge",
}

// furnish puts objects into the receptacles, then the goal's own.
func (g *Generator) furnish(r *rand.Rand, b *textworld.Blueprint, m *roomModel, want goal) bool {
	two, look := want.task == "pick_two_obj_and_place", want.task == "look_at_obj_in_light"
	wants := 1
	if two {
		wants = 2
	}
	if l := g.model.copies[want.task]; g.opt.Difficulty == Normal && len(l) > 0 {
		wants = max(wants, l[r.IntN(len(l))])
	}
	have := 0
	for i, rec := range b.Receptacles {
		lists := m.contents[rec.Type]
		if len(lists) == 0 {
			continue
		}
		for _, o := range lists[r.IntN(len(lists))] {
			// Not on the target already, not many of it, and only where it may go back to.
			if o == want.object && (rec.Type == want.target || have >= wants || !textworld.MayHold(rec.Type, o)) {
				continue
			}
			if look && o == lamp {
				continue
			}
			if o == want.object {
				have++
			}
			b.Objects = append(b.Objects, textworld.BlueprintObject{Type: o, In: i})
		}
	}
	if g.opt.Difficulty != Normal && have > 0 { // all of them go where the difficulty says
		b.Objects = slices.DeleteFunc(b.Objects, func(o textworld.BlueprintObject) bool { return o.Type == want.object })
		have = 0
	}
	for ; have < wants; have++ {
		i, ok := g.spot(r, b, m, want)
		if !ok {
			return false
		}
		b.Objects = append(b.Objects, textworld.BlueprintObject{Type: want.object, In: i})
	}
	if look {
		var stands []int
		for i, rec := range b.Receptacles {
			if slices.Contains(lampStands, rec.Type) {
				stands = append(stands, i)
			}
		}
		if len(stands) == 0 {
			return false
		}
		b.Objects = append(b.Objects, textworld.BlueprintObject{Type: want.target, In: stands[r.IntN(len(stands))]})
	}
	return true
}

const lamp = "desklamp"

// lampStands are where lamps stand in the shipped games.
var lampStands = []string{"desk", "dresser", "shelf", "sidetable"}

// spot is a place for the goal's object, by difficulty: at normal the kinds of
// receptacles have it as often as in the training rooms.
func (g *Generator) spot(r *rand.Rand, b *textworld.Blueprint, m *roomModel, want goal) (int, bool) {
	var all, best []int
	var weight []float64
	total := 0.0
	for i, rec := range b.Receptacles {
		if rec.Type == want.target || !textworld.MayHold(rec.Type, want.object) {
			continue
		}
		all = append(all, i)
		w := m.dense[want.object][rec.Type]
		weight, total = append(weight, w), total+w
		if g.opt.Difficulty == Easy && !rec.Opens || g.opt.Difficulty == Hard && rec.Opens {
			best = append(best, i)
		}
	}
	switch {
	case len(all) == 0:
		return 0, false
	case len(best) > 0:
		return best[r.IntN(len(best))], true
	case g.opt.Difficulty != Normal || total == 0:
		return all[r.IntN(len(all))], true
	}
	k := r.Float64() * total
	for i, w := range weight {
		if k -= w; k < 0 && w > 0 {
			return all[i], true
		}
	}
	return all[len(all)-1], true // rounding
}

// Fingerprint tells games apart by what they are and not by their id: goal, names,
// doors, shared places and contents.
func Fingerprint(g *textworld.Game) string {
	s := textworld.NewWorld(g, textworld.DialectMove).Describe()
	var b strings.Builder
	b.WriteString(s.Goal)
	place := map[int]int{}
	for _, r := range s.Receptacles {
		if _, ok := place[r.Location]; !ok {
			place[r.Location] = len(place)
		}
		c := slices.Clone(r.Contents)
		sort.Strings(c)
		fmt.Fprintf(&b, "\n%s %d %t %s", r.Name, place[r.Location], r.Opens, strings.Join(c, ","))
	}
	return b.String()
}
