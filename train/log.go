package train

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Log is an append-only JSONL file of units of work. A unit is one or more lines
// with the same "unit", the last of which has "final": true. Opening a log cuts
// off what an interrupt left behind after the last final line, so a file is
// always a prefix of whole units; [Log.Expect] says which unit is the next to do.
type Log struct {
	path  string
	f     *os.File
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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	units, keep, err := scanUnits(f, path, format)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(keep); err != nil {
		return nil, errors.Join(fmt.Errorf("train: cutting the unfinished tail of %s: %w", path, err), f.Close())
	}
	if _, err := f.Seek(keep, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("train: %s: %w", path, err), f.Close())
	}
	l := &Log{path: path, f: f, units: units}
	r.logs = append(r.logs, l)
	return l, nil
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
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, v := range lines {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("train: %s: %w", l.path, err)
		}
	}
	if _, err := l.f.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("train: %s: %w", l.path, err)
	}
	l.units = append(l.units, unit)
	return nil
}

// Close flushes the file to disk. It is idempotent.
func (l *Log) Close() error {
	if l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Sync(), l.f.Close())
	l.f = nil
	if err != nil {
		return fmt.Errorf("train: %s: %w", l.path, err)
	}
	return nil
}

// TimingLog appends to timing.jsonl. It has no place in reproducibility: an
// interrupt may leave episodes twice in it, the last line of an id counts.
type TimingLog struct{ f *os.File }

// OpenTiming opens timing.jsonl of the folder for appending.
func (r *Run) OpenTiming() (*TimingLog, error) {
	f, err := os.OpenFile(r.Path(FileTiming), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	// A write that was cut off must not swallow the next line.
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			if _, err := f.WriteString("\n"); err != nil {
				return nil, errors.Join(fmt.Errorf("train: %s: %w", r.Path(FileTiming), err), f.Close())
			}
		}
	}
	t := &TimingLog{f}
	r.closers = append(r.closers, f)
	return t, nil
}

// Append writes one line each.
func (t *TimingLog) Append(ts ...Timing) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, v := range ts {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("train: timing: %w", err)
		}
	}
	if _, err := t.f.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("train: timing: %w", err)
	}
	return nil
}

// finishedUnits names the finished units of the folder's episodes.jsonl.
func (r *Run) finishedUnits() (map[string]bool, error) {
	path := r.Path(FileEpisodes)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]bool{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	defer f.Close()
	units, _, err := scanUnits(f, path, EpisodeFormat)
	m := make(map[string]bool, len(units))
	for _, u := range units {
		m[u] = true
	}
	return m, err
}
