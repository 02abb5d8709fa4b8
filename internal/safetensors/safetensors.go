// Package safetensors reads and writes the safetensors format: an 8-byte
// length, a JSON header that names each tensor with type, shape and byte range,
// then the raw little-endian data.
//
//	err := safetensors.Save("head.safetensors", &safetensors.File{
//		Tensors:  []safetensors.Tensor{{Name: "w", Shape: []int{2, 3}, F32: w}},
//		Metadata: map[string]string{"format": "muse/msa@1"},
//	})
//	f, err := safetensors.Load("head.safetensors")
//	w, err := f.Float32("w", 2, 3)
//
// Reading is strict: every byte of the file belongs to the header or to exactly
// one tensor, so that a truncated, padded or tampered file is refused. Writing
// is deterministic: equal content gives equal bytes.
package safetensors

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/atomicfile"
)

// DType is an element type, named as in the format.
type DType string

// The element types that are supported.
const (
	F64 DType = "F64"
	I64 DType = "I64"
	F32 DType = "F32"
	U8  DType = "U8"
)

// Size returns the bytes of an element, 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case F64, I64:
		return 8
	case F32:
		return 4
	case U8:
		return 1
	}
	return 0
}

// Tensor is a named dense row-major array. Exactly one of the slices is
// non-nil; its length is the product of Shape. A nil Shape is a scalar: one
// element.
type Tensor struct {
	Name  string
	Shape []int
	F32   []float32
	F64   []float64
	I64   []int64
	U8    []byte
}

// DType says which slice is used; "" if not exactly one.
func (t Tensor) DType() DType {
	d, n := DType(""), 0
	for _, c := range []struct {
		d   DType
		set bool
	}{{F32, t.F32 != nil}, {F64, t.F64 != nil}, {I64, t.I64 != nil}, {U8, t.U8 != nil}} {
		if c.set {
			d = c.d
			n++
		}
	}
	if n != 1 {
		return ""
	}
	return d
}

func (t Tensor) len() int { return len(t.F32) + len(t.F64) + len(t.I64) + len(t.U8) }

// File is the content of a safetensors file. Tensors come in the order of their data.
type File struct {
	Tensors  []Tensor
	Metadata map[string]string
}

// ErrMissing is matched when a tensor is not in the file.
var ErrMissing = errors.New("tensor is missing")

// Lookup returns the tensor of that name.
func (f *File) Lookup(name string) (Tensor, error) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, nil
		}
	}
	return Tensor{}, fmt.Errorf("safetensors: %w: %q (there are: %s)", ErrMissing, name, strings.Join(f.Names(), ", "))
}

// Float32 returns the data of a float32 tensor and checks its shape.
func (f *File) Float32(name string, shape ...int) ([]float32, error) {
	t, err := f.Lookup(name)
	if err != nil {
		return nil, err
	}
	if t.F32 == nil || !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("safetensors: %q is %s %v, want F32 %v", name, t.DType(), t.Shape, shape)
	}
	return t.F32, nil
}

// Float64 returns the data of a float64 tensor and checks its shape.
func (f *File) Float64(name string, shape ...int) ([]float64, error) {
	t, err := f.Lookup(name)
	if err != nil {
		return nil, err
	}
	if t.F64 == nil || !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("safetensors: %q is %s %v, want F64 %v", name, t.DType(), t.Shape, shape)
	}
	return t.F64, nil
}

// Names lists the tensors in file order.
func (f *File) Names() []string {
	names := make([]string, len(f.Tensors))
	for i, t := range f.Tensors {
		names[i] = t.Name
	}
	return names
}

// Load reads the file at path.
func Load(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Save writes the file at path, wholly or not at all.
func Save(path string, f *File) error {
	b, err := Encode(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.WriteFile(path, b, 0o644)
}
