package gridarm

import "github.com/muse-agent/muse/internal/rng"

// script is the scripted policy of a task: stages in order, of which the first whose
// condition holds is done. It has no memory; all it knows is the observation.
type script []stage

type stage struct {
	name string
	when func(v view) bool
	// aim is where the hand goes.
	aim func(v view) vec
	// effort of the fingers
	effort float64
}

// view is an observation read as numbers with names.
type view struct {
	hand, obj, obj2, goal vec
	open                  float64
}

func look(obs []float32) view {
	at := func(i int) vec { return vec{float64(obs[i]), float64(obs[i+1]), float64(obs[i+2])} }
	return view{hand: at(ObsHand), obj: at(ObsObj), obj2: at(ObsObj2), goal: at(ObsGoal), open: float64(obs[ObsOpen])}
}

// gain of the proportional control: an error of 5 cm gives a full action, so that the
// default step size goes to its aim in one decision.
const gain = 1 / DefaultStepSize

// act writes the action of a stage.
func (st *stage) act(v view, a []float32) {
	aim := st.aim(v)
	for k := range 3 {
		a[k] = float32(clip((aim[k]-v.hand[k])*gain, -1, 1))
	}
	a[3] = float32(st.effort)
}

// choose is the stage that v calls for.
func (s script) choose(v view) int {
	for i := range s {
		if s[i].when(v) {
			return i
		}
	}
	return len(s) - 1
}

// Policy writes the action for an observation. It reads the 39 numbers of state only
// and changes nothing but a.
type Policy func(obs, a []float32)

// Scripted is the policy that solves a task: a stage machine without memory with
// proportional control. The goal must be visible.
func Scripted(t Task) Policy {
	s := specs[t].script
	return func(obs, a []float32) {
		v := look(obs)
		s[s.choose(v)].act(v, a)
	}
}

// RandomPolicy draws every number uniformly from -1 to 1, from a stream of its own.
func RandomPolicy(seed uint64) Policy {
	r := rng.New(seed, "gridarm", "random policy")
	return func(_, a []float32) {
		for k := range ActionSize {
			a[k] = 2*r.Float32() - 1
		}
	}
}

// Stages are the names of the stages of a task's scripted policy, in order.
func Stages(t Task) []string {
	var names []string
	for _, s := range specs[t].script {
		names = append(names, s.name)
	}
	return names
}

// Stage is the index of the stage that the scripted policy is in.
func Stage(t Task, obs []float32) int {
	v := look(obs)
	return specs[t].script.choose(v)
}

func always(view) bool { return true }

// safe is the height at which the hand travels.
const safe = 0.12

// over is a point at height z above p; a low hand beside p rises first.
func over(v view, p vec, z float64) vec {
	if v.hand[2] < z-.03 {
		return vec{v.hand[0], v.hand[1], z}
	}
	return vec{p[0], p[1], z}
}

// aligned reports whether the hand is above or below p.
func aligned(v view, p vec, slack float64) bool { return flat(v.hand, p) <= slack }

var reachScript = script{{name: "go", when: always, aim: func(v view) vec { return v.goal }, effort: 1}}

// taken reports whether the fingers are closed around the body, as far as an
// observation shows it.
func (b *body) taken(v view) bool {
	return aligned(v, v.obj, takeSlack) && abs(v.open-b.grip/gapHalf) < .02 && v.hand[2] <= v.obj[2]+b.hi[2]+.001
}

// takeSlack is how far from the middle of a body the fingers go down on it.
const takeSlack = .012

// take are the stages that get a body between the fingers.
func take(b *body) script {
	return script{
		{"hover", func(v view) bool { return !aligned(v, v.obj, takeSlack) }, func(v view) vec { return over(v, v.obj, v.obj[2]+safe) }, -1},
		{"descend", func(v view) bool { return !b.taken(v) && v.hand[2] > max(v.obj[2], handLow[2])+.01 }, func(v view) vec { return v.obj }, -1},
		{"grip", func(v view) bool { return !b.taken(v) }, func(v view) vec { return v.hand }, 1},
	}
}

// grip is the script of the tasks that take a body and bring it somewhere.
func grip(b *body, to func(b *body, v view) vec) script {
	return append(take(b), stage{"carry", always, func(v view) vec { return to(b, v) }, 1})
}

// carry goes straight to the goal: the hand keeps its place at the body.
func carry(_ *body, v view) vec { return add(v.goal, sub(v.hand, v.obj)) }

// carryLow keeps on the table.
func carryLow(b *body, v view) vec {
	p := carry(b, v)
	p[2] = v.hand[2]
	return p
}

// carryAround passes the left end of the wall.
func carryAround(b *body, v view) vec {
	side := beside(v.obj2)
	switch {
	case v.obj[1] < v.obj2[1]-.06 && v.obj[0] > side[0]+.03: // before the wall, not yet beside it
		return vec{side[0], v.hand[1], v.hand[2]}
	case v.obj[1] < side[1]:
		return vec{side[0], side[1] + .02, v.hand[2]}
	}
	return carryLow(b, v)
}

var insertScript = append(take(peg), script{
	{"lift", func(v view) bool {
		return v.obj[2] < v.goal[2]-.008 || v.obj[2] > v.goal[2]+.008
	}, func(v view) vec { return vec{v.hand[0], v.hand[1], v.goal[2] + v.hand[2] - v.obj[2]} }, 1},
	{"align", func(v view) bool { return v.obj[1] < v.goal[1]-.008 || v.obj[1] > v.goal[1]+.008 },
		func(v view) vec { return vec{v.hand[0], v.goal[1] + v.hand[1] - v.obj[1], v.hand[2]} }, 1},
	{"insert", always, func(v view) vec { return sub(carry(peg, v), pegHead) }, 1},
}...)

var slideScript = script{
	{"hover", func(v view) bool { return !aligned(v, v.obj, plate.dish+.005) }, func(v view) vec { return over(v, v.obj, v.obj[2]+safe) }, 1},
	{"descend", func(v view) bool { return v.hand[2] > handLow[2]+.005 }, func(v view) vec { return vec{v.obj[0], v.obj[1], handLow[2]} }, 1},
	{"slide", func(v view) bool { return flat(v.obj, v.goal) > .01 }, func(v view) vec {
		// The rim trails behind the hand by the slack.
		d := sub(v.goal, v.obj)
		f := plate.dish / max(norm(d), 1e-3)
		return vec{v.goal[0] + d[0]*f, v.goal[1] + d[1]*f, handLow[2]}
	}, 1},
	{"stay", always, func(v view) vec { return v.hand }, 1},
}

// pull goes around the handle from above, then moves it to the goal.
func pull(j *joint, lead float64) script {
	return script{
		{"hover", func(v view) bool { return !aligned(v, v.obj, .03) }, func(v view) vec { return over(v, v.obj, v.obj[2]+safe) }, 1},
		{"descend", func(v view) bool { return v.hand[2] > v.obj[2]+.02 }, func(v view) vec { return v.obj }, 1},
		{"pull", always, func(v view) vec { return add(v.obj, toward(v, lead)) }, 1},
	}
}

// toward is a move of at most lead from the handle to the goal.
func toward(v view, lead float64) vec {
	d := sub(v.goal, v.obj)
	n := norm(d)
	if n <= lead {
		return d
	}
	return scale(d, lead/n)
}

// pushShut pushes the handle along dir from its outer side.
func pushShut(j *joint, dir vec) script {
	front := func(v view) vec { return sub(v.obj, scale(dir, .08)) }
	ok := func(v view) bool {
		d := sub(v.hand, v.obj)
		return abs(d[0]) <= .02 && abs(d[2]) <= .02
	}
	return script{
		{"over", func(v view) bool { return !ok(v) && !aligned(v, front(v), .02) }, func(v view) vec { return over(v, front(v), v.obj[2]+.08) }, 1},
		{"descend", func(v view) bool { return !ok(v) }, front, 1},
		{"push", always, func(v view) vec {
			p := v.goal
			for k := range 3 {
				p[k] -= dir[k] * (j.half[k] + handR - .01)
			}
			return p
		}, 1},
	}
}

// pressDown presses the handle from above, after travelling at height high at least.
func pressDown(j *joint, high float64) script {
	return script{
		{"hover", func(v view) bool { return !aligned(v, v.obj, .02) }, func(v view) vec { return over(v, v.obj, max(high, v.obj[2]+.06)) }, 1},
		{"press", always, func(v view) vec { return vec{v.obj[0], v.obj[1], v.goal[2] + j.half[2]} }, 1},
	}
}

// slideBy pushes the handle along dir from beside it.
func slideBy(j *joint, dir vec) script { return pull(j, .05) }

// turnFace is where the hand touches the handle of a hinge to turn it on, and the way
// that the handle then goes: a quarter turn on from its arm.
func turnFace(j *joint, v view) (face, dir vec) {
	r := scale(sub(v.obj, add(v.obj2, j.arm)), 1/j.rad)
	dir = sub(scale(j.v, dot(r, j.u)), scale(j.u, dot(r, j.v)))
	face = v.obj
	for k := range 3 {
		face[k] -= dir[k] * (j.half[k] + handR - .005)
	}
	return face, dir
}

// turn goes to the handle's outer side at height z, then turns it to the goal.
func turn(j *joint, z float64) script {
	return script{
		{"beside", func(v view) bool { f, _ := turnFace(j, v); return dist(v.hand, f) > .06 && !aligned(v, f, .015) },
			func(v view) vec { f, _ := turnFace(j, v); return vec{f[0], f[1], z} }, 1},
		{"turn", always, func(v view) vec {
			f, dir := turnFace(j, v)
			if dist(v.hand, f) > .045 {
				return f
			}
			return add(f, scale(dir, min(.05, dist(v.obj, v.goal))))
		}, 1},
	}
}

func abs(x float64) float64 { return max(x, -x) }
