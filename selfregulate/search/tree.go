package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/muse-agent/muse/internal/rng"
)

// ErrValue is matched by errors about a value that is no probability.
var ErrValue = errors.New("search: unusable value")

// Future is one imagined continuation of a node.
type Future[S any] struct {
	// Action is the first command, the arm; Outcome what the world model answers to it.
	// Futures that agree in both lead to one node. An empty Action is a future without
	// a command: it costs its tokens and joins no arm.
	Action, Outcome string
	// Next is the state after Action and Outcome.
	Next S
	// Value is the assessment of the whole future, in [0,1].
	Value float64
	// Ended: nothing can follow Outcome (the world model claims the end).
	Ended bool
}

// World imagines and assesses.
type World[S any] interface {
	// Imagine draws n futures of s, seeded by seed, and assesses them. It should not use
	// more than tokens (0 = no bound) and returns what it used, also beside an error;
	// a server that writes more than it may ends the search, and [Summary] shows it.
	// No futures and no error mean that s can't be continued within tokens.
	Imagine(ctx context.Context, s S, n, tokens int, seed uint64) (futures []Future[S], used int, err error)
}

// Tree is one search. Not safe for concurrent use.
type Tree[S any] struct {
	cfg   Config
	world World[S]
	seed  uint64
	root  *node[S]

	visits, tokens, calls, deepest int
	// now is the clock of a search bounded by time; tests replace it.
	now func() time.Time
}

type node[S any] struct {
	state  S
	arms   []*arm[S]
	n      int     // visits: futures drawn from here or below
	sum    float64 // of their values
	draws  int     // futures drawn from here, those without a command included
	calls  int     // of Imagine: names the seed of the next
	closed bool    // can't be continued
}

type arm[S any] struct {
	action   string
	n        int     // visits: own draws and what was drawn below
	sum      float64 // of their values
	draws    int     // futures of the node that begin with action
	outcomes []*outcome[S]
}

type outcome[S any] struct {
	text  string
	draws int
	node  *node[S]
}

// step is one arm on the way from the root.
type step[S any] struct {
	n    *node[S]
	a    *arm[S]
	text string // of the outcome
}

// New plants a tree. cfg must be valid.
func New[S any](cfg Config, w World[S], root S, seed uint64) *Tree[S] {
	return &Tree[S]{cfg: cfg, world: w, seed: seed, root: &node[S]{state: root}, now: time.Now}
}

// Run visits until a bound is reached or nothing is left to imagine. After an error
// the tree is whole and [Tree.Best] answers from what was imagined before.
func (t *Tree[S]) Run(ctx context.Context) error {
	var end time.Time
	if t.cfg.Millis > 0 {
		end = t.now().Add(time.Duration(t.cfg.Millis) * time.Millisecond)
	}
	for t.visits < t.cfg.Visits {
		if t.cfg.Millis > 0 && !t.now().Before(end) {
			return nil
		}
		more, err := t.Step(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Step makes one descent: select, expand, assess, back up. It reports false where
// nothing more can be imagined within the budget.
func (t *Tree[S]) Step(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("search: after %d visits: %w", t.visits, err)
	}
	path, n := t.descend()
	for {
		done, err := t.expand(ctx, path, n)
		if err != nil {
			return false, err
		}
		if done {
			return true, nil
		}
		// The node can't be continued: widen the one above it.
		n.closed = true
		if len(path) == 0 {
			return false, nil
		}
		n = path[len(path)-1].n
		path = path[:len(path)-1]
	}
}

// descend follows the rule from the root to the node that is to be expanded.
func (t *Tree[S]) descend() (path []step[S], n *node[S]) {
	n = t.root
	for {
		if len(path)+1 >= t.cfg.Depth || len(n.arms) == 0 || !n.closed && float64(n.draws) < t.cfg.Width*math.Pow(float64(n.n), t.cfg.Alpha) {
			return path, n
		}
		a := t.choose(n)
		if a == nil {
			return path, n
		}
		o := a.next()
		path = append(path, step[S]{n, a, o.text})
		n = o.node
	}
}

// choose is the arm of n by the rule; nil where no arm can be followed. Ties go to
// the arm that was drawn first.
func (t *Tree[S]) choose(n *node[S]) *arm[S] {
	var best *arm[S]
	high := math.Inf(-1)
	for _, a := range n.arms {
		if a.next() == nil {
			continue
		}
		u := t.cfg.C
		if t.cfg.Rule == UCT {
			u *= math.Sqrt(math.Log(float64(n.n)+1) / float64(a.n))
		} else {
			u *= float64(a.draws) / float64(max(1, n.draws)) * math.Sqrt(float64(n.n)) / float64(1+a.n)
		}
		if v := t.value(a) + u; v > high {
			best, high = a, v
		}
	}
	return best
}

// next is the outcome that fell furthest behind its share of the draws.
func (a *arm[S]) next() *outcome[S] {
	var best *outcome[S]
	for _, o := range a.outcomes {
		if o.node.closed {
			continue
		}
		// n/draws compared without division; the first of equals stays.
		if best == nil || o.node.n*best.draws < best.node.n*o.draws {
			best = o
		}
	}
	return best
}

// expand draws futures of n and backs their values up along path. It reports false
// where n can't be continued.
func (t *Tree[S]) expand(ctx context.Context, path []step[S], n *node[S]) (bool, error) {
	if n.closed {
		return false, nil
	}
	want, left := t.cfg.Draw, 0
	if n == t.root && n.draws == 0 {
		want = t.cfg.Root
	}
	if t.cfg.Tokens > 0 {
		left = t.cfg.Tokens - t.tokens
		if want = min(want, left/t.cfg.Least); want < 1 {
			return false, nil
		}
	}
	fs, used, err := t.world.Imagine(ctx, n.state, want, left, t.stream(path, n))
	t.tokens += used
	n.calls++
	if err != nil {
		return false, fmt.Errorf("search: expanding at depth %d after %d visits: %w", len(path), t.visits, err)
	}
	if len(fs) == 0 {
		return false, nil
	}
	t.calls++
	for i, f := range fs {
		if !(f.Value >= 0 && f.Value <= 1) { // written so that NaN fails it
			return false, fmt.Errorf("%w: %v of future %d at depth %d; a probability is expected", ErrValue, f.Value, i, len(path))
		}
	}
	for _, f := range fs {
		t.add(path, n, f)
	}
	return true, nil
}

// stream is the seed of the next draw from n. The first draw of the root has the seed
// of the search itself: its futures are those of best rollout.
func (t *Tree[S]) stream(path []step[S], n *node[S]) uint64 {
	if len(path) == 0 && n.calls == 0 {
		return t.seed
	}
	names := []any{"search"}
	for _, s := range path {
		names = append(names, s.a.action, s.text)
	}
	return rng.Seed(t.seed, append(names, n.calls)...)
}

// add hangs a future under n and counts it on the way up.
func (t *Tree[S]) add(path []step[S], n *node[S], f Future[S]) {
	n.draws++
	t.visits++
	if f.Action == "" {
		return
	}
	var a *arm[S]
	for _, x := range n.arms {
		if x.action == f.Action {
			a = x
		}
	}
	if a == nil {
		a = &arm[S]{action: f.Action}
		n.arms = append(n.arms, a)
	}
	a.draws++
	var o *outcome[S]
	for _, x := range a.outcomes {
		if x.text == f.Outcome {
			o = x
		}
	}
	if o == nil {
		o = &outcome[S]{text: f.Outcome, node: &node[S]{state: f.Next, closed: f.Ended}}
		a.outcomes = append(a.outcomes, o)
	}
	o.draws++
	t.deepest = max(t.deepest, len(path)+1)
	t.count(step[S]{n, a, o.text}, f.Value)
	for i := len(path) - 1; i >= 0; i-- {
		t.count(path[i], f.Value)
	}
}

func (t *Tree[S]) count(s step[S], v float64) {
	s.n.n++
	s.n.sum += v
	s.a.n++
	s.a.sum += v
}

// value is what an arm is worth.
func (t *Tree[S]) value(a *arm[S]) float64 {
	mean := a.sum / float64(a.n)
	if t.cfg.Backup == Mean {
		return mean
	}
	// The arm's own futures, and below them the best that can still be chosen.
	sum, below := 0.0, 0.0
	for _, o := range a.outcomes {
		below += o.node.sum
	}
	own := (a.sum - below) / float64(a.draws)
	for _, o := range a.outcomes {
		v := own
		for _, b := range o.node.arms {
			v = max(v, t.value(b))
		}
		sum += v * float64(o.draws)
	}
	return sum / float64(a.draws)
}
