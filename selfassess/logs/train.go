package logs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
)

// Config are the settings of a training.
type Config struct {
	// Positions are the lengths of the prefixes that are learnt from.
	Positions []int      `json:"positions"`
	Trees     TreeConfig `json:"trees"`
	Folds     int        `json:"folds"` // of held-out tasks, and of held-out players
	Seed      uint64     `json:"seed"`
}

// Default returns the settings of `muse assess train`.
func Default() Config {
	return Config{Positions: []int{1, 2, 4, 8, 12, 16, 24, 32}, Trees: DefaultTrees(), Folds: 5, Seed: 1}
}

// Validate reports all problems at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("logs: "+format, a...))
		}
	}
	bad(len(c.Positions) > 0, "no positions to learn from")
	bad(sort.IntsAreSorted(c.Positions) && (len(c.Positions) == 0 || c.Positions[0] >= 1), "positions are %v, must ascend from 1 or more", c.Positions)
	bad(c.Folds >= 2, "folds is %d, must be 2 or more", c.Folds)
	bad(c.Trees.Trees >= 1 && c.Trees.Depth >= 1 && c.Trees.Rate > 0 && c.Trees.L2 > 0, "trees %+v: number, depth, rate and l2 must be above 0", c.Trees)
	return errors.Join(errs...)
}

// rowsAt collects the rows of several positions.
func rowsAt(es []Episode, positions []int) []Row {
	var rows []Row
	for _, n := range positions {
		rows = append(rows, Running(es, n)...)
	}
	return rows
}

// fitter fits on the rows train and returns logits of the rows test.
type fitter func(ctx context.Context, train, test []Row) ([]float64, error)

// treeLogits fits boosted trees on the counts.
func (c Config) treeLogits(_ context.Context, train, test []Row) ([]float64, error) {
	t := c.fitTrees(train)
	out := make([]float64, len(test))
	for i := range test {
		out[i] = t.Logit(test[i].X)
	}
	return out, nil
}

func (c Config) fitTrees(rows []Row) *Trees {
	x, y, w := make([][]float32, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i := range rows {
		x[i], y[i], w[i] = rows[i].X, rows[i].Label(), rows[i].N
	}
	return FitTrees(x, y, w, c.Trees)
}

// ngramLogits is the baseline.
func ngramLogits(_ context.Context, train, test []Row) ([]float64, error) {
	texts, y, w := make([]string, len(train)), make([]float64, len(train)), make([]float64, len(train))
	for i := range train {
		texts[i], y[i], w[i] = train[i].text(), train[i].Label(), train[i].N
	}
	m, err := FitNGram(texts, y, w)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(test))
	for i := range test {
		out[i] = m.Logit(test[i].text())
	}
	return out, nil
}

// headLogits is the head of package selfassess.
func (c Config) headLogits(emb selfassess.Embedder) fitter {
	return func(ctx context.Context, train, test []Row) ([]float64, error) {
		m, err := fitHead(ctx, train, emb, c.Seed)
		if err != nil {
			return nil, err
		}
		return headLogits(ctx, m, test)
	}
}

// foldsOf deals the distinct groups in random order to k folds.
func foldsOf(group []string, k int, seed uint64, name string) (fold []int, folds int) {
	seen := map[string]int{}
	var names []string
	for _, g := range group {
		if _, ok := seen[g]; !ok {
			seen[g] = 0
			names = append(names, g)
		}
	}
	sort.Strings(names)
	folds = min(k, len(names))
	for i, j := range rng.New(seed, "folds", name).Perm(len(names)) {
		seen[names[j]] = i % folds
	}
	fold = make([]int, len(group))
	for i, g := range group {
		fold[i] = seen[g]
	}
	return fold, folds
}

// crossFit returns for every row the logit of a fit without its group's fold, and
// the folds.
func crossFit(ctx context.Context, rows []Row, groupOf func(*Row) string, c Config, name string, fit fitter) (logits []float64, fold []int, err error) {
	groups := make([]string, len(rows))
	for i := range rows {
		groups[i] = groupOf(&rows[i])
	}
	fold, folds := foldsOf(groups, c.Folds, c.Seed, name)
	if folds < 2 {
		return nil, nil, fmt.Errorf("logs: all rows are of one of the %s; leaving them out needs 2 or more", name)
	}
	logits = make([]float64, len(rows))
	for k := range folds {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		var in, out []Row
		var at []int
		for i := range rows {
			if fold[i] != k {
				in = append(in, rows[i])
			} else {
				out, at = append(out, rows[i]), append(at, i)
			}
		}
		z, err := fit(ctx, in, out)
		if err != nil {
			return nil, nil, err
		}
		for i, j := range at {
			logits[j] = z[i]
		}
	}
	return logits, fold, nil
}

// Platt is the calibration P = σ(A·logit + B).
type Platt struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// Apply returns the calibrated probability of a logit.
func (p Platt) Apply(z float64) float64 { return sigmoid(p.A*z + p.B) }

// fitPlatt is weighted logistic regression on one logit by Newton's method, with a
// weak prior at (1, 0) that keeps separable rows finite.
func fitPlatt(z, y, w []float64) Platt {
	p := Platt{A: 1}
	for range 50 {
		ga, gb, haa, hab, hbb := p.A-1, p.B, 1.0, 0.0, 1.0
		for i := range z {
			q := p.Apply(z[i])
			d, v := w[i]*(q-y[i]), w[i]*q*(1-q)
			ga += d * z[i]
			gb += d
			haa += v * z[i] * z[i]
			hab += v * z[i]
			hbb += v
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		step := 1 / max(1, math.Abs(da), math.Abs(db)) // damped: never moves by more than 1
		p.A, p.B = p.A-step*da, p.B-step*db
		if math.Abs(da)+math.Abs(db) < 1e-9 {
			break
		}
	}
	p.A = max(p.A, 1e-3) // a calibration may not turn the ranking around
	return p
}

// calibrateRows fits one calibration for each fold on the other folds' rows and
// applies it, and returns the one of all rows.
func calibrateRows(rows []Row, z []float64, fold []int) (p []float64, all Platt) {
	y, w := make([]float64, len(rows)), make([]float64, len(rows))
	top := 0
	for i := range rows {
		y[i], w[i] = rows[i].Label(), rows[i].N
		top = max(top, fold[i])
	}
	p = make([]float64, len(rows))
	for k := 0; k <= top; k++ {
		var zz, yy, ww []float64
		for i := range rows {
			if fold[i] != k {
				zz, yy, ww = append(zz, z[i]), append(yy, y[i]), append(ww, w[i])
			}
		}
		c := fitPlatt(zz, yy, ww)
		for i := range rows {
			if fold[i] == k {
				p[i] = c.Apply(z[i])
			}
		}
	}
	return p, fitPlatt(z, y, w)
}
