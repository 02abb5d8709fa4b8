package gridarm

import (
	"errors"
	"fmt"
	"math"
)

// Defaults of Options.
const (
	// DefaultMaxSteps is the number of decisions an episode; 100 of 5 cm are the 500
	// steps of 1 cm of the original.
	DefaultMaxSteps = 100
	// DefaultStepSize is how far one decision moves the hand along each axis, metres.
	DefaultStepSize = 0.05
)

// TaskChannel says how an observation shows the task.
type TaskChannel string

// The kinds of task channel. The number 0, or the first of the eleven places, stands
// for a task that is none of the training tasks.
const (
	ChannelID     TaskChannel = "id"     // one number, 0 to 10
	ChannelOneHot TaskChannel = "onehot" // eleven numbers, one of them 1
	ChannelNone   TaskChannel = "none"
)

// Options are the settings of a World or an Env; the zero value is the default.
type Options struct {
	// MaxSteps is the limit of decisions an episode; 0 means 100.
	MaxSteps int
	// StepSize is the largest move of a decision along each axis in metres; 0 means
	// 0.05. With 0.01 and 500 steps the hand moves as in the original.
	StepSize float64
	// PartiallyObservable puts zeros in place of the goal.
	PartiallyObservable bool
	// TaskChannel is how the task is shown; empty means ChannelID.
	TaskChannel TaskChannel
	// HideTask shows task 0 for every task, as in adaptation.
	HideTask bool
	// Grid appends the top-down raster to the observation.
	Grid bool
	// EndOnSuccess terminates the episode at the first success. By default it goes on
	// to its limit, so that nothing is gained by hovering just before the goal.
	EndOnSuccess bool
}

func (o Options) filled() Options {
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	if o.StepSize == 0 {
		o.StepSize = DefaultStepSize
	}
	if o.TaskChannel == "" {
		o.TaskChannel = ChannelID
	}
	return o
}

// maxStepSize keeps a decision shorter than the bodies that it must not jump over
// are apart.
const maxStepSize = 0.1

// Validate reports every setting that no episode can be played with.
func (o Options) Validate() error {
	var errs []error
	if o.MaxSteps < 0 {
		errs = append(errs, fmt.Errorf("gridarm: MaxSteps is %d; expected 0 (the default %d) or more", o.MaxSteps, DefaultMaxSteps))
	}
	if o.StepSize < 0 || o.StepSize > maxStepSize || math.IsNaN(o.StepSize) {
		errs = append(errs, fmt.Errorf("gridarm: StepSize is %v m; expected 0 (the default %v) to %v", o.StepSize, DefaultStepSize, maxStepSize))
	}
	switch o.TaskChannel {
	case "", ChannelID, ChannelOneHot, ChannelNone:
	default:
		errs = append(errs, fmt.Errorf("gridarm: TaskChannel is %q; expected %q, %q or %q", o.TaskChannel, ChannelID, ChannelOneHot, ChannelNone))
	}
	return errors.Join(errs...)
}

// ObsSize is the length of an observation under these options: 39 numbers of state,
// the task channel, then the raster.
func (o Options) ObsSize() int {
	n := StateSize + o.channelSize()
	if o.Grid {
		n += GridSize
	}
	return n
}

func (o Options) channelSize() int {
	switch o.TaskChannel {
	case ChannelOneHot:
		return TrainingTaskCount + 1
	case ChannelNone:
		return 0
	}
	return 1
}
