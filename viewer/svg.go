package viewer

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"
)

// ErrSVG is matched when a drawing holds what [FromSVG] can't read.
var ErrSVG = errors.New("viewer: can't read the SVG")

// FromSVG reads a plot as `muse plot` writes it: rect, line, circle, text, and path of
// M and L with absolute coordinates, without transforms. The one text that is turned,
// the name of the vertical axis, is written level at the right end of the title's line.
func FromSVG(svg string) (*Scene, error) {
	d := xml.NewDecoder(strings.NewReader(svg))
	var s *Scene
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSVG, err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		e := newElement(start)
		switch start.Name.Local {
		case "svg":
			w, h := e.num("width"), e.num("height")
			if e.err == nil && !(w >= 1 && h >= 1 && w*h <= MaxPixels) {
				e.err = fmt.Errorf("size %g × %g", w, h)
			}
			s = NewScene(w, h, color.NRGBA{255, 255, 255, 255})
		case "title":
			e.err = d.Skip()
		default:
			if s == nil {
				return nil, fmt.Errorf("%w: <%s> stands outside of <svg>", ErrSVG, start.Name.Local)
			}
			e.draw(s, d, start.Name.Local)
		}
		if e.err != nil {
			return nil, fmt.Errorf("%w: <%s>: %w", ErrSVG, start.Name.Local, e.err)
		}
	}
	if s == nil {
		return nil, fmt.Errorf("%w: there is no <svg>", ErrSVG)
	}
	return s, nil
}

// element is a tag with its attributes; the first fault is kept.
type element struct {
	at  map[string]string
	err error
}

func newElement(t xml.StartElement) *element {
	e := &element{at: map[string]string{}}
	for _, a := range t.Attr {
		e.at[a.Name.Local] = a.Value
	}
	return e
}

// num is a number, 0 where the attribute is missing.
func (e *element) num(name string) float64 {
	v, ok := e.at[name]
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s is %q", name, v)
	}
	return f
}

// ink is a colour #rgb or #rrggbb with the opacity of the attribute beside it.
func (e *element) ink(name string) color.NRGBA {
	v := e.at[name]
	if v == "" || v == "none" {
		return color.NRGBA{}
	}
	hex := strings.TrimPrefix(v, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if (err != nil || len(hex) != 6) && e.err == nil {
		e.err = fmt.Errorf("%s is %q", name, v)
	}
	alpha := 1.0
	if _, ok := e.at[name+"-opacity"]; ok {
		alpha = min(max(e.num(name+"-opacity"), 0), 1)
	}
	return color.NRGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), uint8(alpha*255 + .5)}
}

func (e *element) draw(s *Scene, d *xml.Decoder, name string) {
	switch name {
	case "rect":
		s.Rect(Box{e.num("x"), e.num("y"), e.num("width"), e.num("height")}, e.ink("fill"))
	case "line":
		e.stroke(s, []Point{{e.num("x1"), e.num("y1")}, {e.num("x2"), e.num("y2")}})
	case "circle":
		s.Circle(e.num("cx"), e.num("cy"), e.num("r"), e.ink("fill"), color.NRGBA{}, 0)
	case "path":
		var pts []Point
		for _, p := range strings.FieldsFunc(e.at["d"], func(r rune) bool { return r == 'M' || r == 'L' }) {
			var q Point
			if _, err := fmt.Sscanf(p, "%g %g", &q.X, &q.Y); err != nil && e.err == nil {
				e.err = fmt.Errorf("d has %q", p)
			}
			pts = append(pts, q)
		}
		e.stroke(s, pts)
	case "text":
		var t string
		tok, err := d.Token()
		if c, ok := tok.(xml.CharData); ok && err == nil {
			t = string(c)
		}
		e.text(s, t)
	default:
		e.err = errors.New("unknown")
	}
}

func (e *element) stroke(s *Scene, pts []Point) {
	if dash, _, ok := strings.Cut(e.at["stroke-dasharray"], " "); ok {
		n, err := strconv.ParseFloat(dash, 64)
		if err != nil && e.err == nil {
			e.err = fmt.Errorf("stroke-dasharray is %q", e.at["stroke-dasharray"])
		}
		s.Dashed(pts, e.ink("stroke"), e.num("stroke-width"), n)
		return
	}
	s.Path(pts, e.ink("stroke"), e.num("stroke-width"))
}

func (e *element) text(s *Scene, t string) {
	st := Style{Regular, 12}
	x, y := e.num("x"), e.num("y")-st.ascent()
	w := Measure(st, Clean(t))
	switch {
	case e.at["transform"] != "":
		x, y = s.W-16-w, 18-st.ascent()
	case e.at["text-anchor"] == "middle":
		x -= w / 2
	case e.at["text-anchor"] == "end":
		x -= w
	}
	s.Text(x, y, st, e.ink("fill"), t)
}
