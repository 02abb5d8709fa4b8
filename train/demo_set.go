package train

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/jsonl"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/train/data"
)

// SetFormat is the format tag of set.json.
const SetFormat = "muse/set@1"

// Names of the files of a set.
const (
	FileSet         = "set.json"
	FileSetEpisodes = "episodes.jsonl.gz"
	FileSetSiblings = "siblings.jsonl.gz"
)

// DemoSet is recorded play of training games: what M_sa learns from.
type DemoSet struct {
	Episodes []*Episode
	Siblings []*SiblingGame
	Hash     string // of both files
}

// SetInfo is set.json, the record of where a set comes from.
type SetInfo struct {
	Format   string            `json:"format"`
	Model    string            `json:"model"`
	Hash     string            `json:"model_hash"`
	Episodes int               `json:"episodes"`
	Won      int               `json:"won"`
	Games    int               `json:"games"`
	States   int               `json:"sibling_states"`
	Runs     map[string]any    `json:"runs"` // run.json of the runs, by command
	SHA256   map[string]string `json:"sha256"`
}

// ShippedSet reads the set of a model that is inside the program; errors match
// data.ErrNone where there is none.
func ShippedSet(model string) (*DemoSet, error) {
	eb, err := data.Read(model, FileSetEpisodes)
	if err != nil {
		return nil, err
	}
	sb, err := data.Read(model, FileSetSiblings)
	if err != nil {
		return nil, err
	}
	s := &DemoSet{}
	if s.Episodes, err = decodeAll[Episode](model+"/"+FileSetEpisodes, eb, EpisodeFormat); err != nil {
		return nil, err
	}
	if s.Siblings, err = decodeAll[SiblingGame](model+"/"+FileSetSiblings, sb, SiblingFormat); err != nil {
		return nil, err
	}
	s.Hash = hashOf(eb, sb)
	return s, nil
}

// OpenSet reads a set from run folders or files of `muse collect` and `muse siblings`.
func OpenSet(collect, siblings []string) (*DemoSet, error) {
	s := &DemoSet{}
	var err error
	if s.Episodes, err = ReadEpisodes(collect...); err != nil {
		return nil, err
	}
	if s.Siblings, err = ReadSiblings(siblings...); err != nil {
		return nil, err
	}
	eb, err := packLines(slim(s.Episodes))
	if err != nil {
		return nil, err
	}
	sb, err := packLines(s.Siblings)
	if err != nil {
		return nil, err
	}
	s.Hash = hashOf(eb, sb)
	return s, nil
}

func hashOf(bs ...[]byte) string {
	h := sha256.New()
	for _, b := range bs {
		sum := sha256.Sum256(b)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// decodeAll reads the records of a file in memory, plain or gzip.
func decodeAll[T any](name string, b []byte, format string) (out []*T, err error) {
	r, err := jsonl.NewReader(name, bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		line, err := r.Raw()
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
		v, err := decodeLine[T](name, r.Line(), line, format)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// slim drops what training doesn't read: imagined futures and token counts.
func slim(es []*Episode) []*Episode {
	out := make([]*Episode, len(es))
	for i, e := range es {
		c := *e
		c.Steps = make([]Step, len(e.Steps))
		for j, s := range e.Steps {
			s.Trace = reflexion.Trace{Choice: s.Trace.Choice, Thoughts: s.Trace.Thoughts}
			c.Steps[j] = s
		}
		out[i] = &c
	}
	return out
}

// packLines writes one JSON value a line, gzip-compressed without clock or name.
func packLines[T any](vs []T) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, v := range vs {
		if err := enc.Encode(v); err != nil {
			return nil, fmt.Errorf("train: packing: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("train: packing: %w", err)
	}
	return buf.Bytes(), nil
}

// PackSet writes the set of a collect run and a siblings run into dir: equal runs
// give equal bytes. The futures keep their hidden states, which the default setting
// of M_sa reads.
func PackSet(collect, siblings, dir string) (*SetInfo, error) {
	es, err := ReadEpisodes(collect)
	if err != nil {
		return nil, err
	}
	gs, err := ReadSiblings(siblings)
	if err != nil {
		return nil, err
	}
	if len(es) == 0 || len(gs) == 0 {
		return nil, fmt.Errorf("train: %s holds %d episodes and %s %d lines of siblings; both are needed", collect, len(es), siblings, len(gs))
	}
	info := &SetInfo{Format: SetFormat, Model: es[0].Agent.Model.Name, Hash: es[0].Agent.Model.Hash, Episodes: len(es), Runs: map[string]any{}, SHA256: map[string]string{}}
	games := map[string]bool{}
	for _, e := range es {
		if e.Agent.Model.Hash != info.Hash {
			return nil, fmt.Errorf("train: %s: %s was played by %s, the first episode by another model; a set has one player", collect, e.ID, e.Agent.Model.Name)
		}
		games[e.Task] = true
		if e.Success {
			info.Won++
		}
	}
	info.Games = len(games)
	for _, g := range gs {
		if by := g.player(); by != nil && by.Hash != info.Hash {
			return nil, fmt.Errorf("train: %s: %s was played by %s, the episodes of %s by %s; a set has one player", siblings, g.Unit, by.Name, collect, info.Model)
		}
		g.Model = nil // set.json names it
		info.States += len(g.States)
	}
	for name, run := range map[string]string{"collect": collect, "siblings": siblings} {
		if st, err := os.Stat(run); err == nil && !st.IsDir() {
			continue // a single file has no run.json
		}
		var m map[string]any
		if err := readJSON(filepath.Join(run, FileRun), &m); err != nil {
			return nil, err
		}
		delete(m, "args") // paths of the machine that recorded it
		info.Runs[name] = m
	}
	eb, err := packLines(slim(es))
	if err != nil {
		return nil, err
	}
	sb, err := packLines(gs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	for name, b := range map[string][]byte{FileSetEpisodes: eb, FileSetSiblings: sb} {
		sum := sha256.Sum256(b)
		info.SHA256[name] = hex.EncodeToString(sum[:])
		if err := writeFile(filepath.Join(dir, name), b); err != nil {
			return nil, err
		}
	}
	return info, WriteJSON(filepath.Join(dir, FileSet), info)
}
