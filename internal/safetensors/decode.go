package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// MaxHeader is the largest header that is read or written, in bytes, as in the
// format's reference implementation.
const MaxHeader = 100_000_000

const metadataKey = "__metadata__"

type entry struct {
	DType   DType `json:"dtype"`
	Shape   []int `json:"shape"`
	Offsets []int `json:"data_offsets"`
}

// Decode reads a whole file. The result shares no memory with b.
func Decode(b []byte) (*File, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("safetensors: %d bytes are too few for a file: it is cut off", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	switch {
	case n > MaxHeader:
		return nil, fmt.Errorf("safetensors: header length %d is above %d: not a safetensors file", n, MaxHeader)
	case n > uint64(len(b)-8):
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: it is cut off", n, len(b))
	}
	header, data := b[8:8+n], b[8+n:]
	entries, meta, err := decodeHeader(header)
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	f := &File{Metadata: meta}
	next := 0
	for _, e := range entries {
		begin, end := e.Offsets[0], e.Offsets[1]
		if begin != next {
			return nil, fmt.Errorf("safetensors: tensor %q starts at byte %d of the data, want %d: tensors overlap or leave a gap", e.name, begin, next)
		}
		if end > len(data) {
			return nil, fmt.Errorf("safetensors: tensor %q ends at byte %d, there are %d bytes of data: the file is cut off", e.name, end, len(data))
		}
		f.Tensors = append(f.Tensors, decodeTensor(e, data[begin:end]))
		next = end
	}
	if next != len(data) {
		return nil, fmt.Errorf("safetensors: %d bytes after the last tensor", len(data)-next)
	}
	return f, nil
}

type namedEntry struct {
	name string
	entry
}

// decodeHeader checks everything that can be checked without the data and
// returns the entries in data order. It goes by tokens, as a plain map would
// hide a name that is there twice.
func decodeHeader(header []byte) ([]namedEntry, map[string]string, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("does not start with \"{\"")
	}
	dec := json.NewDecoder(bytes.NewReader(header))
	dec.DisallowUnknownFields()
	dec.Token() // the "{"
	var entries []namedEntry
	var meta map[string]string
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, nil, fmt.Errorf("%v is no name", tok)
		}
		if seen[name] {
			return nil, nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			if err := dec.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		e := namedEntry{name: name}
		if err := dec.Decode(&e.entry); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if err := e.check(); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := dec.Token(); err != nil { // the "}"
		return nil, nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, nil, errors.New("text after the closing \"}\"")
	}
	// Empty tensors share an offset with their neighbour: end decides, then name.
	slices.SortStableFunc(entries, func(a, b namedEntry) int {
		if c := slices.Compare(a.Offsets, b.Offsets); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.name), []byte(b.name))
	})
	return entries, meta, nil
}

func (e entry) check() error {
	size := e.DType.Size()
	if size == 0 {
		return fmt.Errorf("type %q is not supported (F32, F64, I64, U8 are)", e.DType)
	}
	if e.Shape == nil || len(e.Offsets) != 2 {
		return errors.New("needs \"shape\" and two \"data_offsets\"")
	}
	n, err := elements(e.Shape)
	if err != nil {
		return err
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin || end-begin != n*size {
		return fmt.Errorf("%s %v takes %d bytes, data_offsets are %v", e.DType, e.Shape, n*size, e.Offsets)
	}
	return nil
}

func decodeTensor(e namedEntry, b []byte) Tensor {
	t := Tensor{Name: e.name, Shape: e.Shape}
	n := len(b) / e.DType.Size()
	switch e.DType {
	case F32:
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case F64:
		t.F64 = make([]float64, n)
		for i := range t.F64 {
			t.F64[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case I64:
		t.I64 = make([]int64, n)
		for i := range t.I64 {
			t.I64[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case U8:
		t.U8 = append(make([]byte, 0, n), b...)
	}
	return t
}
