package worldmodel

import (
	"fmt"
	"math/rand/v2"
)

// OpenLoopError is the error of predictions without observations, k steps ahead.
type OpenLoopError struct {
	Ahead  int     `json:"ahead"`  // k, from 1
	Rows   int     `json:"rows"`   // predictions that were made
	Model  float64 `json:"model"`  // mean over rows of Σ_dims (prediction − truth)²
	Copy   float64 `json:"copy"`   // the same for repeating the last observation seen
	Reward float64 `json:"reward"` // mean |predicted − received reward|
	Still  float64 `json:"still"`  // mean |last reward seen − received reward|
}

// OpenLoop measures how well the model foresees held-out episodes: it observes context
// steps, then imagines ahead steps under the real actions, from every stride-th position
// of each episode. Errors are in the encoder's units (symlog of the scaled vector;
// cells as they are), summed over dimensions. The prediction is the decoder's at one
// imagined sample. An episode is a slice of steps that begins with First.
func OpenLoop(m *Model, episodes [][]Step, context, ahead, stride int, r *rand.Rand) ([]OpenLoopError, error) {
	if context < 1 || ahead < 1 || stride < 1 {
		return nil, fmt.Errorf("worldmodel: open loop with context %d, %d ahead, stride %d; all must be 1 or more", context, ahead, stride)
	}
	c, s := m.cfg, m.NewSim()
	out := make([]OpenLoopError, ahead)
	for i := range out {
		out[i].Ahead = i + 1
	}
	state, dream := make([]float32, c.StateDim()), make([]float32, c.StateDim())
	truth, last := make([]float32, c.Obs+c.Grid), make([]float32, c.Obs+c.Grid)
	encode := func(dst []float32, st Step) {
		encodeObs(dst, st.Obs, float32(c.ObsScale))
		copy(dst[c.Obs:], st.Grid)
	}
	for _, ep := range episodes {
		for t, st := range ep {
			if len(st.Obs) != c.Obs || len(st.Grid) != c.Grid || t > 0 && len(st.Action) != c.Action {
				return nil, fmt.Errorf("%w: %d observations, %d cells and %d actions in a held-out episode", ErrReplay, len(st.Obs), len(st.Grid), len(st.Action))
			}
			act := st.Action
			if t == 0 {
				act = make([]float32, c.Action)
			}
			s.Observe(state, act, st.Obs, st.Grid, t == 0, r)
			if t+1 < context || (t+1-context)%stride != 0 || t+ahead >= len(ep) {
				continue
			}
			copy(dream, state)
			encode(last, st)
			for k := range ahead {
				next := ep[t+1+k]
				s.Imagine(dream, dream, next.Action, r)
				encode(truth, next)
				e := &out[k]
				e.Rows++
				s.dec.run(&m.net.dec, 1, dream, c.StateDim(), s.out)
				for j, v := range truth {
					p := s.out[j]
					if j >= c.Obs {
						p = sigmoid(p)
					}
					e.Model += float64(p-v) * float64(p-v)
					e.Copy += float64(last[j]-v) * float64(last[j]-v)
				}
				e.Reward += float64(abs(float32(s.Reward(dream)) - next.Reward))
				e.Still += float64(abs(st.Reward - next.Reward))
			}
		}
	}
	for i := range out {
		if n := float64(out[i].Rows); n > 0 {
			out[i].Model /= n
			out[i].Copy /= n
			out[i].Reward /= n
			out[i].Still /= n
		}
	}
	if out[0].Rows == 0 {
		return nil, fmt.Errorf("worldmodel: no episode is longer than context %d and %d steps ahead", context, ahead)
	}
	return out, nil
}
