package viewer

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"image"
	"io"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Face is one of the fonts: the Go fonts for European scripts, and for all else that
// Unicode's first plane holds a bitmap font of 12 pixels (East Asian, Arabic, signs).
type Face uint8

// The faces.
const (
	Regular Face = iota
	Bold
	Mono
	MonoBold
)

// Style is a face at a size in logical pixels.
type Style struct {
	Face Face
	Size float64
}

// Line is the height of a line.
func (s Style) Line() float64 { return float64(int(s.Size*1.32 + .5)) }

// ascent is the distance from a line's top to the baseline.
func (s Style) ascent() float64 { return float64(int(s.Size*1.02 + .5)) }

// The bitmap font: 256×256 cells of 12×16 pixels, one bit each, row by row; the baseline
// is 12 pixels below the cell's top. Its sources and licences are in licenses/README.md.
const (
	cellW, cellH, cellBase, cellColumns = 12, 16, 12, 256
)

//go:embed font/wide.bin.gz
var wideBits []byte

var fonts = struct {
	ttf  [4][]byte
	once [4]sync.Once
	sf   [4]*sfnt.Font

	wideOnce sync.Once
	wide     []byte
}{ttf: [4][]byte{goregular.TTF, gobold.TTF, gomono.TTF, gomonobold.TTF}}

// outline returns the parsed outline font.
func outline(f Face) *sfnt.Font {
	fonts.once[f].Do(func() {
		sf, err := opentype.Parse(fonts.ttf[f])
		if err != nil {
			panic(fmt.Sprintf("viewer: embedded font %d: %v", f, err))
		}
		fonts.sf[f] = sf
	})
	return fonts.sf[f]
}

// bitmap returns the unpacked bits of the wide font.
func bitmap() []byte {
	fonts.wideOnce.Do(func() {
		z, err := gzip.NewReader(bytes.NewReader(wideBits))
		if err == nil {
			fonts.wide, err = io.ReadAll(z)
		}
		if err != nil || len(fonts.wide) != cellW*cellH*cellColumns*cellColumns/8 {
			panic(fmt.Sprintf("viewer: embedded bitmap font: %d bytes, %v", len(fonts.wide), err))
		}
	})
	return fonts.wide
}

// pixel is one bit of the bitmap font's cell of r.
func pixel(bits []byte, r rune, x, y int) bool {
	i := (int(r)/cellColumns*cellH+y)*cellW*cellColumns + int(r)%cellColumns*cellW + x
	return bits[i>>3]>>(7-i&7)&1 != 0
}

// ink says whether the bitmap font has a glyph for r, and whether it is wider than half a cell.
func ink(r rune) (has, wide bool) {
	if r < 0 || r >= cellColumns*cellColumns {
		return false, false
	}
	bits := bitmap()
	for y := range cellH {
		for x := range cellW {
			if pixel(bits, r, x, y) {
				has = true
				wide = wide || x >= cellW/2
			}
		}
	}
	return has, wide
}

// wideRune tells which runes take two columns whatever their glyph: the blocks that
// Unicode's East Asian Width calls wide or full.
func wideRune(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff01 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd
}

// glyph says how a rune is drawn, independent of size.
type glyph struct {
	outline bool
	bitmap  bool    // neither: a box stands for it
	width   float64 // advance at size 1
	back    bool    // combining: drawn over the rune before it
}

type glyphKey struct {
	face Face
	r    rune
}

var glyphs = struct {
	sync.Mutex
	m map[glyphKey]glyph
}{m: map[glyphKey]glyph{}}

// maxGlyphs bounds the caches: a text with every rune there is must not fill memory.
const maxGlyphs = 4096

func lookup(f Face, r rune) glyph {
	glyphs.Lock()
	defer glyphs.Unlock()
	k := glyphKey{f, r}
	g, ok := glyphs.m[k]
	if ok {
		return g
	}
	g = findGlyph(f, r)
	if len(glyphs.m) >= maxGlyphs {
		clear(glyphs.m)
	}
	glyphs.m[k] = g
	return g
}

func findGlyph(f Face, r rune) glyph {
	sf := outline(f)
	var buf sfnt.Buffer
	if i, err := sf.GlyphIndex(&buf, r); err == nil && i != 0 {
		upem := fixed.Int26_6(sf.UnitsPerEm())
		if a, err := sf.GlyphAdvance(&buf, i, upem<<6, font.HintingNone); err == nil {
			return glyph{outline: true, width: float64(a) / 64 / float64(upem)}
		}
	}
	if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) {
		has, _ := ink(r)
		return glyph{bitmap: has, back: true}
	}
	has, wide := ink(r)
	w := .5
	if wide || wideRune(r) {
		w = 1
	}
	if f >= Mono { // columns: a wide glyph takes two of the face's own
		w *= 2 * .60009765625
	}
	return glyph{bitmap: has, width: w}
}

// advance is the width of a rune in logical pixels.
func advance(st Style, r rune) float64 { return lookup(st.Face, r).width * st.Size }

// Measure is the width of a line of text in logical pixels.
func Measure(st Style, s string) float64 {
	w := 0.0
	for _, r := range s {
		w += advance(st, r)
	}
	return w
}

// Glyph masks, by size in physical pixels and quarter of a pixel where the glyph begins.
type maskKey struct {
	face  Face
	r     rune
	size  float64
	phase uint8
}

// mask is the coverage of a glyph; at is its upper left corner from the pen.
type mask struct {
	at  image.Point
	pix *image.Alpha
}

const phases = 4

var masks = struct {
	sync.Mutex
	m     map[maskKey]mask
	faces map[Style]font.Face
}{m: map[maskKey]mask{}, faces: map[Style]font.Face{}}

// maskOf draws the glyph of r, or returns the drawing of an earlier call; size is physical.
func maskOf(f Face, r rune, size float64, phase uint8) mask {
	masks.Lock()
	defer masks.Unlock()
	k := maskKey{f, r, size, phase}
	if m, ok := masks.m[k]; ok {
		return m
	}
	g := lookup(f, r)
	var m mask
	switch {
	case g.outline:
		m = outlineMask(f, r, size, phase)
	case g.bitmap:
		m = bitmapMask(r, size)
	case !g.back:
		m = missingMask(g.width*size, size)
	}
	if len(masks.m) >= maxGlyphs {
		clear(masks.m)
	}
	masks.m[k] = m
	return m
}

// outlineMask must be called with the lock held: a font.Face is for one goroutine.
func outlineMask(f Face, r rune, size float64, phase uint8) mask {
	st := Style{f, size}
	face, ok := masks.faces[st]
	if !ok {
		var err error
		if face, err = opentype.NewFace(outline(f), &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return mask{}
		}
		if len(masks.faces) >= 64 {
			clear(masks.faces)
		}
		masks.faces[st] = face
	}
	dr, src, sp, _, ok := face.Glyph(fixed.Point26_6{X: fixed.Int26_6(int(phase) * 64 / phases)}, r)
	a, isAlpha := src.(*image.Alpha)
	if !ok || !isAlpha || dr.Empty() {
		return mask{}
	}
	m := mask{dr.Min, image.NewAlpha(image.Rect(0, 0, dr.Dx(), dr.Dy()))}
	for y := range dr.Dy() {
		copy(m.pix.Pix[y*m.pix.Stride:][:dr.Dx()], a.Pix[a.PixOffset(sp.X, sp.Y+y):])
	}
	return m
}

// bitmapMask scales the 12-pixel glyph to size: each pixel is the share of ink in the
// part of the cell that it covers, in sixteenths.
func bitmapMask(r rune, size float64) mask {
	bits := bitmap()
	scale := size / cellW
	w, h := int(cellW*scale+.999), int(cellH*scale+.999)
	m := mask{image.Pt(0, -int(cellBase*scale+.5)), image.NewAlpha(image.Rect(0, 0, w, h))}
	const sub = 4
	for y := range h {
		for x := range w {
			n := 0
			for j := range sub * sub {
				cx := int((float64(x) + (float64(j%sub)+.5)/sub) / scale)
				cy := int((float64(y) + (float64(j/sub)+.5)/sub) / scale)
				if cx < cellW && cy < cellH && pixel(bits, r, cx, cy) {
					n++
				}
			}
			m.pix.Pix[y*m.pix.Stride+x] = uint8(n * 255 / (sub * sub))
		}
	}
	return m
}

// missingMask is the box that stands for a rune no font has.
func missingMask(width, size float64) mask {
	w, h := max(3, int(width)-1), max(4, int(size*.75))
	m := mask{image.Pt(0, -h), image.NewAlpha(image.Rect(0, 0, w, h))}
	for y := range h {
		for x := range w {
			if x == 0 || y == 0 || x == w-1 || y == h-1 {
				m.pix.Pix[y*m.pix.Stride+x] = 160
			}
		}
	}
	return m
}
