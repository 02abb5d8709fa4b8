package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/muse-agent/muse/internal/jsonl"
)

// Log is an append-only JSONL file of units of work. A unit is one or more lines
// with the same "unit", the last of which has "final": true. Opening a log cuts
// off what an interrupt left behind after the last final line, so a file is
// always a prefix of whole units; [Log.Expect] says which unit is the next to do.
type Log struct {
	path  string
	w     *jsonl.Writer
	units []string
}

// lineHead is the part of a line that a Log looks at.
type lineHead struct {
	Format string `json:"format"`
	Unit   string `json:"unit"`
	Final  bool   `json:"final"`
}

// OpenLog opens or creates name in the run folder. Lines must have the format tag.
func (r *Run) OpenLog(name, format string) (*Log, error) {
	path := r.Path(name)
	units, keep, err := unitsOf(path, format)
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(path, keep); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("train: cutting the unfinished tail of %s: %w", path, err)
	}
	w, _, err := jsonl.Append(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	l := &Log{path: path, w: w, units: units}
	r.closers = append(r.closers, w)
	return l, nil
}

// unitsOf scans the file at path; one that isn't there has no units.
func unitsOf(path, format string) (units []string, keep int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, fmt.Errorf("train: %w", err)
	}
	defer f.Close() // only read: a failed reading is told by scanUnits
	return scanUnits(f, path, format)
}

// scanUnits returns the finished units and the length of the part that holds them.
func scanUnits(f io.Reader, path, format string) (units []string, keep int64, err error) {
	br := bufio.NewReaderSize(f, 1<<20)
	var at int64
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return units, keep, nil // a line without newline is an interrupted write
		} else if err != nil {
			return nil, 0, fmt.Errorf("train: %s: %w", path, err)
		}
		at += int64(len(line))
		var h lineHead
		if err := json.Unmarshal(line, &h); err != nil {
			return nil, 0, fmt.Errorf("train: %s:%d: %w (the file was changed by something else; choose another folder with --out)", path, n, err)
		}
		if h.Format != format {
			return nil, 0, fmt.Errorf("%w: %s:%d has %q, this program reads %q", ErrVersion, path, n, shorten(h.Format), format)
		}
		if h.Final {
			units = append(units, h.Unit)
			keep = at
		}
	}
}

// Expect checks that the finished units are the beginning of plan, and returns how
// many there are.
func (l *Log) Expect(plan []string) (int, error) {
	if len(l.units) > len(plan) {
		return 0, fmt.Errorf("%w: %s holds %d units of work, this run has only %d", ErrConfig, l.path, len(l.units), len(plan))
	}
	for i, u := range l.units {
		if u != plan[i] {
			return 0, fmt.Errorf("%w: %s: unit %d is %q, this run has %q there", ErrConfig, l.path, i, u, plan[i])
		}
	}
	return len(l.units), nil
}

// Append writes the lines of one finished unit with a single write.
func (l *Log) Append(unit string, lines ...any) error {
	if err := l.w.Write(lines...); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	l.units = append(l.units, unit)
	return nil
}

// TimingLog appends to timing.jsonl. It has no place in reproducibility: an
// interrupt may leave episodes twice in it, the last line of an id counts.
type TimingLog struct{ w *jsonl.Writer }

// OpenTiming opens timing.jsonl of the folder for appending; half a line that a killed
// process left is cut off.
func (r *Run) OpenTiming() (*TimingLog, error) {
	w, _, err := jsonl.Append(r.Path(FileTiming))
	if err != nil {
		return nil, fmt.Errorf("train: timing: %w", err)
	}
	r.closers = append(r.closers, w)
	return &TimingLog{w}, nil
}

// Append writes one line each.
func (t *TimingLog) Append(ts ...Timing) error {
	lines := make([]any, len(ts))
	for i := range ts {
		lines[i] = ts[i]
	}
	if err := t.w.Write(lines...); err != nil {
		return fmt.Errorf("train: timing: %w", err)
	}
	return nil
}

// finishedUnits names the finished units of the folder's episodes.jsonl.
func (r *Run) finishedUnits() (map[string]bool, error) {
	units, _, err := unitsOf(r.Path(FileEpisodes), EpisodeFormat)
	m := make(map[string]bool, len(units))
	for _, u := range units {
		m[u] = true
	}
	return m, err
}
