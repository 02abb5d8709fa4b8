package viewer

import "image/color"

// Point is a place in a scene, in logical pixels from the top left corner.
type Point struct{ X, Y float64 }

// Box is a rectangle in logical pixels.
type Box struct{ X, Y, W, H float64 }

// Inset returns b made smaller by d on all sides.
func (b Box) Inset(d float64) Box {
	return Box{b.X + d, b.Y + d, max(0, b.W-2*d), max(0, b.H-2*d)}
}

// Has says whether the point lies in b.
func (b Box) Has(x, y float64) bool {
	return x >= b.X && y >= b.Y && x < b.X+b.W && y < b.Y+b.H
}

// cut takes the upper h of b; rest is what lies below.
func (b Box) cut(h float64) (top, rest Box) {
	h = min(max(h, 0), b.H)
	return Box{b.X, b.Y, b.W, h}, Box{b.X, b.Y + h, b.W, b.H - h}
}

// cutLeft takes the left w of b.
func (b Box) cutLeft(w float64) (left, rest Box) {
	w = min(max(w, 0), b.W)
	return Box{b.X, b.Y, w, b.H}, Box{b.X + w, b.Y, b.W - w, b.H}
}

// Kind says what an Item draws.
type Kind uint8

// The kinds of items.
const (
	KindRect    Kind = iota // Box filled with Fill, outlined with Stroke of Width; Radius rounds the corners
	KindPath                // Points joined by Stroke of Width; Dash > 0 breaks the line
	KindPolygon             // Points filled with Fill
	KindCircle              // the circle in Box, filled and outlined
	KindText                // Text in Box's left upper corner, in Style and Fill
	KindClip                // what follows is drawn inside Box only, until KindUnclip
	KindUnclip              // ends the innermost KindClip
)

// Item is one primitive. Which fields count is said by its kind. Colours are not
// premultiplied; alpha 0 draws nothing.
type Item struct {
	Kind         Kind
	Box          Box
	Points       []Point
	Radius       float64
	Width        float64 // of lines
	Dash         float64 // length of dashes and of the gaps between them
	Fill, Stroke color.NRGBA
	Text         string
	Style        Style
}

// Hit is a part of the scene that answers to the mouse.
type Hit struct {
	Box    Box
	Action Action
	// Drag: the action repeats while the button is held, with Value following the mouse.
	Drag bool
}

// Scene is a picture that is not drawn yet: a list of primitives, in the order in which
// they cover each other, and of what can be clicked. The same scene is drawn into PNG,
// GIF, the window and the browser.
type Scene struct {
	W, H  float64 // logical pixels
	Items []Item
	Hits  []Hit
}

// NewScene returns a scene of one colour.
func NewScene(w, h float64, background color.NRGBA) *Scene {
	s := &Scene{W: w, H: h}
	s.Rect(Box{0, 0, w, h}, background)
	return s
}

// Rect fills a rectangle.
func (s *Scene) Rect(b Box, fill color.NRGBA) {
	s.Items = append(s.Items, Item{Kind: KindRect, Box: b, Fill: fill})
}

// Round fills and outlines a rectangle with round corners.
func (s *Scene) Round(b Box, radius float64, fill, stroke color.NRGBA, width float64) {
	s.Items = append(s.Items, Item{Kind: KindRect, Box: b, Radius: radius, Fill: fill, Stroke: stroke, Width: width})
}

// Path draws a line through points.
func (s *Scene) Path(points []Point, stroke color.NRGBA, width float64) {
	s.Items = append(s.Items, Item{Kind: KindPath, Points: points, Stroke: stroke, Width: width})
}

// Line draws a straight line.
func (s *Scene) Line(x0, y0, x1, y1 float64, stroke color.NRGBA, width float64) {
	s.Path([]Point{{x0, y0}, {x1, y1}}, stroke, width)
}

// Dashed draws a broken line through points.
func (s *Scene) Dashed(points []Point, stroke color.NRGBA, width, dash float64) {
	s.Items = append(s.Items, Item{Kind: KindPath, Points: points, Stroke: stroke, Width: width, Dash: dash})
}

// Polygon fills the area inside points.
func (s *Scene) Polygon(points []Point, fill color.NRGBA) {
	s.Items = append(s.Items, Item{Kind: KindPolygon, Points: points, Fill: fill})
}

// Circle fills and outlines a circle.
func (s *Scene) Circle(x, y, radius float64, fill, stroke color.NRGBA, width float64) {
	s.Items = append(s.Items, Item{Kind: KindCircle, Box: Box{x - radius, y - radius, 2 * radius, 2 * radius}, Fill: fill, Stroke: stroke, Width: width})
}

// Text writes one line with its upper left corner at x, y and returns its width. It is
// the one way text gets into a scene: control characters and what would turn the
// direction of writing are made visible or left out, and what no screen could hold is
// cut; see [Clean].
func (s *Scene) Text(x, y float64, st Style, ink color.NRGBA, text string) float64 {
	text = Clean(text)
	s.Items = append(s.Items, Item{Kind: KindText, Box: Box{X: x, Y: y}, Style: st, Fill: ink, Text: text})
	return Measure(st, text)
}

// TextRight is Text whose right end is at x.
func (s *Scene) TextRight(x, y float64, st Style, ink color.NRGBA, text string) {
	text = Clean(text)
	s.Text(x-Measure(st, text), y, st, ink, text)
}

// TextIn writes text into b, broken at spaces into as many lines as fit, the last of
// them ending in … where something is left out. It returns the height that was used.
func (s *Scene) TextIn(b Box, st Style, ink color.NRGBA, text string) float64 {
	n := int((b.H + .5) / st.Line())
	if n < 1 {
		return 0
	}
	lines := Wrap(st, text, b.W, n)
	for i, l := range lines {
		s.Text(b.X, b.Y+float64(i)*st.Line(), st, ink, l)
	}
	return float64(len(lines)) * st.Line()
}

// Clip limits what follows to b until Unclip. Clips nest.
func (s *Scene) Clip(b Box) { s.Items = append(s.Items, Item{Kind: KindClip, Box: b}) }

// Unclip ends the innermost Clip.
func (s *Scene) Unclip() { s.Items = append(s.Items, Item{Kind: KindUnclip}) }

// Hit makes b answer to a click.
func (s *Scene) Hit(b Box, a Action) { s.Hits = append(s.Hits, Hit{Box: b, Action: a}) }

// At returns the topmost hit at a point.
func (s *Scene) At(x, y float64) (Hit, bool) {
	for i := len(s.Hits) - 1; i >= 0; i-- {
		if s.Hits[i].Box.Has(x, y) {
			return s.Hits[i], true
		}
	}
	return Hit{}, false
}
