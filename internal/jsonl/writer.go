package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Writer appends records to a file, those of a Write with one write call: they are in
// the file as soon as Write returns, and a killed process leaves at most one
// cut-off line at the end, which [Append] removes. Safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	f    *os.File
	path string
	off  int64
	buf  bytes.Buffer
	err  error
}

// Append opens path for appending, creating it if needed. A cut-off last line
// is removed; cut is its length in bytes. A last record that lacks only its
// newline is completed.
func Append(path string) (w *Writer, cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, 0, fmt.Errorf("jsonl: %w", err)
	}
	off, cut, err := repairTail(f)
	if err != nil {
		return nil, 0, fmt.Errorf("jsonl: %s: %w", path, errors.Join(err, f.Close()))
	}
	return &Writer{f: f, path: path, off: off}, cut, nil
}

// repairTail makes the file end after a whole line and returns its new size.
func repairTail(f *os.File) (size, cut int64, err error) {
	size, err = f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, 0, err
	}
	var head [2]byte
	if n, _ := f.ReadAt(head[:], 0); n == 2 && isGzip(head[:]) {
		return 0, 0, errors.New("is gzip-compressed and can't be appended to; decompress it first")
	}
	var tail []byte
	start := size
	for start > 0 && bytes.IndexByte(tail, '\n') < 0 {
		n := min(start, 64<<10)
		b := make([]byte, n)
		if _, err := f.ReadAt(b, start-n); err != nil {
			return 0, 0, err
		}
		start -= n
		tail = append(b, tail...)
	}
	tail = tail[bytes.LastIndexByte(tail, '\n')+1:]
	switch {
	case len(tail) == 0:
	case whole(tail):
		if _, err := f.WriteAt([]byte("\n"), size); err != nil {
			return 0, 0, err
		}
		size++
	default:
		cut = int64(len(tail))
		size -= cut
		if err := f.Truncate(size); err != nil {
			return 0, 0, err
		}
	}
	_, err = f.Seek(size, io.SeekStart)
	return size, cut, err
}

// Write appends each value as a line of JSON, all of them with one write call; what
// can't be encoded writes nothing. "<", ">" and "&" are left as they are.
// After a failed write the writer is broken: every later call returns the same
// error, as the file may end in half a line.
func (w *Writer) Write(vs ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	for _, v := range vs {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("jsonl: %s: %w", w.path, err)
		}
	}
	n, err := w.f.Write(w.buf.Bytes())
	w.off += int64(n)
	if err != nil {
		w.err = fmt.Errorf("jsonl: %w", err)
	}
	return w.err
}

// Offset returns the size of the file: where the next record will start.
func (w *Writer) Offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.off
}

// Sync makes everything written survive a crash of the machine.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("jsonl: %w", err)
	}
	return nil
}

// Close syncs and closes the file. Closing twice is fine.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, os.ErrClosed) {
		return nil
	}
	err := errors.Join(w.f.Sync(), w.f.Close())
	w.err = fmt.Errorf("jsonl: %s: %w", w.path, os.ErrClosed)
	if err != nil {
		return fmt.Errorf("jsonl: %w", err)
	}
	return nil
}
