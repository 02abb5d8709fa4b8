package train

import (
	"errors"
	"fmt"
	"io"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/internal/jsonl"
)

// ErrLocked is matched when another process works in the run folder.
var ErrLocked = atomicfile.ErrLocked

// writeFile replaces path atomically.
func writeFile(path string, data []byte) error {
	if err := atomicfile.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// lockDir takes the folder's lock until unlock is called or the process ends.
func lockDir(dir string) (unlock func() error, err error) {
	l, err := atomicfile.LockDir(dir)
	switch {
	case errors.Is(err, ErrLocked):
		return nil, fmt.Errorf("train: %w", err)
	case err != nil:
		return nil, fmt.Errorf("train: run folder: %w (choose another with --out)", err)
	}
	return l.Close, nil
}

// eachLine calls fn for every record of a JSONL file, plain or gzip. A last line
// without newline is an interrupted write and is left out.
func eachLine(path string, fn func(n int, offset int64, line []byte) error) error {
	_, err := scanLines(path, fn)
	return err
}

// scanLines is eachLine that also tells the length of such a last line.
func scanLines(path string, fn func(n int, offset int64, line []byte) error) (cut int64, err error) {
	r, err := jsonl.Open(path)
	if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	defer r.Close() // only read: a failed reading was told above
	for {
		line, err := r.Raw()
		if errors.Is(err, io.EOF) {
			return r.Cut(), nil
		} else if err != nil {
			return 0, fmt.Errorf("train: %w (is the file complete?)", err)
		}
		if err := fn(r.Line(), r.Offset(), line); err != nil {
			return 0, err
		}
	}
}
