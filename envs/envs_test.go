package envs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
)

// The step that reaches the goal: its success is for the record, and what an
// agent is handed holds none of it.
func Example() {
	step := envs.Terminate("You win.", 1, envs.Info{
		Extra:      map[string]any{"admissible_commands": []string{"look"}},
		Privileged: &envs.Privileged{Success: true, Reason: "won"},
	})
	fmt.Println(step.Done(), step.Info.Success())
	seen := step.Info.Public()
	fmt.Println(seen.Privileged == nil, seen.Extra["admissible_commands"])
	// Output:
	// true true
	// true [look]
}

// The end of an episode says nothing about success.
func TestEndIsNotSuccess(t *testing.T) {
	won := envs.Info{Privileged: &envs.Privileged{Success: true}}
	for name, c := range map[string]struct {
		step          envs.Step
		done, success bool
	}{
		"continue":      {envs.Continue("x", 0, envs.Info{}), false, false},
		"limit":         {envs.Truncate("x", 0, envs.Info{Privileged: &envs.Privileged{}}), true, false},
		"rules, lost":   {envs.Terminate("x", 0, envs.Info{}), true, false},
		"rules, won":    {envs.Terminate("x", 1, won), true, true},
		"won, goes on":  {envs.Continue("x", 1, won), false, true},
		"win and limit": {envs.Truncate("x", 1, won), true, true},
	} {
		if c.step.Done() != c.done || c.step.Info.Success() != c.success {
			t.Errorf("%s: done %v, success %v", name, c.step.Done(), c.step.Info.Success())
		}
	}
}

// Public is a copy: the harness keeps what the agent must not see.
func TestPublicIsACopy(t *testing.T) {
	i := envs.Info{Privileged: &envs.Privileged{Success: true, Reason: "secret", Dead: "secret"}}
	b, err := json.Marshal(i.Public())
	if err != nil || strings.Contains(string(b), "secret") || i.Privileged == nil {
		t.Errorf("%s, %v; the original keeps %v", b, err, i.Privileged)
	}
}
