package gridarm

import "math"

// joint is an object with one degree of freedom: a drawer, a door, a button.
type joint struct {
	class string
	// at is where the handle is, for a fixed body at base and a position q.
	hinge bool
	arm   vec        // slide: handle at q = 0; hinge: the pivot; both relative to the fixed body
	axis  vec        // slide: direction of growing q
	u, v  vec        // hinge: handle = pivot + radius·(u·cos q + v·sin q)
	turns [3]int8    // hinge: axis of rotation
	rad   float64    // hinge: radius, metres
	lim   [2]float64 // limits of q
	half  vec        // half the size of the handle
	// spring is how far the handle goes back in a decision when it is not pressed,
	// metres; such a joint can be pressed, not pulled. 0: it stays where it is.
	spring float64
}

// at is where the handle is.
func (j *joint) at(base vec, q float64) vec {
	if !j.hinge {
		return add(add(base, j.arm), scale(j.axis, q))
	}
	sin, cos := math.Sincos(q)
	return add(add(base, j.arm), add(scale(j.u, j.rad*cos), scale(j.v, j.rad*sin)))
}

// along is the direction in which the handle moves as q grows, and how many metres a
// unit of q is.
func (j *joint) along(q float64) (dir vec, metres float64) {
	if !j.hinge {
		return j.axis, 1
	}
	sin, cos := math.Sincos(q)
	return add(scale(j.u, -sin), scale(j.v, cos)), j.rad
}

// enter is when a point going from p to q comes into the box of half size h around
// c, as a share of the way; 0 when it begins inside.
func enter(p, q, c, h vec) (float64, bool) {
	from, to := 0.0, 1.0
	for k := range 3 {
		x, d := p[k]-c[k], q[k]-p[k]
		if d == 0 {
			if math.Abs(x) > h[k]+eps {
				return 0, false
			}
			continue
		}
		a, b := (-h[k]-eps-x)/d, (h[k]+eps-x)/d
		from, to = max(from, min(a, b)), min(to, max(a, b))
	}
	return from, from <= to
}

// work moves the hand, and the handle that it touches: from the moment at which the
// hand's path enters the handle's box (or from the start, when it is in there), the
// part of the motion along the joint's direction moves the joint. At a limit of the
// joint the hand stops too. Sideways the hand slips out.
func (w *World) work(j *joint, d vec) {
	s := &w.s
	p0, p1 := s.Hand, s.reach(d)
	h := add(j.half, handHi)
	t, ok := enter(p0, p1, s.Obj, h)
	if ok {
		dir, metres := j.along(s.Q)
		m := (1 - t) * dot(sub(p1, p0), dir)
		if j.spring > 0 && m < 0 {
			// The hand goes back, and the pressed handle after it.
			s.Q = max(j.lim[0], s.Q-min(-m, j.spring)/metres)
		} else {
			q := clip(s.Q+m/metres, j.lim[0], j.lim[1])
			if over := m - (q-s.Q)*metres; over < -eps || over > eps {
				p1 = s.reach(sub(sub(p1, p0), scale(dir, over)))
			}
			s.Q = q
		}
		s.Touch = true
	} else if j.spring > 0 {
		_, metres := j.along(s.Q)
		s.Q = max(j.lim[0], s.Q-j.spring/metres)
	}
	s.Hand = p1
	s.Obj = j.at(s.Obj2, s.Q)
}
