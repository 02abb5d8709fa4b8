package viewer

import (
	"fmt"
	"image/color"
	"math"
)

// Styles of the pictures. Sizes are logical pixels.
var (
	styleTitle = Style{Bold, 17}
	styleHead  = Style{Bold, 12}
	styleBody  = Style{Regular, 12}
	styleSmall = Style{Regular, 10.5}
	styleTiny  = Style{Regular, 9.5}
	styleTinyB = Style{Bold, 9.5}
	styleMono  = Style{Mono, 11}
	styleMonoB = Style{MonoBold, 11}
)

// gap is the room between panels.
const gap = 8.0

// panel draws a frame with a title and returns what is inside.
func panel(s *Scene, t *Theme, b Box, title string) Box {
	s.Round(b, 6, t.Panel, t.Line, 1)
	in := b.Inset(10)
	if title != "" {
		s.Text(in.X, in.Y-3, styleHead, t.Soft, Ellipsis(styleHead, title, in.W))
		_, in = in.cut(styleHead.Line() + 2)
	}
	return in
}

// check draws a tick of the size of a letter.
func check(s *Scene, x, y, size float64, c color.NRGBA) {
	s.Path([]Point{{x + size*.08, y + size*.55}, {x + size*.38, y + size*.85}, {x + size*.92, y + size*.15}}, c, max(1.5, size*.16))
}

// cross draws an x of the size of a letter.
func cross(s *Scene, x, y, size float64, c color.NRGBA) {
	w := max(1.5, size*.16)
	s.Line(x+size*.15, y+size*.15, x+size*.85, y+size*.85, c, w)
	s.Line(x+size*.85, y+size*.15, x+size*.15, y+size*.85, c, w)
}

// outcome draws the sign of a solved or lost episode.
func outcome(s *Scene, t *Theme, x, y, size float64, won bool) {
	if won {
		check(s, x, y, size, t.Good)
	} else {
		cross(s, x, y, size, t.Bad)
	}
}

// arrow draws a filled head at the end of a line from a to b.
func arrow(s *Scene, a, b Point, size float64, c color.NRGBA) {
	n := math.Hypot(b.X-a.X, b.Y-a.Y)
	if !(n > 0) {
		return
	}
	dx, dy := (b.X-a.X)/n*size, (b.Y-a.Y)/n*size
	s.Polygon([]Point{b, {b.X - dx - dy*.5, b.Y - dy + dx*.5}, {b.X - dx + dy*.5, b.Y - dy - dx*.5}}, c)
}

// person draws the agent, feet at the bottom of a box of the given height.
func person(s *Scene, x, y, h float64, c color.NRGBA) {
	s.Circle(x, y+h*.25, h*.24, c, color.NRGBA{}, 0)
	s.Polygon([]Point{{x - h*.36, y + h}, {x - h*.3, y + h*.66}, {x - h*.12, y + h*.54}, {x + h*.12, y + h*.54}, {x + h*.3, y + h*.66}, {x + h*.36, y + h}}, c)
}

// bar draws a share of 1 as a bar.
func bar(s *Scene, t *Theme, b Box, p float64, c color.NRGBA) {
	s.Rect(b, t.Line)
	s.Rect(Box{b.X, b.Y, b.W * min(max(p, 0), 1), b.H}, c)
}

// tag writes a short word in a frame and returns the width used.
func tag(s *Scene, x, y float64, st Style, ink color.NRGBA, word string) float64 {
	w := Measure(st, word) + 8
	s.Round(Box{x, y, w, st.Line() + 1}, 3, color.NRGBA{}, ink, 1)
	s.Text(x+4, y, st, ink, word)
	return w
}

// number shows a probability as the rest of muse does.
func number(p float64) string { return fmt.Sprintf("%.3f", p) }

// count puts a thin comma between thousands: 18,564.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 command", "2 commands".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}
