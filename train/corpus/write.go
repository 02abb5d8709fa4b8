package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/rng"
)

// Options choose a corpus.
type Options struct {
	Seed     uint64
	Episodes int    // how many to write, ≥ 1
	Mixture  string // name of a mixture: weak, base, strong, lost
	Split    string // games to play, default "actor": the training games that belong to the actor
	// Custom replaces the named mixture when not nil.
	Custom *Mixture
}

// maxTokens is the estimated length beyond which an episode is played again with
// another game: the model's context ends somewhere.
const maxTokens = 1400

// minWatched is the shortest watched trial: a shorter one has shown nothing.
const minWatched = 6

// keepShown is the share kept of lost trials that displayed the thing sought. Who
// takes what it wants anywhere wins where the thing is: of its lost trials a quarter
// have displayed it, of the scripted players' two thirds.
const keepShown = .17

// stuck reports whether a trial is one to be watched.
func (t trial) stuck(goal string, r *rand.Rand) bool {
	if t.won {
		return false
	}
	with, _, err := Shown(goal, t.pairs)
	return err != nil || len(with) == 0 || r.Float64() < keepShown
}

// chunk is how many episodes a worker writes at a time.
const chunk = 32

// Write streams a corpus to w, one JSON object ([Episode]) a line. Episode i
// depends on the seed, the mixture's name and i only: equal options give equal
// bytes for any GOMAXPROCS, and a longer corpus begins with the shorter one.
// On cancellation it returns ctx's error; w then holds whole lines.
func Write(ctx context.Context, w io.Writer, o Options) (Stats, error) {
	m, games, err := o.resolve()
	if err != nil {
		return Stats{}, err
	}
	prior, err := actorPrior()
	if err != nil {
		return Stats{}, err
	}
	type result struct {
		text  []byte
		stats Stats
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan chan result, 2*workers) // results are awaited in the order of the chunks
	jobs := make(chan func(), 2*workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for j := range jobs {
				j()
			}
		})
	}
	go func() {
		defer close(todo)
		defer close(jobs)
		for from := 0; from < o.Episodes; from += chunk {
			out := make(chan result, 1)
			job := func() {
				var b bytes.Buffer
				st := newStats(m)
				var err error
				for i := from; i < min(from+chunk, o.Episodes) && err == nil && ctx.Err() == nil; i++ {
					err = writeEpisode(&b, &st, m, games, prior, rng.New(o.Seed, "corpus", m.Name, i))
				}
				out <- result{b.Bytes(), st, errors.Join(err, ctx.Err())}
			}
			select {
			case todo <- out:
				jobs <- job
			case <-ctx.Done():
				return
			}
		}
	}()
	total := newStats(m)
	for out := range todo {
		r := <-out
		if r.err == nil {
			_, r.err = w.Write(r.text)
		}
		if r.err != nil && err == nil {
			err = fmt.Errorf("corpus: writing mixture %s: %w", m.Name, r.err)
			cancel()
		}
		if err == nil {
			total.add(r.stats)
		}
	}
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return total, err
}

func (o Options) resolve() (Mixture, []*textworld.Game, error) {
	if o.Episodes < 1 {
		return Mixture{}, nil, fmt.Errorf("%w: %d episodes asked for, at least 1 is needed", ErrUsage, o.Episodes)
	}
	var m Mixture
	var err error
	if o.Custom != nil {
		m = *o.Custom
	} else if m, err = Lookup(o.Mixture); err != nil {
		return m, nil, err
	}
	if err := m.Validate(); err != nil {
		return m, nil, err
	}
	if o.Split == "" {
		o.Split = "actor"
	}
	games, err := textworld.Select(textworld.Selection{Splits: []string{o.Split}})
	if err == nil && len(games) == 0 {
		err = fmt.Errorf("corpus: split %q has no games", o.Split)
	}
	return m, games, err
}

// actorPrior counts the actor's training games, once a process.
var actorPrior = sync.OnceValues(func() (*Prior, error) {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"actor"}})
	if err != nil {
		return nil, fmt.Errorf("corpus: counting the training games: %w", err)
	}
	rooms := make([]Room, len(games))
	for i, g := range games {
		rooms[i] = g.Contents()
	}
	return NewPrior(rooms), nil
})

func writeEpisode(w io.Writer, st *Stats, m Mixture, games []*textworld.Game, prior *Prior, r *rand.Rand) error {
	e, level, t, err := makeEpisode(m, games[r.IntN(len(games))], prior, r)
	// Another game, not another trial: some games are never lost without showing the thing.
	for tries := 0; err == nil && (tries < 8 && estimateTokens(e.Text()) > maxTokens || m.Watched && !t.stuck(e.Segments[0].T, r)); tries++ {
		e, level, t, err = makeEpisode(m, games[r.IntN(len(games))], prior, r)
	}
	if err != nil {
		return err
	}
	st.count(e, level, t)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}

// makeEpisode plays one game and writes it down.
func makeEpisode(m Mixture, g *textworld.Game, prior *Prior, r *rand.Rand) (Episode, int, trial, error) {
	intro := textworld.NewWorld(g, textworld.DialectMove).Intro()
	level := drawLevel(m.Levels, r)
	var given []string
	if r.Float64() < m.Reflected {
		var err error
		if given, err = reflections(m, g, prior, r); err != nil {
			return Episode{}, 0, trial{}, err
		}
	}
	limit := Limit
	if m.Watched {
		// Short ones more often: what comes before the reflection costs time to read and teaches nothing.
		u := r.Float64()
		limit = minWatched + int(u*u*u*float64(Limit-minWatched+1))
	}
	t, err := playOnce(m, g, prior, given, m.Levels[level], limit, r)
	if err != nil {
		return Episode{}, 0, trial{}, err
	}
	segs, err := t.segments(intro, given)
	if err != nil {
		return Episode{}, 0, trial{}, fmt.Errorf("corpus: game %s: %w", g.ID(), err)
	}
	if m.Watched && !t.won {
		segs = watched(segs)
	}
	if r.Float64() < m.Renumber {
		places := map[string]bool{}
		for _, n := range listAfter(segs[1].T, "you see ") {
			places[typeOf(n)] = true
		}
		renumber(segs, places, r)
	}
	return Episode{g.ID(), t.won, m.Name, segs, m.Watched}, level, t, nil
}

func playOnce(m Mixture, g *textworld.Game, prior *Prior, given []string, l Level, limit int, r *rand.Rand) (trial, error) {
	w := textworld.NewWorld(g, textworld.DialectMove)
	p, err := newPlayer(prior, w.Intro(), given, m.Noise, r)
	if err != nil {
		return trial{}, fmt.Errorf("corpus: game %s: %w", g.ID(), err)
	}
	return play(p, w, l, m.Modes, limit), nil
}

func drawLevel(levels []Level, r *rand.Rand) int {
	sum := 0.0
	for _, l := range levels {
		sum += l.Share
	}
	u := r.Float64() * sum
	for i, l := range levels {
		if u -= l.Share; u < 0 {
			return i
		}
	}
	return len(levels) - 1
}

// words counts the words of a text.
func words(s string) int { return len(strings.Fields(s)) }
