package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// DType is an element type, numbered as in the ONNX format.
type DType int

// The element types that Run supports.
const (
	Float32 DType = 1
	Int64   DType = 7
)

// String names the type as ONNX does.
func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case Int64:
		return "int64"
	}
	return fmt.Sprintf("type %d", int(d))
}

// ValueInfo describes an input or output: dims are -1 where they vary.
type ValueInfo struct {
	Name string
	Type DType
	Dims []int64
}

// ModelInfo is what a model says about itself.
type ModelInfo struct {
	Inputs, Outputs []ValueInfo // initialisers are not inputs
	Metadata        map[string]string
}

// ReadModelInfo reads the names, types and shapes of a model's inputs and
// outputs from its protobuf bytes, skipping over the weights. The library can
// tell them only after loading the whole model a second time.
func ReadModelInfo(r io.ReaderAt, size int64) (ModelInfo, error) {
	info := ModelInfo{Metadata: map[string]string{}}
	haveGraph := false
	err := walk(r, 0, size, func(f field) error {
		switch {
		case f.num == 7 && f.wire == 2: // ModelProto.graph
			haveGraph = true
			return readGraph(r, f, &info)
		case f.num == 14 && f.wire == 2: // ModelProto.metadata_props
			k, v, err := readStringPair(r, f)
			info.Metadata[k] = v
			return err
		}
		return nil
	})
	if err == nil && !haveGraph {
		err = errors.New("no graph inside: not an ONNX model")
	}
	if err != nil {
		return ModelInfo{}, fmt.Errorf("onnx: reading the model: %w", err)
	}
	return info, nil
}

func readModelInfoFile(path string) (ModelInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return ModelInfo{}, fmt.Errorf("onnx: %w (run 'make deps' if it belongs to the native parts)", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ModelInfo{}, fmt.Errorf("onnx: %w", err)
	}
	info, err := ReadModelInfo(f, st.Size())
	if err != nil {
		return ModelInfo{}, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}

func readGraph(r io.ReaderAt, g field, info *ModelInfo) error {
	weights := map[string]bool{}
	err := walk(r, g.off, g.off+g.n, func(f field) error {
		if f.wire != 2 {
			return nil
		}
		switch f.num {
		case 5: // initializer: TensorProto.name = 8
			return walk(r, f.off, f.off+f.n, func(t field) error {
				if t.num != 8 || t.wire != 2 {
					return nil
				}
				s, err := readString(r, t)
				weights[s] = true
				return err
			})
		case 11, 12: // input, output
			v, err := readValueInfo(r, f)
			if f.num == 11 {
				info.Inputs = append(info.Inputs, v)
			} else {
				info.Outputs = append(info.Outputs, v)
			}
			return err
		}
		return nil
	})
	kept := info.Inputs[:0]
	for _, v := range info.Inputs {
		if !weights[v.Name] {
			kept = append(kept, v)
		}
	}
	info.Inputs = kept
	return err
}

func readValueInfo(r io.ReaderAt, f field) (v ValueInfo, err error) {
	err = walk(r, f.off, f.off+f.n, func(f field) (err error) {
		switch {
		case f.num == 1 && f.wire == 2: // name
			v.Name, err = readString(r, f)
		case f.num == 2 && f.wire == 2: // type: TypeProto
			err = walk(r, f.off, f.off+f.n, func(f field) error {
				if f.num != 1 || f.wire != 2 { // tensor_type
					return nil
				}
				return walk(r, f.off, f.off+f.n, func(f field) error {
					switch {
					case f.num == 1 && f.wire == 0: // elem_type
						v.Type = DType(f.val)
					case f.num == 2 && f.wire == 2: // shape
						return walk(r, f.off, f.off+f.n, func(f field) error {
							if f.num != 1 || f.wire != 2 { // dim
								return nil
							}
							dim := int64(-1)
							err := walk(r, f.off, f.off+f.n, func(f field) error {
								if f.num == 1 && f.wire == 0 { // dim_value
									dim = int64(f.val)
								}
								return nil
							})
							v.Dims = append(v.Dims, dim)
							return err
						})
					}
					return nil
				})
			})
		}
		return err
	})
	return v, err
}

func readStringPair(r io.ReaderAt, f field) (k, v string, err error) {
	err = walk(r, f.off, f.off+f.n, func(f field) (err error) {
		switch {
		case f.num == 1 && f.wire == 2:
			k, err = readString(r, f)
		case f.num == 2 && f.wire == 2:
			v, err = readString(r, f)
		}
		return err
	})
	return k, v, err
}

// field is one protobuf field: val for varints (wire 0), the byte range
// [off, off+n) for length-delimited ones (wire 2).
type field struct {
	num, wire int
	val       uint64
	off, n    int64
}

// walk calls fn for the fields in the byte range [off, end), without reading
// the contents of length-delimited ones.
func walk(r io.ReaderAt, off, end int64, fn func(field) error) error {
	for off < end {
		tag, n, err := uvarint(r, off, end)
		if err != nil {
			return err
		}
		off += n
		f := field{num: int(tag >> 3), wire: int(tag & 7)}
		switch f.wire {
		case 0:
			if f.val, n, err = uvarint(r, off, end); err != nil {
				return err
			}
			off += n
		case 1:
			off += 8
		case 2:
			length, n, err := uvarint(r, off, end)
			if err != nil {
				return err
			}
			off += n
			if length > uint64(end-off) {
				return fmt.Errorf("field at byte %d runs past the end: the file is cut off or no ONNX model", off)
			}
			f.off, f.n = off, int64(length)
			off += f.n
		case 5:
			off += 4
		default:
			return fmt.Errorf("bad field kind %d at byte %d: not an ONNX model", f.wire, off)
		}
		if off > end {
			return fmt.Errorf("field ends %d bytes past the end: the file is cut off", off-end)
		}
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

func uvarint(r io.ReaderAt, off, end int64) (v uint64, n int64, err error) {
	var b [binary.MaxVarintLen64]byte
	m, err := r.ReadAt(b[:min(int64(len(b)), end-off)], off)
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	v, k := binary.Uvarint(b[:m])
	if k <= 0 {
		return 0, 0, fmt.Errorf("bad number at byte %d: not an ONNX model, or cut off", off)
	}
	return v, int64(k), nil
}

// maxName bounds names and metadata, so that a hostile length can't ask for gigabytes.
const maxName = 1 << 20

func readString(r io.ReaderAt, f field) (string, error) {
	if f.n > maxName {
		return "", fmt.Errorf("string of %d bytes at byte %d is too long", f.n, f.off)
	}
	b := make([]byte, f.n)
	if _, err := r.ReadAt(b, f.off); err != nil && err != io.EOF {
		return "", err
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), nil
}

// order resolves the wanted names against what the model has.
func order(model, kind string, have []ValueInfo, want []string, all bool) ([]ValueInfo, error) {
	if want == nil {
		return have, nil
	}
	byName := make(map[string]ValueInfo, len(have))
	names := make([]string, len(have))
	for i, v := range have {
		byName[v.Name] = v
		names[i] = v.Name
	}
	out := make([]ValueInfo, len(want))
	used := map[string]bool{}
	for i, n := range want {
		v, ok := byName[n]
		switch {
		case !ok:
			return nil, fmt.Errorf("onnx: %s has no %s %q; it has %q", model, kind, n, names)
		case used[n]:
			return nil, fmt.Errorf("onnx: %s: %s %q is named twice", model, kind, n)
		}
		used[n] = true
		out[i] = v
	}
	if all && len(out) != len(have) {
		return nil, fmt.Errorf("onnx: %s needs the inputs %q, only %q were named", model, names, want)
	}
	return out, nil
}
