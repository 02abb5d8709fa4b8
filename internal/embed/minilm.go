package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/muse-agent/muse/internal/hftok"
	"github.com/muse-agent/muse/internal/onnx"
)

// DirEnv names the variable that points at the folder of the model.
const DirEnv = "MUSE_MINILM"

// slots is the number of texts in one call of the graph: SLOTS in scripts/build_onnx.py.
const slots = 6

type miniLM struct {
	tok  *hftok.Tokenizer
	sess *onnx.Session
}

func openMiniLM(o Options) (encoder, string, error) {
	if !Available {
		_, err := hftok.Open(nil, hftok.Options{}) // its error says what to do
		return nil, "", fmt.Errorf("embed: %w", err)
	}
	dir, err := modelDir(o.Dir)
	if err != nil {
		return nil, "", err
	}
	model, tokenizer := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "tokenizer.json")
	js, err := os.ReadFile(tokenizer)
	if err != nil {
		return nil, "", fmt.Errorf("embed: %w; run 'make deps'", err)
	}
	hash, err := hashModel(model, js)
	if err != nil {
		return nil, "", fmt.Errorf("embed: %w; run 'make deps'", err)
	}
	tok, err := hftok.Open(js, hftok.Options{MaxLen: MaxTokens, StripPadding: true})
	if err != nil {
		return nil, "", fmt.Errorf("embed: %s: %w", tokenizer, err)
	}
	sess, err := onnx.OpenFile(model, onnx.Options{
		Threads: o.Threads,
		Inputs:  []string{"ids", "pos", "lens"},
		Outputs: []string{"hidden"},
	})
	if err == nil && (len(sess.Inputs()[2].Dims) != 1 || sess.Inputs()[2].Dims[0] != slots) {
		err = errors.Join(fmt.Errorf("%s takes %v texts a call, want %d: it was built by another version; run 'make deps'",
			model, sess.Inputs()[2].Dims, slots), sess.Close())
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("embed: %w", err), tok.Close())
	}
	return &miniLM{tok, sess}, hash, nil
}

func modelDir(dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv(DirEnv)
	}
	if dir != "" {
		return dir, nil
	}
	dir, tried := onnx.FindDeps("models/minilm")
	if dir == "" {
		return "", fmt.Errorf("embed: no MiniLM model; run 'make deps' or set %s to its folder (looked in %s)", DirEnv, strings.Join(tried, ", "))
	}
	return dir, nil
}

// hashModel covers everything that a vector depends on, except this program.
func hashModel(model string, tokenizer []byte) (string, error) {
	f, err := os.Open(model)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintf(h, "minilm %d tokens\n", MaxTokens)
	t := sha256.Sum256(tokenizer)
	h.Write(t[:])
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func (m *miniLM) tokens(text string) ([]int32, error) {
	ids, err := m.tok.Encode(text, true)
	if err == nil && len(ids) == 0 {
		err = errors.New("tokenizer gave no tokens")
	}
	return ids, err
}

func (m *miniLM) run(texts [][]int32) ([][]float32, error) {
	total := 0
	lens := make([]int64, slots)
	for i := range lens {
		lens[i] = 1 // a dummy token: the attention kernel can't take an empty text
		if i < len(texts) {
			lens[i] = int64(len(texts[i]))
		}
		total += int(lens[i])
	}
	ids, pos := make([]int64, 0, total), make([]int64, 0, total)
	for _, t := range texts {
		for p, id := range t {
			ids = append(ids, int64(id))
			pos = append(pos, int64(p))
		}
	}
	ids, pos = ids[:total], pos[:total] // dummies: token 0 at place 0
	hidden := make([]float32, total*Dim)
	t := int64(total)
	err := m.sess.Run(
		[]onnx.Tensor{{Shape: []int64{t}, I64: ids}, {Shape: []int64{t}, I64: pos}, {Shape: []int64{slots}, I64: lens}},
		[]onnx.Tensor{{Shape: []int64{t, Dim}, F32: hidden}})
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, ids := range texts {
		out[i] = pool(hidden[:len(ids)*Dim])
		hidden = hidden[len(ids)*Dim:]
	}
	return out, nil
}

// pool sums the rows [n, 384] and scales the sum to length 1; the division by n
// of a mean would cancel. float64 inside, so that the order hardly matters.
func pool(rows []float32) []float32 {
	var sum [Dim]float64
	for ; len(rows) > 0; rows = rows[Dim:] {
		for i, x := range rows[:Dim] {
			sum[i] += float64(x)
		}
	}
	var norm float64
	for _, s := range sum {
		norm += s * s
	}
	norm = max(math.Sqrt(norm), 1e-12) // 1e-12 as in the reference implementation
	out := make([]float32, Dim)
	for i, s := range sum {
		out[i] = float32(s / norm)
	}
	return out
}

func (m *miniLM) close() error { return errors.Join(m.tok.Close(), m.sess.Close()) }
