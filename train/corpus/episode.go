package corpus

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
)

// Limit is the number of commands after which an episode is lost.
const Limit = 50

// obsWeight is the loss weight of observations: the model should know the world,
// but acting well matters more.
const obsWeight = 0.4

// Segment is a piece of an episode's text. K is its kind: task, room, reflection,
// plan, think, act, obs or end. T is the exact text, with the leading newline of
// all but the first. W is the weight of its tokens in the training loss.
type Segment struct {
	K string  `json:"k"`
	T string  `json:"t"`
	W float64 `json:"w"`
}

// Episode is one line of a corpus. The concatenated segments are its text.
type Episode struct {
	ID       string    `json:"id"` // of the game
	Won      bool      `json:"won"`
	Mix      string    `json:"mix"`
	Segments []Segment `json:"segments"`
	// Watched: the weights are all there is to learn, tags included; see [Mixture].
	Watched bool `json:"watched,omitempty"`
}

// Text is the whole text of the episode.
func (e Episode) Text() string {
	var b strings.Builder
	for _, s := range e.Segments {
		b.WriteString(s.T)
	}
	return b.String()
}

// world is what a player needs of the game engine.
type world interface {
	Intro() string
	Do(command string) (obs string, effect bool)
	Won() bool
}

// trial is one play of a game.
type trial struct {
	plan  string
	pairs []llm.Pair
	won   bool
	fails map[string]int // commands without effect by reason
}

// play lets a player of a level play a game for at most limit commands.
func play(p *player, w world, level Level, modes []ModeWeight, limit int) trial {
	t := trial{plan: p.plan(), fails: map[string]int{}}
	c := confusion{level: level, modes: modes}
	for len(t.pairs) < limit && !w.Won() {
		think, action := p.decide(&c)
		obs, effect := w.Do(action)
		obs = textworld.CutArrival(obs)
		if !effect {
			t.fails[p.failure(action)]++
		}
		p.update(action, obs)
		t.pairs = append(t.pairs, llm.Pair{Thoughts: []string{think}, Action: action, Observation: obs})
	}
	t.won = w.Won()
	return t
}

// segments writes a trial down.
func (t trial) segments(intro string, given []string) ([]Segment, error) {
	task, room, err := openingLines(intro)
	if err != nil {
		return nil, err
	}
	s := make([]Segment, 0, 5+3*len(t.pairs))
	s = append(s, Segment{"task", task, 0}, Segment{"room", "\n" + room, 0})
	for _, g := range given {
		s = append(s, Segment{"reflection", "\nreflection: " + g, 0})
	}
	s = append(s, Segment{"plan", "\nplan: " + t.plan, 1})
	for _, p := range t.pairs {
		for _, th := range p.Thoughts {
			s = append(s, Segment{"think", "\nthink: " + th, 1})
		}
		s = append(s, Segment{"act", "\n> " + p.Action, 1}, Segment{"obs", "\n" + p.Observation, obsWeight})
	}
	if t.won {
		return append(s, Segment{"end", "\n[end: won]", 1}), nil
	}
	return append(s, Segment{"end", "\n[end: lost]", 1}, Segment{"reflection", "\nreflection: " + Reflect(task, t.pairs), 1}), nil
}

// watched leaves a lost trial's closing reflection as the only thing to learn, with
// the line break that ends it.
func watched(segs []Segment) []Segment {
	for i := range segs {
		segs[i].W = 0
	}
	last := &segs[len(segs)-1]
	last.T, last.W = last.T+"\n", 1
	return segs
}

var namePattern = regexp.MustCompile(`\b([a-z]+) (\d+)\b`)

// renumber gives the objects other numbers, keeping their order, so that numbers
// must be copied and can't be remembered. Places keep theirs.
func renumber(segs []Segment, places map[string]bool, r *rand.Rand) {
	numbers := map[string]map[int]bool{}
	for _, s := range segs {
		for _, m := range namePattern.FindAllStringSubmatch(s.T, -1) {
			if places[m[1]] {
				continue
			}
			k, _ := strconv.Atoi(m[2])
			if numbers[m[1]] == nil {
				numbers[m[1]] = map[int]bool{}
			}
			numbers[m[1]][k] = true
		}
	}
	types := make([]string, 0, len(numbers))
	for t := range numbers {
		types = append(types, t)
	}
	sort.Strings(types)
	name := map[string]string{}
	for _, t := range types {
		var old []int
		for k := range numbers[t] {
			old = append(old, k)
		}
		sort.Ints(old)
		fresh := r.Perm(old[len(old)-1] + 2)[:len(old)]
		sort.Ints(fresh)
		for i, k := range old {
			name[fmt.Sprintf("%s %d", t, k)] = fmt.Sprintf("%s %d", t, fresh[i]+1)
		}
	}
	for i := range segs {
		segs[i].T = namePattern.ReplaceAllStringFunc(segs[i].T, func(x string) string {
			if y, ok := name[x]; ok {
				return y
			}
			return x
		})
	}
}
