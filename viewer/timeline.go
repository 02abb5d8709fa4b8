package viewer

import (
	"fmt"
	"image/color"
)

// drawTimeline draws P over the commands of the episode: the chosen future's as a line,
// all futures' as a band, commands without effect as crosses below, the real outcome at
// the right, and where the viewer stands.
func drawTimeline(s *Scene, t *Theme, b Box, e *Episode, at int) {
	in := panel(s, t, b, "P(success) of the chosen future; band: lowest to highest of all")
	plot := Box{in.X + 24, in.Y + 4, in.W - 24 - 62, in.H - 30}
	n := len(e.Steps)
	if n == 0 || plot.W < 20 || plot.H < 20 {
		return
	}
	x := func(i int) float64 { return plot.X + (float64(i)+.5)*plot.W/float64(n) }
	y := func(p float64) float64 { return plot.Y + (1-p)*plot.H }
	s.Rect(plot, t.Back)
	for _, p := range []float64{0, .5, 1} {
		s.Line(plot.X, y(p), plot.X+plot.W, y(p), t.Line, 1)
		s.TextRight(plot.X-4, y(p)-7, styleTiny, t.Soft, fmt.Sprint(p))
	}
	var line, low, high []Point
	flush := func() {
		if len(low) > 1 {
			band := append([]Point(nil), high...)
			for k := len(low) - 1; k >= 0; k-- {
				band = append(band, low[k])
			}
			s.Polygon(band, t.Band)
		}
		line, low, high = nil, nil, nil
	}
	for i := range e.Steps {
		if l, h, ok := e.Steps[i].Spread(); ok {
			low, high = append(low, Point{x(i), y(l)}), append(high, Point{x(i), y(h)})
			s.Line(x(i), y(l), x(i), y(h)-.5, t.Band, 2)
		} else {
			flush()
		}
	}
	flush()
	any := false
	dot := min(3, max(1.5, plot.W/float64(n)/4))
	for i := range e.Steps {
		if p, ok := e.Steps[i].P(); ok {
			line, any = append(line, Point{x(i), y(p)}), true
		} else if len(line) > 0 {
			s.Path(line, t.Choice, 1.8)
			line = nil
		}
	}
	s.Path(line, t.Choice, 1.8)
	for i := range e.Steps {
		if p, ok := e.Steps[i].P(); ok {
			s.Circle(x(i), y(p), dot, t.Choice, color.NRGBA{}, 0)
		}
		if e.Steps[i].Nothing() {
			w := min(3, plot.W/float64(n)/2.5)
			yy := plot.Y + plot.H + 7
			s.Line(x(i)-w, yy-w, x(i)+w, yy+w, t.Bad, 1)
			s.Line(x(i)-w, yy+w, x(i)+w, yy-w, t.Bad, 1)
		}
	}
	if !any {
		s.Text(plot.X+8, plot.Y+plot.H/2-22, styleBody, t.Soft, Ellipsis(styleBody, "This agent acts without self-assessment.", plot.W-16))
	}
	// What it was the probability of.
	v := 0.0
	if e.Success {
		v = 1
	}
	s.Dashed([]Point{{plot.X, y(v)}, {plot.X + plot.W, y(v)}}, t.Real, 1.5, 4)
	outcome(s, t, plot.X+plot.W+6, y(v)-6, 12, e.Success)
	s.Text(plot.X+plot.W+21, y(v)-8, styleSmall, t.Real, map[bool]string{true: "solved", false: "failed"}[e.Success])
	// Where we are.
	if at >= 0 && at < n {
		cx := x(at)
		s.Line(cx, plot.Y-4, cx, plot.Y+plot.H+4, t.Ink, 1.5)
		s.Polygon([]Point{{cx - 5, plot.Y - 4}, {cx + 5, plot.Y - 4}, {cx, plot.Y + 3}}, t.Ink)
		if p, ok := e.Steps[at].P(); ok {
			s.Circle(cx, y(p), 4.5, t.Panel, t.Choice, 2)
		}
	}
	yy := plot.Y + plot.H + 12
	s.Text(plot.X, yy, styleTiny, t.Soft, "command 1")
	s.TextRight(plot.X+plot.W, yy, styleTiny, t.Soft, fmt.Sprint(n))
	legend := "× no effect"
	if w := Measure(styleTiny, legend); w < plot.W/2 {
		s.Text(plot.X+(plot.W-w)/2, yy, styleTiny, t.Bad, legend)
	}
	s.Hits = append(s.Hits, Hit{Box: Box{plot.X, in.Y - 4, plot.W, in.H + 8}, Action: Action{Do: "scrub"}, Drag: true})
}

// drawSpark draws P over an episode without axes, for lists.
func drawSpark(s *Scene, t *Theme, b Box, e *Episode) {
	s.Rect(b, t.Back)
	n := len(e.Steps)
	var line []Point
	for i := range e.Steps {
		if p, ok := e.Steps[i].P(); ok {
			line = append(line, Point{b.X + (float64(i)+.5)*b.W/float64(n), b.Y + (1-p)*b.H})
		}
	}
	s.Line(b.X, b.Y+b.H/2, b.X+b.W, b.Y+b.H/2, t.Line, 1)
	s.Path(line, t.Choice, 1.8)
	if len(line) == 1 {
		s.Circle(line[0].X, line[0].Y, 2, t.Choice, color.NRGBA{}, 0)
	}
}
