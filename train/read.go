package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/runindex"
)

// eachFormatted calls fn for every record of a file, or of the file called name in
// the run folder path, after checking its format tag.
// cut is the length of a last line that was cut off, which is left out.
func eachFormatted[T any](path, name, format string, fn func(*T) error) (cut int64, err error) {
	return scanLines(inFolder(path, name), func(n int, _ int64, line []byte) error {
		v, err := decodeLine[T](inFolder(path, name), n, line, format)
		if err != nil {
			return err
		}
		return fn(v)
	})
}

// inFolder is the file called name where path is a folder, else path.
func inFolder(path, name string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return filepath.Join(path, name)
	}
	return path
}

// readWhole reads all records of files or run folders that are to be learnt from:
// a file without records, with half a line or half a unit at its end is an error.
func readWhole[T any](paths []string, name, format string, unfinished func(last *T) bool) ([]*T, error) {
	var all []*T
	for _, p := range paths {
		from := len(all)
		cut, err := eachFormatted(p, name, format, func(v *T) error { all = append(all, v); return nil })
		switch {
		case err != nil:
			return nil, err
		case cut > 0 || len(all) > from && unfinished(all[len(all)-1]):
			return nil, fmt.Errorf("train: %s is cut off at its end: finish the run that writes it (the same command continues), or restore the file", inFolder(p, name))
		case len(all) == from:
			return nil, fmt.Errorf("train: %s holds no record of format %s: is it the right folder, and has the run begun?", inFolder(p, name), format)
		}
	}
	return all, nil
}

// decodeLine decodes line n of a file after checking its format tag.
func decodeLine[T any](name string, n int, line []byte, format string) (*T, error) {
	var h lineHead
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("train: %s:%d: %w", name, n, err)
	}
	if h.Format != format {
		return nil, fmt.Errorf("%w: %s:%d has %q, this program reads %q", ErrVersion, name, n, shorten(h.Format), format)
	}
	v := new(T)
	if err := json.Unmarshal(line, v); err != nil {
		return nil, fmt.Errorf("train: %s:%d: %w", name, n, err)
	}
	if c, ok := any(v).(checker); ok {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("train: %s:%d: %w", name, n, err)
		}
	}
	return v, nil
}

// EachEpisode calls fn for every episode of a run folder or an episodes.jsonl[.gz] file.
func EachEpisode(path string, fn func(e *Episode) error) error {
	_, err := eachFormatted(path, FileEpisodes, EpisodeFormat, fn)
	return err
}

// ReadEpisodes reads all episodes of run folders or files, in order. A file without
// episodes, or that ends in the middle of a line or a unit of work, is an error.
func ReadEpisodes(paths ...string) ([]*Episode, error) {
	return readWhole(paths, FileEpisodes, EpisodeFormat, func(last *Episode) bool { return last.Unit != "" && !last.Final })
}

// IndexFormat is the format tag of the index file.
const IndexFormat = runindex.Format

// Index lets a viewer open a large episodes.jsonl at any episode.
type Index = runindex.Index

// IndexEntry is one episode.
type IndexEntry = runindex.Entry

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

// derived is what the derived files need of an episode: also of one whose actions and
// observations are numbers.
type derived struct {
	ID      string            `json:"id"`
	Arm     string            `json:"arm"`
	Phase   string            `json:"phase"`
	Success bool              `json:"success"`
	Steps   []json.RawMessage `json:"steps"`
	Usage   llm.Usage         `json:"usage"`
}

// writeDerived rebuilds index and metrics.jsonl from episodes.jsonl.
func writeDerived(r *Run) error {
	path := r.Path(FileEpisodes)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ix := runindex.NewBuilder(FileEpisodes, nil)
	var metrics bytes.Buffer
	enc := json.NewEncoder(&metrics)
	type sums struct{ n, won, steps int }
	acc := map[string]*sums{}
	err := eachLine(path, func(n int, offset int64, line []byte) error {
		var e derived
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		if err := ix.Add(offset, offset+int64(len(line))+1, line); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		s := acc[e.Arm+"/"+e.Phase]
		if s == nil {
			s = &sums{}
			acc[e.Arm+"/"+e.Phase] = s
		}
		s.n++
		if e.Success {
			s.won++
			s.steps += len(e.Steps)
		} else {
			s.steps += FailureSteps
		}
		return enc.Encode(metricsLine{n, e.ID, e.Success, len(e.Steps), float64(s.won) / float64(s.n),
			float64(s.steps) / float64(s.n), len(e.Steps), e.Usage.CompletionTokens})
	})
	if err != nil {
		return err
	}
	if err := r.WriteJSON(FileIndex, ix.Index()); err != nil {
		return err
	}
	return writeFile(r.Path(FileMetrics), metrics.Bytes())
}

// EachRecord calls fn for every line of the file called name in the run folder path, or
// of the file path, after checking its format tag: for records of other packages.
func EachRecord[T any](path, name, format string, fn func(*T) error) error {
	_, err := eachFormatted(path, name, format, fn)
	return err
}
