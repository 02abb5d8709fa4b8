package gate

import (
	"slices"
	"strings"
)

// Reasons of decisions about an agent's steps.
const (
	ReasonChanges  = "changes the world"
	ReasonFailed   = "the last command had no effect"
	ReasonRepeated = "the same command again"
	ReasonLooks    = "only looks or moves"
)

// Steps is the gate of an acting agent: whether the next command deserves the
// imagined futures and their assessment, or may be taken as it was sampled.
type Steps struct {
	// ReadOnly are the openings of commands that change nothing which can't be taken
	// back. Every other command fires. Nil = those of ALFWorld's games.
	ReadOnly []string
	// Failure is the answer to a command without effect; after it the gate fires.
	// "" = "Nothing happens."
	Failure string
}

var alfworldReadOnly = []string{"go to ", "look", "inventory", "examine "}

// Decide looks at the sampled command and at what was done and seen before it
// (commands and answers, oldest first, equally many).
func (s Steps) Decide(action string, commands, answers []string) Decision {
	readOnly, failure := s.ReadOnly, s.Failure
	if readOnly == nil {
		readOnly = alfworldReadOnly
	}
	if failure == "" {
		failure = "Nothing happens."
	}
	action = strings.ToLower(strings.Join(strings.Fields(action), " "))
	switch {
	case !slices.ContainsFunc(readOnly, func(p string) bool {
		return action == strings.TrimSpace(p) || strings.HasPrefix(action+" ", p) && (strings.HasSuffix(p, " ") || action == p)
	}):
		return Decision{true, ReasonChanges}
	case len(answers) > 0 && strings.TrimSpace(answers[len(answers)-1]) == failure:
		return Decision{true, ReasonFailed}
	case slices.ContainsFunc(commands, func(c string) bool { return strings.EqualFold(c, action) }):
		return Decision{true, ReasonRepeated}
	}
	return Decision{false, ReasonLooks}
}
