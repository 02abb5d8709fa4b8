package gridarm

import (
	"fmt"
	"math/rand/v2"
)

// Corruption makes a scripted policy worse, in ways that fail by degrees: for episodes
// from which a self-assessment can learn what failure looks like. The zero value
// changes nothing.
type Corruption struct {
	// Noise is the share of decisions that are replaced by a uniformly random one.
	Noise float64 `json:"noise,omitempty"`
	// Goal is added to the goal as the policy sees it: things are brought to a wrong
	// place. Metres.
	Goal [3]float64 `json:"goal,omitzero"`
	// Object is added to object 1 as the policy sees it: the hand reaches beside it.
	Object [3]float64 `json:"object,omitzero"`
	// Skip is the number (from 1) of a stage of the script that is never done; what
	// follows is done in its place, for the last stage the first. 0: none.
	Skip int `json:"skip,omitempty"`
	// Limp is the share of its strength that every motion keeps; 0 means all of it.
	Limp float64 `json:"limp,omitempty"`
}

// Validate reports a corruption that task t can't have.
func (c Corruption) Validate(t Task) error {
	switch n := len(specs[t].script); {
	case c.Noise < 0 || c.Noise > 1:
		return fmt.Errorf("gridarm: Noise is %v; expected a share from 0 to 1", c.Noise)
	case c.Limp < 0 || c.Limp > 1:
		return fmt.Errorf("gridarm: Limp is %v; expected a share from 0 to 1", c.Limp)
	case c.Skip < 0 || c.Skip > n:
		return fmt.Errorf("gridarm: Skip is %d; the script of %s has the stages 1 to %d", c.Skip, t, n)
	}
	return nil
}

// Policy is the scripted policy of t with this corruption. r decides about the noise
// and may be nil when there is none. An invalid corruption is a fault of the caller
// and panics.
func (c Corruption) Policy(t Task, r *rand.Rand) Policy {
	if err := c.Validate(t); err != nil {
		panic(err.Error())
	}
	s := specs[t].script
	return func(obs, a []float32) {
		v := look(obs)
		v.goal, v.obj = add(v.goal, c.Goal), add(v.obj, c.Object)
		i := s.choose(v)
		if i == c.Skip-1 {
			i = (i + 1) % len(s)
		}
		s[i].act(v, a)
		if c.Limp > 0 {
			for k := range 3 {
				a[k] *= float32(c.Limp)
			}
		}
		if c.Noise > 0 && r.Float64() < c.Noise {
			for k := range ActionSize {
				a[k] = 2*r.Float32() - 1
			}
		}
	}
}

// RandomCorruption draws a corruption for task t of a severity from 0 (none) to 1: one
// of noise, a wrong goal, a missed object, a skipped stage or limpness, and at
// severities above one half sometimes two of them.
func RandomCorruption(t Task, severity float64, r *rand.Rand) Corruption {
	severity = clip(severity, 0, 1)
	var c Corruption
	if severity == 0 {
		return c
	}
	n := 1
	if r.Float64() < severity-.5 {
		n = 2
	}
	for range n {
		how := severity * (.5 + r.Float64()) // 0.5 to 1.5 of the severity
		switch r.IntN(5) {
		case 0:
			c.Noise = clip(how, 0, .95)
		case 1:
			for k := range 3 {
				c.Goal[k] = (2*r.Float64() - 1) * .25 * how
			}
		case 2:
			for k := range 2 {
				c.Object[k] = (2*r.Float64() - 1) * .12 * how
			}
		case 3:
			if severity > .3 {
				c.Skip = 1 + r.IntN(len(specs[t].script))
			} else {
				c.Noise = clip(how, 0, .95)
			}
		case 4:
			c.Limp = clip(1-how, .05, 1)
		}
	}
	return c
}
