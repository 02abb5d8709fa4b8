package gridarm

import "math"

// RewardVersion names the rewards: the forms of Meta-World's second version
// (tolerance and Hamacher product, 0 to 10), with our distances. It changes whenever
// any reward does.
const RewardVersion = "v2-like-1"

// tolerance is 1 while x is at most bound and falls to 0.1 at margin beyond it, with
// a long tail (Meta-World's reward_utils).
func tolerance(x, bound, margin float64) float64 {
	if x <= bound {
		return 1
	}
	if margin <= 0 {
		return 0
	}
	d := (x - bound) / margin
	return 1 / (9*d*d + 1)
}

// hamacher is the Hamacher product of two shares: high only when both are.
func hamacher(a, b float64) float64 {
	if d := a + b - a*b; d > 0 {
		return a * b / d
	}
	return 0
}

// grasp is from 0 to 1: half for the fingers around the free body, half for holding it.
// The fingers open along y, as in Meta-World, so that y has a term of its own.
func (s *State) grasp(b *body) float64 {
	dy0 := math.Abs(s.Hand0[1] - s.Obj0[1])
	y := tolerance(math.Abs(s.Hand[1]-s.Obj[1]), 0.01, max(dy0, 0.05))
	xz0 := math.Hypot(s.Hand0[0]-s.Obj0[0], s.Hand0[2]-s.Obj0[2])
	xz := tolerance(math.Sqrt(sq(s.Hand[0]-s.Obj[0])+sq(s.Hand[2]-s.Obj[2])), 0.01, max(xz0, 0.05))
	cage := hamacher(y, xz)
	if !s.Held {
		return cage / 2
	}
	return (1 + cage) / 2
}

// near is how close the hand is to a point, from 0.1 (as at the start) to 1.
func (s *State) near(p vec, bound float64) float64 {
	return tolerance(dist(s.Hand, p), bound, dist(s.Hand0, s.Obj0))
}

// closed is 1 for closed fingers.
func (s *State) closed() float64 { return 1 - s.Open }
