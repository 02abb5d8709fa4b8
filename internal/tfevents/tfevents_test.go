package tfevents

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/testpython"
)

// The bytes of a file version event as TensorFlow writes it (wall time 0).
func TestRecordBytes(t *testing.T) {
	// CRC-32C of "123456789" is the published check value e3069283.
	if got, want := masked([]byte("123456789")), uint32(0xe3069283>>15|0xe3069283<<17&0xffffffff)+0xa282ead8; got != want {
		t.Errorf("masked checksum %08x, want %08x", got, want)
	}
	got := hex.EncodeToString(appendRecord(nil, appendString(appendDouble(nil, 1, 0), 3, Version)))
	if want := "1800000000000000" + "a37f4b22" + "0900000000000000001a0d" + hex.EncodeToString([]byte(Version)); !strings.HasPrefix(got, want) {
		t.Errorf("record %s, want the prefix %s", got, want)
	}
}

func write(t *testing.T, dir string) (string, []Scalar) {
	t.Helper()
	w, err := Create(dir, "muse")
	if err != nil {
		t.Fatal(err)
	}
	var want []Scalar
	for i := range 20 {
		for _, tag := range []string{"success/muse-best", "steps/react"} {
			v := Scalar{Tag: tag, Step: int64(i * 100), Value: float32(i) / 8, Wall: float64(i * 100)}
			want = append(want, v)
			if err := w.Scalar(v.Tag, v.Step, float64(v.Value)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "events.out.tfevents.1000000000.muse"), want
}

func TestReadBack(t *testing.T) {
	path, want := write(t, t.TempDir())
	got, err := Read(path)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, %v", got, err)
	}
	b, _ := os.ReadFile(path)
	for _, cut := range []func([]byte) []byte{
		func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		func(b []byte) []byte { return b[:len(b)-3] },
		func(b []byte) []byte { return []byte("no events here, and more than a header") },
	} {
		if err := os.WriteFile(path, cut(slices.Clone(b)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("a damaged file: %v", err)
		}
	}
}

// The tensorboard package's own loader must read the curves.
func TestTensorBoardReadsIt(t *testing.T) {
	python := testpython.Find(t)
	dir := t.TempDir()
	_, want := write(t, dir)
	script := `
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}); a.Reload()
for t in sorted(a.Tags()["scalars"]):
    for e in a.Scalars(t): print(t, e.step, e.value)
`
	out, err := exec.Command(python, "-c", script, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	slices.SortStableFunc(want, func(a, b Scalar) int { return strings.Compare(a.Tag, b.Tag) })
	var lines []string
	for _, v := range want {
		f := fmt.Sprint(v.Value)
		if !strings.Contains(f, ".") {
			f += ".0"
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", v.Tag, v.Step, f))
	}
	var got []string
	for l := range strings.Lines(string(out)) {
		if strings.Contains(l, "/") && !strings.Contains(l, "Warning") {
			got = append(got, strings.TrimSpace(l))
		}
	}
	if !slices.Equal(got, lines) {
		t.Errorf("tensorboard read\n%s", out)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("x"))
	f.Add(appendRecord(nil, appendString(appendDouble(nil, 1, 0), 3, Version)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(p)
	})
}
