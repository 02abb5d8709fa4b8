package lora

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of onnx.proto that are used here.
const (
	fieldGraph       = 7 // of ModelProto
	fieldInitializer = 5 // of GraphProto
	fieldDims        = 1 // of TensorProto, as the next ones
	fieldDataType    = 2
	fieldName        = 8
	fieldRaw         = 9

	typeFloat   = 1
	typeFloat16 = 10
)

// tensor is one initialiser.
type tensor struct {
	name  string
	dims  []int
	kind  int
	raw   []byte
	field []byte // the whole message
}

var errProto = errors.New("lora: not an ONNX file")

// fields calls fn for every field of a message; value is the content of
// length-delimited fields and nil for others, whole the field with its tag.
func fields(b []byte, fn func(num protowire.Number, kind protowire.Type, value, whole []byte) error) error {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errProto, protowire.ParseError(n))
		}
		m := protowire.ConsumeFieldValue(num, kind, b[n:])
		if m < 0 {
			return fmt.Errorf("%w: %w", errProto, protowire.ParseError(m))
		}
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(b[n:])
		}
		if err := fn(num, kind, value, b[:n+m]); err != nil {
			return err
		}
		b = b[n+m:]
	}
	return nil
}

func parseTensor(b []byte) (tensor, error) {
	t := tensor{field: b}
	err := fields(b, func(num protowire.Number, kind protowire.Type, value, whole []byte) error {
		varint := func() int {
			_, _, n := protowire.ConsumeTag(whole)
			v, _ := protowire.ConsumeVarint(whole[n:])
			return int(v)
		}
		switch {
		case num == fieldDims && kind == protowire.VarintType:
			t.dims = append(t.dims, varint())
		case num == fieldDims:
			for len(value) > 0 { // packed
				v, n := protowire.ConsumeVarint(value)
				if n < 0 {
					return errProto
				}
				t.dims, value = append(t.dims, int(v)), value[n:]
			}
		case num == fieldDataType && kind == protowire.VarintType:
			t.kind = varint()
		case num == fieldName:
			t.name = string(value)
		case num == fieldRaw:
			t.raw = value
		}
		return nil
	})
	return t, err
}

// floats are the numbers of a float16 or float32 initialiser.
func (t tensor) floats() ([]float32, error) {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	switch {
	case t.kind == typeFloat16 && len(t.raw) == 2*n:
		out := make([]float32, n)
		for i := range out {
			out[i] = fromHalf(binary.LittleEndian.Uint16(t.raw[2*i:]))
		}
		return out, nil
	case t.kind == typeFloat && len(t.raw) == 4*n:
		out := make([]float32, n)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
		}
		return out, nil
	}
	return nil, fmt.Errorf("lora: initialiser %q has type %d, shape %v and %d bytes; float16 or float32 raw data is needed", t.name, t.kind, t.dims, len(t.raw))
}

// initialisers lists the graph's initialisers by name.
func initialisers(graph []byte) (map[string]tensor, error) {
	out := map[string]tensor{}
	_, err := rewrite(graph, func(t tensor) ([]byte, error) {
		out[t.name] = t
		return nil, nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%w: no initialisers", errProto)
	}
	return out, err
}

// rewrite returns the file with initialisers replaced: fn gets each of them and
// returns its new message, nil to keep it. Everything else stays, byte for byte.
func rewrite(model []byte, fn func(tensor) ([]byte, error)) ([]byte, error) {
	out := make([]byte, 0, len(model)+1<<20)
	err := fields(model, func(num protowire.Number, kind protowire.Type, value, whole []byte) error {
		if num != fieldGraph || kind != protowire.BytesType {
			out = append(out, whole...)
			return nil
		}
		graph := make([]byte, 0, len(value)+1<<20)
		err := fields(value, func(num protowire.Number, kind protowire.Type, value, whole []byte) error {
			if num != fieldInitializer || kind != protowire.BytesType {
				graph = append(graph, whole...)
				return nil
			}
			t, err := parseTensor(value)
			if err != nil {
				return err
			}
			b, err := fn(t)
			if err != nil {
				return err
			}
			if b == nil {
				graph = append(graph, whole...)
				return nil
			}
			graph = protowire.AppendTag(graph, fieldInitializer, protowire.BytesType)
			graph = protowire.AppendBytes(graph, b)
			return nil
		})
		if err != nil {
			return err
		}
		out = protowire.AppendTag(out, fieldGraph, protowire.BytesType)
		out = protowire.AppendBytes(out, graph)
		return nil
	})
	return out, err
}

// with is the tensor's message with other numbers, in the given type.
func (t tensor) with(kind int, values []float32) ([]byte, error) {
	size := map[int]int{typeFloat: 4, typeFloat16: 2}[kind]
	raw := make([]byte, size*len(values))
	for i, v := range values {
		if kind == typeFloat {
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
		} else {
			binary.LittleEndian.PutUint16(raw[2*i:], toHalf(v))
		}
	}
	var out []byte
	err := fields(t.field, func(num protowire.Number, _ protowire.Type, _, whole []byte) error {
		switch num {
		case fieldDataType:
			out = protowire.AppendTag(out, fieldDataType, protowire.VarintType)
			out = protowire.AppendVarint(out, uint64(kind))
		case fieldRaw:
			out = protowire.AppendTag(out, fieldRaw, protowire.BytesType)
			out = protowire.AppendBytes(out, raw)
		default:
			out = append(out, whole...)
		}
		return nil
	})
	return out, err
}
