package viewer

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Frame is a picture of an animation and how long it stays.
type Frame struct {
	Scene *Scene
	For   time.Duration
}

// PNG writes a scene; equal scenes give equal bytes.
func PNG(w io.Writer, s *Scene, scale float64) error {
	return png.Encode(w, Raster(s, scale))
}

// GIF writes an animation that repeats; equal scenes give equal bytes. frame is asked for
// n frames, one after the other, twice: first the colours are counted, then the pictures
// are written, so that no more than two of them are held. Of each picture only the part
// that differs from the one before is stored.
func GIF(ctx context.Context, w io.Writer, n int, scale float64, frame func(i int) Frame) error {
	if n < 1 {
		return errors.New("viewer: an animation needs at least one frame")
	}
	pal := newPalette()
	var img *image.RGBA
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		img = RasterInto(img, frame(i).Scene, scale)
		pal.count(img)
	}
	colours := pal.choose()
	g := &gif.GIF{}
	var before *image.Paletted
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := frame(i)
		img = RasterInto(img, f.Scene, scale)
		whole := image.NewPaletted(img.Rect, colours)
		pal.put(whole, img)
		part := whole
		if before != nil && before.Rect == whole.Rect {
			part = crop(whole, changed(before, whole))
		}
		g.Image = append(g.Image, part)
		g.Delay = append(g.Delay, max(2, int(f.For/(10*time.Millisecond))))
		g.Disposal = append(g.Disposal, gif.DisposalNone)
		before = whole
	}
	g.Config = image.Config{ColorModel: colours, Width: g.Image[0].Rect.Dx(), Height: g.Image[0].Rect.Dy()}
	if err := gif.EncodeAll(w, g); err != nil {
		return fmt.Errorf("viewer: gif: %w", err)
	}
	return nil
}

// changed is the smallest rectangle that holds all differences; one pixel where there is none.
func changed(a, b *image.Paletted) image.Rectangle {
	r := image.Rectangle{Min: b.Rect.Max, Max: b.Rect.Min}
	w := b.Rect.Dx()
	for y := range b.Rect.Dy() {
		p, q := a.Pix[y*a.Stride:][:w], b.Pix[y*b.Stride:][:w]
		if string(p) == string(q) {
			continue
		}
		x0, x1 := 0, w-1
		for p[x0] == q[x0] {
			x0++
		}
		for p[x1] == q[x1] {
			x1--
		}
		r.Min.X, r.Max.X = min(r.Min.X, x0), max(r.Max.X, x1+1)
		r.Min.Y, r.Max.Y = min(r.Min.Y, y), max(r.Max.Y, y+1)
	}
	if r.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return r
}

// crop copies a part, so that the whole can be forgotten.
func crop(m *image.Paletted, r image.Rectangle) *image.Paletted {
	out := image.NewPaletted(r, m.Palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(out.Pix[out.PixOffset(r.Min.X, y):][:r.Dx()], m.Pix[m.PixOffset(r.Min.X, y):])
	}
	return out
}

// ErrNoFFmpeg is matched when an MP4 is asked for and ffmpeg isn't installed.
var ErrNoFFmpeg = errors.New("viewer: writing MP4 needs the program ffmpeg: install it (apt-get install ffmpeg, brew install ffmpeg), or write a .gif")

// mp4Rate is the number of frames a second of an MP4.
const mp4Rate = 10

// MP4 writes an animation to path by way of ffmpeg; what was there is replaced. The
// bytes depend on ffmpeg's version.
func MP4(ctx context.Context, path string, n int, scale float64, frame func(i int) Frame) error {
	prog, err := exec.LookPath("ffmpeg")
	if err != nil {
		return ErrNoFFmpeg
	}
	if n < 1 {
		return errors.New("viewer: an animation needs at least one frame")
	}
	img := Raster(frame(0).Scene, scale)
	c := exec.CommandContext(ctx, prog, "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
		"-f", "rawvideo", "-pix_fmt", "rgba", "-s", fmt.Sprintf("%dx%d", img.Rect.Dx(), img.Rect.Dy()), "-r", fmt.Sprint(mp4Rate), "-i", "pipe:0",
		"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", path)
	in, err := c.StdinPipe()
	if err != nil {
		return fmt.Errorf("viewer: ffmpeg: %w", err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		return fmt.Errorf("viewer: ffmpeg: %w", err)
	}
	write := func() error {
		for i := range n {
			f := frame(i)
			img = RasterInto(img, f.Scene, scale)
			for range max(1, int(f.For.Seconds()*mp4Rate+.5)) {
				if _, err := in.Write(img.Pix); err != nil {
					return err
				}
			}
		}
		return nil
	}
	werr := errors.Join(write(), in.Close())
	if err := c.Wait(); err != nil {
		return fmt.Errorf("viewer: ffmpeg: %w: %s", err, Ellipsis(Style{Mono, 1}, said.String(), 500))
	}
	if werr != nil {
		return fmt.Errorf("viewer: ffmpeg: %w", werr)
	}
	return nil
}

// rgbKey is a colour as a number; pictures are opaque.
func rgbKey(p []byte) uint32 { return uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2]) }

func (k colourCount) colour() color.RGBA {
	return color.RGBA{uint8(k.key >> 16), uint8(k.key >> 8), uint8(k.key), 255}
}
