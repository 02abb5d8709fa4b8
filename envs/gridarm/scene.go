package gridarm

import "math"

// Scene is what a picture of a moment shows: two views with shapes in the order in
// which they are drawn. It knows no pixels and no colours.
type Scene struct {
	Task  string  `json:"task"`
	Views [2]View `json:"views"` // from above, from the right-hand side
}

// View is one projection of the table.
type View struct {
	Name   string     `json:"name"`  // "top" or "side"
	Right  string     `json:"right"` // the axis that goes to the right: "x" or "y"
	Up     string     `json:"up"`    // the axis that goes up: "y" or "z"
	Low    [2]float64 `json:"low"`   // the part of the world that is shown, metres
	High   [2]float64 `json:"high"`
	Shapes []Shape    `json:"shapes"`
}

// ShapeKind is how a shape is drawn.
type ShapeKind string

// The kinds of shapes.
const (
	Line ShapeKind = "line" // from A to B, R wide on each side
	Disc ShapeKind = "disc" // around A, radius R
	Rect ShapeKind = "rect" // corners A and B
)

// Shape is one thing of a view, in metres of the view's axes.
type Shape struct {
	Kind  ShapeKind  `json:"kind"`
	Class string     `json:"class"` // "puck", "wall", "goal", "arm", "hand", "finger", "table" …
	A     [2]float64 `json:"a"`
	B     [2]float64 `json:"b,omitzero"`
	R     float64    `json:"r,omitempty"`
	// Touched: the hand has it, or is at it.
	Touched bool `json:"touched,omitempty"`
}

// Scene is the picture of the present state, with the goal also where it is hidden
// from the agent.
func (w *World) Scene() Scene {
	s := &w.s
	var f [StateSize]float32
	copy(f[:], s.Frames[0][:])
	put(f[ObsGoal:], s.Goal)
	sc := SceneOf(s.Task, f[:])
	if s.Touch {
		for i := range sc.Views {
			for k := range sc.Views[i].Shapes {
				if sh := &sc.Views[i].Shapes[k]; sh.Class == w.spec.class() {
					sh.Touched = true
				}
			}
		}
	}
	return sc
}

// SceneOf is the picture of an observation of a task, real or imagined. A goal of
// zeros is hidden and not drawn. obs has at least StateSize numbers.
func SceneOf(t Task, obs []float32) Scene {
	sp, v := &specs[t], look(obs)
	d := drawing{Scene{Task: sp.name, Views: [2]View{
		{Name: "top", Right: "x", Up: "y", Low: [2]float64{-.6, -.1}, High: [2]float64{.6, 1.1}},
		{Name: "side", Right: "y", Up: "z", Low: [2]float64{-.1, -.05}, High: [2]float64{1.1, .75}},
	}}}
	d.box("table", box{vec{handLow[0], handLow[1], -.03}, vec{handHigh[0], handHigh[1], 0}})
	s := State{Task: t, Obj2: v.obj2}
	if sp.solids != nil {
		sp.solids(&s)
	}
	for _, b := range s.solids[:s.nSolids] {
		d.box("wall", b)
	}
	switch sp.fixed {
	case "net":
		d.line("net", add(v.obj2, vec{-.07, -.05, 0}), add(v.obj2, vec{-.07, .05, .1}), .005)
		d.line("net", add(v.obj2, vec{.07, -.05, 0}), add(v.obj2, vec{.07, .05, .1}), .005)
		d.line("net", add(v.obj2, vec{-.07, .05, .1}), add(v.obj2, vec{.07, .05, .1}), .005)
	case "hole":
		d.disc("hole", v.obj2, .05)
	}
	if v.goal != (vec{}) {
		d.disc("goal", v.goal, .03)
	}
	switch b, j := sp.body, sp.joint; {
	case b != nil && (b == peg || b == block):
		d.box(b.class, box{add(v.obj, b.lo), add(v.obj, b.hi)})
	case b != nil:
		d.round(b, v.obj)
	default:
		foot := add(v.obj2, j.arm) // where it is fixed: the pivot, or the handle at rest
		d.line(j.class, foot, v.obj, .008)
		d.box(j.class, around(v.obj, j.half))
	}
	d.arm(v.hand, v.open)
	return d.Scene
}

// drawing adds things to both views at once.
type drawing struct{ Scene }

func top(p vec) [2]float64  { return [2]float64{p[0], p[1]} }
func side(p vec) [2]float64 { return [2]float64{p[1], p[2]} }

func (d *drawing) both(a, b Shape) {
	d.Views[0].Shapes = append(d.Views[0].Shapes, a)
	d.Views[1].Shapes = append(d.Views[1].Shapes, b)
}

func (d *drawing) box(class string, b box) {
	d.both(Shape{Kind: Rect, Class: class, A: top(b.lo), B: top(b.hi)}, Shape{Kind: Rect, Class: class, A: side(b.lo), B: side(b.hi)})
}

func (d *drawing) line(class string, p, q vec, r float64) {
	d.both(Shape{Kind: Line, Class: class, A: top(p), B: top(q), R: r}, Shape{Kind: Line, Class: class, A: side(p), B: side(q), R: r})
}

func (d *drawing) disc(class string, p vec, r float64) {
	d.both(Shape{Kind: Disc, Class: class, A: top(p), R: r}, Shape{Kind: Disc, Class: class, A: side(p), R: r})
}

// round is a body that is a circle from above: a cylinder, or a ball.
func (d *drawing) round(b *body, p vec) {
	from := Shape{Kind: Disc, Class: b.class, A: top(p), R: b.r}
	if b == ball {
		d.both(from, Shape{Kind: Disc, Class: b.class, A: side(p), R: b.r})
		return
	}
	d.both(from, Shape{Kind: Rect, Class: b.class, A: side(add(p, b.lo)), B: side(add(p, b.hi))})
}

// The drawn arm: a column, two links of equal length and the hand that hangs down.
const (
	shoulderHeight = 0.35
	linkLength     = 0.62
	wristHeight    = 0.12 // of the wrist above the fingertips
)

// ArmJoints are the ends of the four links of the drawn arm for a hand at p: foot,
// shoulder, elbow, wrist, hand. The elbow points up. The arm follows the hand; it has
// no part in any rule.
func ArmJoints(p [3]float64) [5][3]float64 {
	shoulder, wrist := vec{0, 0, shoulderHeight}, add(p, vec{0, 0, wristHeight})
	// In the upright plane through shoulder and wrist: r outwards, h upwards.
	r, h := math.Hypot(wrist[0], wrist[1]), wrist[2]-shoulderHeight
	far := clip(math.Hypot(r, h), 1e-9, 2*linkLength)
	bend := math.Acos(far / (2 * linkLength))
	sin, cos := math.Sincos(math.Atan2(h, r) + bend)
	out := vec{0, 1, 0}
	if r > 0 {
		out = vec{wrist[0] / r, wrist[1] / r, 0}
	}
	elbow := add(shoulder, add(scale(out, linkLength*cos), vec{0, 0, linkLength * sin}))
	return [5][3]float64{{}, shoulder, elbow, wrist, p}
}

func (d *drawing) arm(hand vec, open float64) {
	js := ArmJoints(hand)
	for i := range len(js) - 1 {
		q := js[i+1]
		if i == len(js)-2 {
			q = add(hand, vec{0, 0, .05}) // the palm
		}
		d.line("arm", js[i], q, .02)
	}
	gap := open*gapHalf + .006
	for _, y := range [2]float64{-gap, gap} {
		tip := add(hand, vec{0, y, -handR})
		d.line("finger", tip, add(tip, vec{0, 0, .07}), .006)
	}
	d.disc("hand", hand, .012)
}
