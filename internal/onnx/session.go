//go:build cgo && native

package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// Session is a loaded model. It is safe for concurrent use: calls of Run run
// side by side. Sessions are meant to live as long as the process.
type Session struct {
	name    string
	in, out []ValueInfo
	meta    map[string]string

	mu sync.RWMutex // held for reading while running, for writing while closing
	s  *ort.DynamicAdvancedSession

	scratch sync.Pool // *values: saves two allocations a run
}

type values struct{ in, out []ort.Value }

// OpenFile loads the model at path.
func OpenFile(path string, o Options) (*Session, error) {
	info, err := readModelInfoFile(path)
	if err != nil {
		return nil, err
	}
	return open(path, info, o, func(in, out []string, so *ort.SessionOptions) (*ort.DynamicAdvancedSession, error) {
		return ort.NewDynamicAdvancedSession(path, in, out, so)
	})
}

// OpenBytes loads a model from memory; name is used in errors. The bytes are
// not needed afterwards.
func OpenBytes(name string, model []byte, o Options) (*Session, error) {
	info, err := ReadModelInfo(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return open(name, info, o, func(in, out []string, so *ort.SessionOptions) (*ort.DynamicAdvancedSession, error) {
		return ort.NewDynamicAdvancedSessionWithONNXData(model, in, out, so)
	})
}

type loader func(in, out []string, so *ort.SessionOptions) (*ort.DynamicAdvancedSession, error)

func open(name string, info ModelInfo, o Options, load loader) (*Session, error) {
	in, err := order(name, "input", info.Inputs, o.Inputs, true)
	if err != nil {
		return nil, err
	}
	out, err := order(name, "output", info.Outputs, o.Outputs, false)
	if err != nil {
		return nil, err
	}
	if len(in) == 0 || len(out) == 0 {
		return nil, fmt.Errorf("onnx: %s has %d inputs and %d outputs; at least one of each is needed", name, len(in), len(out))
	}
	for _, v := range append(append([]ValueInfo(nil), in...), out...) {
		if v.Type != Float32 && v.Type != Int64 {
			return nil, fmt.Errorf("onnx: %s: %q is of %v; only float32 and int64 are supported", name, v.Name, v.Type)
		}
	}
	if _, _, err := Library(); err != nil {
		return nil, err
	}
	so, err := sessionOptions(o)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: session options: %w", name, err)
	}
	defer so.Destroy()
	s, err := load(names(in), names(out), so)
	if err != nil {
		return nil, fmt.Errorf("onnx: loading %s: %w", name, err)
	}
	return &Session{name: name, in: in, out: out, meta: info.Metadata, s: s}, nil
}

func sessionOptions(o Options) (*ort.SessionOptions, error) {
	so, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		so.SetIntraOpNumThreads(max(1, o.Threads)),
		so.SetInterOpNumThreads(1),
		so.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		so.AddSessionConfigEntry("session.inter_op.allow_spinning", "0"),
		so.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll),
		so.SetCpuMemArena(!o.NoArena),
		// A memory plan is kept for every combination of input shapes ever seen and
		// never dropped: with a growing cache that is a leak.
		so.SetMemPattern(false),
	)
	if err != nil {
		so.Destroy()
		return nil, err
	}
	return so, nil
}

func names(v []ValueInfo) []string {
	s := make([]string, len(v))
	for i := range v {
		s[i] = v[i].Name
	}
	return s
}

// Inputs describes the tensors that Run takes, in order. Read only.
func (s *Session) Inputs() []ValueInfo { return s.in }

// Outputs describes the tensors that Run fills, in order. Read only.
func (s *Session) Outputs() []ValueInfo { return s.out }

// Metadata returns the model's own key-value notes. Read only.
func (s *Session) Metadata() map[string]string { return s.meta }

// Run computes the outputs from the inputs. Both are in the order of Inputs and
// Outputs; outputs are preallocated by the caller with exactly the shapes that
// the model will produce, and written in place. No slice is kept after Run
// returns, and none may be touched by others while it runs. On an error the
// outputs are undefined. It can't be interrupted.
func (s *Session) Run(in, out []Tensor) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.s == nil {
		return fmt.Errorf("%w: %s", ErrClosed, s.name)
	}
	if len(in) != len(s.in) || len(out) != len(s.out) {
		return fmt.Errorf("onnx: %s takes %d inputs and %d outputs, got %d and %d", s.name, len(s.in), len(s.out), len(in), len(out))
	}
	v, _ := s.scratch.Get().(*values)
	if v == nil {
		v = &values{make([]ort.Value, len(in)), make([]ort.Value, len(out))}
	}
	defer func() {
		release(v.in)
		release(v.out)
		s.scratch.Put(v)
	}()
	for i := range in {
		if err := wrap(&v.in[i], s.in[i], in[i]); err != nil {
			return fmt.Errorf("onnx: %s: input %q: %w", s.name, s.in[i].Name, err)
		}
	}
	for i := range out {
		if err := wrap(&v.out[i], s.out[i], out[i]); err != nil {
			return fmt.Errorf("onnx: %s: output %q: %w", s.name, s.out[i].Name, err)
		}
	}
	if err := s.s.Run(v.in, v.out); err != nil {
		return fmt.Errorf("onnx: %s: %w", s.name, err)
	}
	return nil
}

// wrap makes the C-side header for a Go slice; the data are not copied.
func wrap(dst *ort.Value, want ValueInfo, t Tensor) error {
	n, err := t.Len()
	if err != nil {
		return err
	}
	if want.Dims != nil {
		if len(want.Dims) != len(t.Shape) {
			return fmt.Errorf("shape %v has %d dimensions, the model wants %d", t.Shape, len(t.Shape), len(want.Dims))
		}
		for i, d := range want.Dims {
			if d >= 0 && d != t.Shape[i] {
				return fmt.Errorf("shape %v: the model wants %d in place %d", t.Shape, d, i)
			}
		}
	}
	have := len(t.F32)
	if want.Type == Int64 {
		have = len(t.I64)
	}
	if have < n {
		return fmt.Errorf("shape %v needs %d values of %v, the slice has %d", t.Shape, n, want.Type, have)
	}
	if want.Type == Int64 {
		x, err := ort.NewTensor(ort.Shape(t.Shape), t.I64)
		if err != nil {
			return err
		}
		*dst = x
		return nil
	}
	x, err := ort.NewTensor(ort.Shape(t.Shape), t.F32)
	if err != nil {
		return err
	}
	*dst = x
	return nil
}

func release(vs []ort.Value) {
	for i, v := range vs {
		if v != nil {
			v.Destroy()
			vs[i] = nil
		}
	}
}

// Close frees the model once running calls have ended. Closing twice is fine.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.s == nil {
		return nil
	}
	err := s.s.Destroy()
	s.s = nil
	return err
}
