package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Encode returns the bytes of a file. Tensors are laid out by element size,
// largest first, then by name, so that every one is aligned; the header is
// padded with spaces to a multiple of 8.
func Encode(f *File) ([]byte, error) {
	ts := slices.Clone(f.Tensors)
	var errs []error
	total := 0
	seen := map[string]bool{}
	for _, t := range ts {
		d := t.DType()
		n, err := elements(t.Shape)
		switch {
		case d == "":
			err = errors.New("needs exactly one non-nil slice")
		case err == nil && n != t.len():
			err = fmt.Errorf("shape %v needs %d elements, there are %d", t.Shape, n, t.len())
		case t.Name == metadataKey || !utf8.ValidString(t.Name):
			err = errors.New("is no valid name")
		case seen[t.Name]:
			err = errors.New("is there twice")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("safetensors: tensor %q: %w", t.Name, err))
		}
		seen[t.Name] = true
		total += t.len() * d.Size()
	}
	for k, v := range f.Metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			errs = append(errs, fmt.Errorf("safetensors: metadata %q is not valid UTF-8", k))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(ts, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType().Size(), a.DType().Size()), cmp.Compare(a.Name, b.Name))
	})

	header, err := encodeHeader(ts, f.Metadata)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 8+len(header)+total)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(header)))
	out = append(out, header...)
	for _, t := range ts {
		for _, v := range t.F64 {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
		for _, v := range t.I64 {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
		for _, v := range t.F32 {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
		out = append(out, t.U8...)
	}
	return out, nil
}

func encodeHeader(ts []Tensor, meta map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	sep := ""
	put := func(key string, v any) {
		k, _ := json.Marshal(key)
		x, _ := json.Marshal(v) // maps are written in sorted order
		b.WriteString(sep)
		b.Write(k)
		b.WriteByte(':')
		b.Write(x)
		sep = ","
	}
	if len(meta) > 0 {
		put(metadataKey, meta)
	}
	off := 0
	for _, t := range ts {
		end := off + t.len()*t.DType().Size()
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		put(t.Name, entry{t.DType(), shape, []int{off, end}})
		off = end
	}
	b.WriteByte('}')
	for (8+b.Len())%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > MaxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes is above the limit of %d", b.Len(), MaxHeader)
	}
	return b.Bytes(), nil
}

// elements multiplies the shape out, with an error for negatives and overflow.
func elements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d != 0 && n > math.MaxInt/8/d {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= d
	}
	return n, nil
}
