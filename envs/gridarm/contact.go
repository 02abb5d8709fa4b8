package gridarm

import "math"

// The hand. Its collision body is a cube of 4 cm around the point between the
// fingertips, which so touch the table at the lowest allowed height.
const (
	handR      = 0.02 // half its size, metres
	gapHalf    = 0.05 // half the distance between the fingers at opening 1
	fingerRate = 0.5  // change of the opening by a decision of full effort
	cageMargin = 0.005
	// holdEffort: while an object is held, weaker opening efforts than this do not
	// let it go (friction of the pads).
	holdEffort = -0.3
	// touching bodies may overlap by this much: more than the lattice's rounding
	eps = 1e-6
)

// body is a free object.
type body struct {
	class  string
	lo, hi vec     // extent around its position (the grip), metres
	r      float64 // radius when it is pushed from outside
	grip   float64 // half the width between the fingers
	// dish: it has a rim and is dragged by a hand inside it, whatever the opening;
	// dish is the slack of the hand there. It can't be gripped.
	dish float64
}

// slack is how far from the hand the body's grip may be while the open fingers
// straddle it; negative when they can't.
func (b *body) slack(open float64) float64 {
	if b.dish > 0 {
		return b.dish
	}
	if open*gapHalf < b.grip {
		return -1
	}
	return open*gapHalf - b.grip + cageMargin
}

// box is a fixed solid.
type box struct{ lo, hi vec }

// around is the box with a centre and half sizes.
func around(c, half vec) box { return box{sub(c, half), add(c, half)} }

func (s *State) solid(b box) {
	s.solids[s.nSolids] = b
	s.nSolids++
}

// slide moves the extent lo..hi (around p) by d along axis k as far as the fixed
// solids let it, and returns how far. A one-dimensional sweep can't jump over a
// solid, however long d is.
func (s *State) slide(p, lo, hi vec, k int, d float64) float64 {
	for i := range s.solids[:s.nSolids] {
		b := &s.solids[i]
		m, n := (k+1)%3, (k+2)%3
		if p[m]+lo[m] >= b.hi[m]-eps || p[m]+hi[m] <= b.lo[m]+eps || p[n]+lo[n] >= b.hi[n]-eps || p[n]+hi[n] <= b.lo[n]+eps {
			continue
		}
		switch {
		case d > 0 && p[k]+hi[k] <= b.lo[k]+eps:
			d = max(0, min(d, b.lo[k]-p[k]-hi[k]))
		case d < 0 && p[k]+lo[k] >= b.hi[k]-eps:
			d = min(0, max(d, b.hi[k]-p[k]-lo[k]))
		}
	}
	return d
}

var handLo, handHi = vec{-handR, -handR, -handR}, vec{handR, handR, handR}

// axes is the order in which the parts of a motion are made: up comes first, down
// last, so that a hand gets over an edge.
func axes(d vec) [3]int {
	if d[2] > 0 {
		return [3]int{2, 0, 1}
	}
	return [3]int{0, 1, 2}
}

// reach is where the hand gets to by d within the workspace and the solids.
func (s *State) reach(d vec) vec {
	p := s.Hand
	for _, k := range axes(d) {
		x := clip(p[k]+d[k], handLow[k], handHigh[k]) - p[k]
		if s.nSolids > 0 {
			x = s.slide(p, handLo, handHi, k, x)
		}
		p[k] += x
	}
	return p
}

// nudge moves the hand back in the plane of the table, not into solids.
func (s *State) nudge(x, y float64) {
	for k, d := range [2]float64{x, y} {
		d = clip(s.Hand[k]+d, handLow[k], handHigh[k]) - s.Hand[k]
		s.Hand[k] += s.slide(s.Hand, handLo, handHi, k, d)
	}
}

// shift moves the free body in the plane of the table by d, within its edge and the
// solids.
func (s *State) shift(b *body, d vec) {
	for k := range 2 {
		x := clip(s.Obj[k]+d[k], handLow[k]-b.lo[k], handHigh[k]-b.hi[k]) - s.Obj[k]
		if s.nSolids > 0 {
			x = s.slide(s.Obj, b.lo, b.hi, k, x)
		}
		s.Obj[k] += x
	}
}

// straddles reports whether the fingers of a hand at p are around the body.
func (s *State) straddles(b *body, p vec) bool {
	return p[2]-handR < s.Obj[2]+b.hi[2]-eps && p[2] > s.Obj[2]+b.lo[2]-handR && flat(p, s.Obj) <= b.slack(s.Open)+eps
}

// fingers opens or closes the fingers. Closing around a body centres it and stops at
// its width: it is then held. Opening lets it go.
func (w *World) fingers(b *body) {
	s := &w.s
	if s.Held {
		if s.Effort > holdEffort {
			return
		}
		s.Held = false
		s.Open = clip(s.Open-s.Effort*fingerRate, 0, 1)
		return
	}
	open := clip(s.Open-s.Effort*fingerRate, 0, 1)
	width := b.grip / gapHalf
	if open < s.Open && b.dish == 0 && s.straddles(b, s.Hand) && s.Hand[2] <= s.Obj[2]+b.hi[2]+eps {
		if open <= width {
			open, s.Held = width, true
		}
		s.Open = open
		w.drag(b, s.Hand)
		s.Touch = true
		return
	}
	s.Open = open
}

// carry moves the hand and the body that it holds as one.
func (w *World) carry(b *body, d vec) {
	s := &w.s
	s.Touch = true
	for _, k := range axes(d) {
		x := clip(s.Hand[k]+d[k], handLow[k], handHigh[k]) - s.Hand[k]
		if k == 2 {
			x = max(x, min(0, -b.lo[2]-s.Obj[2])) // the table
		} else {
			x = clip(s.Obj[k]+x, min(s.Obj[k], handLow[k]-b.lo[k]), max(s.Obj[k], handHigh[k]-b.hi[k])) - s.Obj[k]
		}
		if s.nSolids > 0 {
			x = s.slide(s.Hand, handLo, handHi, k, x)
			x = s.slide(s.Obj, b.lo, b.hi, k, x)
		}
		s.Hand[k] += x
		s.Obj[k] += x
	}
}

// push moves the hand, and the body that stands in its way.
//   - A body between the open fingers (or a dish under the hand) is dragged along.
//   - Fingers that come down on a body from above go around it when they are open
//     and near its middle, else they rest on its top.
//   - Fingers that meet a body from outside push it along the line of contact. The
//     whole path is looked at, so that nothing is jumped over.
func (w *World) push(b *body, d vec) {
	s := &w.s
	p0, p1 := s.Hand, s.reach(d)
	top, bottom := s.Obj[2]+b.hi[2], s.Obj[2]+b.lo[2]
	s.Hand = p1
	if p0[2]+handR <= bottom+eps && p1[2]+handR <= bottom+eps {
		return
	}
	z0, z1 := p0[2]-handR, p1[2]-handR
	switch {
	case z0 >= top-eps && z1 >= top-eps:
		return
	case z0 >= top-eps: // down
		p0 = lerp(p0, p1, (z0-top)/(z0-z1))
		gap := flat(p0, s.Obj)
		if gap <= b.slack(s.Open) {
			w.drag(b, p1)
			return
		}
		if gap < handR+b.r-eps {
			s.Hand[2] = top + handR
			s.Touch = true
			return
		}
	case z1 >= top-eps: // up: only the part below the top touches
		if z1 > z0 {
			p1 = lerp(p0, p1, clip((top-z0)/(z1-z0), 0, 1))
		}
		if s.straddles(b, p0) {
			return
		}
	default:
		if s.straddles(b, p0) {
			w.drag(b, p1)
			return
		}
	}
	w.shove(b, p0, p1)
}

// drag keeps the body within the slack of a hand at p; where a solid holds the body
// back, the hand stops too.
func (w *World) drag(b *body, p vec) {
	s := &w.s
	slack, gap := max(0, b.slack(s.Open)), flat(p, s.Obj)
	if gap <= slack {
		return
	}
	s.Touch = true
	f := (gap - slack) / gap
	s.shift(b, vec{(p[0] - s.Obj[0]) * f, (p[1] - s.Obj[1]) * f, 0})
	if gap = flat(p, s.Obj); gap > slack+eps {
		f = (gap - slack) / gap
		s.nudge(-(p[0]-s.Obj[0])*f, -(p[1]-s.Obj[1])*f)
	}
}

// shove pushes the body from outside while the hand goes from p0 to p1.
func (w *World) shove(b *body, p0, p1 vec) {
	s := &w.s
	r := handR + b.r
	t, ok := meet(p0, p1, s.Obj, r)
	if !ok {
		return
	}
	s.Touch = true
	c := lerp(p0, p1, t)
	n, gap := vec{s.Obj[0] - c[0], s.Obj[1] - c[1], 0}, flat(s.Obj, c)
	if gap < eps {
		n, gap = vec{0, 1, 0}, 1
	}
	n = scale(n, 1/gap)
	if m := (1 - t) * dot(sub(p1, p0), n); m > 0 {
		s.shift(b, scale(n, m))
	}
	// What still overlaps is pushed out; what can't be, stops the hand.
	for pass := range 2 {
		gap = flat(s.Obj, p1)
		if gap >= r-eps {
			return
		}
		if gap > eps {
			n = vec{(s.Obj[0] - p1[0]) / gap, (s.Obj[1] - p1[1]) / gap, 0}
		}
		if pass == 0 {
			s.shift(b, scale(n, r-gap))
			continue
		}
		s.nudge(-n[0]*(r-gap), -n[1]*(r-gap))
	}
}

// meet is when a point going from p to q in the plane of the table first comes within
// r of c, as a share of the way; 0 when it begins there and comes no farther.
func meet(p, q, c vec, r float64) (float64, bool) {
	px, py := p[0]-c[0], p[1]-c[1]
	dx, dy := q[0]-p[0], q[1]-p[1]
	k := px*px + py*py - r*r
	b := px*dx + py*dy
	if k < -eps*r {
		return 0, true
	}
	a := dx*dx + dy*dy
	if b >= 0 || a == 0 {
		return 0, false
	}
	disc := b*b - a*k
	if disc < 0 {
		return 0, false
	}
	t := max(0, (-b-math.Sqrt(disc))/a)
	return t, t <= 1
}

// fall puts a body that is not held on what is under it: the table, or a solid whose
// top is not above its bottom. It falls at once.
func (w *World) fall(b *body) {
	s := &w.s
	if s.Held {
		return
	}
	floor := 0.0
	bottom := s.Obj[2] + b.lo[2]
	for _, o := range s.solids[:s.nSolids] {
		if o.hi[2] <= bottom+eps && s.Obj[0]+b.lo[0] < o.hi[0]-eps && s.Obj[0]+b.hi[0] > o.lo[0]+eps &&
			s.Obj[1]+b.lo[1] < o.hi[1]-eps && s.Obj[1]+b.hi[1] > o.lo[1]+eps {
			floor = max(floor, o.hi[2])
		}
	}
	s.Obj[2] = floor - b.lo[2]
}
