package logs

import (
	"context"
	"errors"
	"fmt"
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
	Draws     int        `json:"draws"` // of the bootstrap over tasks
	Seed      uint64     `json:"seed"`
}

// Default returns the settings of `muse assess train`.
func Default() Config {
	return Config{Positions: []int{1, 2, 4, 8, 12, 16, 24, 32}, Trees: DefaultTrees(), Folds: 5, Draws: 400, Seed: 1}
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
	bad(c.Draws >= 1, "draws is %d, must be 1 or more", c.Draws)
	bad(c.Folds >= 2, "folds is %d, must be 2 or more", c.Folds)
	bad(c.Trees.Rows >= 0 && c.Trees.Rows <= 1 && c.Trees.Columns >= 0 && c.Trees.Columns <= 1, "rows %g and columns %g of a tree must lie in [0,1]", c.Trees.Rows, c.Trees.Columns)
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

// byLength are trees fitted on prefixes of just one length each: what four steps tell is
// not what sixteen tell, and trees of all lengths are worse at each. Whole episodes have
// length 0.
type byLength map[int]*Trees

// at are the trees of the longest length that n steps fill, else of the shortest.
func (b byLength) at(n int) *Trees {
	best, least := -1, -1
	for k := range b {
		if k <= n {
			best = max(best, k)
		}
		if least < 0 || k < least {
			least = k
		}
	}
	if best < 0 {
		best = least
	}
	return b[best]
}

func lengthOf(r *Row) int {
	if r.Whole {
		return 0
	}
	return len(r.Steps)
}

// forest are trees and what they read beside the counts of a row.
type forest struct {
	trees  byLength
	mem    *Memory // nil: counts alone
	topics *Topics // nil where there are none
}

// columns is the number of values that the trees read.
func (f *forest) columns() int {
	n := len(FeatureNames)
	if f.mem != nil {
		n += len(MemoryNames)
	}
	if f.topics != nil {
		n += f.topics.n
	}
	return n
}

// logit is the score of a row.
func (f *forest) logit(r *Row) float64 {
	x := r.X
	if f.mem != nil {
		x = f.mem.with(r)
	}
	return f.trees.at(lengthOf(r)).Logit(f.topics.beside(x, r))
}

// fitTrees fits on counts alone: what is learnt holds for tasks and players that were
// never seen.
func (c Config) fitTrees(rows []Row) *forest {
	x := make([][]float32, len(rows))
	for i := range rows {
		x[i] = rows[i].X
	}
	return &forest{trees: c.fit(rows, x)}
}

// fitKnown fits on counts, memory and topics: these know tasks and ways of writing, and
// do harm where both are new. Rows are those of the buckets' lengths, as of the n-grams.
func (c Config) fitKnown(rows []Row) *forest {
	in := bucketRows(rows)
	mem, topics := remember(in), fitTopics(in, c.Seed)
	x := mem.training(in, c.Seed)
	for i := range x {
		x[i] = topics.beside(x[i], &in[i])
	}
	return &forest{c.fit(in, x), &mem.all, topics}
}

// bucketRows keeps the rows of the buckets' lengths, all where there are none.
func bucketRows(rows []Row) []Row {
	var in []Row
	for i := range rows {
		if r := &rows[i]; r.Whole || len(r.Steps) == bucketOf(len(r.Steps)) {
			in = append(in, *r)
		}
	}
	if len(in) == 0 {
		return rows
	}
	return in
}

// fit fits the trees of each length that a row has.
func (c Config) fit(rows []Row, x [][]float32) byLength {
	at := map[int][]int{}
	for i := range rows {
		at[lengthOf(&rows[i])] = append(at[lengthOf(&rows[i])], i)
	}
	out := byLength{}
	for n, in := range at { // each length by itself: the order doesn't matter
		xs, y, w := make([][]float32, len(in)), make([]float64, len(in)), make([]float64, len(in))
		for k, i := range in {
			xs[k], y[k], w[k] = x[i], rows[i].Label(), rows[i].N
		}
		out[n] = FitTrees(xs, y, w, c.Trees)
	}
	return out
}

// logitsOf makes a fitter of a way to fit trees.
func logitsOf(fit func([]Row) *forest) fitter {
	return func(_ context.Context, train, test []Row) ([]float64, error) {
		f := fit(train)
		out := make([]float64, len(test))
		for i := range test {
			out[i] = f.logit(&test[i])
		}
		return out, nil
	}
}

// ngramLogits is the baseline: one fit for each bucket of lengths.
func ngramLogits(_ context.Context, train, test []Row) ([]float64, error) {
	ms, err := fitNGrams(train)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(test))
	for i := range test {
		out[i] = ms.logit(&test[i])
	}
	return out, nil
}

// ngrams are the n-gram models by bucket.
type ngrams map[int]*NGram

// fitNGrams fits each bucket on the rows of just its length; rows of whole episodes,
// where none has such a length by design, are one bucket.
func fitNGrams(rows []Row) (ngrams, error) {
	ms := ngrams{}
	for _, b := range buckets {
		var texts []string
		var y, w []float64
		for i := range rows {
			if r := &rows[i]; len(r.Steps) == b || r.Whole && b == buckets[0] {
				texts, y, w = append(texts, r.text()), append(y, r.Label()), append(w, r.N)
			}
		}
		if len(texts) == 0 || len(rows) > 0 && rows[0].Whole && b != buckets[0] {
			continue
		}
		m, err := FitNGram(texts, y, w)
		if err != nil {
			return nil, err
		}
		ms[b] = m
	}
	return ms, nil
}

// logit is the score of the longest bucket that the row fills, 0 where none was fitted.
func (ms ngrams) logit(r *Row) float64 {
	b := bucketOf(len(r.Steps))
	if r.Whole {
		b = buckets[0]
	}
	for ; b > 0; b /= 2 {
		if m := ms[b]; m != nil {
			return m.Logit(r.text())
		}
	}
	return 0
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
