package viewer_test

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/muse-agent/muse/viewer"
)

var update = flag.Bool("update", false, "write the golden pictures")

func openRun(t testing.TB) *viewer.Run {
	t.Helper()
	r, err := viewer.Open("testdata/run", viewer.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// find is the number of the first episode that a test means.
func find(t testing.TB, s viewer.Source, keep func(e *viewer.Entry) bool) int {
	t.Helper()
	for i, e := range s.Entries() {
		if keep(&e) {
			return i
		}
	}
	t.Fatal("the test data lack an episode")
	return 0
}

func best(e *viewer.Entry) bool { return e.Arm == "muse-best" && e.Success }
func lost(e *viewer.Entry) bool { return e.Arm == "muse-best" && !e.Success }

// Every screen as a picture: decoded pixels must be equal. On other processors than
// amd64 products may be fused with sums, which moves some edges by a shade.
func TestGoldenPictures(t *testing.T) {
	r := openRun(t)
	solved, failed := find(t, r, best), find(t, r, lost)
	hostile, err := viewer.Open("testdata/hostile.jsonl", viewer.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer hostile.Close()
	arm := openArm(t)
	for name, draw := range map[string]func() *viewer.Scene{
		"list":   func() *viewer.Scene { return app(r, viewer.Light).Scene() },
		"solved": func() *viewer.Scene { return press(app(r, viewer.Light), solved, "end").Scene() },
		"failed": func() *viewer.Scene { return press(app(r, viewer.Dark), failed, "l", "s").Scene() },
		"compare": func() *viewer.Scene {
			return press(app(r, viewer.Light), solved, "right", "right", "right", "c").Scene()
		},
		"run":  func() *viewer.Scene { return press(app(r, viewer.Light), -1, "r").Scene() },
		"help": func() *viewer.Scene { return press(app(r, viewer.Light), -1, "?").Scene() },
		"arm": func() *viewer.Scene {
			return press(app(arm, viewer.Light), 0, "right", "right", "right", "right").Scene()
		},
		"armregulated": func() *viewer.Scene { return press(app(arm, viewer.Dark), 3, "pagedown").Scene() },
		"armcompare":   func() *viewer.Scene { return press(app(arm, viewer.Light), 1, "pagedown", "c").Scene() },
		"hostile":      func() *viewer.Scene { return press(app(hostile, viewer.Light), 0).Scene() },
	} {
		t.Run(name, func(t *testing.T) {
			got := viewer.Raster(draw(), 1)
			if again := viewer.Raster(draw(), 1); !bytes.Equal(got.Pix, again.Pix) {
				t.Fatal("two drawings of one state differ")
			}
			file := filepath.Join("testdata", "golden", name+".png")
			if *update {
				write(t, file, got)
				return
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatalf("%v (go test -update writes it)", err)
			}
			defer f.Close()
			m, err := png.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			want := image.NewRGBA(m.Bounds())
			drawOver(want, m)
			if n, worst := differ(want, got); n > 0 && (runtime.GOARCH == "amd64" || worst > 24 || n > len(got.Pix)/1000) {
				bad := filepath.Join(os.TempDir(), "viewer-"+name+".png")
				write(t, bad, got)
				t.Errorf("%d bytes differ, the most by %d: see %s; -update if it is right", n, worst, bad)
			}
		})
	}
}

// app is the viewer at the size of the golden pictures.
func app(s viewer.Source, theme viewer.Theme) *viewer.App {
	a := viewer.NewApp(s, theme)
	a.Resize(1120, 700)
	return a
}

// press opens an episode, unless it is negative, and presses keys.
func press(a *viewer.App, episode int, keys ...string) *viewer.App {
	if episode >= 0 {
		a.Open(episode)
	}
	for _, k := range keys {
		a.Key(k)
	}
	return a
}

func drawOver(dst *image.RGBA, src image.Image) {
	draw.Draw(dst, dst.Rect, src, src.Bounds().Min, draw.Src)
}

func write(t testing.TB, file string, m image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func differ(a, b *image.RGBA) (n, worst int) {
	if a.Rect != b.Rect {
		return len(b.Pix), 255
	}
	for i := range a.Pix {
		if d := int(a.Pix[i]) - int(b.Pix[i]); d != 0 {
			n++
			worst = max(worst, d, -d)
		}
	}
	return n, worst
}

// An animation has the same bytes each time, and its frames are the pictures, as far as
// 256 colours go.
func TestGIF(t *testing.T) {
	r := openRun(t)
	a := app(r, viewer.Light)
	a.Resize(800, 500)
	a.Open(find(t, r, best))
	const n = 4
	frame := func(i int) viewer.Frame {
		a.Show(i)
		return viewer.Frame{Scene: a.Scene(), For: 500 * time.Millisecond}
	}
	var one, two bytes.Buffer
	for _, w := range []*bytes.Buffer{&one, &two} {
		if err := viewer.GIF(context.Background(), w, n, 1, frame); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("two writings differ")
	}
	g, err := gif.DecodeAll(&one)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != n || g.Delay[0] != 50 || g.Config.Width != 800 || g.Config.Height != 500 {
		t.Fatalf("%d frames of %d×%d, delay %d", len(g.Image), g.Config.Width, g.Config.Height, g.Delay[0])
	}
	shown := image.NewRGBA(image.Rect(0, 0, 800, 500))
	for i, m := range g.Image { // each lies over what is there
		draw.Draw(shown, m.Rect, m, m.Rect.Min, draw.Over)
		want := viewer.Raster(frame(i).Scene, 1)
		if n, worst := differ(want, shown); worst > 40 || n > len(want.Pix)/8 {
			t.Errorf("frame %d: %d bytes differ, the most by %d", i, n, worst)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := viewer.GIF(ctx, &two, n, 1, frame); err == nil {
		t.Error("a cancelled animation: no error")
	}
	if err := viewer.GIF(context.Background(), &two, 0, 1, frame); err == nil {
		t.Error("an animation without frames: no error")
	}
}
