package gridarm

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The drawn arm ends at the hand, and its links keep their lengths.
func TestArmReachesTheHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p vec
		for k := range 3 {
			p[k] = rapid.Float64Range(handLow[k], handHigh[k]).Draw(t, "hand")
		}
		j := ArmJoints(p)
		for i, want := range []float64{shoulderHeight, linkLength, linkLength, wristHeight} {
			if got := dist(j[i], j[i+1]); math.Abs(got-want) > 1e-9 {
				t.Errorf("hand %v: link %d is %v long, want %v", p, i, got, want)
			}
		}
		if j[4] != p {
			t.Errorf("the arm ends at %v, the hand is at %v", j[4], p)
		}
		if j[2][2] < j[1][2] && j[2][2] < j[3][2] {
			t.Errorf("hand %v: the elbow hangs down at %v", p, j[2])
		}
	})
}

// A scene needs nothing but an observation: that of the state and that of what an
// agent sees are the same, unless the goal is hidden.
func TestScenesComeFromObservations(t *testing.T) {
	for _, task := range Tasks() {
		for _, hidden := range []bool{false, true} {
			w, _ := NewWorld(task, Options{PartiallyObservable: hidden})
			obs := make([]float32, w.ObsSize())
			w.ResetInto(2, 0, obs)
			seen, real := SceneOf(task, obs), w.Scene()
			for i := range seen.Views {
				a, b := seen.Views[i].Shapes, real.Views[i].Shapes
				goals := 0
				for _, s := range b {
					if s.Class == "goal" {
						goals++
					}
				}
				if goals != 1 {
					t.Errorf("%s: %d goals in the %s view", task, goals, real.Views[i].Name)
				}
				if hidden {
					goals = 1
				} else {
					goals = 0
				}
				if len(a) != len(b)-goals {
					t.Errorf("%s, goal hidden %v: %d shapes from the observation, %d from the state", task, hidden, len(a), len(b))
				}
			}
		}
	}
}

// The solids that are drawn are those that block.
func TestScenesShowTheSolids(t *testing.T) {
	for _, task := range Tasks() {
		w, _ := NewWorld(task, Options{})
		w.Reset(3, 0)
		var walls []Shape
		for _, s := range w.Scene().Views[0].Shapes {
			if s.Class == "wall" {
				walls = append(walls, s)
			}
		}
		if len(walls) != w.s.nSolids {
			t.Fatalf("%s: %d walls, %d solids", task, len(walls), w.s.nSolids)
		}
		for i, b := range w.s.solids[:w.s.nSolids] {
			if math.Abs(walls[i].A[0]-b.lo[0]) > 1e-6 || math.Abs(walls[i].B[1]-b.hi[1]) > 1e-6 {
				t.Errorf("%s: solid %d is drawn at %v, is at %v", task, i, walls[i], b)
			}
		}
	}
}

func TestTouchedThingsAreMarked(t *testing.T) {
	w := arrange(t, Push, puckAt(0, .6, vec{-.06, .6, .02}, 0))
	do(w, [4]float32{1, 0, 0, 0})
	for _, v := range w.Scene().Views {
		for _, s := range v.Shapes {
			if s.Touched != (s.Class == "puck") {
				t.Errorf("%s in the %s view: touched %v", s.Class, v.Name, s.Touched)
			}
		}
	}
}

// In the raster everything is where it is, and as large as it is.
func TestRaster(t *testing.T) {
	w := arrange(t, PushWall, func(s *State) { s.Hand = vec{-.31, .43, .25} })
	w.opt.Grid = true
	obs := make([]float32, w.ObsSize())
	w.Observe(obs)
	grid := obs[ObsTask+1:]
	at := func(c, x, y int) float32 { return grid[(c*GridHeight+y)*GridWidth+x] }
	if got := at(gridHand, 3, 4); got != .5 {
		t.Errorf("hand: %v in its cell, want its height 0.5", got)
	}
	sums := make([]float64, GridChannels)
	for c := range sums {
		for i := range GridHeight * GridWidth {
			sums[c] += float64(grid[c*GridHeight*GridWidth+i])
		}
	}
	area := func(x, y float64) float64 { return x * y / (cellX * cellY) }
	for c, want := range map[int]float64{gridHand: .5, gridChannel("puck"): area(.06, .06), gridWall: area(.2, .02), gridGoal: area(.06, .06), gridChannel("ball"): 0} {
		if math.Abs(sums[c]-want) > 1e-4 {
			t.Errorf("%s covers %v cells, want %v", gridClasses[c], sums[c], want)
		}
	}
	p := w.s.Obj
	if at(gridChannel("puck"), cell(p[0]+.5, cellX, GridWidth), cell(p[1]-.2, cellY, GridHeight)) == 0 {
		t.Error("the puck is not in its cell")
	}
}

// Every task has a channel of its own for what it is about.
func TestRasterChannels(t *testing.T) {
	for _, task := range Tasks() {
		if c := specs[task].channel; c == gridHand || c == gridWall || c == gridGoal {
			t.Errorf("%s: object 1 (%s) is in channel %q", task, specs[task].class(), gridClasses[c])
		}
	}
}
