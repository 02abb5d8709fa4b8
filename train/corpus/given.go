package corpus

import (
	"math/rand/v2"
	"slices"

	"github.com/muse-agent/muse/envs/textworld"
)

// trialPlayer is the level of those whose lost trials reflections are about. The
// level of the player that is given the reflection is drawn apart: having one
// must not be a sign of a weak player.
var trialPlayer = Level{Confuse: .3, Recover: .05}

// reflections are what an episode's player is given: those of up to three lost
// trials, or a hint at a true or a wrong place.
func reflections(m Mixture, g *textworld.Game, prior *Prior, r *rand.Rand) ([]string, error) {
	goal, err := ParseGoal(g.Goal())
	if err != nil {
		return nil, err
	}
	if u := r.Float64(); u < m.Misled+m.Hinted {
		return []string{hint(goal, g.Contents(), u < m.Misled, r)}, nil
	}
	trials := []int{1, 1, 1, 1, 2, 2, 3}[r.IntN(7)]
	var out []string
	for tries := 0; len(out) < trials && tries < trials+3; tries++ {
		t, err := playOnce(m, g, prior, out, trialPlayer, Limit, r)
		if err != nil {
			return nil, err
		}
		if !t.won {
			out = append(out, Reflect(g.Goal(), t.pairs))
		}
	}
	if len(out) == 0 { // too easy to lose
		return []string{hint(goal, g.Contents(), false, r)}, nil
	}
	return out, nil
}

// hint names a place that holds the target, or one that doesn't.
func hint(g Goal, room Room, wrong bool, r *rand.Rand) string {
	var yes, no []string
	for p, objs := range room {
		has := slices.ContainsFunc(objs, func(o string) bool { return typeOf(o) == g.Object })
		switch {
		case has && !(g.Kind == Two && typeOf(p) == g.Place):
			yes = append(yes, p)
		case !has:
			no = append(no, p)
		}
	}
	from := yes
	if wrong && len(no) > 0 || len(yes) == 0 {
		from = no
	}
	if len(from) == 0 {
		return moreToSee
	}
	slices.Sort(from)
	s := "the " + g.Object + " was in " + from[r.IntN(len(from))] + ", go there first."
	if f := forgotten(g); f != "" && r.IntN(4) == 0 {
		s += " " + f
	}
	return s
}
