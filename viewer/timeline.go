package viewer

import (
	"fmt"
	"image/color"
)

// drawTimeline draws P over the commands of the episode: the chosen future's as a line,
// all futures' as a band, commands without effect as crosses below, the real outcome at
// the right, and where the viewer stands.
func drawTimeline(s *Scene, t *Theme, b Box, e *Episode, at int) {
	psi := quantiles(e)
	title := "P(success) of the chosen future; band: lowest to highest of all"
	if psi > 1 {
		title = fmt.Sprintf("P(success) of the chosen future; bands: ψ1 (soon) to ψ%d (by the limit)", psi)
	}
	in := panel(s, t, b, title)
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
	if psi > 1 {
		drawQuantiles(s, t, e, psi, x, y)
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
		if psi > 1 {
			break // the bands are the quantiles
		}
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
		s.Text(plot.X+8, plot.Y+plot.H/2-22, styleBody, t.Soft, Ellipsis(styleBody, map[bool]string{true: "Nobody assesses this game.", false: "This agent acts without self-assessment."}[e.open()], plot.W-16))
	}
	// What it was the probability of.
	v := 0.0
	if e.Success {
		v = 1
	}
	if e.open() {
		s.Text(plot.X+plot.W+6, plot.Y+plot.H/2-8, styleSmall, t.Real, "open")
	} else {
		drawOutcomeLine(s, t, plot, y(v), e.Success)
	}
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
	s.Text(plot.X, yy, styleTiny, t.Soft, e.unit()+" 1")
	s.TextRight(plot.X+plot.W, yy, styleTiny, t.Soft, fmt.Sprint(n))
	legend := "× no effect"
	if e.IsArm() {
		drawMoments(s, t, e, plot, yy)
	} else if w := Measure(styleTiny, legend); w < plot.W/2 {
		s.Text(plot.X+(plot.W-w)/2, yy, styleTiny, t.Bad, legend)
	}
	s.Hits = append(s.Hits, Hit{Box: Box{plot.X, in.Y - 4, plot.W, in.H + 8}, Action: Action{Do: "scrub"}, Drag: true})
}

// drawOutcomeLine draws what really came of it, 1 or 0, at y.
func drawOutcomeLine(s *Scene, t *Theme, plot Box, y float64, won bool) {
	s.Dashed([]Point{{plot.X, y}, {plot.X + plot.W, y}}, t.Real, 1.5, 4)
	outcome(s, t, plot.X+plot.W+6, y-6, 12, won)
	s.Text(plot.X+plot.W+21, y-8, styleSmall, t.Real, map[bool]string{true: "solved", false: "failed"}[won])
}

// quantiles is the number N of ψ in an episode's chosen futures, 0 where there are none.
func quantiles(e *Episode) int {
	for i := range e.Steps {
		if c := e.Steps[i].Chosen(); c != nil && len(c.Psi) > 0 {
			return len(c.Psi)
		}
	}
	return 0
}

// drawQuantiles draws the area between each two neighbouring quantiles of the chosen
// future as a band of its own shade, the last ones being the lightest.
func drawQuantiles(s *Scene, t *Theme, e *Episode, n int, x func(int) float64, y func(float64) float64) {
	for k := 1; k < n; k++ {
		var low, high []Point
		flush := func() {
			if len(low) > 1 {
				band := append([]Point(nil), high...)
				for j := len(low) - 1; j >= 0; j-- {
					band = append(band, low[j])
				}
				share := .55 * (1 - float64(k-1)/float64(n))
				s.Polygon(band, mix(t.Band, t.Choice, share))
				s.Path(low, mix(t.Band, t.Choice, min(1, share+.15)), .8)
			}
			low, high = nil, nil
		}
		for i := range e.Steps {
			c := e.Steps[i].Chosen()
			if c == nil || len(c.Psi) != n {
				flush()
				continue
			}
			a, b := c.Psi[k-1], c.Psi[k] // a head may cross them
			low, high = append(low, Point{x(i), y(min(a, b))}), append(high, Point{x(i), y(max(a, b))})
		}
		flush()
	}
}

// drawMoments marks below the diagram when the hand was at the object and when the goal
// was reached.
func drawMoments(s *Scene, t *Theme, e *Episode, plot Box, yy float64) {
	n := len(e.Steps)
	w := plot.W / float64(n)
	for i := range e.Steps {
		x := plot.X + float64(i)*w
		if e.Steps[i].Touch || e.Steps[i].Held {
			s.Rect(Box{x, plot.Y + plot.H + 3, w, 3}, t.Doubt)
		}
		if e.Steps[i].Success {
			s.Rect(Box{x, plot.Y + plot.H + 8, w, 3}, t.Good)
		}
	}
	a, b := "upper bar: contact", "lower bar: goal reached"
	if wa := Measure(styleTiny, a+"   "+b); wa < plot.W-110 {
		x := plot.X + (plot.W-wa)/2
		x += s.Text(x, yy, styleTiny, t.Doubt, a)
		s.Text(x+14, yy, styleTiny, t.Good, b)
	}
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
