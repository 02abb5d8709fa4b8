// Package embed turns texts into vectors by all-MiniLM-L6-v2: 384 entries, mean
// of the last hidden states over the tokens, scaled to length 1, so that the dot
// product of two vectors is their cosine similarity (Reimers and Gurevych,
// "Sentence-BERT", 2019; the text encoder of the paper's self-assessment model).
//
//	m, err := embed.Open(embed.Options{})
//	rows, err := m.Embed(ctx, []string{"put a clean mug in shelf.", "> go to shelf 1"})
//
// A text's vector is the same to the last bit whether it is embedded alone or in
// company, now or from the cache: texts are packed without padding (see
// scripts/build_onnx.py), so runs that differ in what was cached still agree.
// Texts are cut after 256 tokens, as the model was trained.
//
// Without the native parts, Open returns an error that says how to get them.
package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/muse-agent/muse/internal/hftok"
	"github.com/muse-agent/muse/internal/onnx"
)

// Dim is the length of a vector.
const Dim = 384

// MaxTokens is where texts are cut, special tokens included.
const MaxTokens = 256

// Available says whether this program was built with the native parts.
const Available = onnx.Available && hftok.Available

// Options configures Open. The zero value is ready to use.
type Options struct {
	// Dir holds model.onnx and tokenizer.json; "" means $MUSE_MINILM, else
	// models/minilm where `make deps` puts it.
	Dir string
	// CacheEntries bounds the vectors kept in memory (1.5 kB each and the text);
	// 0 is read as 20000, negative keeps none.
	CacheEntries int
	// DiskCache is the file of a cache that outlives the process and may be used
	// by several at once; "" means none. Vectors computed on one kind of processor
	// can differ in the last bits from another's: don't ship the file.
	DiskCache string
	// Threads inside one call; 0 is read as 1. Calls run side by side anyway.
	Threads int
}

// Stats counts what was asked and what it cost.
type Stats struct {
	Requests   int     `json:"requests"`    // texts asked for
	Hits       int     `json:"hits"`        // of these, found in memory or twice in one call
	DiskHits   int     `json:"disk_hits"`   // found in the disk cache
	Computed   int     `json:"computed"`    // embedded by the model
	Tokens     int     `json:"tokens"`      // of the computed texts
	Truncated  int     `json:"truncated"`   // computed texts that filled the 256 tokens
	ComputeMS  float64 `json:"compute_ms"`  // wall time inside the model, summed over calls
	DiskErrors int     `json:"disk_errors"` // failed reads and writes of the disk cache
}

// Model embeds texts. Safe for concurrent use. It implements selfassess.Embedder.
type Model struct {
	enc  encoder
	hash string

	mu    sync.Mutex // guards all below; not held while the model runs
	mem   *lru
	disk  *diskCache
	stats Stats
}

// encoder is the model behind the caches; tests replace it.
type encoder interface {
	// tokens returns the ids of a text, never none.
	tokens(text string) ([]int32, error)
	// run returns one vector for each text; at most slots texts.
	run(ids [][]int32) ([][]float32, error)
	close() error
}

// Open loads the model.
func Open(o Options) (*Model, error) {
	enc, hash, err := openMiniLM(o)
	if err != nil {
		return nil, err
	}
	return newModel(enc, hash, o)
}

func newModel(enc encoder, hash string, o Options) (*Model, error) {
	m := &Model{enc: enc, hash: hash, mem: newLRU(cmp.Or(o.CacheEntries, 20000))}
	if o.DiskCache != "" {
		d, err := openDiskCache(o.DiskCache)
		if err != nil {
			return nil, errors.Join(err, enc.close())
		}
		m.disk = d
	}
	return m, nil
}

// Dim returns the length of a vector: 384.
func (m *Model) Dim() int { return Dim }

// Hash identifies the model file and the tokenizer: 16 hexadecimal digits.
func (m *Model) Hash() string { return m.hash }

// Stats returns the counts so far.
func (m *Model) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Embed returns one vector of length 1 for each text, in order. The rows belong
// to the cache: the caller must not write to them. When ctx ends, Embed returns
// its error after the running batch; what was computed stays cached.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := m.lookup(texts, out)
	if err := m.compute(ctx, texts, missing, out); err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	return out, nil
}

// lookup fills out from the caches and returns, for each distinct text not
// found, the places that wait for it.
func (m *Model) lookup(texts []string, out [][]float32) [][]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Requests += len(texts)
	waiting := map[string]int{} // text -> place in missing
	var missing [][]int
	for i, t := range texts {
		if v := m.mem.get(t); v != nil {
			out[i] = v
			m.stats.Hits++
			continue
		}
		if k, ok := waiting[t]; ok {
			missing[k] = append(missing[k], i)
			m.stats.Hits++
			continue
		}
		if m.disk != nil {
			v, err := m.disk.get(cacheKey(m.hash, t))
			if err != nil {
				m.stats.DiskErrors++
			}
			if v != nil {
				out[i] = v
				m.mem.put(t, v)
				m.stats.DiskHits++
				continue
			}
		}
		waiting[t] = len(missing)
		missing = append(missing, []int{i})
	}
	return missing
}

// compute embeds the missing texts, a batch after the other.
func (m *Model) compute(ctx context.Context, texts []string, missing [][]int, out [][]float32) error {
	type job struct {
		ids    []int32
		places []int
	}
	jobs := make([]job, len(missing))
	for i, places := range missing {
		ids, err := m.enc.tokens(texts[places[0]])
		if err != nil {
			return err
		}
		jobs[i] = job{ids, places}
	}
	// Batches of like lengths keep the time between two looks at ctx even.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(len(b.ids), len(a.ids)) })
	for batch := range slices.Chunk(jobs, slots) {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids := make([][]int32, len(batch))
		for i, j := range batch {
			ids[i] = j.ids
		}
		start := time.Now() // for the counters only
		rows, err := m.enc.run(ids)
		if err != nil {
			return err
		}
		took := time.Since(start)
		keys := make([]diskKey, len(batch))
		for i, j := range batch {
			keys[i] = cacheKey(m.hash, texts[j.places[0]])
			for _, p := range j.places {
				out[p] = rows[i]
			}
		}
		m.mu.Lock()
		m.stats.ComputeMS += float64(took.Microseconds()) / 1000
		m.stats.Computed += len(batch)
		for i, j := range batch {
			m.mem.put(texts[j.places[0]], rows[i])
			m.stats.Tokens += len(j.ids)
			if len(j.ids) >= MaxTokens {
				m.stats.Truncated++
			}
		}
		if m.disk != nil {
			if err := m.disk.put(keys, rows); err != nil {
				m.stats.DiskErrors++ // a full disk must not stop an experiment
			}
		}
		m.mu.Unlock()
	}
	return nil
}

// Close frees the model; it must not be in use. Closing twice is fine.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.enc.close()
	if m.disk != nil {
		err = errors.Join(err, m.disk.close())
		m.disk = nil
	}
	return err
}
