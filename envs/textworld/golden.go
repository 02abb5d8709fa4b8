package textworld

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Diff is one difference between a transcript and the replay.
type Diff struct {
	File  string `json:"file"`
	Line  int    `json:"line"` // of the file, from 1
	Game  string `json:"game"`
	Kind  string `json:"kind"`  // of the script
	Step  int    `json:"step"`  // from 1; 0 is the reset
	Field string `json:"field"` // text, admissible, won, done, score
	Cmd   string `json:"command"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// String shows the difference on one line.
func (d Diff) String() string {
	return fmt.Sprintf("%s:%d: %s, script %s, step %d (%q): %s: want %q, got %q", d.File, d.Line, d.Game, d.Kind, d.Step, d.Cmd, d.Field, d.Want, d.Got)
}

// GoldenStats counts what CheckGolden compared.
type GoldenStats struct {
	Games    int `json:"games"` // lines
	Episodes int `json:"episodes"`
	Steps    int `json:"steps"`
	Equal    int `json:"equal"` // steps with no difference
	Diffs    int `json:"diffs"` // differing fields, those of resets included
}

// goldenLine is a line of the transcript format (docs/envs/textworld.md).
type goldenLine struct {
	GameID  string         `json:"game_id"`
	Split   string         `json:"split"`
	Type    string         `json:"task_type"`
	Task    string         `json:"task"`
	Data    string         `json:"data"`
	Scripts []goldenScript `json:"scripts"`
}

type goldenScript struct {
	Kind  string              `json:"kind"`
	Init  string              `json:"init"`
	Won0  json.RawMessage     `json:"won0"`
	Adm0  json.RawMessage     `json:"adm0"`
	Steps [][]json.RawMessage `json:"steps"`
}

// CheckGolden replays transcripts of the original engine (gzip or plain, one game
// a line) and reports every difference: text, admissible commands, won, done and
// score of each step, what the engine repeats after the end included. name stands
// for the file in messages. report may be nil. The error is about reading only; a
// replay that differs is told by Diffs. Games are found among the embedded ones.
func CheckGolden(r io.Reader, name string, report func(Diff)) (GoldenStats, error) {
	var st GoldenStats
	if report == nil {
		report = func(Diff) {}
	}
	src, err := gunzip(r, name)
	if err != nil {
		return st, err
	}
	err = eachLine(src, name, func(n int, line []byte) error {
		var l goldenLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("textworld: %s:%d: not a line of a transcript: %w", name, n, err)
		}
		g, err := Open(l.GameID)
		if err != nil {
			return fmt.Errorf("textworld: %s:%d: %w", name, n, err)
		}
		c := goldenCheck{st: &st, report: report, base: Diff{File: name, Line: n, Game: l.GameID}, dialect: DialectMove}
		switch {
		case strings.HasPrefix(l.Data, "2.1.1"):
			c.dialect = DialectPut
		case l.Data != "" && !strings.HasPrefix(l.Data, "2.1."):
			return fmt.Errorf("textworld: %s:%d: unknown data release %q; expected 2.1.1, 2.1.2 or 2.1.3", name, n, l.Data)
		}
		if len(l.Scripts) == 0 {
			return fmt.Errorf("textworld: %s:%d: game %s has no scripts", name, n, l.GameID)
		}
		st.Games++
		for i := range l.Scripts {
			if err := c.script(g, &l.Scripts[i]); err != nil {
				return fmt.Errorf("textworld: %s:%d: script %d: %w", name, n, i+1, err)
			}
		}
		return nil
	})
	if err == nil && st.Steps == 0 {
		err = fmt.Errorf("textworld: %s holds no step to check: is it a transcript file?", name)
	}
	return st, err
}

type goldenCheck struct {
	st      *GoldenStats
	report  func(Diff)
	base    Diff
	dialect Dialect
	bad     bool // a field of the present step differed
}

func (c *goldenCheck) equal(field, want, got string) {
	if want == got {
		return
	}
	c.bad = true
	c.st.Diffs++
	d := c.base
	d.Field, d.Want, d.Got = field, want, got
	c.report(d)
}

// script replays one episode. A script whose kind starts with limit50 runs under
// the gym wrapper: a limit of 50 commands, and after the end the last answer again
// for each command. The wrapper is reproduced here, as envs.Env refuses to go on.
func (c *goldenCheck) script(g *Game, s *goldenScript) error {
	w := NewWorld(g, c.dialect)
	c.st.Episodes++
	c.base.Kind, c.base.Step, c.base.Cmd, c.bad = s.Kind, 0, "", false
	limited := strings.HasPrefix(s.Kind, "limit50")
	c.equal("text", s.Init, w.Intro())
	if len(s.Won0) > 0 {
		c.equal("won", truth(s.Won0), truthOf(w.Won()))
	}
	adm := w.AppendAdmissible(nil)
	if len(s.Adm0) > 0 {
		if err := c.admissible(s.Adm0, adm); err != nil {
			return err
		}
	}
	text, done := w.Intro(), false
	for i, raw := range s.Steps {
		if len(raw) < 6 {
			return fmt.Errorf("step %d has %d fields, expected [command, observation, won, done, score, admissible]", i+1, len(raw))
		}
		var cmd, want string
		if err := unmarshalBoth(raw[0], &cmd, raw[1], &want); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		c.base.Step, c.base.Cmd, c.bad = i+1, cmd, false
		if !done || !limited {
			text, _ = w.Do(cmd)
			adm = w.AppendAdmissible(adm[:0])
			done = w.Won() || limited && i+1 >= DefaultMaxSteps
		}
		c.st.Steps++
		c.equal("text", want, text)
		c.equal("won", truth(raw[2]), truthOf(w.Won()))
		c.equal("done", truth(raw[3]), truthOf(done))
		c.equal("score", truth(raw[4]), truthOf(w.Won()))
		if err := c.admissible(raw[5], adm); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if !c.bad {
			c.st.Equal++
		}
	}
	return nil
}

// admissible compares with a complete list or with the first 12 hex digits of the
// SHA-256 over the list joined by newlines.
func (c *goldenCheck) admissible(raw json.RawMessage, got []string) error {
	if len(raw) > 0 && raw[0] == '[' {
		var want []string
		if err := json.Unmarshal(raw, &want); err != nil {
			return fmt.Errorf("admissible commands: %w", err)
		}
		if !slices.Equal(want, got) {
			c.equal("admissible", strings.Join(want, "; "), strings.Join(got, "; "))
		}
		return nil
	}
	var want string
	if err := json.Unmarshal(raw, &want); err != nil {
		return fmt.Errorf("admissible commands: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join(got, "\n")))
	c.equal("admissible", want, hex.EncodeToString(sum[:6]))
	return nil
}

// truth reads 0, 1, false, true or null.
func truth(raw json.RawMessage) string {
	switch s := string(bytes.TrimSpace(raw)); s {
	case "true", "1", "1.0":
		return "1"
	case "false", "0", "0.0", "null":
		return "0"
	default:
		return s
	}
}

func truthOf(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func unmarshalBoth(a json.RawMessage, av *string, b json.RawMessage, bv *string) error {
	if err := json.Unmarshal(a, av); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if err := json.Unmarshal(b, bv); err != nil {
		return fmt.Errorf("observation: %w", err)
	}
	return nil
}
