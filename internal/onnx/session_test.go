package onnx

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func openCache(t testing.TB, o Options) *Session {
	native(t)
	s, err := OpenBytes("cache", cacheModel(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var cacheOrder = Options{Inputs: []string{"ids", "x", "past"}, Outputs: []string{"same", "present", "sum"}}

func cacheCall(past []float32, x []float32) (in, out []Tensor) {
	p, n := int64(len(past)/2), int64(len(x)/2)
	in = []Tensor{
		{Shape: []int64{2}, I64: []int64{7, 8}},
		{Shape: []int64{1, n, 2}, F32: x},
		{Shape: []int64{1, p, 2}, F32: past},
	}
	out = []Tensor{
		{Shape: []int64{2}, I64: make([]int64, 2)},
		{Shape: []int64{1, p + n, 2}, F32: make([]float32, 2*(p+n))},
		{Shape: []int64{1, n, 2}, F32: make([]float32, 2*n)},
	}
	return in, out
}

func TestRun(t *testing.T) {
	s := openCache(t, cacheOrder)
	if got := s.Inputs()[2].Name; got != "past" {
		t.Errorf("third input is %q", got)
	}
	if s.Metadata()["layers"] != "4" {
		t.Errorf("metadata %v", s.Metadata())
	}
	for _, past := range [][]float32{nil, {}, {1, 2}, {1, 2, 3, 4}} { // a zero-length cache comes first in real use
		in, out := cacheCall(past, []float32{5, 6})
		if err := s.Run(in, out); err != nil {
			t.Fatal(err)
		}
		if want := append(slices.Clone(past), 5, 6); !slices.Equal(out[1].F32, want) {
			t.Errorf("present = %v, want %v", out[1].F32, want)
		}
		if !slices.Equal(out[2].F32, []float32{15, 26}) || !slices.Equal(out[0].I64, []int64{7, 8}) {
			t.Errorf("sum %v, same %v", out[2].F32, out[0].I64)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	s := openCache(t, cacheOrder)
	for name, c := range map[string]struct {
		break_ func(in, out []Tensor) ([]Tensor, []Tensor)
		want   string
	}{
		"too few inputs": {func(in, out []Tensor) ([]Tensor, []Tensor) { return in[:2], out }, "takes 3 inputs"},
		"rank":           {func(in, out []Tensor) ([]Tensor, []Tensor) { in[1].Shape = []int64{2}; return in, out }, `"x": shape [2] has 1 dimensions`},
		"fixed dim":      {func(in, out []Tensor) ([]Tensor, []Tensor) { in[1].Shape = []int64{1, 2, 1}; return in, out }, "wants 2 in place 2"},
		"type": {func(in, out []Tensor) ([]Tensor, []Tensor) {
			in[0] = Tensor{Shape: []int64{1}, F32: []float32{1}}
			return in, out
		}, "int64"},
		"short slice":  {func(in, out []Tensor) ([]Tensor, []Tensor) { in[1].F32 = in[1].F32[:1]; return in, out }, "the slice has 1"},
		"negative":     {func(in, out []Tensor) ([]Tensor, []Tensor) { in[1].Shape = []int64{1, -1, 2}; return in, out }, "negative"},
		"scalar":       {func(in, out []Tensor) ([]Tensor, []Tensor) { in[0].Shape = nil; return in, out }, "no dimensions"},
		"output shape": {func(in, out []Tensor) ([]Tensor, []Tensor) { out[1].Shape = []int64{1, 1, 2}; return in, out }, "shape"},
	} {
		in, out := cacheCall([]float32{1, 2}, []float32{5, 6})
		if err := s.Run(c.break_(in, out)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	in, out := cacheCall([]float32{1, 2}, []float32{5, 6})
	if err := s.Run(in, out); err != nil {
		t.Errorf("a good call after bad ones: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	native(t)
	if _, err := OpenBytes("cache", cacheModel(), Options{Inputs: []string{"x", "token_type_ids", "ids"}}); err == nil || !strings.Contains(err.Error(), `no input "token_type_ids"`) {
		t.Errorf("wrong name: %v", err)
	}
	if _, err := OpenFile(filepath.Join(t.TempDir(), "none.onnx"), Options{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("missing file: %v", err)
	}
	bad := model([][]byte{node("NoSuchOp", []string{"x"}, "y")}, nil, [][]byte{value("x", Float32, 1)}, [][]byte{value("y", Float32, 1)})
	if _, err := OpenBytes("bad", bad, Options{}); err == nil || !strings.Contains(err.Error(), "NoSuchOp") {
		t.Errorf("unknown op: %v", err)
	}
}

func TestClose(t *testing.T) {
	native(t)
	s, err := OpenBytes("cache", cacheModel(), cacheOrder)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	in, out := cacheCall(nil, []float32{5, 6})
	if err := s.Run(in, out); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestConcurrent(t *testing.T) {
	s := openCache(t, cacheOrder)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 200 {
				x := []float32{float32(g), float32(i)}
				in, out := cacheCall(make([]float32, 2*(i%5)), x)
				if err := s.Run(in, out); err != nil {
					t.Error(err)
					return
				}
				if out[2].F32[0] != x[0]+10 || out[2].F32[1] != x[1]+20 {
					t.Errorf("goroutine %d: got %v for %v", g, out[2].F32, x)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func BenchmarkRun3In3Out(b *testing.B) {
	s := openCache(b, cacheOrder)
	in, out := cacheCall(make([]float32, 64), []float32{5, 6})
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Run(in, out); err != nil {
			b.Fatal(err)
		}
	}
}
