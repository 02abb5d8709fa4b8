package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

var sample = &File{
	Tensors: []Tensor{
		{Name: "w", Shape: []int{2, 2}, F32: []float32{1, float32(math.Inf(-1)), -0.5, 3}},
		{Name: "scale", Shape: []int{}, F64: []float64{math.Pi}},
		{Name: "steps", Shape: []int{3}, I64: []int64{-1, 0, math.MaxInt64}},
		{Name: "bytes", Shape: []int{3}, U8: []byte{0, 128, 255}},
		{Name: "none", Shape: []int{0, 4}, F32: []float32{}},
	},
	Metadata: map[string]string{"format": "test@1", "note": "> & ü"},
}

func TestRoundTrip(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a.safetensors")
	if err := Save(p, sample); err != nil {
		t.Fatal(err)
	}
	f, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"scale", "steps", "none", "w", "bytes"}; !slices.Equal(f.Names(), want) {
		t.Errorf("order %v, want %v", f.Names(), want)
	}
	for _, want := range sample.Tensors {
		if got, err := f.Lookup(want.Name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if !reflect.DeepEqual(f.Metadata, sample.Metadata) {
		t.Errorf("metadata %v", f.Metadata)
	}
	if w, err := f.Float32("w", 2, 2); err != nil || w[2] != -0.5 {
		t.Errorf("%v, %v", w, err)
	}
	if _, err := f.Float32("w", 4); err == nil || !strings.Contains(err.Error(), "[2 2], want F32 [4]") {
		t.Errorf("wrong shape: %v", err)
	}
	if _, err := f.Float64("w", 2, 2); err == nil {
		t.Error("wrong type was accepted")
	}
	if _, err := f.Lookup("v"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "scale, steps") {
		t.Errorf("missing: %v", err)
	}
}

// The layout is the published one: a file made by the format's Python package
// with the same content, spelt out here.
func TestKnownBytes(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}}`
	want := raw(header+strings.Repeat(" ", -(8+len(header))&7), 0)
	want = append(want, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 7)
	got, err := Encode(&File{
		Tensors:  []Tensor{{Name: "b", Shape: []int{1}, U8: []byte{7}}, {Name: "a", Shape: []int{1, 2}, F32: []float32{1, -2}}},
		Metadata: map[string]string{"format": "pt"},
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole, err := Encode(sample)
	if err != nil {
		t.Fatal(err)
	}
	ok := `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":            {nil, "cut off"},
		"header cut":       {whole[:40], "cut off"},
		"data cut":         {whole[:len(whole)-1], "cut off"},
		"trailing byte":    {append(slices.Clone(whole), 0), "1 bytes after"},
		"huge header":      {[]byte("PK\x03\x04 this is a zip file"), "not a safetensors file"},
		"no object":        {raw(`[]`, 0), "does not start"},
		"leading space":    {raw(` {}`, 0), "does not start"},
		"broken json":      {raw(`{"a":`, 0), "EOF"},
		"text after":       {raw(`{} {}`, 0), "after the closing"},
		"twice":            {raw(`{`+ok+`,`+ok+`}`, 8), "twice"},
		"unknown type":     {raw(strings.Replace("{"+ok+"}", "F32", "BF16", 1), 8), "BF16"},
		"no shape":         {raw(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), "shape"},
		"three offsets":    {raw(strings.Replace("{"+ok+"}", "[0,8]", "[0,4,8]", 1), 8), "offsets"},
		"size":             {raw(strings.Replace("{"+ok+"}", "[2]", "[3]", 1), 8), "takes 12 bytes"},
		"negative dim":     {raw(strings.Replace("{"+ok+"}", "[2]", "[-2]", 1), 8), "negative"},
		"overflow":         {raw(strings.Replace("{"+ok+"}", "[2]", "[4294967296,4294967296]", 1), 8), "too large"},
		"backwards":        {raw(strings.Replace("{"+ok+"}", "[0,8]", "[8,0]", 1), 8), "offsets"},
		"unknown field":    {raw(strings.Replace("{"+ok+"}", `"dtype"`, `"x":1,"dtype"`, 1), 8), "x"},
		"gap":              {raw(`{`+ok+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}}`, 10), "gap"},
		"overlap":          {raw(`{`+ok+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[7,8]}}`, 8), "overlap"},
		"metadata numbers": {raw(`{"__metadata__":{"n":1}}`, 0), "__metadata__"},
	} {
		if _, err := Decode(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	p := filepath.Join(t.TempDir(), "cut.safetensors")
	os.WriteFile(p, whole[:len(whole)-1], 0o644)
	if _, err := Load(p); err == nil || !strings.Contains(err.Error(), p) {
		t.Errorf("Load does not name the file: %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	one := []float32{1}
	for name, ts := range map[string][]Tensor{
		"no data":   {{Name: "a", Shape: []int{0}}},
		"two types": {{Name: "a", Shape: []int{1}, F32: one, U8: []byte{1}}},
		"length":    {{Name: "a", Shape: []int{2}, F32: one}},
		"negative":  {{Name: "a", Shape: []int{-1}, F32: one}},
		"reserved":  {{Name: "__metadata__", Shape: []int{1}, F32: one}},
		"twice":     {{Name: "a", Shape: []int{1}, F32: one}, {Name: "a", Shape: []int{1}, F32: one}},
	} {
		if _, err := Encode(&File{Tensors: ts}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Any file survives a round trip, and the bytes don't depend on the order of its tensors.
func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z.ü]{1,8}`), 0, 6, rapid.ID[string]).Draw(t, "names")
		f := &File{}
		for i, n := range names {
			x := Tensor{Name: n, Shape: []int{rapid.IntRange(0, 5).Draw(t, "d")}}
			switch k := x.Shape[0]; i % 4 {
			case 0:
				x.F32 = rapid.SliceOfN(rapid.Float32(), k, k).Draw(t, "v")
			case 1:
				x.F64 = rapid.SliceOfN(rapid.Float64(), k, k).Draw(t, "v")
			case 2:
				x.I64 = rapid.SliceOfN(rapid.Int64(), k, k).Draw(t, "v")
			case 3:
				x.U8 = rapid.SliceOfN(rapid.Byte(), k, k).Draw(t, "v")
			}
			f.Tensors = append(f.Tensors, x)
		}
		a, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(f.Tensors)
		b, err := Encode(f)
		if err != nil || !bytes.Equal(a, b) {
			t.Fatalf("order of tensors changes the bytes: %v", err)
		}
		g, err := Decode(a)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := Encode(g); err != nil || !bytes.Equal(a, c) {
			t.Fatalf("decode and encode changes the bytes: %v", err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	b, _ := Encode(sample)
	f.Add(b)
	f.Add(raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(raw(`{}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Decode(b)
		if err != nil {
			return
		}
		enc, err := Encode(x)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		y, err := Decode(enc)
		if err != nil || len(y.Tensors) != len(x.Tensors) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func ExampleSave() {
	dir, _ := os.MkdirTemp("", "safetensors")
	defer os.RemoveAll(dir)
	p := filepath.Join(dir, "head.safetensors")
	err := Save(p, &File{Tensors: []Tensor{{Name: "w", Shape: []int{1, 2}, F32: []float32{0.5, 2}}}})
	if err != nil {
		fmt.Println(err)
	}
	f, _ := Load(p)
	fmt.Println(f.Float32("w", 1, 2))
	// Output: [0.5 2] <nil>
}
