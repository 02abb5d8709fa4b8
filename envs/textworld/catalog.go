package textworld

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"sort"
	"sync"

	"github.com/muse-agent/muse/internal/nearest"
)

// gamesBin is written by internal/packgames.
//
//go:embed games.bin
var gamesBin []byte

// library is the embedded set, opened at first use.
type library struct {
	set   *packed
	games []*Game // sorted by split, then id
	byID  map[string]*Game
	val   map[string]bool
}

// valGames is the number of train games set aside as val: those with the lowest
// SHA-256 of their id.
const valGames = 200

var embedded = sync.OnceValues(func() (*library, error) {
	set, err := openPacked(gamesBin)
	if err != nil {
		return nil, err
	}
	l := &library{set: set, byID: make(map[string]*Game, len(set.entries)), val: map[string]bool{}}
	type hashed struct {
		sum [sha256.Size]byte
		id  string
	}
	var train []hashed
	for i := range set.entries {
		e := &set.entries[i]
		g := &Game{ref: e.ref, load: func() *gameData {
			d, err := set.load(e)
			if err != nil { // the bytes are part of the program, and a test opens every game
				panic(err)
			}
			return d
		}}
		l.games = append(l.games, g)
		l.byID[e.ref.ID] = g
		if e.ref.Split == "train" {
			train = append(train, hashed{sha256.Sum256([]byte(e.ref.ID)), e.ref.ID})
		}
	}
	sort.Slice(l.games, func(i, j int) bool {
		a, b := l.games[i].ref, l.games[j].ref
		if a.Split != b.Split {
			return a.Split < b.Split
		}
		return a.ID < b.ID
	})
	sort.Slice(train, func(i, j int) bool { return string(train[i].sum[:]) < string(train[j].sum[:]) })
	for i := 0; i < min(valGames, len(train)); i++ {
		l.val[train[i].id] = true
	}
	return l, nil
})

// mustLibrary opens the embedded set. Damage is a fault of the build that every
// test run would show, so it panics.
func mustLibrary() *library {
	l, err := embedded()
	if err != nil {
		panic(err)
	}
	return l
}

// Catalog lists every embedded game, sorted by split, then id. Nothing is opened.
func Catalog() []Ref {
	l := mustLibrary()
	refs := make([]Ref, len(l.games))
	for i, g := range l.games {
		refs[i] = g.ref
	}
	return refs
}

// Open returns an embedded game by id.
func Open(id string) (*Game, error) {
	l, err := embedded()
	if err != nil {
		return nil, err
	}
	if g, ok := l.byID[id]; ok {
		return g, nil
	}
	return nil, fmt.Errorf("textworld: no game %q among the %d embedded ones%s", clip(id), len(l.games), suggest(id, l.ids()))
}

func (l *library) ids() []string {
	ids := make([]string, len(l.games))
	for i, g := range l.games {
		ids[i] = g.ref.ID
	}
	return ids
}

// suggest names the known word that is nearest to what was written, as the tail of
// an error message; "" when nothing is near.
func suggest(word string, known []string) string {
	best, bestD := "", max(3, len(word)/3)+1
	if len(word) > 300 { // no name is that long: don't measure it against thousands
		known = nil
	}
	for _, k := range known {
		if d := nearest.Distance(word, k, bestD); d < bestD {
			best, bestD = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
