package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

// lines writes values as a JSONL file and returns its path.
func lines(t *testing.T, name string, vs ...any) string {
	t.Helper()
	var b bytes.Buffer
	for _, v := range vs {
		if err := json.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, words)
	}
}

func TestEditedPartsAreRefused(t *testing.T) {
	make := func() *Part {
		p := NewPart("a", PartSpec{Trials: 2, MaxSteps: 50})
		p.Rows = []PartRow{{Game: "g", Won: []int{0, 1}, Steps: []int{50, 7}}, {Game: "h", Won: []int{1}, Steps: []int{3}}}
		return p
	}
	for words, edit := range map[string]func(p *Part){
		"":                     func(*Part) {},
		"not that of the spec": func(p *Part) { p.Spec.Seed++ },
		"stand above":          func(p *Part) { p.Rows[1].Game = "g" },
		"no game":              func(p *Part) { p.Rows[0].Game = "" },
		"2 outcomes and 1":     func(p *Part) { p.Rows[0].Steps = []int{50} },
		"0 outcomes":           func(p *Part) { p.Rows[0].Won, p.Rows[0].Steps = nil, nil },
		"3 outcomes":           func(p *Part) { p.Rows[0].Won, p.Rows[0].Steps = []int{0, 0, 1}, []int{1, 1, 1} },
		"won is 7":             func(p *Part) { p.Rows[0].Won[0] = 7 },
		"51 steps":             func(p *Part) { p.Rows[0].Steps[0] = 51 },
		"-1 steps":             func(p *Part) { p.Rows[0].Steps[0] = -1 },
		"out of range":         func(p *Part) { p.Rows[0].Different = -1 },
	} {
		p := make()
		edit(p)
		path := filepath.Join(t.TempDir(), "p.json")
		if err := WriteJSON(path, p); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPart(path)
		if words == "" {
			if err != nil {
				t.Errorf("a good part: %v", err)
			}
			continue
		}
		wantError(t, err, words)
		wantError(t, err, path)
	}
}

// A spec with a field that this version doesn't know keeps its key.
func TestPartOfAnotherVersion(t *testing.T) {
	spec := `{"agent":{},"adaptation":"none","trials":1,"new":"<field>"}`
	path := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(path, []byte(`{"format":"muse/part@1","arm":"a","key":"`+specKey([]byte(spec))+`","spec": `+spec+`,"rows":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPart(path); err != nil {
		t.Error(err)
	}
}

func TestEditedSiblingsAreRefused(t *testing.T) {
	for words, edit := range map[string]func(s *SiblingState){
		"stands after -1":   func(s *SiblingState) { s.Step = -1 },
		"stands after 9":    func(s *SiblingState) { s.Step = 9 },
		"9 wins in 2 plays": func(s *SiblingState) { s.Actions[0].Wins = 9 },
		"-1 wins":           func(s *SiblingState) { s.Actions[0].Wins = -1 },
		"0 wins in 0 plays": func(s *SiblingState) { s.Actions[0] = SiblingAction{} },
		"of action -1":      func(s *SiblingState) { s.Candidates[0].Action = -1 },
		"of action 1":       func(s *SiblingState) { s.Candidates[0].Action = 1 },
		"no pairs":          func(s *SiblingState) { s.Candidates[0].Pairs = nil },
	} {
		pairs := []llm.Pair{{Action: "look", Observation: "x"}}
		g := SiblingGame{Format: SiblingFormat, Final: true, Task: "g", Limit: 50, Pairs: pairs, States: []SiblingState{{
			Actions: []SiblingAction{{Action: "look", Wins: 1, Plays: 2}}, Candidates: []SiblingCandidate{{Pairs: pairs}},
		}}}
		if err := g.check(); err != nil {
			t.Fatalf("a good visit: %v", err)
		}
		edit(&g.States[0])
		_, err := ReadSiblings(lines(t, FileSiblings, g))
		wantError(t, err, words)
		wantError(t, err, FileSiblings+":1")
	}
}

func TestInputsThatEndTooEarly(t *testing.T) {
	e := Episode{Format: EpisodeFormat, Unit: "u", Task: "g"}
	_, err := ReadEpisodes(lines(t, FileEpisodes, e))
	wantError(t, err, "cut off at its end")
	e.Final = true
	good := lines(t, FileEpisodes, e)
	if _, err := ReadEpisodes(good); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, append(b, `{"format":"muse/epi`...), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ReadEpisodes(good)
	wantError(t, err, "cut off at its end")
	_, err = ReadEpisodes(lines(t, FileEpisodes))
	wantError(t, err, "holds no record")
	_, err = ReadSiblings(lines(t, FileSiblings))
	wantError(t, err, "holds no record")
	e.Format = strings.Repeat("x", 1e6)
	_, err = ReadEpisodes(lines(t, FileEpisodes, e))
	if wantError(t, err, "unknown format version"); len(err.Error()) > 500 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}

func TestRunFoldersOfUnknownSettings(t *testing.T) {
	dir := t.TempDir()
	open := func(seed uint64) error {
		r, err := OpenRun(dir, Manifest{Command: "collect", Seed: seed})
		if err != nil {
			return err
		}
		return r.Close()
	}
	if err := open(1 << 63); err != nil {
		t.Fatal(err)
	}
	// These seeds are one float64.
	if err := open(1<<63 + 1); !errors.Is(err, ErrConfig) {
		t.Errorf("another large seed: %v", err)
	}
	if err := open(1 << 63); err != nil {
		t.Errorf("the same large seed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileSiblings), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"the file is empty": "", "text after": "{} {}"} {
		if err := os.WriteFile(filepath.Join(dir, FileRun), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		wantError(t, open(1), name)
	}
	if err := os.Remove(filepath.Join(dir, FileRun)); err != nil {
		t.Fatal(err)
	}
	wantError(t, open(1), "its settings are unknown")
}
