package viewer

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/vector"
)

// Raster draws a scene at scale physical pixels a logical one (1, or the display's own
// factor). Equal scenes give equal pixels, on every system. Safe for concurrent use.
func Raster(s *Scene, scale float64) *image.RGBA {
	return RasterInto(nil, s, scale)
}

// MaxPixels bounds a picture, in physical pixels.
const MaxPixels = 64 << 20

// RasterInto is Raster that draws over dst where it has the right size. dst may be nil.
func RasterInto(dst *image.RGBA, s *Scene, scale float64) *image.RGBA {
	if !(scale > 0) {
		scale = 1
	}
	w, h := int(math.Ceil(s.W*scale)), int(math.Ceil(s.H*scale))
	if w < 1 || h < 1 || w > MaxPixels/h {
		return image.NewRGBA(image.Rect(0, 0, 1, 1))
	}
	if dst == nil || dst.Rect != image.Rect(0, 0, w, h) {
		dst = image.NewRGBA(image.Rect(0, 0, w, h))
	}
	r := &raster{dst: dst, scale: scale, clip: dst.Rect}
	for i := range s.Items {
		r.item(&s.Items[i])
	}
	return dst
}

type raster struct {
	dst   *image.RGBA
	scale float64
	clip  image.Rectangle
	clips []image.Rectangle
	z     vector.Rasterizer
	cover *image.Alpha
}

func (r *raster) item(it *Item) {
	switch it.Kind {
	case KindRect:
		r.rect(it)
	case KindPath:
		r.path(it)
	case KindPolygon:
		r.polygon(it.Points, it.Fill)
	case KindCircle:
		b := it.Box
		r.round(b, b.W/2, it)
	case KindText:
		r.text(it)
	case KindClip:
		r.clips = append(r.clips, r.clip)
		r.clip = r.clip.Intersect(r.snap(it.Box))
	case KindUnclip:
		if n := len(r.clips); n > 0 {
			r.clip, r.clips = r.clips[n-1], r.clips[:n-1]
		}
	}
}

// snap rounds a box to whole pixels.
func (r *raster) snap(b Box) image.Rectangle {
	f := func(v float64) int { return int(math.Floor(bounded(v)*r.scale + .5)) }
	return image.Rect(f(b.X), f(b.Y), f(b.X+b.W), f(b.Y+b.H))
}

// bounded keeps coordinates within what integers and the rasteriser hold.
func bounded(v float64) float64 {
	if v != v {
		return 0
	}
	return min(max(v, -1e5), 1e5)
}

func (r *raster) rect(it *Item) {
	if it.Radius > 0 {
		r.round(it.Box, it.Radius, it)
		return
	}
	b := r.snap(it.Box)
	r.fill(b, it.Fill)
	if it.Stroke.A == 0 || it.Width <= 0 {
		return
	}
	w := max(1, int(it.Width*r.scale+.5))
	r.fill(image.Rect(b.Min.X, b.Min.Y, b.Max.X, min(b.Min.Y+w, b.Max.Y)), it.Stroke)
	r.fill(image.Rect(b.Min.X, max(b.Max.Y-w, b.Min.Y), b.Max.X, b.Max.Y), it.Stroke)
	r.fill(image.Rect(b.Min.X, b.Min.Y+w, min(b.Min.X+w, b.Max.X), b.Max.Y-w), it.Stroke)
	r.fill(image.Rect(max(b.Max.X-w, b.Min.X), b.Min.Y+w, b.Max.X, b.Max.Y-w), it.Stroke)
}

// fill covers whole pixels.
func (r *raster) fill(b image.Rectangle, c color.NRGBA) {
	b = b.Intersect(r.clip)
	if b.Empty() || c.A == 0 {
		return
	}
	first := r.dst.Pix[r.dst.PixOffset(b.Min.X, b.Min.Y):][:4*b.Dx()]
	if c.A < 255 {
		for y := b.Min.Y; y < b.Max.Y; y++ {
			row := r.dst.Pix[r.dst.PixOffset(b.Min.X, y):][:4*b.Dx()]
			for i := 0; i < len(row); i += 4 {
				blend(row[i:i+4:i+4], c, uint32(c.A))
			}
		}
		return
	}
	for i := 0; i < len(first); i += 4 {
		first[i], first[i+1], first[i+2], first[i+3] = c.R, c.G, c.B, 255
	}
	for y := b.Min.Y + 1; y < b.Max.Y; y++ {
		copy(r.dst.Pix[r.dst.PixOffset(b.Min.X, y):], first)
	}
}

// blend puts c over p with coverage a of 255. The picture is opaque, so nothing is
// divided and the premultiplied bytes of image.RGBA are the plain ones.
func blend(p []byte, c color.NRGBA, a uint32) {
	n := 255 - a
	p[0] = uint8((uint32(p[0])*n + uint32(c.R)*a + 127) / 255)
	p[1] = uint8((uint32(p[1])*n + uint32(c.G)*a + 127) / 255)
	p[2] = uint8((uint32(p[2])*n + uint32(c.B)*a + 127) / 255)
	p[3] = 255
}

// kappa is the distance of control points that makes four cubic curves a circle.
const kappa = .5522847498

// round draws a rectangle with round corners; a circle is one whose radius is half its side.
func (r *raster) round(b Box, radius float64, it *Item) {
	radius = min(radius, b.W/2, b.H/2)
	w := it.Width
	if it.Stroke.A == 0 {
		w = 0
	}
	if it.Fill.A > 0 {
		in := b.Inset(w / 2)
		r.begin(in)
		r.roundPath(in, max(0, radius-w/2), false)
		r.end(it.Fill)
	}
	if w > 0 {
		r.begin(b)
		r.roundPath(b, radius, false)
		r.roundPath(b.Inset(w), max(0, radius-w), true)
		r.end(it.Stroke)
	}
}

// roundPath adds a closed outline; reverse turns the other way, which cuts a hole.
func (r *raster) roundPath(b Box, q float64, reverse bool) {
	k := q * (1 - kappa)
	x0, y0, x1, y1 := b.X, b.Y, b.X+b.W, b.Y+b.H
	if !reverse {
		r.move(x0+q, y0)
		r.to(x1-q, y0)
		r.curve(x1-k, y0, x1, y0+k, x1, y0+q)
		r.to(x1, y1-q)
		r.curve(x1, y1-k, x1-k, y1, x1-q, y1)
		r.to(x0+q, y1)
		r.curve(x0+k, y1, x0, y1-k, x0, y1-q)
		r.to(x0, y0+q)
		r.curve(x0, y0+k, x0+k, y0, x0+q, y0)
	} else {
		r.move(x0+q, y0)
		r.curve(x0+k, y0, x0, y0+k, x0, y0+q)
		r.to(x0, y1-q)
		r.curve(x0, y1-k, x0+k, y1, x0+q, y1)
		r.to(x1-q, y1)
		r.curve(x1-k, y1, x1, y1-k, x1, y1-q)
		r.to(x1, y0+q)
		r.curve(x1, y0+k, x1-k, y0, x1-q, y0)
	}
	r.z.ClosePath()
}

func (r *raster) polygon(ps []Point, c color.NRGBA) {
	if len(ps) < 3 || c.A == 0 {
		return
	}
	r.begin(bounds(ps, 0))
	r.move(ps[0].X, ps[0].Y)
	for _, p := range ps[1:] {
		r.to(p.X, p.Y)
	}
	r.z.ClosePath()
	r.end(c)
}

func bounds(ps []Point, grow float64) Box {
	x0, y0, x1, y1 := ps[0].X, ps[0].Y, ps[0].X, ps[0].Y
	for _, p := range ps[1:] {
		x0, y0, x1, y1 = min(x0, p.X), min(y0, p.Y), max(x1, p.X), max(y1, p.Y)
	}
	return Box{x0 - grow, y0 - grow, x1 - x0 + 2*grow, y1 - y0 + 2*grow}
}

// path draws each piece of a line as a rectangle, with discs at the bends.
func (r *raster) path(it *Item) {
	ps := it.Points
	if len(ps) < 2 || it.Stroke.A == 0 || it.Width <= 0 {
		return
	}
	half := it.Width / 2
	r.begin(bounds(ps, half+1))
	left, on := it.Dash, true // of the present dash or gap
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1], ps[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if !(length > 0) || length > 1e6 {
			continue
		}
		if it.Dash <= 0 {
			r.piece(a, b, half)
			if i > 1 && it.Width > 1.5 {
				r.roundPath(Box{a.X - half, a.Y - half, it.Width, it.Width}, half, false)
			}
			continue
		}
		for at := 0.0; at < length; {
			n := min(left, length-at)
			if on {
				r.piece(along(a, b, at/length), along(a, b, (at+n)/length), half)
			}
			at += n
			if left -= n; left <= 1e-9 {
				left, on = it.Dash, !on
			}
		}
	}
	r.end(it.Stroke)
}

func along(a, b Point, t float64) Point { return Point{a.X + (b.X-a.X)*t, a.Y + (b.Y-a.Y)*t} }

// piece adds one straight line of some width, always turning the same way as discs do.
func (r *raster) piece(a, b Point, half float64) {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if !(length > 0) {
		return
	}
	dx, dy := (b.X-a.X)/length*half, (b.Y-a.Y)/length*half
	r.move(a.X+dy, a.Y-dx)
	r.to(b.X+dy, b.Y-dx)
	r.to(b.X-dy, b.Y+dx)
	r.to(a.X-dy, a.Y+dx)
	r.z.ClosePath()
}

// begin prepares the rasteriser for a shape within b.
func (r *raster) begin(b Box) {
	x0, y0 := math.Floor(bounded(b.X)*r.scale)-1, math.Floor(bounded(b.Y)*r.scale)-1
	x1, y1 := math.Ceil(bounded(b.X+b.W)*r.scale)+1, math.Ceil(bounded(b.Y+b.H)*r.scale)+1
	// What lies outside the clip needs no pixels; the rasteriser keeps the shape of what
	// goes beyond its bounds.
	x0, y0 = max(x0, float64(r.clip.Min.X)), max(y0, float64(r.clip.Min.Y))
	x1, y1 = min(x1, float64(r.clip.Max.X)), min(y1, float64(r.clip.Max.Y))
	w, h := max(1, int(x1-x0)), max(1, int(y1-y0))
	r.z.Reset(w, h)
	if r.cover == nil || cap(r.cover.Pix) < w*h {
		r.cover = image.NewAlpha(image.Rect(0, 0, w, h))
	}
	r.cover.Pix, r.cover.Stride = r.cover.Pix[:w*h], w
	r.cover.Rect = image.Rect(int(x0), int(y0), int(x0)+w, int(y0)+h)
}

func (r *raster) pen(x, y float64) (float32, float32) {
	return float32(bounded(x)*r.scale - float64(r.cover.Rect.Min.X)), float32(bounded(y)*r.scale - float64(r.cover.Rect.Min.Y))
}

func (r *raster) move(x, y float64) { r.z.MoveTo(r.pen(x, y)) }
func (r *raster) to(x, y float64)   { r.z.LineTo(r.pen(x, y)) }
func (r *raster) curve(x1, y1, x2, y2, x3, y3 float64) {
	a, b := r.pen(x1, y1)
	c, d := r.pen(x2, y2)
	e, f := r.pen(x3, y3)
	r.z.CubeTo(a, b, c, d, e, f)
}

// end covers the shape with a colour.
func (r *raster) end(c color.NRGBA) {
	at := r.cover.Rect
	r.cover.Rect = image.Rect(0, 0, at.Dx(), at.Dy())
	clear(r.cover.Pix)
	r.z.Draw(r.cover, r.cover.Rect, image.Opaque, image.Point{})
	r.stamp(r.cover, at.Min, c)
}

// stamp blends c where m covers.
func (r *raster) stamp(m *image.Alpha, at image.Point, c color.NRGBA) {
	b := image.Rect(at.X, at.Y, at.X+m.Rect.Dx(), at.Y+m.Rect.Dy()).Intersect(r.clip)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		src := m.Pix[(y-at.Y)*m.Stride+b.Min.X-at.X:][:b.Dx()]
		dst := r.dst.Pix[r.dst.PixOffset(b.Min.X, y):][:4*b.Dx()]
		for i, a := range src {
			if a == 0 {
				continue
			}
			n := uint32(a)
			if n == 255 && c.A == 255 {
				d := dst[4*i : 4*i+4 : 4*i+4]
				d[0], d[1], d[2], d[3] = c.R, c.G, c.B, 255
				continue
			}
			if c.A < 255 {
				n = (n*uint32(c.A) + 127) / 255
			}
			blend(dst[4*i:4*i+4:4*i+4], c, n)
		}
	}
}

func (r *raster) text(it *Item) {
	size := it.Style.Size * r.scale
	if it.Fill.A == 0 || !(size >= 2) || size > 400 {
		return
	}
	x := bounded(it.Box.X) * r.scale
	base := int(math.Floor((bounded(it.Box.Y)+it.Style.ascent())*r.scale + .5))
	if base < r.clip.Min.Y-int(size) || base > r.clip.Max.Y+2*int(size) {
		return
	}
	for _, c := range it.Text {
		g := lookup(it.Style.Face, c)
		if x > float64(r.clip.Max.X) {
			return
		}
		pen := x
		if g.back { // over the middle of what was written last
			pen = x - size/2
		}
		whole := math.Floor(pen)
		phase := uint8((pen - whole) * phases)
		if !g.outline {
			phase = 0
		}
		m := maskOf(it.Style.Face, c, size, phase)
		if m.pix != nil {
			r.stamp(m.pix, image.Pt(int(whole)+m.at.X, base+m.at.Y), it.Fill)
		}
		x += g.width * size
	}
}
