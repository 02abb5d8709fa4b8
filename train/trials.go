package train

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/train/corpus"
)

// Bench is what all phases share: where episodes are played and with how many hands.
type Bench struct {
	Games   []*textworld.Game
	Set     string // hash of the set that Games are from (textworld.SetHash), for parts; may be ""
	Env     textworld.Options
	Seed    uint64
	Workers int // 0 = 1; changes no result
	// Progress gets human-readable lines, nil = none; TTY rewrites one line.
	Progress io.Writer
	TTY      bool
}

// info describes a game for records.
func info(g *textworld.Game) GameInfo {
	return GameInfo{ID: g.ID(), Split: g.Split(), TaskType: g.TaskType(), Goal: g.Goal()}
}

// GameSetHash identifies a list of games and their content, for run.json: results
// on different sets can't be mixed.
func GameSetHash(games []*textworld.Game) string {
	parts := make([]any, 0, 2*len(games))
	for _, g := range games {
		parts = append(parts, g.ID(), g.Hash())
	}
	return fmt.Sprintf("%016x", rng.Seed(uint64(len(games)), parts...))
}

// SampleGames returns a fixed sample of n of the games, in their order; all of them
// when n is 0 or larger. A smaller sample is part of every larger one.
func SampleGames(games []*textworld.Game, n int) []*textworld.Game {
	if n <= 0 || n >= len(games) {
		return games
	}
	rank := make([]int, len(games))
	for i := range rank {
		rank[i] = i
	}
	key := func(i int) uint64 { return rng.Seed(0, "sample", games[i].ID()) }
	sort.Slice(rank, func(a, b int) bool { return key(rank[a]) < key(rank[b]) })
	rank = rank[:n]
	sort.Ints(rank)
	out := make([]*textworld.Game, n)
	for i, k := range rank {
		out[i] = games[k]
	}
	return out
}

// Player is an agent with what its records say about it. Safe for concurrent use
// if its agent is.
type Player struct {
	Agent reflexion.Agent
	Info  AgentInfo
}

// trials describes episodes of one game in a row.
type trials struct {
	phase, arm  string
	rep         uint64
	n           int
	reflect     bool // reflect after lost episodes and hand the texts on
	untilSolved bool // stop after the first success
	notes       bool // hand notes of all earlier episodes on instead (corpus.Notes)
	rooms       bool // the world model remembers the room from earlier episodes
	past        past // what came before
	// seedPath comes between root seed and game id; arms that are compared share it.
	seedPath string
}

// past is what earlier episodes of a game left behind.
type past struct {
	reflections []string
	pairs       [][]llm.Pair // real ones, an entry an episode
}

// frozen is a copy that later episodes don't grow into.
func (p past) frozen() past { return past{slices.Clip(p.reflections), slices.Clip(p.pairs)} }

// play plays the trials of one game in sequence: what one writes, the next reads.
// It returns the episodes, their timings and what the last one leaves behind.
func (b *Bench) play(ctx context.Context, g *textworld.Game, p Player, t trials) ([]Episode, []Timing, past, error) {
	env := textworld.New(g, b.Env)
	defer env.Close()
	before := t.past.frozen()
	var es []Episode
	var ts []Timing
	for trial := range t.n {
		s := EpisodeSpec{
			Game: info(g), Phase: t.phase, Arm: t.arm, Rep: t.rep, Trial: trial,
			Seed:        rng.Seed(b.Seed, t.seedPath, g.ID(), t.rep, trial),
			Reflections: newest(before.reflections, p.Info.Config.Reflections), Reflect: t.reflect, Agent: p.Info,
		}
		if t.notes {
			s.Reflections = notesOf(g, before.pairs)
		}
		if t.rooms {
			s.Known = before.pairs
		}
		e, tm, err := PlayEpisode(ctx, env, p.Agent, s)
		if err != nil {
			return nil, nil, past{}, err
		}
		if e.Reflection != "" {
			before.reflections = append(before.reflections, e.Reflection)
		}
		before.pairs = append(before.pairs, e.Pairs())
		es, ts = append(es, e), append(ts, tm)
		if e.Success && t.untilSolved {
			break
		}
	}
	return es, ts, before, nil
}

// notesOf are the notes that the next episode of g is given.
func notesOf(g *textworld.Game, episodes [][]llm.Pair) []string {
	if n := corpus.Notes(g.Goal(), episodes); n != "" {
		return []string{n}
	}
	return nil
}

// newest returns the last n of s.
func newest(s []string, n int) []string {
	if n < 0 || len(s) <= n {
		return s
	}
	return s[len(s)-n:]
}

// unitResult is what a worker hands over for one unit of work.
type unitResult struct {
	episodes []Episode
	timings  []Timing
}

// runUnits plays the units of plan that the run's episodes.jsonl doesn't hold yet
// and appends their episodes in plan order.
func (b *Bench) runUnits(ctx context.Context, r *Run, label string, plan []string, work func(ctx context.Context, i int) (unitResult, error)) (err error) {
	log, err := r.OpenLog(FileEpisodes, EpisodeFormat)
	if err != nil {
		return err
	}
	from, err := log.Expect(plan)
	if err != nil {
		return err
	}
	times, err := r.OpenTiming()
	if err != nil {
		return err
	}
	p := NewProgress(b.Progress, b.TTY, label, from, len(plan))
	defer p.Close()
	n, won := 0, 0
	return Ordered(ctx, b.Workers, from, len(plan), func(ctx context.Context, i int) (unitResult, error) {
		return work(llm.InUnit(ctx, plan[i]), i)
	}, func(i int, u unitResult) error {
		lines := make([]any, len(u.episodes))
		for j := range u.episodes {
			u.episodes[j].Unit = plan[i]
			u.episodes[j].Final = j == len(u.episodes)-1
			lines[j] = &u.episodes[j]
			n++
			if u.episodes[j].Success {
				won++
			}
		}
		if err := log.Append(plan[i], lines...); err != nil {
			return err
		}
		if err := times.Append(u.timings...); err != nil {
			return err
		}
		p.Add(1, fmt.Sprintf("won %d of %d", won, n))
		return nil
	})
}
