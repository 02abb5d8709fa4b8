package reflexion

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Default returns the settings of the agent called name:
//
//	react      no memory of earlier episodes
//	reflexion  the last three reflections in the prompt (Reflexion)
//	muse       as reflexion; futures are imagined with the memory of seen text
//
// Rollouts 5 and temperature 0.5 are the paper's (section 4.1); horizon 4 is one
// assessment chunk. Which futures are imagined at all is the selector's matter:
// react and reflexion are played with selfregulate.Off.
func Default(name string) (Config, error) {
	c := Config{Name: name, Rollouts: 5, Horizon: 4, Temperature: .5, Reflections: 3, Plan: true, Recall: true, Limit: 50}
	switch name {
	case "react":
		c.Reflections = 0
	case "reflexion", "muse":
	default:
		return Config{}, fmt.Errorf("reflexion: no agent %q; known: react, reflexion, muse", name)
	}
	return c, nil
}

// Validate reports all problems at once, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("reflexion: "+format, args...)) }
	if c.Name != "react" && c.Name != "reflexion" && c.Name != "muse" {
		bad("name is %q; it must be react, reflexion or muse", c.Name)
	}
	if c.Rollouts < 1 {
		bad("rollouts is %d; at least 1 is needed", c.Rollouts)
	}
	if c.Horizon < 1 {
		bad("horizon is %d; at least 1 pair is needed", c.Horizon)
	}
	if !(c.Temperature >= 0) || math.IsInf(c.Temperature, 0) {
		bad("temperature is %v; it must be a finite number ≥ 0 (0 = greedy)", c.Temperature)
	}
	if c.Reflections < 0 {
		bad("reflections is %d; it must be ≥ 0 (0 = none)", c.Reflections)
	}
	if c.Name == "react" && c.Reflections > 0 {
		bad("reflections is %d, but react has no memory; set 0 or use reflexion", c.Reflections)
	}
	if c.ContextPairs < 0 {
		bad("context_pairs is %d; it must be ≥ 0 (0 = paper)", c.ContextPairs)
	}
	if c.Limit < 1 {
		bad("limit is %d; at least 1 command is needed", c.Limit)
	}
	if c.Rethink < 0 {
		bad("rethink is %d; it must be ≥ 0 (0 = never)", c.Rethink)
	}
	if !(c.Doubt >= 0 && c.Doubt <= 1) {
		bad("doubt is %v; it must be a probability", c.Doubt)
	}
	if c.Forget != ForgetNever && c.Forget != ForgetDoubt && c.Forget != ForgetAlways {
		bad("forget is %q; it must be empty, %s or %s", c.Forget, ForgetDoubt, ForgetAlways)
	}
	if d := c.Dialect; d != "" && d != DialectMove && d != DialectPut {
		bad("dialect is %q; it must be %s", d, strings.Join([]string{DialectMove, DialectPut}, " or "))
	}
	return errors.Join(errs...)
}
