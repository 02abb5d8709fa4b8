package gridarm

import (
	"math"
	"math/rand/v2"
)

// The free bodies.
var (
	puck  = &body{class: "puck", lo: vec{-.03, -.03, -.02}, hi: vec{.03, .03, .02}, r: .03, grip: .03}
	block = &body{class: "block", lo: vec{-.025, -.025, -.025}, hi: vec{.025, .025, .025}, r: .03, grip: .025}
	ball  = &body{class: "ball", lo: vec{-.03, -.03, -.03}, hi: vec{.03, .03, .03}, r: .03, grip: .03}
	plate = &body{class: "plate", lo: vec{-.07, -.07, -.01}, hi: vec{.07, .07, .02}, r: .07, grip: 1, dish: .045}
	// The peg lies along x; its position is the grip, its head is pegHead beside it.
	peg = &body{class: "peg", lo: vec{-.12, -.015, -.015}, hi: vec{.04, .015, .015}, r: .02, grip: .015}
)

// pegHead is from the grip of the peg to its head.
var pegHead = vec{-.12, 0, 0}

// Sizes of the fixed bodies.
const (
	holeHeight = 0.13 // of the hole's middle in the peg box
	holeHalf   = 0.03
	boxHalf    = 0.05 // peg box, along x
	boxWide    = 0.10 // peg box, along y
	boxTop     = 0.19
	holeInside = 0.03 // the goal of peg-insert-side, from the middle of the box
)

var (
	tableWallHalf = vec{0.10, 0.01, 0.06} // wall of push-wall
	buttonWall    = vec{0.10, 0.01, 0.08} // wall of button-press-topdown-wall
)

// within draws a number between lo and hi.
func within(r *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }

// onTable is a random place of the body on the table.
func (b *body) onTable(r *rand.Rand, x0, x1, y0, y1 float64) vec {
	return vec{within(r, x0, x1), within(r, y0, y1), -b.lo[2]}
}

// pegBox are the four solids around the hole of a box at c.
func pegBox(s *State) {
	c := s.Obj2
	x0, x1 := c[0]-boxHalf, c[0]+boxHalf
	s.solid(box{vec{x0, c[1] - boxWide, 0}, vec{x1, c[1] + boxWide, holeHeight - holeHalf}})
	s.solid(box{vec{x0, c[1] - boxWide, holeHeight + holeHalf}, vec{x1, c[1] + boxWide, boxTop}})
	s.solid(box{vec{x0, c[1] - boxWide, holeHeight - holeHalf}, vec{x1, c[1] - holeHalf, holeHeight + holeHalf}})
	s.solid(box{vec{x0, c[1] + holeHalf, holeHeight - holeHalf}, vec{x1, c[1] + boxWide, holeHeight + holeHalf}})
}

// toGoal is the distance of object 1 to the goal.
func (s *State) toGoal() float64 { return dist(s.Obj, s.Goal) }

// goal0 is the distance at the start.
func (s *State) goal0() float64 { return dist(s.Obj0, s.Goal) }

// inPlace is how near object 1 is to the goal: 0.1 as at the start, 1 within bound.
func (s *State) inPlace(bound float64) float64 { return tolerance(s.toGoal(), bound, s.goal0()) }

// scaledGoal is the distance of p to the goal with a weight for each axis.
func (s *State) scaledGoal(p vec, x, y, z float64) float64 {
	return math.Sqrt(sq(x*(p[0]-s.Goal[0])) + sq(y*(p[1]-s.Goal[1])) + sq(z*(p[2]-s.Goal[2])))
}

// atGrip reports whether the hand is at the free body.
func (s *State) atGrip() bool { return dist(s.Hand, s.Obj) < 0.035 }

// bodyTasks are the tasks with a free body.
var bodyTasks = map[Task]spec{
	Reach: {
		name: "reach", summary: "Move the hand to the goal.", body: puck,
		success: "the hand is within 5 cm of the goal",
		shaped:  "10 · closeness of the hand to the goal",
		starts:  "goal in the air, at least 15 cm from the hand; a puck lies about",
		place: func(s *State, r *rand.Rand) {
			s.Obj = puck.onTable(r, -.2, .2, .5, .7)
			for ok := false; !ok; ok = dist(s.Goal, handStart) >= .15 {
				s.Goal = vec{within(r, -.3, .3), within(r, .4, .85), within(r, .05, .35)}
			}
		},
		holds: func(s *State) bool { return dist(s.Hand, s.Goal) <= .05 },
		reward: func(s *State) float64 {
			return 10 * tolerance(dist(s.Hand, s.Goal), .05, dist(s.Hand0, s.Goal))
		},
		script: reachScript,
	},
	Push: {
		name: "push", summary: "Push the puck along the table to the goal.", body: puck,
		success: "the puck is within 5 cm of the goal",
		shaped:  "2 · grasp; at the puck + 1 + the reward itself again + 5 · closeness of the puck; 10 on success",
		starts:  "puck before, goal behind",
		place: func(s *State, r *rand.Rand) {
			s.Obj, s.Goal = puck.onTable(r, -.2, .2, .45, .6), puck.onTable(r, -.2, .2, .72, .9)
		},
		holds: func(s *State) bool { return s.toGoal() <= .05 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			r := 2 * s.grasp(puck)
			if s.atGrip() {
				r += 1 + r + 5*s.inPlace(.05)
			}
			return r
		},
		script: grip(puck, carryLow),
	},
	PickPlace: {
		name: "pick-place", summary: "Pick the puck up and hold it at the goal.", body: puck,
		success: "the puck is within 7 cm of the goal",
		shaped:  "Hamacher(grasp, closeness); lifted over 1 cm + 1 + 5 · closeness; 10 within 5 cm",
		starts:  "puck on the table, goal 10 to 30 cm above it",
		place: func(s *State, r *rand.Rand) {
			s.Obj = puck.onTable(r, -.2, .2, .45, .6)
			s.Goal = vec{within(r, -.2, .2), within(r, .65, .85), within(r, .1, .3)}
		},
		holds: func(s *State) bool { return s.toGoal() <= .07 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			in := s.inPlace(.05)
			r := hamacher(s.grasp(puck), in)
			if s.atGrip() && s.Obj[2] > s.Obj0[2]+.01 {
				r += 1 + 5*in
			}
			return r
		},
		script: grip(puck, carry),
	},
	PegInsertSide: {
		name: "peg-insert-side", summary: "Put the peg sideways into the hole of the box.", body: peg, fixed: "box",
		success: "the head of the peg is within 7 cm of the goal in the hole, y and z counted twice",
		shaped:  "Hamacher(grasp, closeness of the head, while before the box also its alignment); lifted over 1 cm + 1 + 5 · closeness; 10 on success",
		starts:  "peg on the right of the table, box on the left",
		place: func(s *State, r *rand.Rand) {
			s.Obj = peg.onTable(r, .05, .25, .5, .7)
			s.Obj2 = vec{within(r, -.38, -.28), within(r, .5, .75), 0}
			s.Goal = add(s.Obj2, vec{holeInside, 0, holeHeight})
		},
		solids: pegBox,
		holds:  func(s *State) bool { return s.scaledGoal(add(s.Obj, pegHead), 1, 2, 2) <= .07 },
		reward: func(s *State) float64 {
			head := add(s.Obj, pegHead)
			d := s.scaledGoal(head, 1, 2, 2)
			if d <= .07 {
				return 10
			}
			in := tolerance(d, .07, s.scaledGoal(add(s.Obj0, pegHead), 1, 2, 2))
			if head[0] < s.Obj2[0]+boxHalf+.1 {
				in = hamacher(in, tolerance(math.Hypot(head[1]-s.Goal[1], head[2]-s.Goal[2]), holeHalf-.015, .1))
			}
			r := hamacher(s.grasp(peg), in)
			if s.atGrip() && s.Obj[2] > s.Obj0[2]+.01 {
				r += 1 + 5*in
			}
			return r
		},
		script: insertScript,
	},
	Soccer: {
		name: "soccer", summary: "Bring the ball into the net.", body: ball, fixed: "net",
		success: "the ball is within 7 cm of the goal, x counted three times",
		shaped:  "3 · grasp + 6.5 · closeness, less past the goal line off-centre; 10 within 5 cm",
		starts:  "ball before, net behind",
		place: func(s *State, r *rand.Rand) {
			s.Obj = ball.onTable(r, -.15, .15, .5, .65)
			s.Obj2 = vec{within(r, -.15, .15), .88, 0}
			s.Goal = vec{s.Obj2[0], s.Obj2[1], -ball.lo[2]}
		},
		holds: func(s *State) bool { return s.scaledGoal(s.Obj, 3, 1, 1) <= .07 },
		reward: func(s *State) float64 {
			d := s.scaledGoal(s.Obj, 3, 1, 1)
			if d <= .05 {
				return 10
			}
			in := tolerance(d, .05, s.scaledGoal(s.Obj0, 3, 1, 1))
			if off := math.Abs(s.Obj[0] - s.Goal[0]); s.Obj[1] > s.Goal[1] && off > .1 {
				in *= clip(1-(off-.1)/.3, 0, 1)
			}
			return min(9.5, 3*s.grasp(ball)+6.5*in)
		},
		script: grip(ball, carryLow),
	},
	PushWall: {
		name: "push-wall", summary: "Push the puck around the wall to the goal.", body: puck, fixed: "wall",
		success: "the puck is within 7 cm of the goal",
		shaped:  "2 · grasp; at the puck + 1 + 4 · closeness to a point beside the wall; past the wall + 5 + 3 · closeness to the goal instead; 10 within 5 cm",
		starts:  "puck before the wall, goal behind it",
		place: func(s *State, r *rand.Rand) {
			s.Obj2 = vec{within(r, 0, .1), .72, tableWallHalf[2]}
			s.Obj, s.Goal = puck.onTable(r, -.05, .1, .5, .6), puck.onTable(r, -.05, .1, .83, .92)
		},
		solids: func(s *State) { s.solid(around(s.Obj2, tableWallHalf)) },
		holds:  func(s *State) bool { return s.toGoal() <= .07 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			r := 2 * s.grasp(puck)
			if s.atGrip() {
				if s.Obj[1] > s.Obj2[1] {
					return min(9.5, r+1+4+3*s.inPlace(.05))
				}
				side := beside(s.Obj2)
				r += 1 + 4*tolerance(flat(s.Obj, side), .05, flat(s.Obj0, side))
			}
			return r
		},
		script: grip(puck, carryAround),
	},
	PushBack: {
		name: "push-back", summary: "Pull the block back to the goal near the arm.", body: block,
		success: "the block is within 7 cm of the goal",
		shaped:  "Hamacher(grasp, closeness); held and moved over 1 cm + 1 + 5 · closeness; 10 within 5 cm",
		starts:  "block behind, goal before",
		place: func(s *State, r *rand.Rand) {
			s.Obj, s.Goal = block.onTable(r, -.15, .15, .75, .88), block.onTable(r, -.15, .15, .45, .6)
		},
		holds: func(s *State) bool { return s.toGoal() <= .07 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			in := s.inPlace(.05)
			r := hamacher(s.grasp(block), in)
			if s.Held && dist(s.Obj, s.Obj0) > .01 {
				r += 1 + 5*in
			}
			return r
		},
		script: grip(block, carryLow),
	},
	PlateSlide: {
		name: "plate-slide", summary: "Slide the plate to the goal.", body: plate,
		success: "the plate is within 7 cm of the goal",
		shaped:  "8 · Hamacher(hand near the plate, closeness); 10 within 5 cm",
		starts:  "plate before, goal behind",
		place: func(s *State, r *rand.Rand) {
			s.Obj, s.Goal = plate.onTable(r, -.15, .15, .5, .6), plate.onTable(r, -.15, .15, .77, .9)
		},
		holds: func(s *State) bool { return s.toGoal() <= .07 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			return 8 * hamacher(s.near(s.Obj, plate.dish+.01), s.inPlace(.05))
		},
		script: slideScript,
	},
	PegUnplugSide: {
		name: "peg-unplug-side", summary: "Pull the peg sideways out of the box.", body: peg, fixed: "box",
		success: "the peg is within 7 cm of the goal, 20 cm beside where it was plugged",
		shaped:  "2 · grasp; pulled 1.5 cm and at the peg 1 + 2 · grasp + 5 · closeness; 10 on success",
		starts:  "box with the plugged peg on the left of the table",
		place: func(s *State, r *rand.Rand) {
			s.Obj2 = vec{within(r, -.38, -.25), within(r, .5, .8), 0}
			s.Obj = add(s.Obj2, vec{-pegHead[0] + .01, 0, holeHeight - holeHalf - peg.lo[2]})
			s.Goal = add(s.Obj, vec{.2, 0, 0})
		},
		solids: pegBox,
		holds:  func(s *State) bool { return s.toGoal() <= .07 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .07 {
				return 10
			}
			r := 2 * s.grasp(peg)
			if s.atGrip() && s.Obj[0]-s.Obj0[0] > .015 {
				r += 1 + 5*s.inPlace(.07)
			}
			return r
		},
		script: grip(peg, carry),
	},
	SweepInto: {
		name: "sweep-into", summary: "Sweep the block into the hole of the table.", body: block, fixed: "hole",
		success: "the block is within 5 cm of the hole",
		shaped:  "2 · grasp + 6 · Hamacher(grasp, closeness); 10 within 5 cm",
		starts:  "block before, hole behind",
		place: func(s *State, r *rand.Rand) {
			s.Obj = block.onTable(r, -.15, .15, .5, .65)
			s.Obj2 = vec{within(r, -.05, .05), .84, 0}
			s.Goal = vec{s.Obj2[0], s.Obj2[1], -block.lo[2]}
		},
		holds: func(s *State) bool { return s.toGoal() <= .05 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .05 {
				return 10
			}
			g := s.grasp(block)
			return 2*g + 6*hamacher(g, s.inPlace(.05))
		},
		script: grip(block, carryLow),
	},
}

// beside is the point left of the wall of push-wall, through which the puck goes.
func beside(wall vec) vec { return vec{wall[0] - tableWallHalf[0] - .07, wall[1] + .05, 0} }
