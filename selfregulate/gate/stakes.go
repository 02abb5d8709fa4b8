package gate

import (
	"slices"
	"strings"
)

// Reasons of decisions about the stakes of a step.
const (
	ReasonStakes   = "the commands lead to different worlds"
	ReasonNoDraft  = "no command was drafted"
	ReasonAgree    = "all drafts are one command"
	ReasonNoEffect = "no draft can have an effect"
	ReasonStuck    = "no draft can have an effect, another one may"
	ReasonSingle   = "one draft can have an effect"
)

// Stakes is the gate of an agent that drafts the commands of its futures before it
// imagines them: the futures are worth their price only where the drafts lead to
// different worlds. Two cases do not, and they need no judgement to see:
//
//   - all drafts are the same command, so that any choice is the same one;
//   - every draft failed in this very state of the world. What changed nothing
//     once changes nothing again until something else has changed.
//
// Everything else fires; a world-changing command is skipped only as an undisputed one.
// Source: the critic gate applied to steps (design, section 2).
type Stakes struct {
	// Looks are the openings of commands that change nothing even when they succeed.
	// Nil = those of ALFWorld's games.
	Looks []string
	// Failure is the answer to a command without effect. "" = "Nothing happens."
	Failure string
	// Single skips too where all drafts that can have an effect are one command, and
	// takes that one: the choice would be between acting and standing still.
	Single bool
	// Stuck fires where every draft failed here, for an agent that can think again: it
	// may find another command.
	Stuck bool
}

var alfworldLooks = []string{"look", "inventory", "examine "}

// Decide looks at the drafted commands and at what was done and seen before
// (commands and answers, oldest first, equally many). Where the gate doesn't fire,
// take is the index of the draft to send. Drafts that are "" are no commands.
func (s Stakes) Decide(drafts, commands, answers []string) (d Decision, take int) {
	failure, looks := s.Failure, s.Looks
	if failure == "" {
		failure = "Nothing happens."
	}
	if looks == nil {
		looks = alfworldLooks
	}
	dead := failedHere(looks, failure, commands, answers)
	first, live := -1, -1
	agree, single := true, true
	for i, draft := range drafts {
		draft = bare(draft)
		if draft == "" {
			continue
		}
		if first < 0 {
			first = i
		}
		agree = agree && draft == bare(drafts[first])
		if slices.Contains(dead, draft) {
			continue
		}
		if live < 0 {
			live = i
		}
		single = single && draft == bare(drafts[live])
	}
	switch {
	case first < 0:
		return Decision{true, ReasonNoDraft}, 0
	case live < 0 && s.Stuck:
		return Decision{true, ReasonStuck}, 0
	case agree:
		return Decision{false, ReasonAgree}, first
	case live < 0:
		return Decision{false, ReasonNoEffect}, first
	case s.Single && single:
		return Decision{false, ReasonSingle}, live
	}
	return Decision{true, ReasonStakes}, 0
}

// failedHere are the commands that failed since the world changed last.
func failedHere(looks []string, failure string, commands, answers []string) (dead []string) {
	for i := min(len(commands), len(answers)) - 1; i >= 0; i-- {
		c := bare(commands[i])
		switch {
		case strings.TrimSpace(answers[i]) == failure:
			dead = append(dead, c)
		case !opens(looks, c):
			return dead
		}
	}
	return dead
}

// bare is a command in lower case with single spaces; most are that already.
func bare(command string) string {
	space := true // a space here would be a second one, or the first byte
	for i := range len(command) {
		c := command[i]
		if c <= ' ' && (c != ' ' || space) || 'A' <= c && c <= 'Z' || c >= 0x80 {
			return strings.ToLower(strings.Join(strings.Fields(command), " "))
		}
		space = c == ' '
	}
	return strings.TrimSuffix(command, " ")
}

// opens reports whether a bare command is one of the openings, or begins with one
// that ends in a space.
func opens(openings []string, command string) bool {
	return slices.ContainsFunc(openings, func(p string) bool {
		return command == strings.TrimSpace(p) || strings.HasSuffix(p, " ") && strings.HasPrefix(command, p)
	})
}
