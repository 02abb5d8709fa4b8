package viewer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Turn is what a game tells the window after each move of the person: one JSON line.
type Turn struct {
	// Episode is the record so far (muse/episode@1). Its last step is the coming one: it
	// has no action yet, and its candidates are what an agent would do, with their scores.
	// Absent: as before.
	Episode json.RawMessage `json:"episode,omitempty"`
	// Suggest are commands that have an effect now. Keys, where there are any, are moves
	// that one key makes; nothing is typed then.
	Suggest []string  `json:"suggest,omitempty"`
	Keys    []PlayKey `json:"keys,omitempty"`
	Busy    string    `json:"busy,omitempty"` // what the person waits for
	Note    string    `json:"note,omitempty"`
	Over    bool      `json:"over,omitempty"` // no more moves: the last step has happened
}

// PlayKey is a move by one key.
type PlayKey struct {
	Key  string `json:"key"`            // as [App.Key] takes it
	Also string `json:"also,omitempty"` // another key for the same
	What string `json:"what"`           // in a word or two
}

// Move is what the window answers: one JSON line.
type Move struct {
	Command string `json:"command"` // a typed line, or a key
}

// Limits of what a game may send.
const (
	maxSuggest = 200
	maxKeys    = 24
)

// Game is a game that a person plays in the viewer: a [Source] of one episode that grows
// with each [Turn] that is read, and a sink of [Move] lines.
type Game struct {
	out io.Writer

	mu      sync.Mutex
	turn    Turn
	episode *Episode
	fresh   bool // something was read since fetch
	turns   int  // read so far
	err     error
}

// NewGame reads turns from in until it ends, in a goroutine of its own, and writes moves
// to out.
func NewGame(in io.Reader, out io.Writer) *Game {
	g := &Game{out: out, turn: Turn{Busy: "the game begins …"}, fresh: true}
	go g.read(in)
	return g
}

func (g *Game) read(in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), MaxEpisode)
	for lines.Scan() {
		var t Turn
		err := json.Unmarshal(lines.Bytes(), &t)
		var e *Episode
		if err == nil && len(t.Episode) > 0 {
			e, err = Decode(t.Episode)
		}
		if err != nil {
			g.end(fmt.Errorf("viewer: the game sent what is no turn: %w", err))
			return
		}
		t.Episode = nil
		t.Suggest = t.Suggest[:min(len(t.Suggest), maxSuggest)]
		t.Keys = t.Keys[:min(len(t.Keys), maxKeys)]
		g.mu.Lock()
		if e != nil {
			g.episode = e
		}
		g.turn, g.fresh = t, true
		g.turns++
		g.mu.Unlock()
	}
	err := lines.Err()
	if err == nil {
		err = errors.New("viewer: the game has ended")
	}
	g.end(err)
}

func (g *Game) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.turn.Over {
		g.err = err
	}
	g.turn.Busy, g.turn.Suggest, g.turn.Keys, g.fresh = "", nil, nil, true
	g.turn.Over = true
}

// fetch is the present turn; fresh says that it is new since the last call.
func (g *Game) fetch() (t Turn, e *Episode, fresh bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fresh, g.fresh = g.fresh, false
	return g.turn, g.episode, fresh, g.err
}

// send writes a move; until the next turn comes the game is busy.
func (g *Game) send(command string) error {
	b, err := json.Marshal(Move{command})
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	g.mu.Lock()
	g.turn.Busy = "…"
	g.mu.Unlock()
	if _, err := g.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("viewer: the game doesn't listen: %w", err)
	}
	return nil
}

// Title implements Source.
func (g *Game) Title() string { return "you play" }

// Entries implements Source: one episode.
func (g *Game) Entries() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.episode == nil {
		return nil
	}
	e := g.episode
	return []Entry{{ID: e.ID, Goal: e.Goal, Task: e.Task, TaskType: e.TaskType, Steps: len(e.Steps), Success: e.Success}}
}

// Reliability implements Source.
func (g *Game) Reliability() []Reliability { return nil }

// Episode implements Source.
func (g *Game) Episode(int) (*Episode, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.episode == nil {
		return nil, errors.New("viewer: the game has not begun")
	}
	return g.episode, nil
}

// Refresh implements Source; [App.Tick] asks the game itself.
func (g *Game) Refresh() (bool, error) { return false, nil }

// Notice implements Source.
func (g *Game) Notice() string { return "" }
