// Package envtest checks that an environment keeps the contract of package envs.
//
// [Check] is a plain function, so that a program can offer it for environments
// that are not its own; [Run] is the same in a Go test:
//
//	func TestConformance(t *testing.T) { envtest.Run(t, newEnv, envtest.Options{}) }
package envtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/internal/rng"
)

// Options tune a check. The zero value is usable.
type Options struct {
	Seed     uint64
	Episodes int // random episodes to play, default 3
	MaxSteps int // per episode when the spec has no limit, default 200
	// Sample chooses an action; the default draws an admissible one, or a uniform
	// point of a box, or a number below N.
	Sample func(r *rand.Rand, e envs.Env, o envs.Obs) envs.Action
}

// Run fails t once for each problem that Check finds.
func Run(t *testing.T, make func() (envs.Env, error), o Options) {
	t.Helper()
	for _, p := range Check(context.Background(), make, o) {
		t.Error(p)
	}
}

// Check plays the environment that make returns and lists what it does wrong, in
// the order found; an empty list means that it conforms. make is called several
// times and must give equal environments.
func Check(ctx context.Context, make func() (envs.Env, error), o Options) []error {
	if o.Episodes == 0 {
		o.Episodes = 3
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 200
	}
	if o.Sample == nil {
		o.Sample = sample
	}
	c := &checker{ctx: ctx, make: make, o: o}
	for _, f := range []func(){c.order, c.episodes, c.snapshots, c.cancelled, c.closed} {
		f()
		if len(c.problems) > 20 {
			break // one broken promise shows many times
		}
	}
	return c.problems
}

type checker struct {
	ctx      context.Context
	make     func() (envs.Env, error)
	o        Options
	problems []error
}

func (c *checker) fail(format string, a ...any) {
	c.problems = append(c.problems, fmt.Errorf("envtest: "+format, a...))
}

// fresh returns a new environment, nil (and a problem) when there is none.
func (c *checker) fresh() envs.Env {
	e, err := c.make()
	if err != nil {
		c.fail("make: %v", err)
		return nil
	}
	return e
}

func (c *checker) reset(e envs.Env, seed uint64) (envs.Obs, bool) {
	o, info, err := e.Reset(c.ctx, envs.ResetOptions{Seed: &seed})
	if err != nil {
		c.fail("Reset with seed %d: %v", seed, err)
		return nil, false
	}
	if info.Success() {
		c.fail("the episode of seed %d starts in success", seed)
	}
	c.shape(e, o)
	return o, true
}

// shape checks an observation against the declared space.
func (c *checker) shape(e envs.Env, o envs.Obs) {
	s := e.Spec().ObservationSpace
	switch v := o.(type) {
	case string:
		if s.Kind != "text" {
			c.fail("observation is a text, the space says %q", s.Kind)
		} else if s.MaxLength > 0 && len(v) > s.MaxLength {
			c.fail("observation of %d bytes, the space allows %d", len(v), s.MaxLength)
		}
	case []float32:
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		if s.Kind != "box" || n != len(v) {
			c.fail("observation of %d numbers, the space says %s%v", len(v), s.Kind, s.Shape)
		}
	default:
		c.fail("observation has type %T, want string or []float32", o)
	}
}

// order checks that Step is refused where no episode runs.
func (c *checker) order() {
	e := c.fresh()
	if e == nil {
		return
	}
	defer e.Close()
	if a, b := e.Spec(), e.Spec(); !reflect.DeepEqual(a, b) {
		c.fail("Spec is not constant")
	} else if a.ID == "" || a.Version == "" {
		c.fail("Spec lacks ID or Version")
	}
	if _, err := e.Step(c.ctx, "look"); !errors.Is(err, envs.ErrResetNeeded) {
		c.fail("Step before Reset: got error %v, want ErrResetNeeded", err)
	}
	seed := c.o.Seed
	bad := envs.ResetOptions{Seed: &seed, Options: map[string]any{"no such option": 1}}
	if _, _, err := e.Reset(c.ctx, bad); err == nil {
		c.fail("Reset accepts an unknown option")
	}
}

// record plays one random episode and returns all that was seen.
func (c *checker) record(e envs.Env, seed uint64) []any {
	o, ok := c.reset(e, seed)
	if !ok {
		return nil
	}
	seen := []any{o}
	r := rng.New(c.o.Seed, "envtest", seed)
	limit := e.Spec().MaxEpisodeSteps
	for n := 1; ; n++ {
		a := c.o.Sample(r, e, o)
		s, err := e.Step(c.ctx, a)
		if err != nil {
			c.fail("Step %d (%v): %v", n, a, err)
			return seen
		}
		c.shape(e, s.Obs)
		if s.Terminated && s.Truncated {
			c.fail("step %d is both terminated and truncated", n)
		}
		if s.Info.Public().Privileged != nil {
			c.fail("Info.Public keeps privileged values")
		}
		seen = append(seen, a, s.Obs, s.Reward, s.Terminated, s.Truncated, s.Info.Success())
		o = s.Obs
		switch {
		case s.Done():
			if s.Truncated && limit > 0 && n != limit {
				c.fail("truncated after %d steps, the limit is %d", n, limit)
			}
			if _, err := e.Step(c.ctx, a); !errors.Is(err, envs.ErrResetNeeded) {
				c.fail("Step after the end: got error %v, want ErrResetNeeded", err)
			}
			return seen
		case limit > 0 && n >= limit:
			c.fail("no end after %d steps, the limit is %d", n, limit)
			return seen
		case n >= c.o.MaxSteps && limit == 0:
			return seen
		}
	}
}

// episodes checks that equal seeds give equal episodes in two environments, also
// when the second has played something else before.
func (c *checker) episodes() {
	a, b := c.fresh(), c.fresh()
	if a == nil || b == nil {
		return
	}
	defer a.Close()
	defer b.Close()
	c.record(b, c.o.Seed+1000)
	for i := range c.o.Episodes {
		seed := c.o.Seed + uint64(i)
		if x, y := c.record(a, seed), c.record(b, seed); !reflect.DeepEqual(x, y) {
			c.fail("two environments differ in the episode of seed %d", seed)
		}
	}
}

// snapshots checks that what follows a Restore equals what followed the Snapshot.
func (c *checker) snapshots() {
	e := c.fresh()
	if e == nil {
		return
	}
	defer e.Close()
	s, ok := e.(envs.Snapshotter)
	if !ok {
		return
	}
	play := func(n int, o envs.Obs, r *rand.Rand) (seen []any, last envs.Obs, steps int) {
		for steps = 0; steps < n; {
			a := c.o.Sample(r, e, o)
			st, err := e.Step(c.ctx, a)
			if err != nil {
				return append(seen, err.Error()), o, steps
			}
			seen, o = append(seen, a, st.Obs, st.Done()), st.Obs
			if steps++; st.Done() {
				return seen, o, steps - 1
			}
		}
		return seen, o, steps
	}
	// After an end nothing could differ: go only as far as the episode lives.
	var o envs.Obs
	for n := 5; ; {
		if o, ok = c.reset(e, c.o.Seed); !ok {
			return
		}
		var alive int
		if _, o, alive = play(n, o, rng.New(c.o.Seed, "envtest", "snapshot")); alive == n {
			break
		}
		n = alive
	}
	snap, err := s.Snapshot()
	if err != nil {
		c.fail("Snapshot: %v", err)
		return
	}
	first, _, _ := play(10, o, rng.New(1))
	if err := s.Restore(snap); err != nil {
		c.fail("Restore: %v", err)
		return
	}
	if second, _, _ := play(10, o, rng.New(1)); !reflect.DeepEqual(first, second) {
		c.fail("the steps after Restore differ from those after Snapshot")
	}
	if err := s.Restore("not a snapshot"); err == nil {
		c.fail("Restore accepts a foreign value")
	}
}

// cancelled checks that a cancelled call changes nothing.
func (c *checker) cancelled() {
	e := c.fresh()
	if e == nil {
		return
	}
	defer e.Close()
	o, ok := c.reset(e, c.o.Seed)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	a := c.o.Sample(rng.New(2), e, o)
	if _, err := e.Step(ctx, a); !errors.Is(err, context.Canceled) {
		c.fail("Step with a cancelled context: got error %v, want context.Canceled", err)
		return
	}
	other := c.fresh()
	if other == nil {
		return
	}
	defer other.Close()
	c.reset(other, c.o.Seed)
	x, err1 := e.Step(c.ctx, a)
	y, err2 := other.Step(c.ctx, a)
	if err1 != nil || err2 != nil || !reflect.DeepEqual(x.Obs, y.Obs) {
		c.fail("a cancelled Step changed the state (%v, %v)", err1, err2)
	}
}

// closed checks Close.
func (c *checker) closed() {
	e := c.fresh()
	if e == nil {
		return
	}
	for range 2 {
		if err := e.Close(); err != nil {
			c.fail("Close: %v", err)
		}
	}
	seed := c.o.Seed
	if _, _, err := e.Reset(c.ctx, envs.ResetOptions{Seed: &seed}); !errors.Is(err, envs.ErrClosed) {
		c.fail("Reset after Close: got error %v, want ErrClosed", err)
	}
	if _, err := e.Step(c.ctx, "look"); !errors.Is(err, envs.ErrClosed) {
		c.fail("Step after Close: got error %v, want ErrClosed", err)
	}
}

func sample(r *rand.Rand, e envs.Env, _ envs.Obs) envs.Action {
	if a, ok := e.(envs.Admissible); ok {
		if l := a.Admissible(); len(l) > 0 {
			return l[r.IntN(len(l))]
		}
	}
	s := e.Spec().ActionSpace
	switch s.Kind {
	case "box":
		v := make([]float32, len(s.Low))
		for i := range v {
			v[i] = s.Low[i] + (s.High[i]-s.Low[i])*r.Float32()
		}
		return v
	case "discrete":
		return r.IntN(s.N)
	}
	return "look"
}
