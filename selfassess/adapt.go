package selfassess

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/muse-agent/muse/internal/rng"
)

// AdaptConfig are the settings of the deployment update (paper, Alg. 4).
type AdaptConfig struct {
	LR          float64 `json:"lr"`
	WeightDecay float64 `json:"weight_decay"`
	Epochs      int     `json:"epochs"`
	Batch       int     `json:"batch"`
	Replay      int     `json:"replay"`       // rows of the training data mixed in
	FreshWeight float64 `json:"fresh_weight"` // weight of a new row against a replayed one
	Seed        uint64  `json:"seed"`
}

// DefaultAdapt returns the settings that were measured best.
func DefaultAdapt() AdaptConfig {
	return AdaptConfig{LR: 1e-4, WeightDecay: 1e-2, Epochs: 10, Batch: 32, Replay: 256, FreshWeight: 2, Seed: 1}
}

// Validate reports all problems at once.
func (c AdaptConfig) Validate() error {
	var errs []error
	bad := func(ok bool, format string, v any) {
		if !ok {
			errs = append(errs, fmt.Errorf("selfassess: adaptation: "+format, v))
		}
	}
	// Written so that NaN fails too.
	bad(c.LR > 0, "lr is %v, must be above 0", c.LR)
	bad(c.WeightDecay >= 0, "weight_decay is %v, must be 0 or more", c.WeightDecay)
	bad(c.Epochs >= 1, "epochs is %v, must be 1 or more", c.Epochs)
	bad(c.Batch >= 1, "batch is %v, must be 1 or more", c.Batch)
	bad(c.Replay >= 0, "replay is %v, must be 0 or more", c.Replay)
	bad(c.FreshWeight > 0, "fresh_weight is %v, must be above 0", c.FreshWeight)
	return errors.Join(errs...)
}

// Replay holds training rows with their input vectors, so that adapting to many
// tasks computes them once. Safe for concurrent use.
type Replay struct {
	lay layout
	m   matrix
	ex  int
}

// NewReplay computes the vectors of rows for models with the input of m (m itself
// and what was adapted from it). Rows without hidden states that m needs are left out.
func NewReplay(ctx context.Context, m *Model, rows []Example) (*Replay, error) {
	rows = usable(m, rows)
	x, err := m.lay.matrix(ctx, m.emb, rows)
	if err != nil {
		return nil, err
	}
	return &Replay{lay: m.lay, m: x, ex: len(rows)}, nil
}

// Len is the number of rows.
func (r *Replay) Len() int { return r.ex }

// Adapt is [AdaptWith] for one task: it computes vectors only of the replay rows
// that it draws.
func Adapt(ctx context.Context, m *Model, replay, fresh []Example, cfg AdaptConfig) (*Model, error) {
	replay = usable(m, replay)
	var some []Example
	for _, i := range draw(len(replay), cfg.Replay, cfg.Seed) {
		some = append(some, replay[i])
	}
	r, err := NewReplay(ctx, m, some)
	if err != nil {
		return nil, err
	}
	return AdaptWith(ctx, m, r, fresh, cfg)
}

// AdaptWith continues the training of m's head on the fresh rows of a novel task
// and cfg.Replay rows drawn from replay (paper, Alg. 4: M_sa starts from the
// pre-deployment weights, old data guards against forgetting). Only the head
// changes: calibration, standardisation and embedder stay, and so does m itself.
func AdaptWith(ctx context.Context, m *Model, replay *Replay, fresh []Example, cfg AdaptConfig) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	fresh = usable(m, fresh)
	if len(fresh) == 0 {
		return nil, fmt.Errorf("%w: adaptation needs at least one row of the new task", ErrNoRows)
	}
	if replay != nil && replay.lay != m.lay {
		return nil, fmt.Errorf("selfassess: the replay was made for input %q, the model has %q; make it with NewReplay for this model", replay.lay.kind, m.lay.kind)
	}
	x, err := m.lay.matrix(ctx, m.emb, fresh)
	if err != nil {
		return nil, err
	}
	for i := range x.w {
		x.w[i] *= cfg.FreshWeight
	}
	if replay != nil {
		for _, i := range draw(replay.ex, cfg.Replay, cfg.Seed) {
			x.x = append(x.x, replay.m.row(i)...)
			x.y, x.w = append(x.y, replay.m.y[i]), append(x.w, replay.m.w[i])
		}
	}
	rows := make([]int, len(x.y))
	for i := range rows {
		rows[i] = i
	}
	head := m.head.clone()
	plan := fitPlan{epochs: cfg.Epochs, batch: cfg.Batch, lr: cfg.LR, decay: cfg.WeightDecay, seed: rng.Seed(cfg.Seed, "adapt")}
	if _, err := fit(ctx, head, x, rows, nil, plan); err != nil {
		return nil, err
	}
	return newModel(m.cfg, m.lay, head, m.cal, m.emb, m.embID).Tie(m.actor), nil
}

// draw picks k of n rows without replacement, in increasing order.
func draw(n, k int, seed uint64) []int {
	p := rng.New(seed, "replay").Perm(n)
	p = p[:min(k, n)]
	sort.Ints(p)
	return p
}

// usable drops rows that lack the hidden states m needs.
func usable(m *Model, rows []Example) []Example {
	if m.lay.hidden == 0 {
		return rows
	}
	var out []Example
	for i := range rows {
		if len(rows[i].Input.Hidden) > 0 {
			out = append(out, rows[i])
		}
	}
	return out
}
