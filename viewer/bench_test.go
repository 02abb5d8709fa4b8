package viewer_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muse-agent/muse/viewer"
)

// tenThousand writes a run of 10,000 episodes made of the test run's own (330 MB), with
// its index, and returns the folder.
func tenThousand(b *testing.B) string {
	b.Helper()
	all, err := os.ReadFile("testdata/run/episodes.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(all, []byte("\n")), []byte("\n"))
	dir := b.TempDir()
	f, err := os.Create(filepath.Join(dir, "episodes.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range 10000 {
		l := bytes.Replace(bytes.TrimSpace(lines[i%len(lines)]), []byte(`"id":"`), fmt.Appendf(nil, `"id":"%05d `, i), 1)
		if _, err := w.Write(append(l, '\n')); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := viewer.Open(dir, viewer.OpenOptions{}) // writes the index
	if err != nil {
		b.Fatal(err)
	}
	r.Close()
	return dir
}

// BenchmarkOpen is the time from a folder with 10,000 episodes to the first picture.
func BenchmarkOpen(b *testing.B) {
	dir := tenThousand(b)
	for b.Loop() {
		r, err := viewer.Open(dir, viewer.OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if len(r.Entries()) != 10000 {
			b.Fatal(len(r.Entries()))
		}
		viewer.Raster(viewer.NewApp(r, viewer.Light).Scene(), 1)
		r.Close()
	}
}

// BenchmarkEpisode reads an episode of 50 commands with five futures each, and draws one.
func BenchmarkEpisode(b *testing.B) {
	r := openRun(b)
	i := find(b, r, lost)
	line, err := r.Line(i)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := viewer.Decode(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	a := viewer.NewApp(r, viewer.Light)
	a.Open(i)
	b.Run("scene", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			a.Show(n % 50)
			a.Scene()
		}
	})
	b.Run("raster", func(b *testing.B) {
		m := viewer.Raster(a.Scene(), 1)
		for b.Loop() {
			m = viewer.RasterInto(m, a.Scene(), 1)
		}
	})
	arm := viewer.NewApp(openArm(b), viewer.Light)
	arm.Open(0)
	b.Run("arm", func(b *testing.B) {
		var m *image.RGBA
		for n := 0; b.Loop(); n++ {
			arm.Show(n % 50)
			m = viewer.RasterInto(m, arm.Scene(), 1)
		}
	})
	b.Run("gif", func(b *testing.B) {
		for b.Loop() {
			err := viewer.GIF(context.Background(), io.Discard, 50, 1, func(n int) viewer.Frame {
				a.Show(n)
				return viewer.Frame{Scene: a.Scene(), For: time.Second}
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
