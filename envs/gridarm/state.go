package gridarm

import "math"

// The sizes of observations and actions.
const (
	// FrameSize is one moment: hand 3, finger opening 1, object 1 position 3 and
	// quaternion 4 (x y z w), object 2 likewise.
	FrameSize = 18
	// StateSize is Meta-World's observation: the present frame, the frame one
	// decision before, the goal.
	StateSize = 2*FrameSize + 3
	// ActionSize is dx, dy, dz and the effort of the fingers (> 0 closes), all -1 to 1.
	ActionSize = 4
)

// Where things are in an observation.
const (
	ObsHand  = 0             // x y z of the point between the fingertips, metres
	ObsOpen  = 3             // 0 closed, 1 open (10 cm)
	ObsObj   = 4             // object 1: position 3, quaternion 4
	ObsObj2  = 11            // object 2, the fixed body of the task: zeros when there is none
	ObsPrev  = FrameSize     // the same 18 numbers, one decision before
	ObsGoal  = 2 * FrameSize // goal, zeros when hidden
	ObsTask  = StateSize     // task channel
	poseSize = 7
)

// vec is a point or a direction: x to the right, y away from the arm, z up; metres.
type vec = [3]float64

// maxSolids is how many fixed boxes a task may have.
const maxSolids = 4

// State is all that an episode is: equal states with equal actions have equal
// futures. It is a plain value without pointers; assigning it saves it.
type State struct {
	Task    Task   `json:"task"`
	Seed    uint64 `json:"seed"`
	Episode int    `json:"episode"`
	Steps   int    `json:"steps"` // decisions taken

	Hand   vec     `json:"hand"`
	Open   float64 `json:"open"`   // 0 closed to 1 open
	Effort float64 `json:"effort"` // of the last action
	Obj    vec     `json:"obj"`    // object 1: the free body, or the handle of the joint
	Held   bool    `json:"held"`   // object 1 is between closed fingers
	Touch  bool    `json:"touch"`  // the hand moved object 1, or held it, in the last decision
	Q      float64 `json:"q"`      // joint: metres of a slide, radians of a hinge
	Obj2   vec     `json:"obj2"`   // the fixed body
	Goal   vec     `json:"goal"`

	Hand0 vec     `json:"hand0"` // where the episode began
	Obj0  vec     `json:"obj0"`
	Q0    float64 `json:"q0"`

	Frames  [2][FrameSize]float32 `json:"frames"` // present, previous
	Success bool                  `json:"success"`
	Solved  bool                  `json:"solved"` // Success at any step of the episode
	Over    bool                  `json:"over"`

	solids  [maxSolids]box
	nSolids int
}

// frame writes the present moment into dst.
func (s *State) frame(dst *[FrameSize]float32) {
	put(dst[ObsHand:], s.Hand)
	dst[ObsOpen] = float32(s.Open)
	put(dst[ObsObj:], s.Obj)
	q := [4]float64{0, 0, 0, 1}
	sp := &specs[s.Task]
	if j := sp.joint; j != nil && j.hinge {
		half := s.Q / 2
		sin, cos := math.Sincos(half)
		for i, a := range j.turns {
			q[i] = float64(a) * sin
		}
		q[3] = cos
	}
	for i, x := range q {
		dst[ObsObj+3+i] = float32(x)
	}
	if sp.fixed == "" {
		return // object 2 stays zero
	}
	put(dst[ObsObj2:], s.Obj2)
	dst[ObsObj2+6] = 1
}

func put(dst []float32, v vec) {
	_ = dst[2]
	dst[0], dst[1], dst[2] = float32(v[0]), float32(v[1]), float32(v[2])
}

// lattice is the constant that rounds a float64 below 2²⁷ to a multiple of 2⁻²⁴ when
// it is added and taken away again.
const lattice = 3 << 27

func snap(x float64) float64 { return (x + lattice) - lattice }

func snapVec(v vec) vec { return vec{snap(v[0]), snap(v[1]), snap(v[2])} }

func add(a, b vec) vec               { return vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func sub(a, b vec) vec               { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func scale(a vec, f float64) vec     { return vec{a[0] * f, a[1] * f, a[2] * f} }
func dot(a, b vec) float64           { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func norm(a vec) float64             { return math.Sqrt(dot(a, a)) }
func dist(a, b vec) float64          { return norm(sub(a, b)) }
func lerp(a, b vec, t float64) vec   { return add(a, scale(sub(b, a), t)) }
func flat(a, b vec) float64          { return math.Sqrt(sq(a[0]-b[0]) + sq(a[1]-b[1])) } // distance in the plane of the table
func sq(x float64) float64           { return x * x }
func clip(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
