package onnx

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// The tests write their own tiny models, in protobuf's wire format.

func pbBytes(num int, b []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(num)<<3|2)
	out = binary.AppendUvarint(out, uint64(len(b)))
	return append(out, b...)
}

func pbInt(num int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num)<<3), v)
}

func cat(bs ...[]byte) []byte { return bytes.Join(bs, nil) }

// value writes a ValueInfoProto; a dim of -1 is a named, varying one.
func value(name string, t DType, dims ...int64) []byte {
	var shape []byte
	for _, d := range dims {
		dim := pbInt(1, uint64(d))
		if d < 0 {
			dim = pbBytes(2, []byte("n"))
		}
		shape = append(shape, pbBytes(1, dim)...)
	}
	tensor := cat(pbInt(1, uint64(t)), pbBytes(2, shape))
	return cat(pbBytes(1, []byte(name)), pbBytes(2, pbBytes(1, tensor)))
}

func node(op string, in []string, out string, attrs ...[]byte) []byte {
	var b []byte
	for _, s := range in {
		b = append(b, pbBytes(1, []byte(s))...)
	}
	b = append(b, pbBytes(2, []byte(out))...)
	b = append(b, pbBytes(4, []byte(op))...)
	for _, a := range attrs {
		b = append(b, pbBytes(5, a)...)
	}
	return b
}

func intAttr(name string, v int64) []byte {
	return cat(pbBytes(1, []byte(name)), pbInt(3, uint64(v)), pbInt(20, 2))
}

func model(nodes, inits, ins, outs [][]byte) []byte {
	var g []byte
	for _, n := range nodes {
		g = append(g, pbBytes(1, n)...)
	}
	g = append(g, pbBytes(2, []byte("test"))...)
	for _, t := range inits {
		g = append(g, pbBytes(5, t)...)
	}
	for _, v := range ins {
		g = append(g, pbBytes(11, v)...)
	}
	for _, v := range outs {
		g = append(g, pbBytes(12, v)...)
	}
	meta := cat(pbBytes(1, []byte("layers")), pbBytes(2, []byte("4")))
	return cat(pbInt(1, 8), pbBytes(7, g), pbBytes(8, pbInt(2, 17)), pbBytes(14, meta))
}

// cacheModel is the shape of a step with a cache: present = past ++ x along
// axis 1, sum = x + w (a weight), ids pass through.
func cacheModel() []byte {
	w := cat(pbInt(1, 2), pbInt(2, 1), pbBytes(8, []byte("w")), pbBytes(9, f32le(10, 20)))
	return model(
		[][]byte{
			node("Concat", []string{"past", "x"}, "present", intAttr("axis", 1)),
			node("Add", []string{"x", "w"}, "sum"),
			node("Identity", []string{"ids"}, "same"),
		},
		[][]byte{w},
		// Old writers list weights as inputs too.
		[][]byte{value("x", Float32, -1, -1, 2), value("past", Float32, -1, -1, 2), value("ids", Int64, -1), value("w", Float32, 2)},
		[][]byte{value("present", Float32, -1, -1, 2), value("sum", Float32, -1, -1, 2), value("same", Int64, -1)})
}

func TestReadModelInfo(t *testing.T) {
	m := cacheModel()
	info, err := ReadModelInfo(bytes.NewReader(m), int64(len(m)))
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Inputs) != 3 || len(info.Outputs) != 3 {
		t.Fatalf("got %d inputs, %d outputs, want 3 and 3 (the weight is no input)", len(info.Inputs), len(info.Outputs))
	}
	x := info.Inputs[0]
	if x.Name != "x" || x.Type != Float32 || len(x.Dims) != 3 || x.Dims[0] != -1 || x.Dims[2] != 2 {
		t.Errorf("first input is %+v", x)
	}
	if v := info.Inputs[2]; v.Name != "ids" || v.Type != Int64 {
		t.Errorf("third input is %+v", v)
	}
	if info.Metadata["layers"] != "4" {
		t.Errorf("metadata %v", info.Metadata)
	}
}

func TestReadModelInfoRefuses(t *testing.T) {
	m := cacheModel()
	for name, b := range map[string][]byte{
		"empty": nil, "text": []byte("not a model at all"), "cut": m[:len(m)/2], "zeros": make([]byte, 64),
	} {
		if _, err := ReadModelInfo(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), "ONNX") && !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%s: unhelpful error %v", name, err)
		}
	}
}

func TestOrder(t *testing.T) {
	have := []ValueInfo{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		want []string
		all  bool
		err  string
	}{
		{nil, true, ""},
		{[]string{"b", "a"}, true, ""},
		{[]string{"a"}, false, ""},
		{[]string{"a"}, true, "needs the inputs"},
		{[]string{"a", "c"}, true, `no input "c"`},
		{[]string{"a", "a"}, true, "twice"},
	} {
		got, err := order("m", "input", have, c.want, c.all)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: error %v, want %q", c.want, err, c.err)
		}
		for i := range c.want {
			if err == nil && got[i].Name != c.want[i] {
				t.Errorf("%v: got %v", c.want, got)
			}
		}
	}
}

func FuzzReadModelInfo(f *testing.F) {
	f.Add(cacheModel())
	f.Add([]byte{0x3a, 0x02, 0x5a, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := ReadModelInfo(bytes.NewReader(b), int64(len(b)))
		if err == nil && len(info.Inputs)+len(info.Outputs) > len(b) {
			t.Errorf("%d bytes can't hold %d values", len(b), len(info.Inputs)+len(info.Outputs))
		}
	})
}
