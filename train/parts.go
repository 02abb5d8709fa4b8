package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// PartFormat is the format tag of a part file.
const PartFormat = "muse/part@1"

// Part holds the finished rows of one arm of an evaluation: small enough to be
// committed, so that a later run continues and a reader can check any table.
type Part struct {
	Format string    `json:"format"`
	Arm    string    `json:"arm"`
	Key    string    `json:"key"` // hash of Spec: rows of different keys never mix
	Spec   PartSpec  `json:"spec"`
	Games  string    `json:"games,omitempty"` // hash of the set that the games are from; see [Part.Set]
	Rows   []PartRow `json:"rows"`            // sorted by game, then rep
}

// unnamedSet is the set of parts that name none: the games that shipped before they did.
const unnamedSet = "366ea213bebb5904"

// ErrGames: rows of other games, which may have the same ids.
var ErrGames = errors.New("train: the part holds rows of another set of games")

// Set is the hash of the set of games (textworld.SetHash) that the rows are of. Rows of
// different sets never mix, and are not compared.
func (p *Part) Set() string {
	if p.Games == "" {
		return unnamedSet
	}
	return p.Games
}

// sameSet refuses to add rows of set to p; "" is a set that nobody named.
func (p *Part) sameSet(path, set string) error {
	if len(p.Rows) == 0 || set == "" || p.Set() == set {
		return nil
	}
	return fmt.Errorf("%w: those of %s are of set %s, here is %s (another --games file, or another version of it); name another folder with --parts",
		ErrGames, path, shorten(p.Set()), set)
}

// PartSpec is everything that decides the outcome of a row beside game and rep.
type PartSpec struct {
	Agent      AgentInfo `json:"agent"`
	Adaptation string    `json:"adaptation"` // "none", or of the M_sa: "task"
	// Adapt are the settings of the adaptation; nil where there is none, or in parts
	// older than this field.
	Adapt    *AdaptConfig `json:"adapt,omitempty"`
	Trials   int          `json:"trials"`  // episodes of a row, in sequence
	Reflect  bool         `json:"reflect"` // lost trials are reflected on
	Seed     uint64       `json:"seed"`
	Engine   string       `json:"engine"` // version of the game rules
	MaxSteps int          `json:"max_steps"`
}

// PartRow is one game under one evaluation seed.
type PartRow struct {
	Game      string  `json:"game"`
	Rep       uint64  `json:"rep"`
	Won       []int   `json:"won"`               // 1 or 0 a trial
	Steps     []int   `json:"steps"`             // commands a trial
	Different float64 `json:"different"`         // mean number of different first commands imagined
	Tokens    int     `json:"completion_tokens"` // all trials
	Reasons   string  `json:"reasons,omitempty"` // of lost trials other than the step limit
	Failed    float64 `json:"nothing,omitempty"` // share of commands without effect
}

// key hashes the spec.
func (s PartSpec) key() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain structs always marshal
	}
	return specKey(b)
}

// NewPart makes an empty part.
func NewPart(arm string, s PartSpec) *Part {
	return &Part{Format: PartFormat, Arm: arm, Key: s.key(), Spec: s, Rows: []PartRow{}}
}

// row condenses the episodes of one unit.
func row(es []Episode) PartRow {
	r := PartRow{Game: es[0].Task, Rep: es[0].Rep}
	var decisions, different, failed, commands int
	for i := range es {
		e := &es[i]
		won := 0
		if e.Success {
			won = 1
		}
		r.Won = append(r.Won, won)
		r.Steps = append(r.Steps, len(e.Steps))
		r.Tokens += e.Usage.CompletionTokens
		if !e.Success && e.Reason != "step limit" {
			r.Reasons = strings.TrimPrefix(r.Reasons+","+e.Reason, ",")
		}
		for j := range e.Steps {
			commands++
			if e.Steps[j].Observation == nothing {
				failed++
			}
			if n := distinctFirst(&e.Steps[j]); n > 0 {
				decisions++
				different += n
			}
		}
	}
	if decisions > 0 {
		r.Different = round3(float64(different) / float64(decisions))
	}
	if commands > 0 {
		r.Failed = round3(float64(failed) / float64(commands))
	}
	return r
}

// distinctFirst counts the different first commands imagined at a step.
func distinctFirst(s *Step) int {
	n := 0
	for _, c := range s.Trace.Candidates {
		if c.Valid && c.Same < 0 {
			n++
		}
	}
	return n
}

func round3(v float64) float64 { return float64(int(v*1000+.5)) / 1000 }

// id orders and finds rows.
func (r PartRow) id() string { return fmt.Sprintf("%s#%d", r.Game, r.Rep) }

// Add inserts rows, replacing none: a row that is already there must be equal.
func (p *Part) Add(rows ...PartRow) error {
	have := map[string]int{}
	for i, r := range p.Rows {
		have[r.id()] = i
	}
	for _, r := range rows {
		if i, ok := have[r.id()]; ok {
			if fmt.Sprint(p.Rows[i].Won, p.Rows[i].Steps) != fmt.Sprint(r.Won, r.Steps) {
				return fmt.Errorf("train: part %s (%s): %s was played twice with different outcomes; is the model deterministic?", p.Arm, p.Key, r.id())
			}
			continue
		}
		have[r.id()] = len(p.Rows)
		p.Rows = append(p.Rows, r)
	}
	sort.SliceStable(p.Rows, func(i, j int) bool {
		a, b := p.Rows[i], p.Rows[j]
		return a.Game < b.Game || a.Game == b.Game && a.Rep < b.Rep
	})
	return nil
}

// File is the part's file name.
func (p *Part) File() string {
	model := p.Spec.Agent.Model.Name
	return strings.NewReplacer("/", "-", ":", "-", " ", "-").Replace(fmt.Sprintf("%s-%s-%s.json", p.Arm, model, p.Key))
}

// Save merges the part with what dir holds of it, atomically, one row a line.
func (p *Part) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("train: parts: %w", err)
	}
	path := filepath.Join(dir, p.File())
	old, err := ReadPart(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != nil {
		if err := old.sameSet(path, p.Games); err != nil {
			return err
		}
		if len(old.Rows) > 0 {
			p.Games = old.Games // also none: a file of before keeps its bytes
		}
		if err := p.Add(old.Rows...); err != nil {
			return err
		}
	}
	var buf bytes.Buffer
	head, err := json.Marshal(Part{p.Format, p.Arm, p.Key, p.Spec, p.Games, nil})
	if err != nil {
		return fmt.Errorf("train: part %s: %w", p.Arm, err)
	}
	buf.Write(bytes.TrimSuffix(head, []byte("null}")))
	buf.WriteString("[")
	for i, r := range p.Rows {
		b, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("train: part %s: %w", p.Arm, err)
		}
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.WriteByte('\n')
		buf.Write(b)
	}
	buf.WriteString("\n]}\n")
	return writeFile(path, buf.Bytes())
}

// ReadPart reads one part file. Rows that no evaluation can have written, and a key
// that isn't the spec's, are errors.
func ReadPart(path string) (*Part, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var p Part
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("train: %s: %w", path, err)
	}
	if p.Format != PartFormat {
		return nil, fmt.Errorf("%w: %s has %q, this program reads %q", ErrVersion, path, shorten(p.Format), PartFormat)
	}
	var raw struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("train: %s: %w", path, err)
	}
	if err := p.check(raw.Spec); err != nil {
		return nil, fmt.Errorf("train: %s: %w (restore the file, or remove it to play its rows again)", path, err)
	}
	return &p, nil
}

// ReadParts reads all part files of a folder; an absent folder has none.
func ReadParts(dir string) ([]*Part, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	sort.Strings(names)
	var ps []*Part
	for _, n := range names {
		p, err := ReadPart(n)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}
