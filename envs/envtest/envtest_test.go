package envtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
)

// counter is a small environment: "up" adds one, the goal is 3, the limit 6
// commands. fault names the promise that it breaks.
type counter struct {
	fault        string
	n, steps     int
	live, closed bool
	resets       int
}

func (c *counter) Spec() envs.Spec {
	s := envs.Spec{ID: "counter", Version: "1", MaxEpisodeSteps: 6,
		ObservationSpace: envs.Space{Kind: "text", MaxLength: 20}, ActionSpace: envs.Space{Kind: "text"}}
	if c.fault == "spec changes" {
		c.resets++
		s.MaxEpisodeSteps += c.resets
	}
	return s
}

func (c *counter) Reset(ctx context.Context, o envs.ResetOptions) (envs.Obs, envs.Info, error) {
	if c.closed && c.fault != "reset after close" {
		return nil, envs.Info{}, envs.ErrClosed
	}
	if len(o.Options) > 0 && c.fault != "unknown option" {
		return nil, envs.Info{}, fmt.Errorf("counter: it has no options")
	}
	c.n, c.steps, c.live = 0, 0, true
	if c.resets++; c.fault == "not reproducible" && c.resets > 1 {
		c.n = -1
	}
	return c.obs(), c.info(c.fault == "starts won"), nil
}

func (c *counter) Step(ctx context.Context, a envs.Action) (envs.Step, error) {
	switch {
	case c.closed && c.fault != "step after close":
		return envs.Step{}, envs.ErrClosed
	case !c.live && c.fault != "step after end":
		return envs.Step{}, envs.ErrResetNeeded
	case ctx.Err() != nil:
		if c.fault == "cancelled step counts" {
			c.n++
		}
		return envs.Step{}, ctx.Err()
	}
	if c.steps++; a == "up" {
		c.n++
	}
	limit := 6
	if c.fault == "ends early" {
		limit = 2
	}
	switch {
	case c.fault == "ends twice" && c.n >= 3:
		c.live = false
		return envs.Step{Obs: c.obs(), Terminated: true, Truncated: true, Info: c.info(true)}, nil
	case c.n >= 3:
		c.live = false
		return envs.Terminate(c.obs(), 1, c.info(true)), nil
	case c.steps >= limit && c.fault != "no limit":
		c.live = false
		return envs.Truncate(c.obs(), 0, c.info(false)), nil
	}
	return envs.Continue(c.obs(), 0, c.info(false)), nil
}

func (c *counter) obs() envs.Obs {
	switch c.fault {
	case "long observation":
		return strings.Repeat("x", 30)
	case "numbers for text":
		return []float32{1}
	}
	return fmt.Sprint("count ", c.n)
}

func (c *counter) info(won bool) envs.Info {
	return envs.Info{Privileged: &envs.Privileged{Success: won}}
}

func (c *counter) Admissible() []string { return []string{"up", "wait"} }

func (c *counter) Close() error {
	if c.closed && c.fault == "close twice" {
		return envs.ErrClosed
	}
	c.closed, c.live = true, false
	return nil
}

func (c *counter) Snapshot() (any, error) { d := *c; return &d, nil }

func (c *counter) Restore(s any) error {
	d, ok := s.(*counter)
	if !ok {
		if c.fault == "foreign snapshot" {
			return nil
		}
		return fmt.Errorf("counter: %T is no snapshot", s)
	}
	*c = *d
	if c.fault == "restore forgets" {
		c.n--
	}
	return nil
}

func check(fault string) []error {
	return envtest.Check(context.Background(), func() (envs.Env, error) { return &counter{fault: fault}, nil }, envtest.Options{})
}

func TestConformingEnvironment(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return &counter{}, nil }, envtest.Options{})
}

// The suite must be able to fail: each broken promise is found and named.
func TestBrokenPromisesAreFound(t *testing.T) {
	for fault, word := range map[string]string{
		"spec changes": "constant", "reset after close": "Reset after Close", "unknown option": "unknown option",
		"not reproducible": "differ", "starts won": "starts in success", "step after close": "Step after Close",
		"step after end": "ErrResetNeeded", "cancelled step counts": "changed the state", "ends early": "truncated after 2",
		"ends twice": "both terminated and truncated", "no limit": "no end after", "long observation": "the space allows",
		"numbers for text": "the space says", "close twice": "Close:", "foreign snapshot": "foreign", "restore forgets": "after Restore",
	} {
		found := false
		for _, p := range check(fault) {
			found = found || strings.Contains(p.Error(), word)
		}
		if !found {
			t.Errorf("%s: not found in %v", fault, check(fault))
		}
	}
}

func ExampleCheck() {
	problems := check("close twice")
	fmt.Println(problems[0])
	// Output: envtest: Close: envs: environment is closed
}
