package viewer

import "strings"

// Filter picks episodes of a list.
type Filter struct {
	Name string // as it stands on the button
	What string // in a sentence, for the help
	Keep func(e *Entry) bool
}

// Confident is the P from which an agent counts as confident.
const Confident = .5

// Filters are what people look for in a run.
var Filters = []Filter{
	{"all", "every episode", func(*Entry) bool { return true }},
	{"solved", "the goal was reached", func(e *Entry) bool { return e.Success }},
	{"failed", "the goal was not reached", func(e *Entry) bool { return !e.Success }},
	{"failed but confident", "failed, with P of 0.5 or more at the end or on average",
		func(e *Entry) bool {
			return !e.Success && e.P != nil && (e.P.Last >= Confident || e.P.Mean >= Confident)
		}},
	{"solved but doubtful", "solved, with P below 0.5 on average",
		func(e *Entry) bool { return e.Success && e.P != nil && e.P.Mean < Confident }},
	{"stuck", "half of the commands or more had no effect", func(e *Entry) bool { return e.Steps > 0 && 2*e.Nothing >= e.Steps }},
	{"can't be read", "lines of the file that are no episode of a known format", func(e *Entry) bool { return e.Problem != "" }},
}

// FilterByName returns the filter called name, -1 if there is none.
func FilterByName(name string) int {
	for i, f := range Filters {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// matches says whether an entry has all words of a search in its id, goal, task type,
// arm, phase or reason.
func matches(e *Entry, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join([]string{e.ID, e.Goal, e.TaskType, e.Arm, e.Phase, e.Reason}, "\n"))
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// visible lists the entries that a filter and a search keep.
func visible(es []Entry, filter int, query string) []int {
	words := strings.Fields(strings.ToLower(query))
	keep := Filters[min(max(filter, 0), len(Filters)-1)].Keep
	out := make([]int, 0, len(es))
	for i := range es {
		if keep(&es[i]) && matches(&es[i], words) {
			out = append(out, i)
		}
	}
	return out
}

// countFilters says how many entries each filter keeps.
func countFilters(es []Entry) []int {
	n := make([]int, len(Filters))
	for i := range es {
		for k := range Filters {
			if Filters[k].Keep(&es[i]) {
				n[k]++
			}
		}
	}
	return n
}

// Previous is the episode before i of the same task and agent, -1 if there is none.
func Previous(es []Entry, i int) int {
	if i < 0 || i >= len(es) {
		return -1
	}
	for j := i - 1; j >= 0; j-- {
		if es[j].Task == es[i].Task && es[j].Arm == es[i].Arm && es[j].Rep == es[i].Rep && es[j].Problem == "" {
			return j
		}
	}
	return -1
}

// partners are the other episodes of the same task, those of the same phase and trial
// first, then the neighbours in the list.
func partners(es []Entry, i int) []int {
	if i < 0 || i >= len(es) {
		return nil
	}
	var alike, same, rest []int
	for j := range es {
		switch {
		case j == i || es[j].Problem != "":
		case es[j].Task == es[i].Task && es[j].Task != "" && es[j].Phase == es[i].Phase && es[j].Trial == es[i].Trial && es[j].Rep == es[i].Rep:
			alike = append(alike, j)
		case es[j].Task == es[i].Task && es[j].Task != "":
			same = append(same, j)
		case j == i+1 || j == i-1:
			rest = append(rest, j)
		}
	}
	return append(append(alike, same...), rest...)
}
