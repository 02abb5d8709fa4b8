package worldmodel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/nearest"
)

// The kinds of reward head.
const (
	// RewardSymlog predicts symlog(reward) with a squared error (the paper).
	RewardSymlog = "symlog"
	// RewardTwoHot is DreamerV3's categorical head over Bins values.
	RewardTwoHot = "twohot"
)

// The optimisers.
const (
	// LaProp normalises each gradient before taking the momentum (DreamerV3, second generation).
	LaProp = "laprop"
	// Adam is the first generation's.
	Adam = "adam"
)

// Config describes a model and its training. It is stored in checkpoints. Start
// from [Preset] and set Obs, Grid and Action to the environment's.
type Config struct {
	Obs    int `json:"obs"`    // numbers in the observation vector, task channel included
	Grid   int `json:"grid"`   // cells × channels of the grid observation, values in [0,1]; 0 = none
	Action int `json:"action"` // numbers in an action, each within [-1,1]
	// ObsScale multiplies the observation vector before symlog: choose it so that the
	// differences that matter are about 1. With metres, 10 makes a decimetre one.
	ObsScale float64 `json:"obs_scale"`

	Deter   int `json:"deter"`   // D, width of the recurrent state h
	Hidden  int `json:"hidden"`  // U, width of the layers inside the recurrence
	Stoch   int `json:"stoch"`   // S, number of categorical latents z
	Classes int `json:"classes"` // C, classes of each
	Units   int `json:"units"`   // width of encoder, decoder and heads
	Blocks  int `json:"blocks"`  // g, blocks of the GRU; divides Deter
	Bins    int `json:"bins"`    // of the two-hot heads; odd
	// BinLimit is the largest bin in symlog space: returns up to e^BinLimit - 1.
	BinLimit float64 `json:"bin_limit"`
	// Quantiles is N, the number of ψ outputs; 0 leaves the head out (Dreamer).
	Quantiles int    `json:"quantiles"`
	Reward    string `json:"reward"` // RewardSymlog or RewardTwoHot

	EncLayers    int `json:"enc_layers"`
	DecLayers    int `json:"dec_layers"`
	PriorLayers  int `json:"prior_layers"`
	PostLayers   int `json:"post_layers"`
	HeadLayers   int `json:"head_layers"`   // reward, continue and ψ
	PolicyLayers int `json:"policy_layers"` // actor and critic

	Unimix   float64 `json:"unimix"`    // share of the uniform distribution in every latent
	FreeNats float64 `json:"free_nats"` // KL below this, summed over the latents, costs nothing
	ScaleDyn float64 `json:"scale_dyn"` // weight of KL(sg(posterior) ‖ prior)
	ScaleRep float64 `json:"scale_rep"` // weight of KL(posterior ‖ sg(prior))
	// ScaleRec is the weight of the reconstruction of the observation. Against ScaleRep it
	// decides how exactly a state knows what was seen: a number that h doesn't foresee is
	// kept to a squared error of about ScaleRep/(2·ScaleRec). 0 = 1, as in DreamerV3.
	ScaleRec float64 `json:"scale_rec,omitempty"`
	ScalePsi float64 `json:"scale_psi"` // weight of the self-assessment loss; it trains the whole model

	Batch   int `json:"batch"`   // B, sequences an update
	Length  int `json:"length"`  // T, steps of a sequence
	Horizon int `json:"horizon"` // imagined steps
	// Starts is how many of the B·T states imagination starts from; 0 = all.
	Starts int `json:"starts"`
	// TrainRatio is the number of replayed steps for each step of the
	// environment; an update replays B·T. Only callers read it.
	TrainRatio float64 `json:"train_ratio"`

	Gamma     float64 `json:"gamma"`      // discount a step; part of the continue target
	Lambda    float64 `json:"lambda"`     // of the λ-return
	Entropy   float64 `json:"entropy"`    // weight η of the actor's entropy
	SlowRate  float64 `json:"slow_rate"`  // of the slow critic's moving average
	ReturnEMA float64 `json:"return_ema"` // rate of the return range that scales advantages
	ReplayVal float64 `json:"replay_val"` // weight of the critic's loss on replayed steps
	// Imitate is the weight of -log π(target) on replayed steps that have a target, an
	// expert's action (Step.Target); 0 leaves imitation out. It is not part of DreamerV3
	// or the paper: name it beside every result.
	Imitate float64 `json:"imitate,omitempty"`

	Optimizer string  `json:"optimizer"`
	LR        float64 `json:"lr"`
	AGC       float64 `json:"agc"`    // gradient norm of a tensor at most this share of its weight norm; 0 = off
	Warmup    int     `json:"warmup"` // updates of linear growth of the rate
	// Decay is the update at which the rate, constant for the first half of the way, has
	// fallen to a twentieth, where it stays; 0 = constant throughout.
	Decay   int     `json:"decay,omitempty"`
	Diverge float64 `json:"diverge"` // stop when a world-model loss exceeds this many times its running mean; 0 = only when not finite
}

// base are the settings that all presets share (DreamerV3, second generation, with the paper's heads).
func base() Config {
	return Config{
		Obs: 39, Action: 4, ObsScale: 1, Blocks: 1, Bins: 41, BinLimit: 10, Quantiles: 5, Reward: RewardSymlog,
		EncLayers: 3, DecLayers: 3, PriorLayers: 2, HeadLayers: 1, PolicyLayers: 3,
		Unimix: 0.01, FreeNats: 1, ScaleDyn: 1, ScaleRep: 0.1, ScalePsi: 1,
		Batch: 16, Length: 32, Horizon: 15, Starts: 0, TrainRatio: 64,
		Gamma: 1 - 1.0/333, Lambda: 0.95, Entropy: 3e-4, SlowRate: 0.02, ReturnEMA: 0.01, ReplayVal: 0.3,
		Optimizer: LaProp, LR: 4e-5, AGC: 0.3, Warmup: 1000, Diverge: 1000,
	}
}

// PresetNames lists the presets from the smallest to the largest.
func PresetNames() []string { return []string{"debug", "tiny", "small", "size1m", "paper"} }

// Preset returns a named configuration:
//
//	debug   smoke test: 8 wide
//	tiny    0.26 M parameters at 50 observations: two cores, minutes
//	small   0.57 M
//	size1m  DreamerV3's 0.69 M preset for state observations, two-hot reward
//	paper   the paper's losses at DreamerV3's 12 M preset
//
// The error for another name suggests the nearest one.
func Preset(name string) (Config, error) {
	c := base()
	size := func(deter, units, stoch, classes, blocks, bins int) {
		c.Deter, c.Hidden, c.Units, c.Stoch, c.Classes, c.Blocks, c.Bins = deter, units, units, stoch, classes, blocks, bins
	}
	switch name {
	case "debug":
		size(8, 8, 2, 4, 4, 5)
		c.Hidden = 3
		c.EncLayers, c.DecLayers, c.PriorLayers, c.PolicyLayers = 1, 1, 1, 1
		c.Batch, c.Length, c.TrainRatio, c.Warmup = 8, 10, 8, 0
		c.Horizon = 5
	case "tiny":
		size(128, 64, 8, 8, 1, 41)
		c.LR, c.Warmup, c.Starts = 3e-4, 200, 128
	case "small":
		size(192, 96, 12, 8, 1, 41)
		c.LR, c.Warmup, c.Starts = 2e-4, 300, 128
	case "size1m":
		size(512, 64, 32, 4, 8, 255)
		c.BinLimit, c.Reward = 20, RewardTwoHot
		c.Length, c.TrainRatio = 64, 1024
	case "paper":
		size(2048, 256, 32, 16, 8, 255)
		c.BinLimit = 20
		c.Length, c.TrainRatio = 64, 256
	default:
		near, _ := nearest.Of(name, PresetNames())
		return Config{}, fmt.Errorf("worldmodel: no preset %q; did you mean %q? (known: %s)", name, near, strings.Join(PresetNames(), ", "))
	}
	return c, nil
}

// StateDim is the width of a state [h | z]: D + S·C.
func (c Config) StateDim() int { return c.Deter + c.latent() }

func (c Config) latent() int { return c.Stoch * c.Classes }

// recWeight is the weight of the reconstruction.
func (c Config) recWeight() float64 {
	if c.ScaleRec == 0 {
		return 1
	}
	return c.ScaleRec
}

// rewardOut is the width of the reward head's output.
func (c Config) rewardOut() int {
	if c.Reward == RewardTwoHot {
		return c.Bins
	}
	return 1
}

// Validate reports all problems at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("worldmodel: "+format, a...))
		}
	}
	positive := func(name string, v int) {
		bad(v >= 1 && v <= 1<<20, "%s is %d, must lie between 1 and %d", name, v, 1<<20)
	}
	bad(c.Obs >= 0 && c.Grid >= 0 && c.Obs+c.Grid > 0, "obs is %d and grid %d; one of them must be above 0", c.Obs, c.Grid)
	positive("action", c.Action)
	bad(c.ObsScale > 0 && c.ObsScale <= 1e6, "obs_scale is %g, must lie between 0 and 1e6", c.ObsScale)
	positive("deter", c.Deter)
	positive("hidden", c.Hidden)
	positive("stoch", c.Stoch)
	bad(c.Classes >= 2 && c.Classes <= 256, "classes is %d, must lie between 2 and 256", c.Classes)
	positive("units", c.Units)
	bad(c.Blocks >= 1 && c.Deter%max(c.Blocks, 1) == 0, "blocks is %d, must divide deter (%d)", c.Blocks, c.Deter)
	bad(c.Bins >= 3 && c.Bins%2 == 1, "bins is %d, must be odd and at least 3", c.Bins)
	bad(c.BinLimit > 0 && c.BinLimit <= 40, "bin_limit is %g, must lie between 0 and 40", c.BinLimit)
	bad(c.Quantiles >= 0 && c.Quantiles <= 64, "quantiles is %d, must lie between 0 and 64", c.Quantiles)
	bad(c.Reward == RewardSymlog || c.Reward == RewardTwoHot, "reward is %q, must be %q or %q", c.Reward, RewardSymlog, RewardTwoHot)
	for _, l := range []struct {
		name string
		n    int
	}{{"enc_layers", c.EncLayers}, {"dec_layers", c.DecLayers}, {"prior_layers", c.PriorLayers}, {"head_layers", c.HeadLayers}, {"policy_layers", c.PolicyLayers}} {
		bad(l.n >= 1 && l.n <= 16, "%s is %d, must lie between 1 and 16", l.name, l.n)
	}
	bad(c.Unimix >= 0 && c.Unimix < 1, "unimix is %g, must lie in [0,1)", c.Unimix)
	bad(c.FreeNats >= 0, "free_nats is %g, must be 0 or more", c.FreeNats)
	bad(c.ScaleDyn >= 0 && c.ScaleRep >= 0 && c.ScalePsi >= 0, "scale_dyn, scale_rep and scale_psi must be 0 or more")
	bad(c.ScaleRec >= 0, "scale_rec is %g, must be 0 or more", c.ScaleRec)
	positive("batch", c.Batch)
	positive("length", c.Length)
	positive("horizon", c.Horizon)
	bad(c.Starts >= 0 && c.Starts <= c.Batch*c.Length, "starts is %d, must lie between 0 and batch·length (%d)", c.Starts, c.Batch*c.Length)
	bad(c.TrainRatio > 0, "train_ratio is %g, must be above 0", c.TrainRatio)
	bad(c.Gamma > 0 && c.Gamma <= 1, "gamma is %g, must lie in (0,1]", c.Gamma)
	bad(c.Lambda >= 0 && c.Lambda <= 1, "lambda is %g, must lie in [0,1]", c.Lambda)
	bad(c.Entropy >= 0, "entropy is %g, must be 0 or more", c.Entropy)
	bad(c.SlowRate > 0 && c.SlowRate <= 1, "slow_rate is %g, must lie in (0,1]", c.SlowRate)
	bad(c.ReturnEMA > 0 && c.ReturnEMA <= 1, "return_ema is %g, must lie in (0,1]", c.ReturnEMA)
	bad(c.ReplayVal >= 0, "replay_val is %g, must be 0 or more", c.ReplayVal)
	bad(c.Imitate >= 0, "imitate is %g, must be 0 or more", c.Imitate)
	bad(c.Optimizer == LaProp || c.Optimizer == Adam, "optimizer is %q, must be %q or %q", c.Optimizer, LaProp, Adam)
	bad(c.LR > 0, "lr is %g, must be above 0", c.LR)
	bad(c.AGC >= 0, "agc is %g, must be 0 or more", c.AGC)
	bad(c.Warmup >= 0, "warmup is %d, must be 0 or more", c.Warmup)
	bad(c.Decay >= 0, "decay is %d, must be 0 or more", c.Decay)
	bad(c.Diverge == 0 || c.Diverge > 1, "diverge is %g, must be 0 or above 1", c.Diverge)
	return errors.Join(errs...)
}
