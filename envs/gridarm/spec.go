package gridarm

import "math/rand/v2"

// spec is everything that makes a task. Exactly one of body and joint is set.
type spec struct {
	name    string
	summary string // what is asked for
	success string // the predicate, in words
	shaped  string // the reward, in words
	starts  string // what is random at reset

	body    *body
	joint   *joint
	fixed   string // class of object 2, empty when there is none
	channel int    // of object 1 in the raster

	place  func(s *State, r *rand.Rand) // positions of an episode
	solids func(s *State)               // fixed boxes, nil for none
	holds  func(s *State) bool          // the success predicate
	reward func(s *State) float64
	script script
}

// class is the kind of object 1.
func (s *spec) class() string {
	if s.body != nil {
		return s.body.class
	}
	return s.joint.class
}
