package textworld

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Selection chooses games. Its conditions are combined with "and"; an empty one
// does not restrict. The zero Selection means every embedded game.
type Selection struct {
	Splits []string // train, actor, val, valid_seen (seen), valid_unseen (unseen), all
	Types  []string // task types, in full or short: pick, look, clean, heat, cool, two
	IDs    []string // game ids, in full, or the TASK part alone when it names one game
	// GamesFile replaces the embedded set by a file (see LoadFile).
	GamesFile string
	// ListFile names a text file with one id a line; # starts a comment.
	ListFile string
	Limit    int // at most so many games, 0 = all
}

// SetHash identifies the set that a selection draws from: the embedded games, or those
// of a games file by their ids and content, in any order. Ids alone don't: published
// sets give other rooms under the same ones.
func SetHash(gamesFile string) (string, error) {
	h := sha256.New()
	if gamesFile == "" {
		h.Write(gamesBin)
		return hex.EncodeToString(h.Sum(nil))[:16], nil
	}
	games, err := LoadFile(gamesFile)
	if err != nil {
		return "", err
	}
	lines := make([]string, len(games))
	for i, g := range games {
		lines[i] = g.ID() + "\x00" + g.Hash() + "\n"
	}
	slices.Sort(lines)
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// splitAliases maps every accepted split name to the set it stands for.
var splitAliases = map[string]string{
	"train": "train", "actor": "actor", "val": "val", "seen": "valid_seen", "valid_seen": "valid_seen",
	"unseen": "valid_unseen", "valid_unseen": "valid_unseen", "all": "all",
	"generated": "generated", "generated_easy": "generated_easy", "generated_hard": "generated_hard",
}

var typeAliases = func() map[string]string {
	m := map[string]string{
		"pick": taskTypes[goalPick], "look": taskTypes[goalLook], "clean": taskTypes[goalClean],
		"heat": taskTypes[goalHeat], "cool": taskTypes[goalCool], "two": taskTypes[goalTwo], "pick_two": taskTypes[goalTwo],
		// names that published logs use
		"pick_and_place": taskTypes[goalPick], "pick_clean_then_place": taskTypes[goalClean],
		"pick_heat_then_place": taskTypes[goalHeat], "pick_cool_then_place": taskTypes[goalCool],
	}
	for _, t := range taskTypes {
		m[t] = t
	}
	return m
}()

// Select returns the chosen games: in the order of IDs, then of the list file,
// when either is given, else in catalog order (file order for a games file). val
// is 200 fixed train games, those with the lowest SHA-256 of their id; actor is
// the rest of train. An unknown split, type or id is an error that names the
// nearest known one.
func Select(s Selection) ([]*Game, error) {
	lib, err := embedded()
	if err != nil {
		return nil, err
	}
	games := lib.games
	if s.GamesFile != "" {
		if games, err = LoadFile(s.GamesFile); err != nil {
			return nil, err
		}
	}
	keep, err := s.filter(lib)
	if err != nil {
		return nil, err
	}
	ids := slices.Clone(s.IDs)
	if s.ListFile != "" {
		more, err := readList(s.ListFile)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	if len(ids) > 0 || s.ListFile != "" {
		if games, err = pickIDs(games, ids); err != nil {
			return nil, err
		}
	}
	var out []*Game
	for _, g := range games {
		if s.Limit > 0 && len(out) == s.Limit {
			break
		}
		if keep(g) {
			out = append(out, g)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("textworld: the selection (splits %v, types %v, %d ids) matches none of %d games", s.Splits, s.Types, len(ids), len(games))
	}
	return out, nil
}

// filter compiles Splits and Types.
func (s Selection) filter(lib *library) (func(*Game) bool, error) {
	splits, types := map[string]bool{}, map[string]bool{}
	for _, n := range s.Splits {
		a, ok := splitAliases[n]
		if !ok {
			return nil, fmt.Errorf("textworld: unknown split %q; known are train, actor, val, valid_seen (seen), valid_unseen (unseen), all%s", n, suggest(n, sortedKeys(splitAliases)))
		}
		splits[a] = true
	}
	for _, n := range s.Types {
		a, ok := typeAliases[n]
		if !ok {
			return nil, fmt.Errorf("textworld: unknown task type %q; known are %s%s", n, strings.Join(taskTypes[:], ", "), suggest(n, sortedKeys(typeAliases)))
		}
		types[a] = true
	}
	return func(g *Game) bool {
		if len(types) > 0 && !types[g.ref.TaskType] {
			return false
		}
		if len(splits) == 0 || splits["all"] || splits[g.ref.Split] {
			return true
		}
		return g.ref.Split == "train" && (splits["val"] && lib.val[g.ref.ID] || splits["actor"] && !lib.val[g.ref.ID])
	}, nil
}

// pickIDs finds games by id, or by the TASK part where that names one game only.
func pickIDs(games []*Game, ids []string) ([]*Game, error) {
	byID := make(map[string]*Game, len(games))
	byTask := map[string][]*Game{}
	known := make([]string, len(games))
	for i, g := range games {
		known[i] = g.ref.ID
		byID[g.ref.ID] = g
		t, _, _ := strings.Cut(g.ref.ID, "/")
		byTask[t] = append(byTask[t], g)
	}
	var out []*Game
	chosen := map[*Game]bool{} // a selection is a set: an id given twice is one game
	for _, id := range ids {
		g, ok := byID[id]
		if !ok {
			switch c := byTask[id]; len(c) {
			case 0:
				return nil, fmt.Errorf("textworld: no game %q among %d games%s", clip(id), len(games), suggest(id, known))
			case 1:
				g = c[0]
			default:
				return nil, fmt.Errorf("textworld: %d games begin with %q; give the full id, such as %q", len(c), clip(id), c[0].ref.ID)
			}
		}
		if !chosen[g] {
			chosen[g] = true
			out = append(out, g)
		}
	}
	return out, nil
}

func readList(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("textworld: open list of games: %w", err)
	}
	defer f.Close()
	ids := []string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			ids = append(ids, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("textworld: read list of games %s: %w", path, err)
	}
	return ids, nil
}
