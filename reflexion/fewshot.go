package reflexion

import (
	_ "embed"
	"strings"
)

// fewShotText holds one won episode of each kind of task, in the line format, with an
// empty line between two. They are the shortest ones of the play in train/data/base on
// the games of the split "seen"; a test of train plays them again and writes this file.
//
//go:embed fewshot.txt
var fewShotText string

var fewShots = func() map[string]string {
	m := map[string]string{}
	for e := range strings.SplitSeq(strings.TrimSpace(fewShotText), "\n\n") {
		goal, _, _ := strings.Cut(e, "\n")
		m[taskKind(strings.TrimPrefix(goal, "Your task is to: "))] = e
	}
	return m
}()

// fewShot is the episode whose task is of the goal's kind.
func fewShot(goal string) string {
	if e, ok := fewShots[taskKind(goal)]; ok {
		return e
	}
	return fewShots["pick"]
}

// taskKind tells the kinds of tasks apart by the words of their goals.
func taskKind(goal string) string {
	words := strings.FieldsFunc(strings.ToLower(goal), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, w := range words {
		switch w {
		case "clean", "cool", "heat", "two":
			return w
		case "hot":
			return "heat"
		case "examine", "look":
			return "look"
		}
	}
	return "pick"
}
