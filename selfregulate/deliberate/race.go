package deliberate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/muse-agent/muse/internal/llm"
)

// message is what streams and scorings tell the coordinator.
type message struct {
	path    int // index of the stream
	piece   string
	restart bool
	done    bool
	result  Path
	usage   llm.Usage
	err     error
	scored  bool
	final   bool // the score is of the whole path
	chars   int
	score   float64
}

// stream hands pieces to the coordinator until the race is over.
type stream struct {
	ctx  context.Context
	path int
	to   chan<- message
}

var errRaceOver = errors.New("another stream won the race")

func (s *stream) send(m message) error {
	m.path = s.path
	select {
	case s.to <- m:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

func (s *stream) emit(piece string) error { return s.send(message{piece: piece}) }
func (s *stream) restart()                { _ = s.send(message{restart: true}) }

// lane is a stream as the coordinator sees it.
type lane struct {
	id       int // of the path
	text     string
	judgedAt int // characters at the last question
	asking   bool
	done     bool
	final    bool // the last word about the finished path is known
	cancel   context.CancelCauseFunc
}

// race streams all paths at once. Beginnings are judged again and again; the first
// that convinces wins, and the others are cancelled in the middle. Two streams that
// end with the same answer end the race as well. If none convinces, the best of the
// finished paths is taken.
func (r *run) race(ctx context.Context) error {
	all, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	wishes := make([]wish, r.cfg.Paths)
	for i := range wishes {
		wishes[i] = wish{origin: OriginStream, parent: -1}
		if r.cfg.DiversityHints {
			wishes[i].hint = hints[i%len(hints)]
		}
	}
	ids := r.begin(wishes)
	inbox := make(chan message)
	lanes := make([]*lane, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		own, cancel := context.WithCancelCause(all)
		lanes[i] = &lane{id: id, cancel: cancel}
		wg.Go(func() {
			defer cancel(nil)
			s := &stream{own, i, inbox}
			p, u, err := r.one(own, id, wishes[i], s)
			m := message{path: i, done: true, result: p, usage: u, err: err}
			inbox <- m // always taken: the coordinator counts the ends
		})
	}
	c := &course{run: r, ctx: all, lanes: lanes, inbox: inbox, wg: &wg, winner: -1}
	err := c.follow()
	stop(errRaceOver)
	c.drain()
	wg.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("deliberate: race: %w", context.Cause(ctx))
	case err != nil:
		return err
	case c.winner >= 0:
		c.crown()
		return nil
	}
	for i := range r.res.Paths {
		r.res.Paths[i].Combined = r.res.Paths[i].Score
	}
	fin := r.finished()
	if len(fin) == 0 && c.lost != nil {
		return fmt.Errorf("%w: %d of %d streams are lost, the last: %w", ErrNoPath, c.losses, len(lanes), c.lost)
	}
	return r.chooseBest(fin)
}

// course is the state of a race; only the coordinator's goroutine touches it.
type course struct {
	*run
	ctx    context.Context
	lanes  []*lane
	inbox  chan message
	wg     *sync.WaitGroup
	ended  int // streams
	open   int // questions to the judge
	winner int // path id
	why    string
	lost   error
	losses int
}

// follow handles messages until the race is decided or everything has ended.
func (c *course) follow() error {
	for c.ended < len(c.lanes) || c.open > 0 {
		if err := c.handle(<-c.inbox); err != nil {
			return err
		}
		if c.winner >= 0 {
			// The winner may still be writing; only its own stream matters now.
			for _, l := range c.lanes {
				if l.id != c.winner && !l.done {
					l.cancel(errRaceOver)
				}
			}
			for w := c.lane(c.winner); !w.done; {
				if err := c.handle(<-c.inbox); err != nil {
					return err
				}
			}
			if p := c.res.Paths[c.winner]; p.Lost != "" || !p.Finished {
				// It never came to its end, and the others were sent away: what has
				// finished before decides.
				c.note(EventLost, c.winner, "the winner of the race did not finish")
				c.winner = -1
			}
			return nil
		}
	}
	return nil
}

func (c *course) lane(id int) *lane {
	for _, l := range c.lanes {
		if l.id == id {
			return l
		}
	}
	return nil
}

// drain takes the ends of what is still under way.
func (c *course) drain() {
	for c.ended < len(c.lanes) || c.open > 0 {
		switch m := <-c.inbox; {
		case m.done:
			c.end(m)
		case m.scored:
			c.open--
		}
	}
}

// end notes that a stream has ended.
func (c *course) end(m message) {
	c.ended++
	l := c.lanes[m.path]
	l.done = true
	c.res.Thinker = c.res.Thinker.Add(m.usage)
	p := m.result
	p.Partial, p.Score = c.res.Paths[l.id].Partial, c.res.Paths[l.id].Score
	if m.err != nil && errors.Is(m.err, errRaceOver) {
		p.Lost, p.Cancelled = "", true
		c.mu.Lock()
		c.res.Paths[l.id] = p
		c.mu.Unlock()
		c.note(EventCancelled, l.id, "after %d characters", len(p.Text))
		return
	}
	if m.err != nil {
		c.lost = m.err
		c.losses++
	}
	c.settle(p, m.err)
}

func (c *course) handle(m message) error {
	l := c.lanes[m.path]
	switch {
	case m.restart:
		l.text, l.judgedAt = "", 0
	case m.scored:
		c.open--
		l.asking = false
		if m.err != nil {
			if c.winner >= 0 {
				return nil // nobody needs this score any more
			}
			return m.err
		}
		c.take(l, m)
		if c.winner < 0 {
			c.question(l)
		}
	case m.done:
		c.end(m)
		p := c.res.Paths[l.id]
		if m.err != nil || !p.Finished || c.winner >= 0 {
			return nil
		}
		l.text = p.Text
		for _, o := range c.lanes {
			if q := c.res.Paths[o.id]; o != l && o.done && q.Finished && q.Lost == "" && Same(q.Answer, p.Answer) {
				c.win(o.id, "two streams ended with the same answer")
				return nil
			}
		}
		c.question(l)
	default:
		l.text += m.piece
		c.event(Event{Kind: EventPiece, Path: l.id, Piece: m.piece})
		c.question(l)
	}
	return nil
}

// question asks the judge about a stream when enough is new, or when it has ended;
// one question at a time for each stream, while it goes on.
func (c *course) question(l *lane) {
	p := c.res.Paths[l.id]
	fin := l.done && p.Finished && !l.final
	if l.asking || c.winner >= 0 || p.Lost != "" || !fin && (l.done || len(l.text)-l.judgedAt < c.cfg.RaceScoreChars) {
		return
	}
	l.asking, l.judgedAt = true, len(l.text)
	cand := Candidate{Kind: KindPartial, Text: l.text}
	if fin {
		cand = Candidate{KindPath, p.Text, p.Answer}
		l.final = true
	}
	i := 0
	for c.lanes[i] != l {
		i++
	}
	c.open++
	chars := len(l.text)
	c.wg.Go(func() {
		m := message{path: i, scored: true, final: fin, chars: chars}
		s, err := c.score(c.ctx, []Candidate{cand})
		m.score = math.NaN()
		if err == nil {
			m.score = s[0]
		}
		m.err = err
		c.inbox <- m
	})
}

// take notes a score; one that is high enough wins.
func (c *course) take(l *lane, m message) {
	if m.score != m.score {
		return
	}
	c.mu.Lock()
	p := &c.res.Paths[l.id]
	if m.final {
		p.Score = &m.score
	} else {
		p.Partial = append(p.Partial, Point{m.chars, m.score})
	}
	c.mu.Unlock()
	if m.score >= c.cfg.RaceConfidence && c.winner < 0 {
		c.win(l.id, fmt.Sprintf("score %.3f ≥ %.3g after %d characters", m.score, c.cfg.RaceConfidence, m.chars))
	}
	c.event(Event{Kind: EventScore, Path: l.id, Score: &m.score, Note: fmt.Sprintf("%d characters", m.chars)})
}

func (c *course) win(id int, why string) {
	if c.winner < 0 {
		c.winner, c.why = id, why
	}
}

// crown ends the race with its winner.
func (c *course) crown() {
	p := &c.res.Paths[c.winner]
	if p.Score == nil && len(p.Partial) > 0 {
		s := p.Partial[len(p.Partial)-1].Score
		p.Score = &s
	}
	c.choose(c.winner, "race: %s", c.why)
}
