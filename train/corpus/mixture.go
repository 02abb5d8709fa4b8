package corpus

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Level is one competence: how likely a lucid player gets confused at a step, and
// how likely a confused one recovers. Share is the level's weight in a mixture.
type Level struct{ Confuse, Recover, Share float64 }

// Mode is a kind of confusion. A player keeps its mode until it recovers or the
// mode can't go on.
type Mode string

// The modes.
const (
	Loop    Mode = "loop"    // repeats the last thought and command
	Wander  Mode = "wander"  // goes among places already seen
	Ghost   Mode = "ghost"   // takes an object that is not there
	Far     Mode = "far"     // acts on a place without going there
	Order   Mode = "order"   // uses an object before having it
	Skip    Mode = "skip"    // leaves out the cleaning, heating or cooling
	Wrong   Mode = "wrong"   // takes a wrong object
	Nowhere Mode = "nowhere" // goes to a place that does not exist
	Closed  Mode = "closed"  // puts into or takes from a closed place without opening it
)

// ModeWeight is the weight of a mode among those possible in a situation.
type ModeWeight struct {
	Mode   Mode
	Weight float64
}

// Mixture describes a population of players and the episodes they write.
type Mixture struct {
	Name   string
	Levels []Level
	Modes  []ModeWeight

	Noise     float64 // standard deviation of the log search scores
	Reflected float64 // share of episodes that are given reflections
	Hinted    float64 // of these, share that is given a true place instead of a lost trial's reflection
	Misled    float64 // of these, share that is given a wrong place
	Renumber  float64 // share of episodes with other object numbers

	// Watched mixtures write lost trials only, of any length up to Limit, from which
	// nothing is learnt but the reflection at their end: what to make of a failure,
	// without becoming a player who fails so. The line break that closes the
	// reflection is part of it; elsewhere a reflection is the end of the text.
	Watched bool
}

// fittedModes are fitted to the failed commands of real agents; see RealFailures
// and the table that `muse corpus -fit` prints.
var fittedModes = []ModeWeight{
	{Loop, 1}, {Wander, 1}, {Ghost, .6}, {Far, 1.2}, {Order, 3.2}, {Skip, 1.5}, {Wrong, .7}, {Nowhere, .6}, {Closed, .7},
}

// stuckModes are those of a small actor's own lost episodes: it takes what it wants
// wherever it stands, again and again (of 94 lost episodes of the model weak, 73 saw
// no more than two places, and 71 ended in taking what was not there).
var stuckModes = []ModeWeight{
	{Loop, .5}, {Wander, .3}, {Ghost, 4}, {Far, .4}, {Order, .4}, {Skip, .6}, {Wrong, .3}, {Nowhere, .4}, {Closed, .3},
}

// mixtures are the populations by name; lost is for the reflections of all. An actor trained on one of them inherits
// its skill: weak and base stand for small language models, strong for a large one.
var mixtures = map[string]Mixture{
	"weak": {Name: "weak", Levels: []Level{{0, .5, .2}, {.10, .12, .2}, {.20, .07, .25}, {.35, .05, .35}},
		Modes: fittedModes, Noise: .3, Reflected: .4, Hinted: .25, Misled: .15, Renumber: .5},
	"base": {Name: "base", Levels: []Level{{0, .5, .4}, {.06, .15, .25}, {.12, .10, .15}, {.35, .05, .2}},
		Modes: fittedModes, Noise: .3, Reflected: .4, Hinted: .25, Misled: .15, Renumber: .5},
	"strong": {Name: "strong", Levels: []Level{{0, .5, .5}, {.05, .20, .3}, {.10, .12, .15}, {.35, .05, .05}},
		Modes: fittedModes, Noise: .3, Reflected: .4, Hinted: .25, Misled: .15, Renumber: .5},
	"lost": {Name: "lost", Levels: []Level{{.7, .01, .6}, {.3, .02, .3}, {.1, .03, .1}},
		Modes: stuckModes, Noise: .3, Reflected: .2, Hinted: .25, Misled: .15, Renumber: .5, Watched: true},
}

// Lookup returns the mixture of a name.
func Lookup(name string) (Mixture, error) {
	m, ok := mixtures[name]
	if !ok {
		return Mixture{}, fmt.Errorf("%w: no mixture %q; there are %s", ErrUsage, name, strings.Join(MixtureNames(), ", "))
	}
	return m, nil
}

// MixtureNames lists the known mixtures, sorted.
func MixtureNames() []string {
	var out []string
	for n := range mixtures {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Validate reports all problems of a mixture at once.
func (m Mixture) Validate() error {
	var errs []error
	bad := func(f string, a ...any) {
		errs = append(errs, fmt.Errorf("corpus: mixture %q: "+f, append([]any{m.Name}, a...)...))
	}
	sum := 0.0
	for i, l := range m.Levels {
		if l.Confuse < 0 || l.Confuse > 1 || l.Recover < 0 || l.Recover > 1 || l.Share < 0 {
			bad("level %d is %+v, chances must be in 0..1", i, l)
		}
		sum += l.Share
	}
	if sum <= 0 {
		bad("the shares of the levels sum to %g", sum)
	}
	sum = 0
	for _, w := range m.Modes {
		if w.Weight < 0 {
			bad("mode %s has the negative weight %g", w.Mode, w.Weight)
		}
		sum += w.Weight
	}
	if sum <= 0 {
		bad("the weights of the modes sum to %g", sum)
	}
	for n, v := range map[string]float64{"Reflected": m.Reflected, "Hinted": m.Hinted, "Misled": m.Misled, "Renumber": m.Renumber} {
		if v < 0 || v > 1 {
			bad("%s is %g, must be in 0..1", n, v)
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errors.Join(errs...)
}
