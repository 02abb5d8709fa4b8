package gridarm

import (
	"math"
	"math/rand/v2"
)

// Sizes of the mechanisms, metres and radians.
const (
	drawerTravel = 0.20
	drawerOpen   = 0.18 // the goal
	doorRadius   = 0.25
	doorGoal     = 1.30
	buttonTravel = 0.07
	windowTravel = 0.20
	coffeeTravel = 0.05
	handleTravel = 0.13
	leverLength  = 0.20
	lockLength   = 0.10
)

// The joints. Object 2 is the fixed body that each hangs on.
var (
	drawer = &joint{class: "drawer", arm: vec{0, -.14, .09}, axis: vec{0, -1, 0}, lim: [2]float64{0, drawerTravel}, half: vec{.05, .015, .02}}
	door   = &joint{class: "door", hinge: true, arm: vec{0, 0, .15}, u: vec{1, 0, 0}, v: vec{0, -1, 0}, turns: [3]int8{0, 0, -1},
		rad: doorRadius, lim: [2]float64{0, math.Pi / 2}, half: vec{.02, .02, .05}}
	button = &joint{class: "button", arm: vec{0, 0, .20}, axis: vec{0, 0, -1}, lim: [2]float64{0, buttonTravel}, half: vec{.03, .03, .015}, spring: .05}
	window = &joint{class: "window", arm: vec{-windowTravel / 2, -.04, .16}, axis: vec{1, 0, 0}, lim: [2]float64{0, windowTravel}, half: vec{.015, .02, .05}}
	coffee = &joint{class: "coffee machine", arm: vec{0, -.14, .22}, axis: vec{0, 1, 0}, lim: [2]float64{0, coffeeTravel}, half: vec{.03, .01, .03}, spring: .05}
	handle = &joint{class: "handle", arm: vec{0, -.08, .20}, axis: vec{0, 0, -1}, lim: [2]float64{0, handleTravel}, half: vec{.05, .03, .015}, spring: .05}
	lever  = &joint{class: "lever", hinge: true, arm: vec{0, 0, .25}, u: vec{0, -1, 0}, v: vec{0, 0, 1}, turns: [3]int8{-1, 0, 0},
		rad: leverLength, lim: [2]float64{0, 1.7}, half: vec{.03, .02, .015}}
	lock = &joint{class: "lock", hinge: true, arm: vec{0, -.03, .16}, u: vec{0, 0, -1}, v: vec{1, 0, 0}, turns: [3]int8{0, -1, 0},
		rad: lockLength, lim: [2]float64{0, math.Pi / 2}, half: vec{.015, .02, .02}}
)

// Half sizes of the fixed bodies, around their middles.
var (
	cabinetHalf = vec{.12, .10, .08}
	housingHalf = vec{.05, .05, .06}
	frameHalf   = vec{.18, .015, .14}
	machineHalf = vec{.08, .08, .15}
	standHalf   = vec{.04, .03, .06}
)

// stands adds a solid of the given half size that stands on the table at object 2.
func stands(half vec) func(*State) {
	return func(s *State) { s.solid(around(vec{s.Obj2[0], s.Obj2[1], half[2]}, half)) }
}

// mounted draws a place of the fixed body and sets the goal to the handle at q.
func mounted(j *joint, x0, x1, y0, y1, q float64) func(*State, *rand.Rand) {
	return func(s *State, r *rand.Rand) {
		s.Obj2 = vec{within(r, x0, x1), within(r, y0, y1), 0}
		s.Goal = j.at(snapVec(s.Obj2), q)
	}
}

// off is the distance of the handle to the goal along axis k.
func (s *State) off(k int) float64 { return math.Abs(s.Obj[k] - s.Goal[k]) }

// face is the distance of the hand to where it touches the handle's face that looks
// against the joint's direction.
func (s *State) face(j *joint) float64 {
	dir, _ := j.along(s.Q)
	p := s.Obj
	for k := range 3 {
		p[k] -= dir[k] * (j.half[k] + handR)
	}
	return dist(s.Hand, p)
}

// ready is how near the hand is to that place.
func (s *State) ready(j *joint) float64 { return tolerance(s.face(j), .01, dist(s.Hand0, s.Obj0)) }

// pressed is how far the handle is on its way to the goal, along axis k.
func (s *State) pressed(k int, bound float64) float64 {
	return tolerance(s.off(k), bound, math.Abs(s.Obj0[k]-s.Goal[k]))
}

// topdown is the reward of the two tasks with a button on a housing.
func topdown(s *State) float64 {
	r := 5 * hamacher(s.closed(), s.ready(button))
	if s.face(button) <= .03 {
		r += 5 * s.pressed(2, .005)
	}
	return r
}

// jointTasks are the tasks with a mechanism.
var jointTasks = map[Task]spec{
	DoorOpen: {
		name: "door-open", summary: "Pull the door open by its handle.", joint: door, fixed: "hinge",
		success: "the handle is within 8 cm of the goal in x",
		shaped:  "2 · Hamacher(hand near the handle, effort of the fingers) + 8 · opening; 10 on success",
		starts:  "hinge behind on the left, door closed",
		place:   mounted(door, -.25, -.1, .85, .92, doorGoal),
		holds:   func(s *State) bool { return s.off(0) <= .08 },
		reward: func(s *State) float64 {
			if s.off(0) <= .08 {
				return 10
			}
			return 2*hamacher(s.near(s.Obj, .03), (s.Effort+1)/2) + 8*s.pressed(0, .08)
		},
		script: pull(door, .05),
	},
	DrawerOpen: {
		name: "drawer-open", summary: "Pull the drawer open by its handle.", joint: drawer, fixed: "cabinet",
		success: "the handle is within 3 cm of the goal",
		shaped:  "5 · (hand around the handle + opening)",
		starts:  "cabinet behind, drawer closed",
		place:   mounted(drawer, -.2, .2, .85, .9, drawerOpen),
		solids:  stands(cabinetHalf),
		holds:   func(s *State) bool { return s.toGoal() <= .03 },
		reward:  func(s *State) float64 { return 5 * (s.near(s.Obj, .02) + tolerance(s.toGoal(), .02, drawerOpen)) },
		script:  pull(drawer, .03),
	},
	DrawerClose: {
		name: "drawer-close", summary: "Push the drawer shut.", joint: drawer, fixed: "cabinet",
		success: "the handle is within 6.5 cm of the goal",
		shaped:  "10 · Hamacher(hand near the handle with closed fingers, closing); 10 on success",
		starts:  "cabinet behind, drawer 14 to 20 cm open",
		place: func(s *State, r *rand.Rand) {
			mounted(drawer, -.2, .2, .85, .9, 0)(s, r)
			s.Q = within(r, .14, .2)
		},
		solids: stands(cabinetHalf),
		holds:  func(s *State) bool { return s.toGoal() <= .065 },
		reward: func(s *State) float64 {
			if s.toGoal() <= .065 {
				return 10
			}
			return 10 * hamacher(hamacher(s.near(s.Obj, .05), s.closed()), s.inPlace(.065))
		},
		script: pushShut(drawer, vec{0, 1, 0}),
	},
	ButtonPressTopdown: {
		name: "button-press-topdown", summary: "Press the button down.", joint: button, fixed: "housing",
		success: "the button is within 2.4 cm of the goal in z, now (it springs back)",
		shaped:  "5 · Hamacher(closed fingers, hand near the button) + 5 · pressed while the hand is within 3 cm of it",
		starts:  "button on a housing behind",
		place:   mounted(button, -.2, .2, .7, .85, buttonTravel),
		solids:  stands(housingHalf),
		holds:   func(s *State) bool { return s.off(2) <= .024 },
		reward:  topdown,
		script:  pressDown(button, 0),
	},
	ButtonPressTopdownWall: {
		name: "button-press-topdown-wall", summary: "Press the button behind the wall down.", joint: button, fixed: "housing",
		success: "the button is within 2.4 cm of the goal in z, now (it springs back)",
		shaped:  "that of button-press-topdown; the wall only stands in the way",
		starts:  "button on a housing behind a wall of 16 cm",
		place:   mounted(button, -.2, .2, .75, .88, buttonTravel),
		solids: func(s *State) {
			stands(housingHalf)(s)
			s.solid(around(wallBefore(s.Obj2), buttonWall))
		},
		holds:  func(s *State) bool { return s.off(2) <= .024 },
		reward: topdown,
		script: pressDown(button, .30),
	},
	WindowOpen: {
		name: "window-open", summary: "Slide the window open, to the right.", joint: window, fixed: "frame",
		success: "the handle is within 5 cm of the goal in x",
		shaped:  "10 · Hamacher(hand near the handle, opening)",
		starts:  "frame behind, window closed",
		place:   mounted(window, -.2, .2, .75, .9, windowTravel),
		solids:  stands(frameHalf),
		holds:   func(s *State) bool { return s.off(0) <= .05 },
		reward:  func(s *State) float64 { return 10 * hamacher(s.near(s.Obj, .05), s.pressed(0, .05)) },
		script:  slideBy(window, vec{1, 0, 0}),
	},
	WindowClose: {
		name: "window-close", summary: "Slide the window shut, to the left.", joint: window, fixed: "frame",
		success: "the handle is within 5 cm of the goal in x",
		shaped:  "10 · Hamacher(hand near the handle, closing)",
		starts:  "frame behind, window open",
		place: func(s *State, r *rand.Rand) {
			mounted(window, -.2, .2, .75, .9, 0)(s, r)
			s.Q = windowTravel
		},
		solids: stands(frameHalf),
		holds:  func(s *State) bool { return s.off(0) <= .05 },
		reward: func(s *State) float64 { return 10 * hamacher(s.near(s.Obj, .05), s.pressed(0, .05)) },
		script: slideBy(window, vec{-1, 0, 0}),
	},
	CoffeeButton: {
		name: "coffee-button", summary: "Press the button on the front of the coffee machine.", joint: coffee, fixed: "coffee machine",
		success: "the button is within 2 cm of the goal in y, now (it springs back)",
		shaped:  "2 · Hamacher(closed fingers, hand near the button) + 8 · pressed while the hand is within 5 cm of it",
		starts:  "machine behind",
		place:   mounted(coffee, -.2, .2, .8, .9, coffeeTravel),
		solids:  stands(machineHalf),
		holds:   func(s *State) bool { return s.off(1) <= .02 },
		reward: func(s *State) float64 {
			r := 2 * hamacher(s.closed(), s.ready(coffee))
			if s.face(coffee) <= .05 {
				r += 8 * s.pressed(1, .005)
			}
			return r
		},
		script: pushShut(coffee, vec{0, 1, 0}),
	},
	LeverPull: {
		name: "lever-pull", summary: "Pull the lever up until it is upright.", joint: lever, fixed: "lever stand",
		success: "the lever is within 7.5° of upright",
		shaped:  "10 · Hamacher(hand under the lever, tip close to its upright place): by place, while success is by angle",
		starts:  "lever behind, horizontal, pointing to the arm",
		place:   mounted(lever, -.2, .2, .75, .88, math.Pi/2),
		solids:  nil,
		holds:   func(s *State) bool { return math.Abs(s.Q-math.Pi/2) <= math.Pi/24 },
		reward:  func(s *State) float64 { return 10 * hamacher(s.ready(lever), s.inPlace(.02)) },
		script:  turn(lever, .16),
	},
	HandlePress: {
		name: "handle-press", summary: "Press the handle down.", joint: handle, fixed: "handle stand",
		success: "the handle is within 5 cm of the goal in z, now (it springs back)",
		shaped:  "10 · Hamacher(hand near the handle, pressed)",
		starts:  "handle behind, up",
		place:   mounted(handle, -.2, .2, .75, .9, handleTravel),
		solids:  stands(standHalf),
		holds:   func(s *State) bool { return s.off(2) <= .05 },
		reward:  func(s *State) float64 { return 10 * hamacher(s.ready(handle), s.pressed(2, .05)) },
		script:  pressDown(handle, 0),
	},
	DoorUnlock: {
		name: "door-unlock", summary: "Turn the lock of the door by pushing its bar to the right.", joint: lock, fixed: "lock plate",
		success: "the tip of the bar is within 2 cm of the goal in x",
		shaped:  "2 · hand ready to push, left of the bar + 8 · pushed",
		starts:  "lock behind, bar hanging down",
		place:   mounted(lock, -.25, .15, .8, .9, math.Pi/2),
		holds:   func(s *State) bool { return s.off(0) <= .02 },
		reward: func(s *State) float64 {
			return 2*tolerance(s.face(lock), .02, dist(s.Hand0, s.Obj0)) + 8*s.pressed(0, .02)
		},
		script: turn(lock, .16),
	},
}

// wallBefore is the middle of the wall in front of a housing.
func wallBefore(housing vec) vec { return vec{housing[0], housing[1] - .11, buttonWall[2]} }

// specs are all tasks, by number.
var specs = func() (all [lastTask + 1]spec) {
	for t, s := range bodyTasks {
		all[t] = s
	}
	for t, s := range jointTasks {
		all[t] = s
	}
	for t := Reach; t <= lastTask; t++ {
		all[t].channel = gridChannel(all[t].class())
	}
	return all
}()
