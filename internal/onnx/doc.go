// Package onnx runs ONNX models through the ONNX Runtime library.
//
// It is a thin, safe layer: the library is looked for and loaded once a process
// (see [Library]), a [Session] is opened with the names of its inputs and
// outputs checked against the model, and [Session.Run] works directly on Go
// slices, so that a call costs a few microseconds beside the arithmetic.
//
//	s, err := onnx.OpenFile("model.onnx", onnx.Options{Inputs: []string{"x"}, Outputs: []string{"y"}})
//	x := onnx.Tensor{Shape: []int64{1, 3}, F32: []float32{1, 2, 3}}
//	y := onnx.Tensor{Shape: []int64{1, 3}, F32: make([]float32, 3)}
//	err = s.Run([]onnx.Tensor{x}, []onnx.Tensor{y})
//
// The code that needs the library is built with the tag "native"; without it
// every Open returns an error that matches [ErrUnavailable], and
// [ReadModelInfo], which is plain Go, still works.
package onnx

import (
	"errors"
	"fmt"
)

// ErrUnavailable is matched by every error that comes from a missing native
// part: the build tag, the library, or a library that is too old.
var ErrUnavailable = errors.New("onnx: native library is unavailable")

// ErrClosed is returned by Run on a closed session.
var ErrClosed = errors.New("onnx: session is closed")

// Options configures a session. The zero value is what this project uses.
type Options struct {
	// Threads is the number of threads inside one operator; 0 is read as 1.
	// Threads never spin while they wait.
	Threads int
	// Inputs and Outputs give the order in which Run takes its tensors. Each name
	// must exist in the model, all inputs of the model must be named, outputs may
	// be a subset. nil means the model's own order.
	Inputs, Outputs []string
	// NoArena returns memory to the system after each run instead of keeping the
	// largest amount that was ever needed. Slower.
	NoArena bool
}

// Tensor is a dense row-major array over a Go slice: exactly one of F32 and I64
// is used, as the model's type demands. The slice may be longer than the shape
// needs; it may be nil when a dimension is 0. Scalars (no dimensions) are not
// supported.
type Tensor struct {
	Shape []int64
	F32   []float32
	I64   []int64
}

// Len returns the number of elements of the shape, or an error for a scalar, a
// negative dimension or an overflow.
func (t Tensor) Len() (int, error) {
	if len(t.Shape) == 0 {
		return 0, errors.New("shape has no dimensions")
	}
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", t.Shape)
		}
		if d != 0 && n > (1<<40)/d {
			return 0, fmt.Errorf("shape %v is too large", t.Shape)
		}
		n *= d
	}
	return int(n), nil
}
