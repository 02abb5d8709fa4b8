package generate

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/muse-agent/muse/envs/textworld"
)

// model is what is learnt from the shipped training games.
type model struct {
	rooms map[string]*roomModel
	goals []goal // of the training games, with how many ask for each
	// copies are how many of the goal's object lay elsewhere than on the target: by type
	// of task, a value a game.
	copies map[string][]int
}

// roomModel describes one kind of room: a value an example room.
type roomModel struct {
	types    []string              // receptacle types, sorted
	counts   map[string][]int      // how many a room has, 0 included
	opens    map[string]float64    // share of instances that open
	shared   map[string]float64    // share of instances after the first that share a place with one of their type
	contents map[string][][]string // what lay in instances of a type
	objects  map[string]bool       // types that lie in such rooms
	// dense is how many objects of a type lie in one receptacle of a type, on average.
	dense map[string]map[string]float64 // object -> receptacle
}

// kinds of rooms by the hundreds of the scene number.
var kinds = map[int]string{0: "kitchen", 2: "living", 3: "bedroom", 4: "bathroom"}

// roomKind reads the scene number at the end of TASK in a game's id.
func roomKind(id string) (kind, scene string) {
	task, _, _ := strings.Cut(id, "/")
	scene = task[strings.LastIndexByte(task, '-')+1:]
	n, err := strconv.Atoi(scene)
	if err != nil {
		return "", ""
	}
	return kinds[n/100], scene
}

// perScene is how many games of a scene are read: they differ in where objects lie.
const perScene = 2

// copiesEvery is the stride in which games are read for their number of objects: those
// of a scene come sorted by task.
const copiesEvery = 8

var learned = sync.OnceValues(func() (*model, error) {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"train"}})
	if err != nil {
		return nil, err
	}
	m := &model{rooms: map[string]*roomModel{}, copies: map[string][]int{}}
	read := map[string]int{}
	goals := map[goal]int{}
	total := map[string]map[string][3]int{} // kind -> type -> instances, that open, that share
	for i, g := range games {
		kind, scene := roomKind(g.ID())
		if kind == "" {
			continue
		}
		object, target := goalOf(g.Ref())
		if object != "" {
			goals[goal{task: g.TaskType(), object: object, target: target, room: kind}]++
		}
		read[scene]++
		if read[scene] > perScene && i%copiesEvery != 0 {
			continue
		}
		s := textworld.NewWorld(g, textworld.DialectMove).Describe()
		if n := copiesOf(s, object, target); n > 0 && i%copiesEvery == 0 {
			m.copies[g.TaskType()] = append(m.copies[g.TaskType()], n)
		}
		if read[scene] > perScene {
			continue
		}
		if m.rooms[kind] == nil {
			m.rooms[kind] = &roomModel{counts: map[string][]int{}, opens: map[string]float64{}, shared: map[string]float64{}, contents: map[string][][]string{}, objects: map[string]bool{}}
			total[kind] = map[string][3]int{}
		}
		m.rooms[kind].read(s, total[kind])
	}
	for kind, r := range m.rooms {
		r.finish(total[kind])
	}
	for g, n := range goals {
		g.weight = n
		m.goals = append(m.goals, g)
	}
	sortGoals(m.goals)
	return m, nil
})

// copiesOf counts the objects of a type that do not lie on a target.
func copiesOf(s textworld.State, object, target string) int {
	n := 0
	seen := map[string]bool{} // an object in two places is counted once
	for _, r := range s.Receptacles {
		if kindOf(r.Name) == target {
			continue
		}
		for _, o := range r.Contents {
			if kindOf(o) == object && !seen[o] {
				seen[o] = true
				n++
			}
		}
	}
	return n
}

// kindOf is the type in a name: "mug" of "mug 1".
func kindOf(name string) string { return name[:strings.LastIndexByte(name, ' ')] }

// read takes one room in.
func (m *roomModel) read(s textworld.State, total map[string][3]int) {
	count := map[string]int{}
	last := map[string]int{} // type -> place of the instance before
	movable := map[string]bool{}
	for _, o := range s.Objects {
		movable[o.Name] = slices.Contains(o.Properties, "pickupable")
	}
	listed := map[string]bool{} // an object in two places is taken once
	for _, r := range s.Receptacles {
		t := kindOf(r.Name)
		count[t]++
		n := total[t]
		n[0]++
		if r.Opens {
			n[1]++
		}
		if at, ok := last[t]; ok && at == r.Location {
			n[2]++
		}
		last[t] = r.Location
		total[t] = n
		list := []string{}
		for _, o := range r.Contents {
			if k := kindOf(o); (movable[o] || k == lamp) && !listed[o] {
				listed[o] = true
				m.objects[k] = true
				list = append(list, k)
			}
		}
		m.contents[t] = append(m.contents[t], list)
	}
	rooms := 0
	for _, c := range m.counts {
		rooms = max(rooms, len(c))
	}
	for t := range count {
		for len(m.counts[t]) < rooms { // earlier rooms had none
			m.counts[t] = append(m.counts[t], 0)
		}
		m.counts[t] = append(m.counts[t], count[t])
	}
	for t := range m.counts {
		for len(m.counts[t]) < rooms+1 {
			m.counts[t] = append(m.counts[t], 0)
		}
	}
}

func (m *roomModel) finish(total map[string][3]int) {
	for t, n := range total {
		m.types = append(m.types, t)
		m.opens[t] = float64(n[1]) / float64(n[0])
		m.shared[t] = float64(n[2]) / float64(n[0])
	}
	sort.Strings(m.types)
	m.dense = map[string]map[string]float64{}
	for t, lists := range m.contents {
		for _, l := range lists {
			for _, o := range l {
				if m.dense[o] == nil {
					m.dense[o] = map[string]float64{}
				}
				m.dense[o][t] += 1 / float64(len(lists))
			}
		}
	}
}

// goalOf reads object and target from TASK ("pick_…-Mug-None-Shelf-12"), in lower case.
func goalOf(r textworld.Ref) (object, target string) {
	task, _, _ := strings.Cut(r.ID, "/")
	f := strings.Split(task, "-")
	if len(f) != 5 {
		return "", ""
	}
	goal := strings.TrimSuffix(r.Goal, ".")
	target = goal[strings.LastIndexByte(goal, ' ')+1:] // as the game says it: sinkbasin, not Sink
	return strings.ToLower(f[1]), target
}

// allGoals are all pairs that the rules and the kinds of rooms allow, every type of
// task as often as in training.
func (m *model) allGoals() []goal {
	weight := map[string]int{}
	for _, g := range m.goals {
		weight[g.task] += g.weight
	}
	var out []goal
	for _, task := range sortedKeys(weight) {
		var here []goal
		for _, room := range sortedKeys(m.rooms) {
			r := m.rooms[room]
			if a := need[task]; a != "" && !slices.Contains(r.types, a) {
				continue
			}
			for _, o := range sortedKeys(r.objects) {
				if task == "look_at_obj_in_light" {
					if r.objects[lamp] && o != lamp {
						here = append(here, goal{task: task, object: o, target: lamp, room: room})
					}
					continue
				}
				for _, t := range r.types {
					if textworld.MayHold(t, o) && textworld.Treatable(o, task) {
						here = append(here, goal{task: task, object: o, target: t, room: room})
					}
				}
			}
		}
		for i := range here {
			here[i].weight = max(1, 100*weight[task]/len(here))
		}
		out = append(out, here...)
	}
	sortGoals(out)
	return out
}

func sortGoals(g []goal) {
	sort.Slice(g, func(i, j int) bool {
		a, b := g[i], g[j]
		return a.task+" "+a.object+" "+a.target+" "+a.room < b.task+" "+b.object+" "+b.target+" "+b.room
	})
}

func sortedKeys[V any](m map[string]V) []string {
	s := make([]string, 0, len(m))
	for k := range m {
		s = append(s, k)
	}
	sort.Strings(s)
	return s
}
