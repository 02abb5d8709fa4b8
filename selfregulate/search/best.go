package search

import "slices"

// Arm is one command at the root.
type Arm struct {
	Action string  `json:"action"`
	Visits int     `json:"visits"` // futures that begin with it, at any depth
	Draws  int     `json:"draws"`  // of these, drawn at the root
	Value  float64 `json:"value"`
}

// Summary says what a search did.
type Summary struct {
	Arms []Arm `json:"arms"` // in the order of the choice, the best first
	// Visits are all futures, those without a command included.
	Visits int `json:"visits"`
	// Calls of the world model; Tokens it generated and read again.
	Calls  int `json:"calls"`
	Tokens int `json:"tokens"`
	// Deepest is the longest chain of commands that the search chose, the last drawn
	// one included; 1 = the root's draws alone.
	Deepest int `json:"deepest"`
}

// Best is the command to take by what is known now; false where no future has one.
func (t *Tree[S]) Best() (action string, ok bool) {
	arms := t.Summary().Arms
	if len(arms) == 0 {
		return "", false
	}
	return arms[0].Action, true
}

// Summary is the state of the search: anytime, and the tree stays as it is.
func (t *Tree[S]) Summary() Summary {
	s := Summary{Arms: []Arm{}, Visits: t.visits, Calls: t.calls, Tokens: t.tokens, Deepest: t.deepest}
	for _, a := range t.root.arms {
		s.Arms = append(s.Arms, Arm{a.action, a.n, a.draws, t.value(a)})
	}
	byVisits := func(a, b Arm) int { return b.Visits - a.Visits }
	byValue := func(a, b Arm) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	}
	first, second := byValue, byVisits
	if t.cfg.Final == Visits {
		first, second = byVisits, byValue
	}
	// Stable: equals stay in the order in which they were drawn.
	slices.SortStableFunc(s.Arms, func(a, b Arm) int {
		if d := first(a, b); d != 0 {
			return d
		}
		return second(a, b)
	})
	return s
}
