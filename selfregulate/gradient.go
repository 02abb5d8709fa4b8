package selfregulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/muse-agent/muse/internal/nearest"
)

// Latent is the part of a world model that regulation of its state needs; a simulator
// of package worldmodel is one. A state is one slice [h | z]. Methods overwrite their
// outputs, keep no slice, and may use scratch memory: one goroutine a Latent.
type Latent interface {
	// Latents are the widths of a state: h has deter numbers, z has stoch groups of
	// classes numbers.
	Latents() (deter, stoch, classes int)
	ActionDim() int
	// Policy writes mean and deviation of the actor's normal distribution at state.
	Policy(state, mean, std []float32)
	// Forward writes {f(state, action), z} to next: h moves, z stays. next may be state.
	Forward(next, state, action []float32)
	// Imagine writes {f(state, action), z ~ p(z | h)} to next. next may be state.
	Imagine(next, state, action []float32, r *rand.Rand)
	// Success is Σ_i ψ_i(state).
	Success(state []float32) float64
	// SuccessGradient writes ∇_s Σ_i ψ_i(s) and returns Σ_i ψ_i.
	SuccessGradient(grad, state []float32) float64
	// ValueGradient writes the gradient of the critic's value and returns that value.
	ValueGradient(grad, state []float32) float64
}

// StateRegulator moves the latent state of one decision before the agent acts (paper,
// section 3.1.2, option 3, and Algorithm 1). Implementations are not safe for
// concurrent use.
type StateRegulator interface {
	// Name is unique among the regulators of a comparison: "psi/literal", "off".
	Name() string
	// Regulate reads the state after the observation and leaves it as it was. All its
	// randomness comes from r. The result is valid until the next call.
	Regulate(state []float32, r *rand.Rand) Regulated
}

// Regulated is the outcome of a [StateRegulator].
type Regulated struct {
	// State is what line 14 of Algorithm 1 steps from: carry it into the next observation.
	State []float32
	// Mean and Std are the normal distribution of the action of line 13.
	Mean, Std []float32
	Trace     StateTrace
}

// StateTrace says what a regulation did. If Moved, Gain and KL are near 0, it did nothing.
type StateTrace struct {
	Regulator string  `json:"regulator"`
	Before    float64 `json:"before"` // Σψ of the state that came in
	After     float64 `json:"after"`  // Σψ of the state that the action comes from
	// Moved is ‖Δs‖, the length of the sum of all gradient steps; imagined dynamics
	// do not count.
	Moved float64 `json:"moved"`
	// Gain is the sum of the changes of Σψ in the gradient steps alone.
	Gain float64 `json:"gain"`
	// KL is KL(π before ‖ π after) in nats from the state that came in to the one that
	// the action comes from.
	KL    float64     `json:"kl"`
	Steps []StateStep `json:"steps,omitempty"`
}

// StateStep is one pass of the loop of Algorithm 1.
type StateStep struct {
	Moved  float64 `json:"moved"`  // ‖Δs‖ of this gradient step
	Before float64 `json:"before"` // Σψ before it
	After  float64 `json:"after"`  // and after it
	KL     float64 `json:"kl"`     // of the policy before ‖ after it, nats
}

// Reading is one of the two readings of Algorithm 1.
type Reading string

const (
	// Literal follows the lines as printed: the loop overwrites h with f(s, a), so the
	// action comes from a state imagined Horizon steps ahead.
	Literal Reading = "literal"
	// InPlace leaves line 10 out: Horizon gradient steps refine the present state.
	InPlace Reading = "in-place"
)

// Readings lists the readings, the paper's words first.
func Readings() []Reading { return []Reading{Literal, InPlace} }

// GradientConfig are the settings of regulation by gradient; start from [DefaultGradient].
type GradientConfig struct {
	Reading Reading `json:"reading"`
	Horizon int     `json:"horizon"` // H
	Beta    float64 `json:"beta"`    // β, length of a step along the gradient
	// Anneal multiplies β after each step; 1 = constant.
	Anneal float64 `json:"anneal"`
	// Unit takes steps of length β whatever the gradient's norm: a saturated ψ has almost none.
	Unit bool `json:"unit"`
	// Resample draws z ~ p(z | h) after each imagined step of the literal reading; the
	// paper's lines leave z where the gradient moved it.
	Resample bool `json:"resample"`
	// Project takes z back to probabilities after each gradient step: negative numbers
	// become 0 and each latent sums to 1.
	Project bool `json:"project"`
	// Keep carries the state that came in instead of the regulated one: only the action
	// is regulated.
	Keep bool `json:"keep"`
}

// DefaultGradient are the paper's settings: literal, H = 10, β = 0.02.
func DefaultGradient() GradientConfig {
	return GradientConfig{Reading: Literal, Horizon: 10, Beta: 0.02, Anneal: 1}
}

// maxBeta is far beyond what leaves a state usable, and keeps its numbers finite.
const maxBeta = 1000

// Validate reports all problems at once.
func (c GradientConfig) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("selfregulate: "+format, a...))
		}
	}
	bad(c.Reading == Literal || c.Reading == InPlace, "reading is %q, must be %q or %q", c.Reading, Literal, InPlace)
	bad(c.Horizon >= 0 && c.Horizon <= 1000, "horizon is %d, must lie between 0 and 1000", c.Horizon)
	bad(c.Beta >= 0 && c.Beta <= maxBeta, "beta is %g, must lie in [0,%d]", c.Beta, maxBeta)
	bad(c.Anneal > 0 && c.Anneal <= 1, "anneal is %g, must lie in (0,1]", c.Anneal)
	return errors.Join(errs...)
}

// The names of the state regulators: the paper's, no regulation, and the controls.
const (
	StatePsi    = "psi"    // ∇_s Σψ (paper, Eq. 5)
	StateOff    = "off"    // the actor at the state that came in
	StateNone   = "none"   // the same imagined steps without the gradient
	StateRandom = "random" // a random direction of the norm of the ψ step
	StateValue  = "value"  // the critic's gradient with the norm of the ψ step
	StateNoise  = "noise"  // no gradient; action noise of the policy-KL that ψ would cause
)

// StateNames lists the names that [NewStateRegulator] knows.
func StateNames() []string {
	return []string{StateOff, StatePsi, StateNone, StateRandom, StateValue, StateNoise}
}

// NewStateRegulator returns the regulator called name over w. The error for any other
// name suggests the nearest one.
func NewStateRegulator(name string, cfg GradientConfig, w Latent) (StateRegulator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	switch name {
	case StateOff:
		cfg.Horizon, cfg.Keep = 0, false
		return newAscent(StateOff, cfg, w, nil), nil
	case StatePsi:
		return newAscent(name+"/"+string(cfg.Reading), cfg, w, alongPsi), nil
	case StateNone:
		return newAscent(name+"/"+string(cfg.Reading), cfg, w, nil), nil
	case StateRandom:
		return newAscent(name+"/"+string(cfg.Reading), cfg, w, alongRandom), nil
	case StateValue:
		return newAscent(name+"/"+string(cfg.Reading), cfg, w, alongValue), nil
	case StateNoise:
		full := name + "/" + string(cfg.Reading)
		return &noise{name: full, base: newAscent(full, cfg, w, nil), psi: newAscent(full, cfg, w, alongPsi)}, nil
	}
	near, _ := nearest.Of(name, StateNames())
	return nil, fmt.Errorf("selfregulate: no state regulator %q; did you mean %q? (known: %s)", name, near, strings.Join(StateNames(), ", "))
}
