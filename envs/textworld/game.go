package textworld

import (
	"slices"
	"strings"
	"sync"
)

// Game is one game, compiled at first use. It is immutable and safe for
// concurrent use; slices and maps that its methods return are the caller's.
type Game struct {
	ref  Ref
	once sync.Once
	load func() *gameData // nil when c is set from the start
	c    *core
	// dialect is the wording of the file that the game came from, "" when it has none.
	dialect Dialect
}

// Ref names an embedded game without opening it.
type Ref struct {
	ID       string // "TASK/TRIAL", as game_id in published logs
	Split    string // train, valid_seen, valid_unseen
	TaskType string // ALFWorld's name, such as pick_heat_then_place_in_recep
	Goal     string // the goal sentence without "Your task is to: "
}

func newGame(d *gameData) *Game {
	return &Game{
		ref: Ref{ID: d.id, Split: d.split, TaskType: taskTypes[d.goal.kind], Goal: d.goalText},
		c:   compile(d),
	}
}

func (g *Game) core() *core {
	g.once.Do(func() {
		if g.c == nil {
			g.c = compile(g.load())
		}
	})
	return g.c
}

// ID is the stable game id, "TASK/TRIAL".
func (g *Game) ID() string { return g.ref.ID }

// Split is train, valid_seen or valid_unseen, "" when a file does not say.
func (g *Game) Split() string { return g.ref.Split }

// TaskType is one of ALFWorld's six names.
func (g *Game) TaskType() string { return g.ref.TaskType }

// Goal is the goal sentence without "Your task is to: ".
func (g *Game) Goal() string { return g.ref.Goal }

// Dialect is the wording of the file that the game came from: DialectMove unless
// it was a game.tw-pddl of the first release.
func (g *Game) Dialect() Dialect {
	if g.dialect == "" {
		return DialectMove
	}
	return g.dialect
}

// Ref returns id, split, type and goal together.
func (g *Game) Ref() Ref { return g.ref }

// Walkthrough is the stored plan in the words of DialectMove, nil for games of
// the first release. Privileged.
func (g *Game) Walkthrough() []string { return slices.Clone(g.core().data.walkthrough) }

// WalkthroughIn is Walkthrough in the words of a dialect.
func (g *Game) WalkthroughIn(d Dialect) []string {
	w := g.Walkthrough()
	if d == DialectPut {
		for i := range w {
			w[i] = putForm(w[i])
		}
	}
	return w
}

// Hash is the SHA-256 of the game's content in hex: id, goal, names, places and
// properties, not split or walkthrough. Equal hashes give equal transcripts.
func (g *Game) Hash() string { return g.core().data.hash() }

// Contents lists for each receptacle the objects that start in it, in printing
// order. Privileged: doors hide nothing here.
func (g *Game) Contents() map[string][]string {
	c := g.core()
	m := make(map[string][]string, len(c.recs))
	for i := range c.recs {
		m[c.recs[i].name] = []string{}
	}
	for i := range c.data.objs {
		for _, r := range c.data.objs[i].in {
			n := c.recs[r].name
			m[n] = append(m[n], c.objs[i].name)
		}
	}
	return m
}

// putForm rewrites "move X to R" to "put X in/on R"; other commands stay.
func putForm(cmd string) string {
	if rest, ok := strings.CutPrefix(cmd, "move "); ok {
		if x, r, ok := strings.Cut(rest, " to "); ok {
			return "put " + x + " in/on " + r
		}
	}
	return cmd
}
