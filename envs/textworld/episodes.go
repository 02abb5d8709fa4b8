package textworld

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Episode is a recorded episode of some agent, one JSON object a line.
type Episode struct {
	GameID  string      `json:"game_id"`
	Dialect Dialect     `json:"dialect"`
	Source  string      `json:"source"` // repository that published it
	Model   string      `json:"model"`
	Run     string      `json:"run"`
	Success bool        `json:"success"` // the goal was reached
	Steps   [][2]string `json:"steps"`   // command, observation
}

// EpisodeStats counts what CheckEpisodes compared.
type EpisodeStats struct {
	Episodes int `json:"episodes"`
	Equal    int `json:"equal"` // episodes with no difference
	Steps    int `json:"steps"`
	Won      int `json:"won"`
	Diffs    int `json:"diffs"`
}

// CutArrival removes the sentence "You arrive at …. " from an answer, as most
// published harnesses do before an agent or a log sees it.
func CutArrival(obs string) string {
	if strings.HasPrefix(obs, "You arrive at ") {
		if _, rest, ok := strings.Cut(obs, ". "); ok {
			return rest
		}
	}
	return obs
}

// Replay executes an episode on its game and reports each difference: Field text
// for an observation (equal also when only the arrival sentence is cut off), won
// when the episode's success is not that of the replay.
func (e *Episode) Replay(g *Game, report func(Diff)) (won bool) {
	w := NewWorld(g, e.Dialect)
	d := Diff{Game: e.GameID, Kind: e.Run}
	for i, s := range e.Steps {
		got := ThinkAnswer
		if !IsThink(s[0]) {
			got, _ = w.Do(s[0])
		}
		won = won || w.Won()
		if s[1] != got && s[1] != CutArrival(got) {
			d.Step, d.Cmd, d.Field, d.Want, d.Got = i+1, s[0], "text", s[1], got
			report(d)
		}
	}
	if won != e.Success {
		d.Step, d.Cmd, d.Field, d.Want, d.Got = len(e.Steps), "", "won", fmt.Sprint(e.Success), fmt.Sprint(won)
		report(d)
	}
	return won
}

// CheckEpisodes replays a file of episodes (gzip or plain) and reports every
// difference. report may be nil. The error is about reading only.
func CheckEpisodes(r io.Reader, name string, report func(Diff)) (EpisodeStats, error) {
	var st EpisodeStats
	src, err := gunzip(r, name)
	if err != nil {
		return st, err
	}
	err = eachLine(src, name, func(n int, line []byte) error {
		var e Episode
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("textworld: %s:%d: not an episode: %w", name, n, err)
		}
		g, err := Open(e.GameID)
		if err != nil {
			return fmt.Errorf("textworld: %s:%d: %w", name, n, err)
		}
		diffs := 0
		won := e.Replay(g, func(d Diff) {
			diffs++
			if report != nil {
				d.File, d.Line = name, n
				report(d)
			}
		})
		st.Episodes++
		st.Steps += len(e.Steps)
		st.Diffs += diffs
		if diffs == 0 {
			st.Equal++
		}
		if won {
			st.Won++
		}
		return nil
	})
	return st, err
}

// gunzip unpacks r when it holds gzip data.
func gunzip(r io.Reader, name string) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("textworld: %s: %w", name, err)
	}
	return z, nil
}
