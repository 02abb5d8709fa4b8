package textworld

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// LoadFile reads games from a file; its name tells the format:
//
//   - .jsonl or .jsonl.gz: one game a line with the fields split, game_id, task,
//     walkthrough and pddl_problem
//   - .tw-pddl: ALFWorld's game file, either release
//   - .pddl: a bare problem; the goal sentence is then made from the goal
//
// Errors name the file, the line where the fault is, and the reason.
func LoadFile(path string) ([]*Game, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("textworld: open game file: %w", err)
	}
	defer f.Close()
	switch base := filepath.Base(path); {
	case strings.HasSuffix(base, ".jsonl.gz"), strings.HasSuffix(base, ".jsonl"):
		src, err := gunzip(f, path) // by the first bytes: files get renamed
		if err != nil {
			return nil, err
		}
		return readLines(src, path)
	case strings.HasSuffix(base, ".tw-pddl"), strings.HasSuffix(base, ".pddl"):
		src, err := io.ReadAll(io.LimitReader(f, maxPDDL+1))
		if err != nil {
			return nil, fmt.Errorf("textworld: read %s: %w", path, err)
		}
		if strings.HasSuffix(base, ".tw-pddl") {
			g, err := parseTWPDDL(src, path)
			if err != nil {
				return nil, err
			}
			return []*Game{g}, nil
		}
		g, err := ParseProblem(string(src), path)
		if err != nil {
			return nil, err
		}
		return []*Game{g}, nil
	}
	return nil, fmt.Errorf("textworld: %s: unknown kind of game file; expected .jsonl, .jsonl.gz, .tw-pddl or .pddl", path)
}

// gameLine is a line of the all-*.jsonl format.
type gameLine struct {
	Split       string   `json:"split"`
	GameID      string   `json:"game_id"`
	Task        string   `json:"task"`
	Walkthrough []string `json:"walkthrough"`
	Problem     string   `json:"pddl_problem"`
}

func readLines(r io.Reader, path string) ([]*Game, error) {
	var games []*Game
	lines := map[string]int{}
	err := eachLine(r, path, func(n int, line []byte) error {
		g, err := parseLine(line)
		if err == nil && lines[g.ID()] > 0 { // rows of results are told apart by it
			err = fmt.Errorf("game %s stands on line %d already", clip(g.ID()), lines[g.ID()])
		}
		if err != nil {
			return fmt.Errorf("textworld: %s:%d: %w", path, n, err)
		}
		lines[g.ID()] = n
		games = append(games, g)
		return nil
	})
	if err == nil && len(games) == 0 {
		err = fmt.Errorf("textworld: %s holds no game", path)
	}
	return games, err
}

func parseLine(line []byte) (*Game, error) {
	var l gameLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf("not a JSON game: %w", err)
	}
	if l.GameID == "" || l.Problem == "" {
		return nil, errors.New("the fields game_id and pddl_problem are needed")
	}
	if strings.ContainsFunc(l.GameID, unicode.IsControl) {
		return nil, fmt.Errorf("the game_id %q holds control characters", clip(l.GameID))
	}
	goal, ok := strings.CutPrefix(l.Task, taskPrefix)
	if !ok {
		return nil, fmt.Errorf("game %s: the field task must start with %q", l.GameID, taskPrefix)
	}
	p, err := parseProblem(l.Problem)
	if err != nil {
		return nil, fmt.Errorf("game %s: pddl_problem %w", l.GameID, err)
	}
	d, err := p.data()
	if err != nil {
		return nil, fmt.Errorf("game %s: pddl_problem %w", l.GameID, err)
	}
	d.id, d.split, d.goalText, d.walkthrough = l.GameID, l.Split, goal, l.Walkthrough
	return newGame(d), nil
}

const taskPrefix = "Your task is to: "

// eachLine calls f for every non-empty line, counted from 1.
func eachLine(r io.Reader, path string, f func(n int, line []byte) error) error {
	b := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := b.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) { // the line is not whole: what is wrong with it is no news
			return fmt.Errorf("textworld: %s:%d: read: %w (is the file cut off?)", path, n, err)
		}
		if len(line) > 4*maxPDDL {
			return fmt.Errorf("textworld: %s:%d: the line has %d bytes, too many for a game", path, n, len(line))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(n, line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

var taskLine = regexp.MustCompile(`"rhs"\s*:\s*"(Your task is to: (?:[^"\\]|\\.)*)"`)

// parseTWPDDL reads the JSON of a game.tw-pddl.
func parseTWPDDL(src []byte, path string) (*Game, error) {
	var f struct {
		Problem     string   `json:"pddl_problem"`
		Grammar     string   `json:"grammar"`
		Walkthrough []string `json:"walkthrough"`
		Solvable    *bool    `json:"solvable"`
	}
	if err := json.Unmarshal(src, &f); err != nil {
		line := 1
		var se *json.SyntaxError
		if errors.As(err, &se) {
			line += bytes.Count(src[:min(int(se.Offset), len(src))], []byte("\n"))
		}
		return nil, fmt.Errorf("textworld: %s:%d: not the JSON of a game.tw-pddl: %w", path, line, err)
	}
	if f.Problem == "" || f.Grammar == "" {
		return nil, fmt.Errorf("textworld: %s:1: the fields pddl_problem and grammar are needed", path)
	}
	m := taskLine.FindStringSubmatch(f.Grammar)
	if m == nil {
		return nil, fmt.Errorf("textworld: %s:1: the grammar has no line %q, so the goal sentence is unknown", path, taskPrefix+"…")
	}
	task := m[1]
	if err := json.Unmarshal([]byte(`"`+m[1]+`"`), &task); err != nil {
		return nil, fmt.Errorf("textworld: %s:1: goal sentence in the grammar: %w", path, err)
	}
	p, err := parseProblem(f.Problem)
	if err != nil {
		return nil, fmt.Errorf("textworld: %s: pddl_problem %w", path, err)
	}
	d, err := p.data()
	if err != nil {
		return nil, fmt.Errorf("textworld: %s: pddl_problem %w", path, err)
	}
	d.goalText, d.walkthrough = strings.TrimPrefix(task, taskPrefix), f.Walkthrough
	d.nameFromPath(p, path)
	g := newGame(d)
	g.dialect = DialectMove
	if strings.Contains(f.Grammar, "in/on") && !strings.Contains(f.Grammar, "move {o} to {r}") {
		g.dialect = DialectPut
	}
	return g, nil
}

// ParseProblem reads a bare PDDL problem; path names it in errors and gives the
// game's id when it ends in TASK/TRIAL/FILE.
func ParseProblem(src, path string) (*Game, error) {
	p, err := parseProblem(src)
	if err == nil {
		var d *gameData
		if d, err = p.data(); err == nil {
			d.goalText = d.goal.sentence()
			d.nameFromPath(p, path)
			return newGame(d), nil
		}
	}
	var se *syntaxError
	if errors.As(err, &se) {
		return nil, fmt.Errorf("textworld: %s:%d: %s", path, se.line, se.msg)
	}
	return nil, fmt.Errorf("textworld: %s: %w", path, err)
}

// nameFromPath takes id and split from the folders SPLIT/TASK/TRIAL that ALFWorld
// uses, else the id from the problem's own name.
func (d *gameData) nameFromPath(p *problem, path string) {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	d.id = strings.TrimPrefix(p.name, "plan_")
	if n := len(parts); n >= 3 && strings.HasPrefix(parts[n-2], "trial_") {
		d.id = parts[n-3] + "/" + parts[n-2]
		if n >= 4 && slices.Contains(splitNames, parts[n-4]) {
			d.split = parts[n-4]
		}
	}
}

// splitNames are the splits that games may belong to.
var splitNames = []string{"train", "valid_seen", "valid_unseen"}
