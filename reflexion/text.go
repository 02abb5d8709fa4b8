package reflexion

import (
	"fmt"
	"strings"
)

// The two dialects of the game. They differ in one command and its answer.
const (
	DialectMove = "move" // "move X to R", "You move the X to the R."
	DialectPut  = "put"  // "put X in/on R", "You put the X in/on the R."
)

const taskMark = "Your task is to: "

// ParseIntro reads the text that the game shows at a reset: welcome, room and
// task, separated by blank lines. The harness form without the welcome, or joined
// by single newlines, is understood too.
func ParseIntro(obs string) (Task, error) {
	var t Task
	for line := range strings.SplitSeq(obs, "\n") {
		line = strings.TrimSpace(line)
		// ALFWorld prompts in the wild sometimes glue the task to the room.
		if i := strings.Index(line, taskMark); i >= 0 {
			t.Goal = strings.TrimSpace(line[i+len(taskMark):])
			line = strings.TrimSpace(line[:i])
		}
		if strings.HasPrefix(line, "You are in the middle of a room") {
			t.Room = line
		}
	}
	switch {
	case t.Goal == "":
		return t, fmt.Errorf("reflexion: the reset text has no line %q: %q", strings.TrimSpace(taskMark), clip(obs))
	case t.Room == "":
		return t, fmt.Errorf("reflexion: the reset text has no paragraph that begins with \"You are in the middle of a room\": %q", clip(obs))
	}
	return t, nil
}

func clip(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// CutArrival removes the sentence "You arrive at drawer 1. " (or "loc 12") that
// opens the answer to "go to": ReAct's harness did so, and models never see it.
func CutArrival(obs string) string {
	if rest, ok := strings.CutPrefix(obs, "You arrive at "); ok {
		if _, after, ok := strings.Cut(rest, ". "); ok {
			return after
		}
	}
	return obs
}

// CanonicalAction turns "put X in/on R" into "move X to R", the form of prompts
// and records of pairs. Every other text is only trimmed: muse repairs no command.
func CanonicalAction(action string) string {
	action = strings.TrimSpace(action)
	if rest, ok := strings.CutPrefix(action, "put "); ok {
		if x, r, ok := strings.Cut(rest, " in/on "); ok {
			return "move " + x + " to " + r
		}
	}
	return action
}

// EnvAction turns a canonical action into the game's dialect.
func EnvAction(action, dialect string) string {
	if dialect != DialectPut {
		return action
	}
	if rest, ok := strings.CutPrefix(action, "move "); ok {
		if x, r, ok := strings.Cut(rest, " to "); ok {
			return "put " + x + " in/on " + r
		}
	}
	return action
}

// CanonicalObservation is what a model sees of the game's answer: without the
// arrival sentence, in the "move" dialect, without trailing newlines.
func CanonicalObservation(obs string) string {
	obs = CutArrival(strings.TrimSpace(obs))
	if rest, ok := strings.CutPrefix(obs, "You put the "); ok {
		if x, r, ok := strings.Cut(rest, " in/on the "); ok {
			return "You move the " + x + " to the " + r
		}
	}
	return obs
}

// newest returns the last n of list.
func newest(list []string, n int) []string { return list[max(0, len(list)-n):] }
