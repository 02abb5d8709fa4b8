package embed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fake is an encoder whose vector of a text starts with the text's length.
type fake struct {
	mu     sync.Mutex
	runs   [][]int // lengths of each batch
	broken error
}

func (f *fake) tokens(text string) ([]int32, error) { return make([]int32, len(text)+2), nil }

func (f *fake) run(ids [][]int32) ([][]float32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var batch []int
	out := make([][]float32, len(ids))
	for i, x := range ids {
		batch = append(batch, len(x)-2)
		out[i] = make([]float32, Dim)
		out[i][0], out[i][Dim-1] = float32(len(x)-2), 1.0/3
	}
	f.runs = append(f.runs, batch)
	return out, f.broken
}

func (f *fake) close() error { return nil }

func newFake(t *testing.T, o Options) (*Model, *fake) {
	t.Helper()
	f := &fake{}
	m, err := newModel(f, "hash", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, f
}

func words(lens ...int) []string {
	var out []string
	for _, n := range lens {
		out = append(out, strings.Repeat("x", n))
	}
	return out
}

func check(t *testing.T, m *Model, texts []string) {
	t.Helper()
	rows, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if len(r) != Dim || int(r[0]) != len(texts[i]) || r[Dim-1] != 1.0/3 {
			t.Errorf("row %d of %v belongs to another text", i, texts)
		}
	}
}

func TestBatchesAndMemory(t *testing.T) {
	m, f := newFake(t, Options{})
	check(t, m, words(1, 9, 2, 9, 3, 4, 5, 6, 7, 9))
	if want := [][]int{{9, 7, 6, 5, 4, 3}, {2, 1}}; fmt.Sprint(f.runs) != fmt.Sprint(want) {
		t.Errorf("batches %v, want %v", f.runs, want)
	}
	check(t, m, words(9, 8, 1))
	s := m.Stats()
	if s.Requests != 13 || s.Computed != 9 || s.Hits != 4 || s.DiskHits != 0 || len(f.runs) != 3 {
		t.Errorf("stats %+v, %d runs", s, len(f.runs))
	}
	check(t, m, nil)
}

func TestMemoryIsBounded(t *testing.T) {
	m, f := newFake(t, Options{CacheEntries: 2})
	check(t, m, words(1, 2))
	check(t, m, words(1)) // now 2 is the oldest
	check(t, m, words(3))
	f.runs = nil
	check(t, m, words(1, 3))
	if len(f.runs) != 0 {
		t.Errorf("the recently used were dropped: %v", f.runs)
	}
	check(t, m, words(2))
	if len(f.runs) != 1 || len(m.mem.items) != 2 || m.mem.order.Len() != 2 {
		t.Errorf("runs %v, %d entries", f.runs, len(m.mem.items))
	}
}

func TestErrors(t *testing.T) {
	m, f := newFake(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Embed(ctx, words(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	f.broken = errors.New("boom")
	if _, err := m.Embed(context.Background(), words(1)); !errors.Is(err, f.broken) {
		t.Errorf("broken model: %v", err)
	}
	f.broken = nil
	check(t, m, words(1)) // nothing wrong was cached
}

func TestDiskCache(t *testing.T) {
	p := filepath.Join(t.TempDir(), "cache")
	m, _ := newFake(t, Options{DiskCache: p})
	check(t, m, words(1, 2, 3))
	other, g := newFake(t, Options{DiskCache: p, CacheEntries: -1})
	check(t, other, words(3, 4))
	if s := other.Stats(); s.DiskHits != 1 || s.Computed != 1 || len(g.runs) != 1 {
		t.Errorf("second user: %+v", s)
	}
	check(t, m, words(5)) // makes m look at what the other appended
	f := m.enc.(*fake)
	f.runs = nil
	check(t, m, words(4))
	if len(f.runs) != 0 {
		t.Error("what the other process wrote was computed again")
	}
	// Another model must not be given these vectors.
	f2 := &fake{}
	m2, err := newModel(f2, "another hash", Options{DiskCache: p})
	if err != nil {
		t.Fatal(err)
	}
	defer m2.Close()
	check(t, m2, words(1))
	if s := m2.Stats(); s.DiskHits != 0 {
		t.Errorf("another model: %+v", s)
	}
}

func TestDiskCacheTolerance(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "cache")
	m, _ := newFake(t, Options{DiskCache: p})
	check(t, m, words(1, 2, 3))
	m.Close()
	whole, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(diskHeader) + 3*recordSize; len(whole) != want {
		t.Fatalf("file has %d bytes, want %d", len(whole), want)
	}
	// Cut anywhere: whole records before the cut are found, the rest is computed
	// again, and the file ends up whole.
	for _, n := range []int{0, 5, len(diskHeader), len(diskHeader) + 7, len(diskHeader) + recordSize, len(whole) - 1} {
		os.WriteFile(p, whole[:n], 0o644)
		m, _ := newFake(t, Options{DiskCache: p})
		check(t, m, words(3, 2, 1))
		want := max(0, n-len(diskHeader)) / recordSize
		if s := m.Stats(); s.DiskHits != want || s.DiskErrors != 0 {
			t.Errorf("cut to %d bytes: %+v, want %d disk hits", n, s, want)
		}
		m.Close()
		again, _ := newFake(t, Options{DiskCache: p})
		check(t, again, words(1, 2, 3))
		if s := again.Stats(); s.DiskHits != 3 {
			t.Errorf("cut to %d bytes, after repair: %+v", n, s)
		}
		if st, _ := os.Stat(p); st.Size() != int64(len(whole)) {
			t.Errorf("cut to %d bytes: file now has %d", n, st.Size())
		}
	}
	// A flipped bit is noticed.
	bad := slices.Clone(whole)
	bad[len(diskHeader)+keySize+8] ^= 1
	os.WriteFile(p, bad, 0o644)
	m, _ = newFake(t, Options{DiskCache: p})
	check(t, m, words(1, 2, 3))
	if s := m.Stats(); s.DiskHits != 2 || s.DiskErrors != 1 || s.Computed != 1 {
		t.Errorf("flipped bit: %+v", s)
	}
	os.WriteFile(p, []byte("something else\n"), 0o644)
	if _, err := newModel(&fake{}, "hash", Options{DiskCache: p}); err == nil || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("foreign file: %v", err)
	}
}

// Many users of one file, each with an open cache of its own as processes have.
func TestDiskCacheSharing(t *testing.T) {
	p := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 4 {
		m, _ := newFake(t, Options{DiskCache: p, CacheEntries: -1})
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 30 {
				if _, err := m.Embed(context.Background(), words(n, n+1)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	m, f := newFake(t, Options{DiskCache: p})
	for n := range 31 {
		check(t, m, words(n))
	}
	st, _ := os.Stat(p)
	if want := int64(len(diskHeader) + 31*recordSize); st.Size() != want || len(f.runs) != 0 {
		t.Errorf("file has %d bytes, want %d; %d texts were missing", st.Size(), want, len(f.runs))
	}
}
