// Package tfevents writes scalars as TensorBoard reads them: a file of length-framed
// protocol-buffer events. TensorBoard, and everything that imports its folders, opens them.
//
//	w, err := tfevents.Create("runs/x/tb", "muse")
//	err = w.Scalar("success", 10, 0.8)
//	err = w.Close()
//
// A record is the length of the payload (u64, little-endian), its masked CRC-32C, the
// payload, and the payload's masked CRC-32C. The mask is ((crc>>15)|(crc<<17)) +
// 0xa282ead8. The first event has the file version "brain.Event:2".
package tfevents

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Version is the file version that the first event carries.
const Version = "brain.Event:2"

// Scalar is one value of a curve.
type Scalar struct {
	Tag   string
	Step  int64
	Value float32
	Wall  float64 // seconds; the writer puts the step there, so that files have no clock
}

// Writer writes one event file. Not safe for concurrent use.
type Writer struct {
	f   *os.File
	b   *bufio.Writer
	err error
}

// Create starts the file events.out.tfevents.<number>.<name> in dir, which is made
// when it is missing; an old file of that name is replaced. The number is fixed: equal
// curves give equal bytes.
func Create(dir, name string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("tfevents: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "events.out.tfevents.1000000000."+name))
	if err != nil {
		return nil, fmt.Errorf("tfevents: %w", err)
	}
	w := &Writer{f: f, b: bufio.NewWriter(f)}
	w.record(appendString(appendDouble(nil, 1, 0), 3, Version))
	if w.err != nil {
		return nil, errors.Join(fmt.Errorf("tfevents: %w", w.err), f.Close())
	}
	return w, nil
}

// Scalar appends a value of the curve tag. After a failed write every later call
// returns the same error.
func (w *Writer) Scalar(tag string, step int64, value float64) error {
	v := appendString(nil, 1, tag)
	v = append(v, 2<<3|5) // simple_value, fixed32
	v = binary.LittleEndian.AppendUint32(v, math.Float32bits(float32(value)))
	e := appendDouble(nil, 1, float64(step))
	e = binary.AppendUvarint(append(e, 2<<3), uint64(step))
	e = appendString(e, 5, string(appendString(nil, 1, string(v))))
	w.record(e)
	return w.err
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.err, w.b.Flush(), w.f.Close())
	w.f = nil
	if err != nil {
		return fmt.Errorf("tfevents: %w", err)
	}
	return nil
}

func (w *Writer) record(p []byte) {
	if w.err != nil {
		return
	}
	_, w.err = w.b.Write(appendRecord(nil, p))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendRecord frames a payload.
func appendRecord(b, p []byte) []byte {
	n := binary.LittleEndian.AppendUint64(nil, uint64(len(p)))
	b = append(b, n...)
	b = binary.LittleEndian.AppendUint32(b, masked(n))
	b = append(b, p...)
	return binary.LittleEndian.AppendUint32(b, masked(p))
}

// The fields of protocol buffers that events need.
func appendDouble(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, byte(field<<3|1)), math.Float64bits(v))
}

func appendString(b []byte, field int, s string) []byte {
	b = binary.AppendUvarint(append(b, byte(field<<3|2)), uint64(len(s)))
	return append(b, s...)
}

// ErrDamaged is matched when a file is no event file or its checksums don't fit.
var ErrDamaged = errors.New("tfevents: not an intact event file")

// Read returns the scalars of a file.
func Read(path string) ([]Scalar, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tfevents: %w", err)
	}
	var out []Scalar
	for at := 0; at < len(b); {
		p, n, err := readRecord(b[at:])
		if err != nil {
			return out, fmt.Errorf("%w: %s, byte %d: %w", ErrDamaged, path, at, err)
		}
		e, err := readEvent(p)
		switch {
		case err != nil:
			return out, fmt.Errorf("%w: %s, byte %d: %w", ErrDamaged, path, at, err)
		case at == 0 && e.version != Version:
			return out, fmt.Errorf("%w: %s has version %q", ErrDamaged, path, e.version)
		case at > 0:
			out = append(out, e.scalars...)
		}
		at += n
	}
	return out, nil
}

func readRecord(b []byte) (p []byte, size int, err error) {
	if len(b) < 16 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint64(b)
	if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) {
		return nil, 0, errors.New("the checksum of the length is wrong")
	}
	if n > uint64(len(b)-16) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	p = b[12 : 12+n]
	if binary.LittleEndian.Uint32(b[12+n:]) != masked(p) {
		return nil, 0, errors.New("the checksum of the record is wrong")
	}
	return p, int(n) + 16, nil
}

type event struct {
	version string
	scalars []Scalar
}

// fields walks over the fields of a message.
func fields(b []byte, fn func(field int, n uint64, s []byte) error) error {
	for len(b) > 0 {
		key, k := binary.Uvarint(b)
		if k <= 0 {
			return io.ErrUnexpectedEOF
		}
		b = b[k:]
		var n uint64
		var s []byte
		switch key & 7 {
		case 0:
			if n, k = binary.Uvarint(b); k <= 0 {
				return io.ErrUnexpectedEOF
			}
			b = b[k:]
		case 1, 5:
			size := map[uint64]int{1: 8, 5: 4}[key&7]
			if len(b) < size {
				return io.ErrUnexpectedEOF
			}
			s, b = b[:size], b[size:]
		case 2:
			if n, k = binary.Uvarint(b); k <= 0 || n > uint64(len(b)-k) {
				return io.ErrUnexpectedEOF
			}
			s, b = b[k:k+int(n)], b[k+int(n):]
		default:
			return fmt.Errorf("wire type %d", key&7)
		}
		if err := fn(int(key>>3), n, s); err != nil {
			return err
		}
	}
	return nil
}

func readEvent(b []byte) (e event, err error) {
	var step int64
	var wall float64
	err = fields(b, func(f int, n uint64, s []byte) error {
		switch {
		case f == 1 && len(s) == 8:
			wall = math.Float64frombits(binary.LittleEndian.Uint64(s))
		case f == 2:
			step = int64(n)
		case f == 3:
			e.version = string(s)
		case f == 5:
			return fields(s, func(f int, _ uint64, s []byte) error {
				var v Scalar
				if f != 1 {
					return nil
				}
				e.scalars = append(e.scalars, v)
				at := &e.scalars[len(e.scalars)-1]
				return fields(s, func(f int, _ uint64, s []byte) error {
					switch {
					case f == 1:
						at.Tag = string(s)
					case f == 2 && len(s) == 4:
						at.Value = math.Float32frombits(binary.LittleEndian.Uint32(s))
					}
					return nil
				})
			})
		}
		return nil
	})
	for i := range e.scalars {
		e.scalars[i].Step, e.scalars[i].Wall = step, wall
	}
	return e, err
}
