package gridarm

import (
	"math"
	"testing"
)

// arrange makes a world of a task and lets set arrange it.
func arrange(t *testing.T, task Task, set func(s *State)) *World {
	t.Helper()
	w, err := NewWorld(task, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Reset(1, 0)
	set(&w.s)
	if j := w.spec.joint; j != nil {
		w.s.Obj = j.at(w.s.Obj2, w.s.Q)
	}
	return w
}

// do sends actions given as dx, dy, dz, effort.
func do(w *World, acts ...[4]float32) *State {
	for _, a := range acts {
		w.Step(a[:])
	}
	return &w.s
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

func nearVec(a, b vec) bool { return near(a[0], b[0]) && near(a[1], b[1]) && near(a[2], b[2]) }

func puckAt(x, y float64, hand vec, open float64) func(*State) {
	return func(s *State) {
		s.Obj, s.Hand, s.Open = vec{x, y, .02}, hand, open
	}
}

func TestHandStaysInItsWorkspace(t *testing.T) {
	w := arrange(t, Push, puckAt(.4, .9, vec{-.48, .22, .04}, 1))
	if s := do(w, [4]float32{-1, -1, -1, 0}); s.Hand != (vec{-.5, snap(.2), snap(.02)}) {
		t.Errorf("hand at %v", s.Hand)
	}
}

func TestClosingFingersGraspWhatTheyStraddle(t *testing.T) {
	w := arrange(t, Push, puckAt(0, .6, vec{.01, .6, .02}, 1))
	s := do(w, [4]float32{0, 0, 0, 1})
	if !s.Held || !near(s.Open, puck.grip/gapHalf) {
		t.Fatalf("held %v, open %v", s.Held, s.Open)
	}
	if !near(s.Obj[0], .01-cageMargin) {
		t.Errorf("the fingers did not centre the puck: %v", s.Obj)
	}
	before := sub(s.Obj, s.Hand)
	do(w, [4]float32{1, .5, 1, 1}, [4]float32{-.3, 1, 1, 0})
	if !nearVec(sub(s.Obj, s.Hand), before) || s.Obj[2] < .1 {
		t.Errorf("the puck %v does not follow the hand %v", s.Obj, s.Hand)
	}
	if do(w, [4]float32{0, 0, 0, -.2}); !s.Held {
		t.Error("a weak effort lets the puck go")
	}
	if do(w, [4]float32{0, 0, 0, -1}); s.Held || !near(s.Obj[2], .02) {
		t.Errorf("the released puck does not fall at once: held %v, at %v", s.Held, s.Obj)
	}
}

func TestNothingIsGraspedFromBesideOrAbove(t *testing.T) {
	for name, hand := range map[string]vec{"beside": {.07, .6, .02}, "above": {0, .6, .09}} {
		s := do(arrange(t, Push, puckAt(0, .6, hand, 1)), [4]float32{0, 0, 0, 1}, [4]float32{0, 0, 0, 1})
		if s.Held || !near(s.Open, 0) || !near(s.Obj[0], 0) {
			t.Errorf("%s: held %v, open %v, puck %v", name, s.Held, s.Open, s.Obj)
		}
	}
}

func TestPushedFromOutside(t *testing.T) {
	const gap = handR + .03
	// Head on: the puck stays at the distance of contact.
	s := do(arrange(t, Push, puckAt(0, .6, vec{-.07, .6, .02}, 0)), [4]float32{1, 0, 0, 1})
	if !near(s.Obj[0], -.02+gap) || !near(s.Obj[1], .6) || !s.Touch {
		t.Errorf("head on: puck %v, hand %v", s.Obj, s.Hand)
	}
	// Off-centre: it goes aside, to the far side of the hand.
	s = do(arrange(t, Push, puckAt(0, .6, vec{-.06, .58, .02}, 0)), [4]float32{1, 0, 0, 1})
	if s.Obj[1] <= .6 || flat(s.Hand, s.Obj) < gap-1e-5 {
		t.Errorf("off-centre: puck %v, hand %v", s.Obj, s.Hand)
	}
	// Past it: nothing.
	s = do(arrange(t, Push, puckAt(0, .6, vec{-.06, .54, .02}, 0)), [4]float32{1, 0, 0, 1})
	if s.Obj != (vec{0, .6, .02}) && !nearVec(s.Obj, vec{0, .6, .02}) || s.Touch {
		t.Errorf("past it: puck %v", s.Obj)
	}
}

// A decision longer than the puck is wide does not jump over it.
func TestNoTunnelling(t *testing.T) {
	w := arrange(t, Push, puckAt(0, .6, vec{-.051, .6, .02}, 0))
	w.opt.StepSize = .2
	if s := do(w, [4]float32{1, 0, 0, 1}); s.Obj[0] < s.Hand[0] {
		t.Errorf("hand %v is past the puck %v", s.Hand, s.Obj)
	}
	w = arrange(t, PushWall, func(s *State) { s.Hand = vec{s.Obj2[0], s.Obj2[1] - .05, .02} })
	w.opt.StepSize = .2
	if s := do(w, [4]float32{0, 1, 0, 0}); s.Hand[1] > s.Obj2[1]-tableWallHalf[1]-handR+1e-6 {
		t.Errorf("hand %v is in or past the wall at %v", s.Hand, s.Obj2)
	}
}

func TestFromAbove(t *testing.T) {
	down := [4]float32{0, 0, -1, -1}
	// Closed fingers rest on the top.
	s := do(arrange(t, Push, puckAt(0, .6, vec{0, .6, .08}, 0)), [4]float32{0, 0, -1, 1}, [4]float32{0, 0, -1, 1})
	if !near(s.Hand[2], .04+handR) {
		t.Errorf("closed: hand %v", s.Hand)
	}
	// Open ones go around it, near its middle only.
	s = do(arrange(t, Push, puckAt(0, .6, vec{.02, .6, .08}, 1)), down, down)
	if !near(s.Hand[2], .02) || !nearVec(s.Obj, vec{0, .6, .02}) {
		t.Errorf("open: hand %v, puck %v", s.Hand, s.Obj)
	}
	s = do(arrange(t, Push, puckAt(0, .6, vec{.03, .6, .08}, 1)), down, down)
	if !near(s.Hand[2], .04+handR) {
		t.Errorf("open, off the middle: hand %v", s.Hand)
	}
}

func TestOpenFingersDragWhatTheyStraddle(t *testing.T) {
	s := do(arrange(t, Push, puckAt(0, .6, vec{0, .6, .02}, 1)), [4]float32{0, 1, 0, 0})
	if slack := puck.slack(1); !near(s.Obj[1], .65-slack) || s.Held {
		t.Errorf("puck %v behind the hand %v, want slack %v", s.Obj, s.Hand, slack)
	}
	// Lifted, they leave it.
	s = do(arrange(t, Push, puckAt(0, .6, vec{0, .6, .02}, 1)), [4]float32{0, 0, 1, 0}, [4]float32{0, 1, 0, 0})
	if !nearVec(s.Obj, vec{0, .6, .02}) {
		t.Errorf("puck %v", s.Obj)
	}
}

// A puck against a wall stops the hand that pushes it, and so does the edge of the table.
func TestBlockedBodiesStopTheHand(t *testing.T) {
	w := arrange(t, PushWall, func(s *State) {
		s.Obj = vec{s.Obj2[0], s.Obj2[1] - tableWallHalf[1] - .03, .02}
		s.Hand, s.Open = vec{s.Obj2[0], s.Obj[1] - .06, .02}, 0
	})
	before := w.s.Obj
	s := do(w, [4]float32{0, 1, 0, 1}, [4]float32{0, 1, 0, 1})
	if !nearVec(s.Obj, before) || s.Hand[1] > s.Obj[1]-.05+1e-5 {
		t.Errorf("wall: puck %v (was %v), hand %v", s.Obj, before, s.Hand)
	}
	s = do(arrange(t, Push, puckAt(.47, .6, vec{.40, .6, .02}, 0)), [4]float32{1, 0, 0, 1}, [4]float32{1, 0, 0, 1})
	if !near(s.Obj[0], .47) || s.Hand[0] > .42+1e-5 {
		t.Errorf("edge: puck %v, hand %v", s.Obj, s.Hand)
	}
}

// What is held is stopped by solids, and with it the hand.
func TestHeldThingsHitSolids(t *testing.T) {
	w := arrange(t, PegInsertSide, func(s *State) {
		s.Obj = vec{s.Obj2[0] + boxHalf + .125, s.Obj2[1], .05}
		s.Hand, s.Held, s.Open = s.Obj, true, peg.grip/gapHalf
	})
	s := do(w, [4]float32{-1, 0, 0, 1})
	if want := s.Obj2[0] + boxHalf + .12; !near(s.Obj[0], want) || !near(s.Hand[0], want) {
		t.Errorf("peg at %v, hand %v, want x %v", s.Obj, s.Hand, want)
	}
}

// A peg released in the hole lies in the hole, not on the table.
func TestBodiesFallOnWhatIsUnderThem(t *testing.T) {
	w := arrange(t, PegUnplugSide, func(s *State) { s.Hand, s.Held, s.Open = s.Obj, true, peg.grip/gapHalf })
	s := do(w, [4]float32{0, 0, 0, -1})
	if !near(s.Obj[2], holeHeight-holeHalf+.015) {
		t.Errorf("peg at %v", s.Obj)
	}
	do(w, [4]float32{0, 0, 0, 1}, [4]float32{1, 0, 0, 1}, [4]float32{1, 0, 0, 1}, [4]float32{1, 0, 0, 1}, [4]float32{0, 0, 0, -1})
	if s.Held || !near(s.Obj[2], .015) {
		t.Errorf("pulled out and released, the peg is at %v", s.Obj)
	}
}

func TestJoints(t *testing.T) {
	// Inside the handle the hand moves it both ways; sideways it slips out.
	w := arrange(t, DrawerOpen, func(s *State) { s.Hand = drawer.at(s.Obj2, 0) })
	s := do(w, [4]float32{0, -1, 0, 0})
	if !near(s.Q, .05) || !s.Touch {
		t.Fatalf("drawer at %v after a pull of 5 cm", s.Q)
	}
	if do(w, [4]float32{0, .5, 0, 0}); !near(s.Q, .025) {
		t.Errorf("drawer at %v after a push of 2.5 cm", s.Q)
	}
	if do(w, [4]float32{1, 0, 0, 0}, [4]float32{1, 0, 0, 0}, [4]float32{0, -1, 0, 0}); !near(s.Q, .025) || s.Touch {
		t.Errorf("drawer at %v after slipping out", s.Q)
	}
	// From outside, only what is left of the motion after the contact counts.
	w = arrange(t, DrawerClose, func(s *State) {
		s.Q = .1
		s.Hand = add(drawer.at(s.Obj2, .1), vec{0, -drawer.half[1] - handR - .02, 0})
	})
	if s := do(w, [4]float32{0, 1, 0, 0}); !near(s.Q, .1-.03) {
		t.Errorf("drawer at %v, want 3 cm on from 10", s.Q)
	}
	// At the limit the hand stops.
	w = arrange(t, DrawerClose, func(s *State) { s.Q = .01; s.Hand = drawer.at(s.Obj2, .01) })
	if s := do(w, [4]float32{0, 1, 0, 0}); !near(s.Q, 0) || !near(s.Hand[1], s.Obj[1]) {
		t.Errorf("drawer at %v, hand %v, handle %v", s.Q, s.Hand, s.Obj)
	}
	// Hinges turn by the part of the motion along the circle.
	w = arrange(t, DoorOpen, func(s *State) { s.Hand = door.at(s.Obj2, 0) })
	if s := do(w, [4]float32{0, -1, 0, 0}); !near(s.Q, .05/doorRadius) {
		t.Errorf("door at %v rad", s.Q)
	}
	// Springs go back by 5 cm a decision once the hand is gone, and can't be pulled.
	w = arrange(t, HandlePress, func(s *State) { s.Hand = add(handle.at(s.Obj2, 0), vec{0, 0, handle.half[2] + handR}) })
	s = do(w, [4]float32{0, 0, -1, 0}, [4]float32{0, 0, -1, 0})
	if !near(s.Q, .1) {
		t.Fatalf("handle at %v after 10 cm", s.Q)
	}
	if do(w, [4]float32{0, 0, 0, 0}); !near(s.Q, .1) {
		t.Errorf("handle at %v while the hand rests on it", s.Q)
	}
	if do(w, [4]float32{0, -1, 0, 0}, [4]float32{0, -1, 0, 0}, [4]float32{0, -1, 0, 0}); s.Q > .06 || s.Touch {
		t.Errorf("handle at %v after the hand has gone", s.Q)
	}
	if do(w, [4]float32{0, 0, 1, 0}); !near(s.Q, 0) && s.Q > .01 {
		t.Errorf("handle at %v, want the rest", s.Q)
	}
}

func TestNotANumberCountsAsZero(t *testing.T) {
	nan := float32(math.NaN())
	w := arrange(t, Push, puckAt(.3, .9, vec{0, .6, .2}, 1))
	if s := do(w, [4]float32{nan, nan, nan, nan}); !nearVec(s.Hand, vec{0, .6, .2}) || s.Open != 1 {
		t.Errorf("hand %v, open %v", s.Hand, s.Open)
	}
}

// along is the derivative of at.
func TestJointDirectionsAreDerivatives(t *testing.T) {
	for _, task := range Tasks() {
		j := specs[task].joint
		if j == nil {
			continue
		}
		for _, q := range []float64{j.lim[0], (j.lim[0] + j.lim[1]) / 2, j.lim[1]} {
			const h = 1e-6
			dir, metres := j.along(q)
			d := scale(sub(j.at(vec{}, q+h), j.at(vec{}, q-h)), 1/(2*h))
			if !nearVec(d, scale(dir, metres)) || !near(norm(dir), 1) {
				t.Errorf("%s at %v: along is %v × %v, at moves by %v", j.class, q, dir, metres, d)
			}
		}
	}
}
