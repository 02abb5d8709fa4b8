// Package jsonl reads and writes files with one JSON value a line.
//
// Reading is strict: an error names file and line. The one thing forgiven is a
// last line that was cut off, as a killed writer leaves it; it is reported by
// [Reader.Cut], not hidden. Gzip is recognised by its first bytes.
package jsonl

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// DefaultMaxLine is the longest line that is read, in bytes.
const DefaultMaxLine = 256 << 20

// Reader reads records. Not safe for concurrent use.
type Reader struct {
	// Strict makes a field that the Go type lacks an error.
	Strict bool
	// MaxLine overrides DefaultMaxLine.
	MaxLine int

	name    string
	br      *bufio.Reader
	closers []io.Closer
	line    int   // of the last record, from 1
	off     int64 // where the last record starts
	next    int64
	cut     int64
	buf     []byte
	err     error
}

// Open opens a file, plain or gzip-compressed.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	r, err := NewReader(path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.closers = append(r.closers, f)
	return r, nil
}

// NewReader reads from r, plain or gzip-compressed; name is used in errors.
func NewReader(name string, r io.Reader) (*Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	out := &Reader{name: name, br: br}
	if head, _ := br.Peek(2); isGzip(head) {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("jsonl: %s: gzip: %w", name, err)
		}
		out.br = bufio.NewReaderSize(z, 64<<10)
		out.closers = append(out.closers, z)
	}
	return out, nil
}

func isGzip(b []byte) bool { return len(b) == 2 && b[0] == 0x1f && b[1] == 0x8b }

// Next decodes the next record into v, which must be a fresh or zeroed value.
// It returns io.EOF after the last one. Blank lines are passed over. After
// another error the reader stays at that error.
func (r *Reader) Next(v any) error {
	b, err := r.Raw()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if r.Strict {
		dec.DisallowUnknownFields()
	}
	err = dec.Decode(v)
	if err == nil && len(bytes.TrimSpace(b[dec.InputOffset():])) > 0 {
		err = errors.New("text after the record")
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// Raw returns the bytes of the next record without its newline, unchecked apart
// from the last line's wholeness; valid until the next call.
func (r *Reader) Raw() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	for {
		err := r.readLine()
		if err != nil && err != io.EOF {
			r.line++
			return nil, r.fail(err)
		}
		r.off = r.next
		r.next += int64(len(r.buf))
		if len(r.buf) > 0 {
			r.line++
		}
		text := bytes.TrimSpace(r.buf)
		if err == io.EOF && len(text) > 0 && !whole(text) {
			r.cut = int64(len(r.buf))
			text = nil
		}
		if len(text) > 0 {
			return text, nil
		}
		if err == io.EOF {
			r.err = io.EOF
			return nil, io.EOF
		}
	}
}

// readLine fills buf with a line and its newline; io.EOF when that was missing.
func (r *Reader) readLine() error {
	most := r.MaxLine
	if most <= 0 {
		most = DefaultMaxLine
	}
	r.buf = r.buf[:0]
	for {
		b, err := r.br.ReadSlice('\n')
		r.buf = append(r.buf, b...)
		if len(r.buf) > most {
			return fmt.Errorf("line is longer than %d bytes", most)
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// whole says whether an unterminated line is nevertheless a whole record. Only
// a closed object or array is: nothing could follow it, while 12 may be half of 123.
func whole(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b)
}

func (r *Reader) fail(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w (cut off)", err)
	}
	r.err = fmt.Errorf("jsonl: %s:%d: %w", r.name, r.line, err)
	return r.err
}

// Line is the number of the last record's line, from 1.
func (r *Reader) Line() int { return r.line }

// Offset is where the last record's line starts, in uncompressed bytes.
func (r *Reader) Offset() int64 { return r.off }

// Cut is the length in bytes of the cut-off last line, 0 if there was none;
// known once Next has returned io.EOF.
func (r *Reader) Cut() int64 { return r.cut }

// Close closes what Open opened. Closing twice is fine.
func (r *Reader) Close() error {
	var err error
	for _, c := range r.closers {
		err = errors.Join(err, c.Close())
	}
	r.closers = nil
	return err
}

// All iterates over the records of a file. An error is yielded once, as the
// last element; a cut-off last line is passed over.
func All[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		r, err := Open(path)
		if err != nil {
			yield(zero, err)
			return
		}
		defer r.Close()
		for {
			var v T
			err := r.Next(&v)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
