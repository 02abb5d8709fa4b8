package corpus

import (
	"fmt"
	"strings"
)

// The six kinds of task.
const (
	Pick  = "pick"  // put an object in a place
	Look  = "look"  // look at an object under a lamp
	Clean = "clean" // clean an object, then put it in a place
	Heat  = "heat"
	Cool  = "cool"
	Two   = "two" // put two objects of a type in the same place
)

// Goal is a task sentence taken apart. Object and Place are types ("mug",
// "shelf"); in a [Look] task Place is the type of the lamp.
type Goal struct{ Kind, Object, Place string }

// goalForms are the twelve wordings of the games; a task has two.
var goalForms = []struct{ kind, before, between, after string }{
	{Two, "put two ", " in ", "."},
	{Two, "find two ", " and put them in ", "."},
	{Clean, "put a clean ", " in ", "."},
	{Clean, "clean some ", " and put it in ", "."},
	{Heat, "put a hot ", " in ", "."},
	{Heat, "heat some ", " and put it in ", "."},
	{Cool, "put a cool ", " in ", "."},
	{Cool, "cool some ", " and put it in ", "."},
	{Pick, "put some ", " on ", "."},
	{Pick, "put a ", " in ", "."},
	{Look, "look at ", " under the ", "."},
	{Look, "examine the ", " with the ", "."},
}

// ParseGoal reads a task sentence, with or without "Your task is to: " before it.
func ParseGoal(s string) (Goal, error) {
	t := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "Your task is to: "))
	for _, f := range goalForms {
		r, ok := strings.CutPrefix(t, f.before)
		if !ok {
			continue
		}
		r, ok = strings.CutSuffix(r, f.after)
		if !ok {
			continue
		}
		o, p, ok := strings.Cut(r, f.between)
		if ok && isWord(o) && isWord(p) {
			return Goal{f.kind, o, p}, nil
		}
	}
	return Goal{}, fmt.Errorf("corpus: goal %q is none of the twelve known wordings (such as \"put a clean mug in shelf.\")", s)
}

// treat is the verb of the step between taking and putting, "" when there is none,
// and the type of the appliance that does it.
func (g Goal) treat() (verb, appliance string) {
	switch g.Kind {
	case Clean:
		return "clean", "sinkbasin"
	case Heat:
		return "heat", "microwave"
	case Cool:
		return "cool", "fridge"
	}
	return "", ""
}

func isWord(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// typeOf cuts the number off a name: "mug 1" is a "mug".
func typeOf(name string) string {
	t, _, _ := strings.Cut(name, " ")
	return t
}
