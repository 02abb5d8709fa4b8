package search

import (
	"errors"
	"fmt"
	"math"
)

// Rule is how a node spreads its visits over its arms.
type Rule string

// Backup is how values of deeper nodes reach the root.
type Backup string

// Final is how the command is chosen when the budget is used up.
type Final string

const (
	// UCT is Q + C·√(ln N / n).
	UCT Rule = "uct"
	// PUCT is Q + C·P·√N / (1 + n); P is the arm's share of the node's draws, the
	// actor's own preference.
	PUCT Rule = "puct"

	// Mean gives an arm the mean of all assessments under it.
	Mean Backup = "mean"
	// Max gives a node the value of its best arm, where that is above its own mean: an
	// agent that assesses again at each command can still choose there.
	Max Backup = "max"

	// Value takes the arm with the highest value, ties by visits.
	Value Final = "value"
	// Visits takes the arm with the most visits, ties by value.
	Visits Final = "visits"
)

// Config are the settings of a search; start from [Default].
type Config struct {
	Rule   Rule   `json:"rule"`
	Backup Backup `json:"backup"`
	Final  Final  `json:"final"`
	// C is the weight of exploration, in units of the value (probabilities).
	C float64 `json:"c"`
	// Depth is the number of imagined commands in a row that the search chooses
	// itself; 1 draws from the root alone.
	Depth int `json:"depth"`
	// Root is the number of futures drawn at the root before anything else.
	Root int `json:"root"`
	// Width and Alpha are the progressive widening: a node of N visits may draw while
	// it has fewer than Width·N^Alpha futures.
	Width float64 `json:"width"`
	Alpha float64 `json:"alpha"`
	// Draw is the number of futures of one later expansion; a backend draws several at
	// little more than the price of one.
	Draw int `json:"draw"`
	// Tokens bounds what the world may generate and read again for one decision;
	// 0 = no bound.
	Tokens int `json:"tokens"`
	// Least is the smallest number of tokens that is worth a future: what is left
	// below it stays unspent.
	Least int `json:"least"`
	// Millis bounds the time of one decision; 0 = no bound. Decisions bounded by time
	// differ from run to run; those bounded by tokens do not.
	Millis int `json:"millis,omitempty"`
	// Visits bounds the number of visits, also those that draw nothing (ended futures).
	Visits int `json:"visits"`
}

// Default are the second settings that were tried on val (docs/search.md), for futures of
// two pairs.
func Default() Config {
	return Config{Rule: PUCT, Backup: Mean, Final: Value, C: 1, Depth: 3, Root: 4, Width: 2, Alpha: .5, Draw: 2, Tokens: 400, Least: 48, Visits: 256}
}

// Validate reports all problems at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("search: "+format, a...))
		}
	}
	bad(c.Rule == UCT || c.Rule == PUCT, "rule is %q, must be %s or %s", c.Rule, UCT, PUCT)
	bad(c.Backup == Mean || c.Backup == Max, "backup is %q, must be %s or %s", c.Backup, Mean, Max)
	bad(c.Final == Value || c.Final == Visits, "final is %q, must be %s or %s", c.Final, Value, Visits)
	bad(c.Final == Value || c.Final == Visits, "final is %q, must be %s or %s", c.Final, Value, Visits)
	bad(c.C >= 0 && !math.IsInf(c.C, 0), "c is %g, must be a number ≥ 0", c.C)
	bad(c.Depth >= 1 && c.Depth <= 50, "depth is %d, must lie between 1 and 50", c.Depth)
	bad(c.Root >= 1 && c.Draw >= 1, "root is %d and draw %d, at least one future is needed", c.Root, c.Draw)
	bad(c.Width > 0 && !math.IsInf(c.Width, 0), "width is %g, must be above 0", c.Width)
	bad(c.Alpha >= 0 && c.Alpha <= 1, "alpha is %g, must lie in [0,1]", c.Alpha)
	bad(c.Tokens >= 0 && c.Millis >= 0, "tokens is %d and millis %d, must not be negative (0 = no bound)", c.Tokens, c.Millis)
	bad(c.Least >= 1, "least is %d, must be 1 or more", c.Least)
	bad(c.Visits >= 1, "visits is %d, must be 1 or more", c.Visits)
	return errors.Join(errs...)
}
