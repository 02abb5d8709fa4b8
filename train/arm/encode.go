package arm

import "github.com/muse-agent/muse/envs/gridarm"

// The input of the world model is a linear rewriting of the observation: places
// relative to the hand, the last moment as motion, the middle of the table as origin.
// Nothing is added that the observation doesn't hold and nothing is lost; but symlog,
// which the model applies to each number, is finest around 0, and there a
// centimetre between hand and object now counts, wherever both are.
const (
	atHand  = 0  // hand from the middle of the table
	atOpen  = 3  // finger opening
	atObj   = 4  // object 1 from the hand
	atTurn  = 7  // its quaternion
	atObj2  = 11 // object 2 from object 1, 0 where there is none
	atTurn2 = 14
	atMove  = gridarm.FrameSize     // the frame less the one before
	atGoal  = 2 * gridarm.FrameSize // goal from object 1
	atReach = atGoal + 3            // goal from the hand
	atTask  = atReach + 3           // task, one number each
	// ObsSize is the length of the model's input.
	ObsSize = atTask + gridarm.TrainingTaskCount + 1
	// ObsScale makes 5 cm, one decision's way, 1.
	ObsScale = 20
)

// turnScale brings numbers between -1 and 1 to the size of a decimetre.
const turnScale = 0.1

// middle of the hand's workspace, metres.
var middle = [3]float32{0, 0.6, 0.2}

// encode writes the model's input for an observation of envOptions.
func encode(dst, obs []float32) {
	hand, obj, obj2, goal := obs[gridarm.ObsHand:], obs[gridarm.ObsObj:], obs[gridarm.ObsObj2:], obs[gridarm.ObsGoal:]
	present := obj2[6] != 0
	for k := range 3 {
		dst[atHand+k] = hand[k] - middle[k]
		dst[atObj+k] = obj[k] - hand[k]
		dst[atObj2+k] = 0
		if present {
			dst[atObj2+k] = obj2[k] - obj[k]
		}
		dst[atGoal+k] = goal[k] - obj[k]
		dst[atReach+k] = goal[k] - hand[k]
	}
	dst[atOpen] = obs[gridarm.ObsOpen] * turnScale
	for k := range 4 {
		dst[atTurn+k] = obj[3+k] * turnScale
		dst[atTurn2+k] = obj2[3+k] * turnScale
	}
	for k := range gridarm.FrameSize {
		dst[atMove+k] = obs[k] - obs[gridarm.ObsPrev+k]
		if k == gridarm.ObsOpen {
			dst[atMove+k] *= turnScale
		}
	}
	for k := range gridarm.TrainingTaskCount + 1 {
		dst[atTask+k] = obs[gridarm.ObsTask+k] * turnScale
	}
}

// moment is what a picture needs of a model's input: hand, opening, object 1.
func moment(in []float32) (m [7]float32) {
	for k := range 3 {
		m[k] = in[atHand+k] + middle[k]
		m[4+k] = m[k] + in[atObj+k]
	}
	m[3] = in[atOpen] / turnScale
	return m
}

// envOptions are the settings of every world that the model sees.
func envOptions(hide bool) gridarm.Options {
	return gridarm.Options{TaskChannel: gridarm.ChannelOneHot, HideTask: hide}
}
