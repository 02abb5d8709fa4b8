package lora

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/internal/safetensors"
)

// Format is the format tag in an adapter's metadata.
const Format = "muse/lora@1"

var (
	// ErrModel: the adapter was made for another model.
	ErrModel = errors.New("lora: the adapter is for another model")
	// ErrFormat: the file is no adapter that this program reads.
	ErrFormat = errors.New("lora: not an adapter of format " + Format)
)

// Encode returns the adapter as a safetensors file: tensors "NAME.a" [in, rank] and
// "NAME.b" [rank, out], and metadata. Equal adapters give equal bytes.
func (ad *Adapter) Encode() ([]byte, error) {
	f := &safetensors.File{Metadata: map[string]string{
		"format": Format, "name": ad.Name, "model": ad.Model, "base": ad.Base, "recipe": ad.Recipe,
		"rank": strconv.Itoa(ad.Rank), "alpha": strconv.FormatFloat(ad.Alpha, 'g', -1, 64), "targets": strings.Join(ad.Targets(), " "),
	}}
	for _, x := range ad.factors {
		f.Tensors = append(f.Tensors,
			safetensors.Tensor{Name: x.name + ".a", Shape: []int{x.in, ad.Rank}, F32: x.a},
			safetensors.Tensor{Name: x.name + ".b", Shape: []int{ad.Rank, x.out}, F32: x.b})
	}
	return safetensors.Encode(f)
}

// Save writes the file, wholly or not at all.
func (ad *Adapter) Save(path string) error {
	b, err := ad.Encode()
	if err != nil {
		return fmt.Errorf("lora: %s: %w", path, err)
	}
	return atomicfile.WriteFile(path, b, 0o644)
}

// Load reads an adapter and the hash of its file, which names it in records.
func Load(path string) (*Adapter, string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("lora: adapter: %w", err)
	}
	ad, err := Decode(b)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	sum := sha256.Sum256(b)
	return ad, hex.EncodeToString(sum[:]), nil
}

// Decode reads the bytes of an adapter and checks that everything in them belongs together.
func Decode(b []byte) (*Adapter, error) {
	f, err := safetensors.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	m := f.Metadata
	if m["format"] != Format {
		return nil, fmt.Errorf("%w: its format is %.40q", ErrFormat, m["format"])
	}
	ad := &Adapter{Name: m["name"], Model: m["model"], Base: m["base"], Recipe: m["recipe"]}
	if ad.Rank, err = strconv.Atoi(m["rank"]); err != nil || ad.Rank < 1 || ad.Rank > maxRank {
		return nil, fmt.Errorf("%w: rank is %.40q, want 1 to %d", ErrFormat, m["rank"], maxRank)
	}
	if ad.Alpha, err = strconv.ParseFloat(m["alpha"], 64); err != nil || math.IsNaN(ad.Alpha) || math.IsInf(ad.Alpha, 0) {
		return nil, fmt.Errorf("%w: alpha is %.40q", ErrFormat, m["alpha"])
	}
	names := strings.Fields(m["targets"])
	if ad.Name == "" || ad.Model == "" || len(names) == 0 || len(f.Tensors) != 2*len(names) {
		return nil, fmt.Errorf("%w: name, model or targets are missing, or the targets %q do not match %d tensors", ErrFormat, names, len(f.Tensors))
	}
	for _, name := range names {
		ta, err := f.Lookup(name + ".a")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		tb, err := f.Lookup(name + ".b")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if len(ta.Shape) != 2 || len(tb.Shape) != 2 || ta.F32 == nil || tb.F32 == nil || ta.Shape[1] != ad.Rank || tb.Shape[0] != ad.Rank {
			return nil, fmt.Errorf("%w: %s has factors %v and %v, the rank is %d", ErrFormat, name, ta.Shape, tb.Shape, ad.Rank)
		}
		for _, s := range [][]float32{ta.F32, tb.F32} {
			for _, x := range s {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					return nil, fmt.Errorf("%w: %s holds a number that is not finite", ErrFormat, name)
				}
			}
		}
		ad.factors = append(ad.factors, factor{name: name, in: ta.Shape[0], out: tb.Shape[1], a: ta.F32, b: tb.F32})
	}
	return ad, nil
}

// Merge returns a copy of an ONNX file in which the adapter's matrices are the
// effective ones, as float32. The file given is not changed.
func Merge(graph []byte, ad *Adapter) ([]byte, error) { return ad.patch(graph, typeFloat, 1) }

// Unmerge takes an adapter out of a file made by [Merge]. The base's matrices are
// float16, so rounding gives them back exactly: the result has the base's bytes.
func Unmerge(graph []byte, ad *Adapter) ([]byte, error) { return ad.patch(graph, typeFloat16, -1) }

func (ad *Adapter) patch(graph []byte, kind int, sign float32) ([]byte, error) {
	at := map[string]factor{}
	for _, f := range ad.factors {
		at[f.name] = f
	}
	out, err := rewrite(graph, func(t tensor) ([]byte, error) {
		f, ok := at[t.name]
		if !ok {
			return nil, nil
		}
		delete(at, t.name)
		if len(t.dims) != 2 || t.dims[0] != f.in || t.dims[1] != f.out {
			return nil, fmt.Errorf("%w: %s is [%d, %d] in the adapter and %v in the model", ErrModel, f.name, f.in, f.out, t.dims)
		}
		w, err := t.floats()
		if err != nil {
			return nil, err
		}
		for i, x := range ad.delta(f) {
			w[i] += sign * x
		}
		return t.with(kind, w)
	})
	if err != nil {
		return nil, err
	}
	for name := range at {
		return nil, fmt.Errorf("%w: the model has no matrix %q", ErrModel, name)
	}
	return out, nil
}
