package viewer

import (
	"math"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
)

// armTask is the arm's task of an episode, not valid where it is none, or where its first
// observation is missing.
func armTask(e *Episode) gridarm.Task {
	if !strings.HasPrefix(e.Env, "gridarm") || len(e.Start.Numbers) < gridarm.StateSize {
		return 0
	}
	t, err := gridarm.ParseTask(e.TaskType)
	if err != nil {
		return 0
	}
	return t
}

// IsArm says that the episode is one of the arm: drawn as a table from above and from the
// side, with numbers for actions. Only episodes of [Decode] can be.
func (e *Episode) IsArm() bool { return e.task.Valid() }

// unit is what one action of the episode is called.
func (e *Episode) unit() string {
	if e.IsArm() {
		return "decision"
	}
	return "command"
}

// farthest bounds coordinates, in metres: a record may hold any number.
const farthest = 10

type vec3 = [3]float64

// vecAt reads three coordinates; missing ones are 0.
func vecAt(xs []float64, i int) (v vec3) {
	for k := range v {
		if i+k < len(xs) && !math.IsNaN(xs[i+k]) {
			v[k] = min(max(xs[i+k], -farthest), farthest)
		}
	}
	return v
}

func distance3(a, b vec3) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// state is the observation after n decisions, nil where the record has none.
func (e *Episode) state(n int) []float64 {
	if n <= 0 {
		return e.Start.Numbers
	}
	n = min(n, len(e.Steps))
	if n > 0 && e.Steps[n-1].pending() {
		n--
	}
	if n <= 0 {
		return e.Start.Numbers
	}
	if x := e.Steps[n-1].Observation.Numbers; len(x) >= gridarm.StateSize {
		return x
	}
	return nil
}

// moment is where hand and object are, in one observation or one imagined moment.
type moment struct {
	hand, obj vec3
	open      float64
}

// momentOf reads an observation, or an imagined moment: both begin alike.
func momentOf(xs []float64) (m moment, ok bool) {
	if len(xs) < gridarm.ObsObj+3 {
		return m, false
	}
	return moment{vecAt(xs, gridarm.ObsHand), vecAt(xs, gridarm.ObsObj), xs[gridarm.ObsOpen]}, true
}

func (e *Episode) moment(n int) (moment, bool) { return momentOf(e.state(n)) }

// goal is where the goal is, ok false where neither observations nor the record say it.
func (e *Episode) goal() (g vec3, ok bool) {
	if len(e.GoalAt) >= 3 {
		return vecAt(e.GoalAt, 0), true
	}
	if xs := e.Start.Numbers; len(xs) >= gridarm.StateSize {
		g = vecAt(xs, gridarm.ObsGoal)
	}
	return g, g != vec3{}
}

// toGoal is how far a moment is from its goal, in metres: of the object, or of the hand
// where the task is to reach a point.
func (e *Episode) toGoal(m moment) (d float64, ok bool) {
	g, ok := e.goal()
	if !ok {
		return 0, false
	}
	if e.task == gridarm.Reach {
		return distance3(m.hand, g), true
	}
	return distance3(m.obj, g), true
}

// scene is the table after n decisions.
func (e *Episode) scene(n int) (gridarm.Scene, bool) {
	xs := e.state(n)
	if xs == nil {
		return gridarm.Scene{}, false
	}
	obs := make([]float32, gridarm.StateSize)
	for i := range obs {
		if x := xs[i]; !math.IsNaN(x) {
			obs[i] = float32(min(max(x, -farthest), farthest))
		}
	}
	if g, ok := e.goal(); ok {
		for k, x := range g {
			obs[gridarm.ObsGoal+k] = float32(x)
		}
	}
	return gridarm.SceneOf(e.task, obs), true
}

// things are the classes of shapes that are no part of the arm or of the table itself.
func isThing(class string) bool {
	switch class {
	case "table", "wall", "net", "hole", "goal", "arm", "hand", "finger":
		return false
	}
	return true
}

// thing is the class of the object of the episode's task: "puck", "drawer".
func (e *Episode) thing() string {
	if e.object == "" {
		return "object"
	}
	return e.object
}

// objectOf finds the class of the task's object among the shapes of the first moment.
func objectOf(e *Episode) string {
	if !e.IsArm() {
		return ""
	}
	if sc, ok := e.scene(0); ok {
		for _, sh := range sc.Views[0].Shapes {
			if isThing(sh.Class) {
				return sh.Class
			}
		}
	}
	return ""
}

// moments are what the candidate imagined of hand and object.
func (c *Candidate) moments() []moment {
	var out []moment
	for _, xs := range c.Path {
		m, ok := momentOf(xs)
		if !ok {
			break
		}
		out = append(out, m)
	}
	return out
}
