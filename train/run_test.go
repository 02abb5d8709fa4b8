package train

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestOrderedEmitsInSlotOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		var got []int
		err := Ordered(context.Background(), workers, 3, 60, func(_ context.Context, i int) (int, error) { return i * i, nil },
			func(slot, v int) error {
				if v != slot*slot {
					t.Fatalf("slot %d has %d", slot, v)
				}
				got = append(got, slot)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range got {
			if s != i+3 {
				t.Fatalf("workers %d: emitted %v", workers, got)
			}
		}
		if len(got) != 57 {
			t.Fatalf("workers %d: %d of 57 slots", workers, len(got))
		}
	}
}

func TestOrderedStopsAtTheFirstError(t *testing.T) {
	boom := errors.New("boom")
	var ran atomic.Int32
	last := -1
	err := Ordered(context.Background(), 2, 0, 1000, func(_ context.Context, i int) (int, error) {
		ran.Add(1)
		if i == 10 {
			return 0, boom
		}
		return i, nil
	}, func(slot, _ int) error { last = slot; return nil })
	if !errors.Is(err, boom) {
		t.Fatalf("error %v, want boom", err)
	}
	if last > 9 {
		t.Fatalf("slot %d was emitted after the failing slot 10", last)
	}
	if n := ran.Load(); n > 100 {
		t.Fatalf("%d slots were worked on after the failure", n)
	}
}

func TestOrderedReportsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := Ordered(ctx, 2, 0, 100, func(ctx context.Context, i int) (int, error) { return i, ctx.Err() },
		func(int, int) error {
			if n++; n == 5 {
				cancel()
			}
			return nil
		})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want canceled", err)
	}
}

type testLine struct {
	Format string `json:"format"`
	Unit   string `json:"unit"`
	N      int    `json:"n"`
	Final  bool   `json:"final"`
}

func openTest(t *testing.T, dir string, config any) (*Run, error) {
	t.Helper()
	return OpenRun(dir, Manifest{Command: "test", Seed: 1, Config: config})
}

func TestLogResumesAtWholeUnits(t *testing.T) {
	dir := t.TempDir()
	r, err := openTest(t, dir, map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.OpenLog("x.jsonl", "f@1")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []string{"one", "two"} {
		if err := l.Append(u, testLine{"f@1", u, 1, false}, testLine{"f@1", u, 2, true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "x.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	// Whatever a crash leaves behind the last whole unit is cut off.
	first := strings.Index(string(whole), `"two"`)
	first = strings.LastIndex(string(whole[:first]), "\n") + 1
	for cut := first; cut <= len(whole); cut++ {
		if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := openTest(t, dir, map[string]int{"a": 1})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if !r.Resumed {
			t.Fatal("the folder was not recognised")
		}
		l, err := r.OpenLog("x.jsonl", "f@1")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		n, err := l.Expect([]string{"one", "two", "three"})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if cut == len(whole) {
			want = 2
		}
		if n != want {
			t.Fatalf("cut at %d of %d: %d whole units, want %d", cut, len(whole), n, want)
		}
		if n == 1 {
			if err := l.Append("two", testLine{"f@1", "two", 1, false}, testLine{"f@1", "two", 2, true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "x.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(whole) {
			t.Fatalf("cut at %d: the continued file differs", cut)
		}
	}
}

func TestRunFolderErrors(t *testing.T) {
	dir := t.TempDir()
	r, err := openTest(t, dir, map[string]any{"agent": map[string]any{"temperature": 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openTest(t, dir, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("second opener: %v, want ErrLocked", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = openTest(t, dir, map[string]any{"agent": map[string]any{"temperature": 1}})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "config.agent.temperature was 0.5, now it is 1") {
		t.Errorf("other settings: %v, want ErrConfig that names the key", err)
	}
	_, err = OpenRun(dir, Manifest{Command: "test", Seed: 2, Config: map[string]any{"agent": map[string]any{"temperature": 0.5}}})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "seed was 1, now it is 2") {
		t.Errorf("other seed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileEpisodes), []byte(`{"format":"muse/episode@9","unit":"x","final":true}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = openTest(t, dir, map[string]any{"agent": map[string]any{"temperature": 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenLog(FileEpisodes, EpisodeFormat); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "episodes.jsonl:1") {
		t.Errorf("wrong version: %v, want ErrVersion with the line", err)
	}
	if _, err := ReadEpisodes(dir); !errors.Is(err, ErrVersion) {
		t.Errorf("reading a wrong version: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileRun), []byte(`{"format":"muse/run@9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if _, err := openTest(t, dir, nil); !errors.Is(err, ErrVersion) {
		t.Errorf("run.json of another version: %v, want ErrVersion", err)
	}
	if os.Getuid() != 0 { // root may write anywhere
		ro := t.TempDir()
		if err := os.Chmod(ro, 0o555); err != nil {
			t.Fatal(err)
		}
		if _, err := openTest(t, filepath.Join(ro, "run"), nil); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "--out") {
			t.Errorf("read-only folder: %v, want a permission error with advice", err)
		}
	}
}

func TestManifestHashIgnoresCommandLine(t *testing.T) {
	a := Manifest{Command: "x", Args: []string{"a"}, Version: "1", Seed: 3, Config: map[string]int{"k": 1}}
	b := a
	b.Args, b.Version = []string{"b"}, "2"
	if a.Hash() != b.Hash() {
		t.Error("args or version change the default folder")
	}
	b.Seed = 4
	if a.Hash() == b.Hash() {
		t.Error("the seed doesn't change the default folder")
	}
}

// Half a line that a killed process left must not swallow the next one.
func TestTimingAfterAKill(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileTiming), []byte(`{"id":"a"}`+"\n"+`{"id":"b","ms":1`), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := openTest(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.OpenTiming()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Append(Timing{ID: "c"}, Timing{ID: "d"}), r.Close()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	if err := eachLine(filepath.Join(dir, FileTiming), func(_ int, _ int64, b []byte) error {
		var tm Timing
		err := json.Unmarshal(b, &tm)
		ids = append(ids, tm.ID)
		return err
	}); err != nil || strings.Join(ids, "") != "acd" {
		t.Errorf("lines of %v, %v; want a, c, d", ids, err)
	}
}
