package worldmodel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Step is one observation of an environment and what led to it. Slices are copied.
type Step struct {
	Obs    []float32 // Obs numbers, in the environment's units
	Grid   []float32 // Grid numbers in [0,1], stored as 255ths
	Action []float32 // the action that led here; ignored where First
	Reward float32   // received for arriving here
	First  bool      // first observation of an episode
	// Last marks the last observation of an episode; Terminal an end by the rules
	// of the environment, after which no reward can follow. A time limit is Last
	// without Terminal.
	Last, Terminal bool
	State          []float32 // the acting [Sim]'s state after Observe; nil if none
	// Target is what an expert would do at this observation, for [Config].Imitate; nil
	// where nobody knows. It is kept only by models that imitate.
	Target []float32
}

// Replay holds the most recent steps of several lanes; a lane is one environment's
// unbroken stream of episodes. Sequences are drawn with equal chance over all
// starts and may cross the borders of episodes; new sequences come first. Beside
// each step it keeps the latent state of the last model that saw it, from which
// later sequences start, and the labels of ψ, which are known only once the
// episode has ended ([Replay.Label]). It is not safe for concurrent use.
type Replay struct {
	cfg   Config
	size  int // steps a lane
	lanes []lane
}

// The bits of lane.flags.
const (
	flagFirst = 1 << iota
	flagLast
	flagTerminal
	flagLabelled
	flagLatent
	flagTarget
)

// lane is a ring that grows to its size. Step i (counted from the beginning of time)
// lies in slot i mod size.
type lane struct {
	n     int // steps ever added
	start int // first step of the latest episode
	fresh int // first step not yet given out as new

	obs, act, reward []float32
	grid             []uint8
	flags            []uint8
	labels           []uint8 // (steps, N), 0 or 1
	h                []float32
	z                []uint8   // (steps, S) class of each latent
	target           []float32 // (steps, A), empty without imitation
}

// ErrReplay is matched by errors about steps that do not fit.
var ErrReplay = errors.New("worldmodel: unusable step")

// NewReplay returns a replay for models with the widths of cfg. Each of the lanes holds
// capacity/lanes steps, at least one sequence.
func NewReplay(cfg Config, lanes, capacity int) (*Replay, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if lanes < 1 || capacity/max(lanes, 1) < cfg.Length+1 {
		return nil, fmt.Errorf("worldmodel: a replay of %d steps in %d lanes does not hold sequences of %d; give more capacity", capacity, lanes, cfg.Length)
	}
	return &Replay{cfg: cfg, size: capacity / lanes, lanes: make([]lane, lanes)}, nil
}

// Lanes is the number of lanes.
func (r *Replay) Lanes() int { return len(r.lanes) }

// Steps is the number of steps held now.
func (r *Replay) Steps() int {
	n := 0
	for i := range r.lanes {
		n += min(r.lanes[i].n, r.size)
	}
	return n
}

// Added is the number of steps ever added.
func (r *Replay) Added() int {
	n := 0
	for i := range r.lanes {
		n += r.lanes[i].n
	}
	return n
}

// Add appends a step to a lane. Errors match [ErrReplay] and leave the lane as it was.
func (r *Replay) Add(at int, s Step) error {
	c := r.cfg
	if at < 0 || at >= len(r.lanes) {
		return fmt.Errorf("%w: lane %d of %d", ErrReplay, at, len(r.lanes))
	}
	l := &r.lanes[at]
	switch {
	case len(s.Obs) != c.Obs || len(s.Grid) != c.Grid:
		return fmt.Errorf("%w: %d observations and %d cells, the model has %d and %d", ErrReplay, len(s.Obs), len(s.Grid), c.Obs, c.Grid)
	case !s.First && len(s.Action) != c.Action:
		return fmt.Errorf("%w: an action of %d numbers, the model has %d", ErrReplay, len(s.Action), c.Action)
	case s.State != nil && len(s.State) != c.StateDim():
		return fmt.Errorf("%w: a state of %d numbers, the model has %d", ErrReplay, len(s.State), c.StateDim())
	case l.n == 0 && !s.First:
		return fmt.Errorf("%w: lane %d does not begin with First", ErrReplay, at)
	case !s.First && l.flags[(l.n-1)%r.size]&flagLast != 0:
		return fmt.Errorf("%w: lane %d goes on after Last; the next step needs First", ErrReplay, at)
	}
	if s.Target != nil && len(s.Target) != c.Action {
		return fmt.Errorf("%w: a target of %d numbers, the model's actions have %d", ErrReplay, len(s.Target), c.Action)
	}
	for _, x := range [][]float32{s.Obs, s.Grid, s.Action, s.Target, {s.Reward}} {
		for _, v := range x {
			if v != v || math.IsInf(float64(v), 0) {
				return fmt.Errorf("%w: a value is not finite (%v) in lane %d, step %d", ErrReplay, v, at, l.n)
			}
		}
	}
	k := l.n % r.size
	if k == len(l.reward) {
		l.obs = append(l.obs, make([]float32, c.Obs)...)
		l.grid = append(l.grid, make([]uint8, c.Grid)...)
		l.act = append(l.act, make([]float32, c.Action)...)
		l.reward = append(l.reward, 0)
		l.flags = append(l.flags, 0)
		l.labels = append(l.labels, make([]uint8, c.Quantiles)...)
		l.h = append(l.h, make([]float32, c.Deter)...)
		l.z = append(l.z, make([]uint8, c.Stoch)...)
		if c.Imitate > 0 {
			l.target = append(l.target, make([]float32, c.Action)...)
		}
	}
	copy(l.obs[k*c.Obs:(k+1)*c.Obs], s.Obs)
	for i, v := range s.Grid {
		l.grid[k*c.Grid+i] = uint8(min(max(v, 0), 1)*255 + 0.5)
	}
	act := l.act[k*c.Action : (k+1)*c.Action]
	if clear(act); !s.First {
		copy(act, s.Action)
	}
	l.reward[k] = s.Reward
	l.flags[k] = 0
	if s.First {
		l.flags[k] |= flagFirst
		l.start = l.n
	}
	if s.Last || s.Terminal {
		l.flags[k] |= flagLast
	}
	if s.Terminal {
		l.flags[k] |= flagTerminal
	}
	if c.Imitate > 0 && s.Target != nil {
		copy(l.target[k*c.Action:(k+1)*c.Action], s.Target)
		l.flags[k] |= flagTarget
	}
	l.n++
	if s.State != nil {
		r.setLatent(l, k, s.State)
	}
	return nil
}

func (r *Replay) setLatent(l *lane, k int, state []float32) {
	c := r.cfg
	copy(l.h[k*c.Deter:(k+1)*c.Deter], state)
	for i := range c.Stoch {
		g := state[c.Deter+i*c.Classes : c.Deter+(i+1)*c.Classes]
		best := 0
		for j, v := range g {
			if v > g[best] {
				best = j
			}
		}
		l.z[k*c.Stoch+i] = uint8(best)
	}
	l.flags[k] |= flagLatent
}

// QuantileLabels are the N labels of an episode (paper, section 3.1.1): label i is 1
// if the task was solved within the (i+1)-th N-th of the limit. solvedAt is the number
// of steps until success, negative for a failure.
func QuantileLabels(n, solvedAt, limit int) []float32 {
	labels := make([]float32, n)
	for i := range labels {
		if solvedAt >= 0 && solvedAt*n <= (i+1)*limit {
			labels[i] = 1
		}
	}
	return labels
}

// Label gives the latest episode of a lane its labels, from step from of the episode on
// (0 = all of it; later for continuations of a restored state). Until then its steps
// do not train ψ. Steps that were already dropped are passed over.
func (r *Replay) Label(at, from int, labels []float32) error {
	c := r.cfg
	if at < 0 || at >= len(r.lanes) || len(labels) != c.Quantiles || from < 0 {
		return fmt.Errorf("worldmodel: %d labels from step %d for lane %d; the model has %d outputs and the replay %d lanes", len(labels), from, at, c.Quantiles, len(r.lanes))
	}
	l := &r.lanes[at]
	for i := max(l.start+from, l.n-r.size); i < l.n; i++ {
		k := i % r.size
		for j, v := range labels {
			l.labels[k*c.Quantiles+j] = 0
			if v >= 0.5 {
				l.labels[k*c.Quantiles+j] = 1
			}
		}
		l.flags[k] |= flagLabelled
	}
	return nil
}

// sequence names steps [from, from+Length) of a lane.
type sequence struct{ lane, from int }

// draw chooses b sequences of t steps: first those that are new, then with equal chance
// over all starts.
func (r *Replay) draw(rnd *rand.Rand, b, t int) ([]sequence, error) {
	out := make([]sequence, 0, b)
	starts := 0
	for i := range r.lanes {
		l := &r.lanes[i]
		l.fresh = max(l.fresh, l.n-r.size)
		for len(out) < b && l.fresh+t <= l.n {
			out = append(out, sequence{i, l.fresh})
			l.fresh += t
		}
		starts += max(0, min(l.n, r.size)-t+1)
	}
	if starts == 0 {
		return nil, fmt.Errorf("worldmodel: the replay holds %d steps, but no lane has %d in a row; collect more before training", r.Steps(), t)
	}
	for len(out) < b {
		k := rnd.IntN(starts)
		for i := range r.lanes {
			n := max(0, min(r.lanes[i].n, r.size)-t+1)
			if k < n {
				out = append(out, sequence{i, r.lanes[i].n - min(r.lanes[i].n, r.size) + k})
				break
			}
			k -= n
		}
	}
	return out, nil
}

// load fills sequences at, at+1, … of the leaves of m. The step before a sequence supplies the
// stored state; where there is none, a sequence begins like an episode.
func (r *Replay) load(seqs []sequence, m *modelGraph[float32], at int) {
	c, length := m.net.cfg, m.scan.t
	b, x := m.scan.b, c.Obs+c.Grid
	for i, q := range seqs {
		i += at
		clear(m.h0[i*c.Deter : (i+1)*c.Deter])
		clear(m.z0[i*c.latent() : (i+1)*c.latent()])
		l := &r.lanes[q.lane]
		if k := (q.from - 1 + r.size) % r.size; q.from > max(0, l.n-r.size) && l.flags[k]&flagLatent != 0 {
			copy(m.h0[i*c.Deter:(i+1)*c.Deter], l.h[k*c.Deter:])
			for j := range c.Stoch {
				m.z0[i*c.latent()+j*c.Classes+int(l.z[k*c.Stoch+j])] = 1
			}
		}
		for t := range length {
			k, row := (q.from+t)%r.size, t*b+i
			encodeObs(m.obs[row*x:(row+1)*x], l.obs[k*c.Obs:(k+1)*c.Obs], float32(c.ObsScale))
			for j, v := range l.grid[k*c.Grid : (k+1)*c.Grid] {
				m.obs[row*x+c.Obs+j] = float32(v) / 255
			}
			copy(m.act[row*c.Action:(row+1)*c.Action], l.act[k*c.Action:])
			m.reward[row] = l.reward[k]
			f := l.flags[k]
			if c.Imitate > 0 {
				m.hasTarget[row] = f&flagTarget != 0
				copy(m.target[row*c.Action:(row+1)*c.Action], l.target[k*c.Action:])
			}
			m.first[row], m.cont[row], m.last[row] = 0, float32(c.Gamma), f&flagLast != 0
			if f&flagFirst != 0 {
				m.first[row] = 1
			}
			if f&flagTerminal != 0 {
				m.cont[row] = 0
			}
			known := float32(0)
			if f&flagLabelled != 0 {
				known = 1
			}
			for j := range c.Quantiles {
				m.psi[row*c.Quantiles+j] = float32(l.labels[k*c.Quantiles+j])
				m.mask[row*c.Quantiles+j] = known
			}
		}
	}
}

// store writes the states of a run of m, loaded at at, back.
func (r *Replay) store(seqs []sequence, m *modelGraph[float32], at int) {
	b, w := m.scan.b, m.scan.width()
	for i, q := range seqs {
		l := &r.lanes[q.lane]
		for t := range m.scan.t {
			row := t*b + at + i
			r.setLatent(l, (q.from+t)%r.size, m.out.outs[row*w:row*w+r.cfg.StateDim()])
		}
	}
}
