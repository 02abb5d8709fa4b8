package train

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// eachLine calls fn for every line of a JSONL file (gzip by its first bytes). A
// last line without newline is an interrupted write and is left out.
func eachLine(path string, fn func(n int, offset int64, line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer f.Close()
	var r io.Reader = f
	br := bufio.NewReaderSize(f, 1<<20)
	if magic, err := br.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("train: %s: %w", path, err)
		}
		r = z
	} else {
		r = br
	}
	lr := bufio.NewReaderSize(r, 1<<20)
	var at int64
	for n := 1; ; n++ {
		line, err := lr.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("train: %s:%d: %w (is the file complete?)", path, n, err)
		}
		if err := fn(n, at, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
		at += int64(len(line))
	}
}

// EachEpisode calls fn for every episode of a run folder or an episodes.jsonl[.gz] file.
func EachEpisode(path string, fn func(e *Episode) error) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, FileEpisodes)
	}
	return eachLine(path, func(n int, _ int64, line []byte) error {
		var h lineHead
		if err := json.Unmarshal(line, &h); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		if h.Format != EpisodeFormat {
			return fmt.Errorf("%w: %s:%d has %q, this program reads %q", ErrVersion, path, n, h.Format, EpisodeFormat)
		}
		var e Episode
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		return fn(&e)
	})
}

// ReadEpisodes reads all episodes of run folders or files, in order.
func ReadEpisodes(paths ...string) ([]*Episode, error) {
	var es []*Episode
	for _, p := range paths {
		if err := EachEpisode(p, func(e *Episode) error { es = append(es, e); return nil }); err != nil {
			return nil, err
		}
	}
	return es, nil
}

// IndexFormat is the format tag of the index file.
const IndexFormat = "muse/index@1"

// Index lets a viewer open a large episodes.jsonl at any episode.
type Index struct {
	Format  string       `json:"format"`
	File    string       `json:"file"`
	Size    int64        `json:"size"` // bytes of the file that the entries cover
	Entries []IndexEntry `json:"entries"`
}

// IndexEntry is one episode.
type IndexEntry struct {
	ID      string `json:"id"`
	Offset  int64  `json:"offset"`
	Length  int    `json:"length"` // without the newline
	Steps   int    `json:"steps"`
	Success bool   `json:"success"`
}

// metricsLine is one line of metrics.jsonl: running figures after each episode.
type metricsLine struct {
	Episode     int     `json:"episode"`
	ID          string  `json:"id"`
	Success     bool    `json:"success"`
	Steps       int     `json:"steps"`
	SuccessMean float64 `json:"success_mean"` // over the episodes of this arm and phase so far
	StepsMean   float64 `json:"steps_mean"`   // failures count FailureSteps
	Decisions   int     `json:"decisions"`
	Tokens      int     `json:"completion_tokens"`
}

// writeDerived rebuilds index and metrics.jsonl from episodes.jsonl.
func writeDerived(r *Run) error {
	path := r.Path(FileEpisodes)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ix := Index{Format: IndexFormat, File: FileEpisodes, Entries: []IndexEntry{}}
	var metrics bytes.Buffer
	enc := json.NewEncoder(&metrics)
	type sums struct{ n, won, steps int }
	acc := map[string]*sums{}
	err := eachLine(path, func(n int, offset int64, line []byte) error {
		var e Episode
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		ix.Entries = append(ix.Entries, IndexEntry{e.ID, offset, len(line), len(e.Steps), e.Success})
		ix.Size = offset + int64(len(line)) + 1
		s := acc[e.Arm+"/"+e.Phase]
		if s == nil {
			s = &sums{}
			acc[e.Arm+"/"+e.Phase] = s
		}
		s.n++
		s.steps += e.CountedSteps()
		if e.Success {
			s.won++
		}
		return enc.Encode(metricsLine{n, e.ID, e.Success, len(e.Steps), float64(s.won) / float64(s.n),
			float64(s.steps) / float64(s.n), len(e.Steps), e.Usage.CompletionTokens})
	})
	if err != nil {
		return err
	}
	if err := r.WriteJSON(FileIndex, ix); err != nil {
		return err
	}
	return writeFile(r.Path(FileMetrics), metrics.Bytes())
}

// isGzip says whether a path asks for compression.
func isGzip(path string) bool { return strings.HasSuffix(path, ".gz") }
