package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/muse-agent/muse/internal/rng"
)

// checker is a record that knows when its values can't be those of a run: files are
// edited, merged and cut, and a wrong figure must not come of it.
type checker interface{ check() error }

// check refuses an episode that can't be told apart or whose limit is impossible.
func (e *Episode) check() error {
	switch {
	case e.Task == "":
		return errors.New("the episode has no task_id")
	case e.Agent.Config.Limit < 0:
		return fmt.Errorf("the agent's limit is %d commands", e.Agent.Config.Limit)
	}
	return nil
}

// check refuses states that don't fit their episode and outcomes that can't be counts.
func (g *SiblingGame) check() error {
	if g.Task == "" {
		return errors.New("the visit has no task_id")
	}
	for i, s := range g.States {
		at := fmt.Sprintf("state %d", i)
		if s.Step < 0 || s.Step > len(g.Pairs) {
			return fmt.Errorf("%s: it stands after %d commands, the episode has %d", at, s.Step, len(g.Pairs))
		}
		for k, a := range s.Actions {
			if a.Plays < 1 || a.Wins < 0 || a.Wins > a.Plays {
				return fmt.Errorf("%s: action %d has %d wins in %d plays", at, k, a.Wins, a.Plays)
			}
		}
		for k, c := range s.Candidates {
			if c.Action < 0 || c.Action >= len(s.Actions) {
				return fmt.Errorf("%s: candidate %d is of action %d, there are %d", at, k, c.Action, len(s.Actions))
			}
			if len(c.Pairs) == 0 {
				return fmt.Errorf("%s: candidate %d has no pairs", at, k)
			}
		}
	}
	return nil
}

// check refuses rows that no evaluation writes. raw is the spec as it stands in the
// file: the key is the hash of these bytes, also when later versions know more fields.
func (p *Part) check(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if p.Key != p.Spec.key() && p.Key != specKey(b.Bytes()) {
		return fmt.Errorf("key %q is not that of the spec: one of them was edited", shorten(p.Key))
	}
	seen := map[string]bool{}
	for i, r := range p.Rows {
		bad := func(format string, a ...any) error {
			return fmt.Errorf("row %d (%s): %s", i+1, shorten(r.id()), fmt.Sprintf(format, a...))
		}
		if r.Game == "" {
			return bad("no game")
		}
		if seen[r.id()] {
			return bad("the same game and rep stand above")
		}
		seen[r.id()] = true
		if n := len(r.Won); n == 0 || n > max(1, p.Spec.Trials) || n != len(r.Steps) {
			return bad("%d outcomes and %d step counts of %d trials", n, len(r.Steps), max(1, p.Spec.Trials))
		}
		for k, w := range r.Won {
			if w != 0 && w != 1 {
				return bad("won is %d; it must be 0 or 1", w)
			}
			if s := r.Steps[k]; s < 0 || p.Spec.MaxSteps > 0 && s > p.Spec.MaxSteps {
				return bad("%d steps where %d are allowed", s, p.Spec.MaxSteps)
			}
		}
		if r.Different < 0 || r.Failed < 0 || r.Failed > 1 || r.Tokens < 0 {
			return bad("a mean or count lies out of range")
		}
	}
	return nil
}

// specKey is the key of a part whose spec has these JSON bytes.
func specKey(spec []byte) string {
	return fmt.Sprintf("%016x", rng.Seed(0, "part", string(spec)))[:10]
}

// shorten shortens text that comes from a file, for messages of one line.
func shorten(s string) string {
	const most = 80
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
