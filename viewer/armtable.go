package viewer

import (
	"fmt"
	"image/color"
	"math"

	"github.com/muse-agent/muse/envs/gridarm"
)

// ahead is how many real moments are drawn where no future says how far it looks.
const ahead = 8

// behind is how many moments of the way so far are drawn.
const behind = 15

// drawTable draws the table after decision i, from above and from the side, with the goal,
// contacts, the imagined ways of hand and object from before that decision, and the way
// that really followed.
func drawTable(s *Scene, t *Theme, b Box, e *Episode, i int) {
	in := panel(s, t, b, "")
	sc, ok := e.scene(i + 1)
	if !ok {
		s.Text(in.X, in.Y+8, styleBody, t.Soft, "The record has no observation here.")
		return
	}
	// The whole arm, elbow included, in two views of equal height.
	sc.Views[0].Low, sc.Views[0].High = [2]float64{-.55, -.1}, [2]float64{.55, 1.08}
	sc.Views[1].Low, sc.Views[1].High = [2]float64{-.08, -.06}, [2]float64{1.08, 1.12}
	legend := styleTiny.Line() + 2
	body, foot := in.cut(in.H - legend)
	head, body := body.cut(styleHead.Line())
	// Both views in one scale, side by side, as large as they fit.
	w0, h0 := span2(&sc.Views[0])
	w1, h1 := span2(&sc.Views[1])
	scale := min((body.W-gap)/(w0+w1), body.H/max(h0, h1))
	if scale < 20 {
		return
	}
	x := body.X + (body.W-gap-(w0+w1)*scale)/2
	where, body := body.cut(body.H - max(h0, h1)*scale)
	if m, ok := e.moment(i + 1); ok && where.H > styleBody.Line()+4 {
		s.Text(where.X, where.Y+(where.H-styleBody.Line())/2-2, styleBody, t.Ink, Ellipsis(styleBody, "Now: "+e.sentence(m)+".", where.W))
	}
	for k := range sc.Views {
		v := &sc.Views[k]
		w, h := span2(v)
		vb := Box{x, body.Y, w * scale, h * scale}
		title := "From above"
		if v.Name == "side" {
			title = "From the side"
		}
		s.Text(vb.X, head.Y-3, styleHead, t.Soft, title)
		drawTableView(s, t, vb, v, e, i)
		x += vb.W + gap
	}
	drawTableLegend(s, t, foot, e, i)
	drawContact(s, t, Box{head.X, head.Y - 3, head.W, styleHead.Line()}, e, i)
}

func span2(v *gridarm.View) (w, h float64) { return v.High[0] - v.Low[0], v.High[1] - v.Low[1] }

// projection turns metres into pixels of a view.
type projection struct {
	b     Box
	v     *gridarm.View
	scale float64
}

func (p *projection) at(a [2]float64) Point {
	c := func(x float64) float64 { return min(max(x, -farthest), farthest) }
	return Point{p.b.X + (c(a[0])-p.v.Low[0])*p.scale, p.b.Y + p.b.H - (c(a[1])-p.v.Low[1])*p.scale}
}

// flat is a place of the world in the view.
func (p *projection) flat(q vec3) Point {
	if p.v.Name == "side" {
		return p.at([2]float64{q[1], q[2]})
	}
	return p.at([2]float64{q[0], q[1]})
}

func drawTableView(s *Scene, t *Theme, b Box, v *gridarm.View, e *Episode, i int) {
	p := &projection{b, v, b.W / (v.High[0] - v.Low[0])}
	s.Rect(b, t.Back)
	s.Clip(b)
	defer s.Unclip()
	grid := mix(t.Back, t.Line, .45)
	for k := -10; k <= 20; k++ { // lines every decimetre
		a := p.at([2]float64{float64(k) / 10, float64(k) / 10})
		s.Line(a.X, b.Y, a.X, b.Y+b.H, grid, 1)
		s.Line(b.X, a.Y, b.X+b.W, a.Y, grid, 1)
	}
	var arm, goals []gridarm.Shape
	step := &e.Steps[min(i, len(e.Steps)-1)]
	for _, sh := range v.Shapes {
		switch sh.Class {
		case "arm", "hand", "finger": // above the ways
			arm = append(arm, sh)
			continue
		case "goal": // above the links
			goals = append(goals, sh)
			continue
		case "table":
			drawTableTop(s, t, p, &sh)
			continue
		}
		drawShape(s, t, p, &sh, step.Touch)
	}
	link := t.Soft
	link.A = 150 // what lies below stays visible
	for k := range arm {
		if sh := &arm[k]; sh.Class == "arm" {
			a, c := p.at(sh.A), p.at(sh.B)
			s.Path([]Point{a, c}, link, 2*sh.R*p.scale)
			s.Circle(c.X, c.Y, sh.R*p.scale*1.15, mix(t.Panel, t.Soft, .5), t.Soft, 1)
		}
	}
	for k := range goals {
		drawGoal(s, t, p, &goals[k])
	}
	drawWays(s, t, p, e, i)
	for k := range arm {
		switch sh := &arm[k]; sh.Class {
		case "finger":
			s.Path([]Point{p.at(sh.A), p.at(sh.B)}, t.Ink, max(2, 2*sh.R*p.scale))
		case "hand":
			c := p.at(sh.A)
			s.Circle(c.X, c.Y, max(3, sh.R*p.scale), t.Ink, t.Panel, 1)
		}
	}
	s.Text(b.X+4, b.Y+2, styleTiny, t.Faint, map[string]string{"top": "x →  y ↑, lines every 10 cm", "side": "y →  z ↑"}[v.Name])
}

func drawTableTop(s *Scene, t *Theme, p *projection, sh *gridarm.Shape) {
	box := p.box(sh)
	s.Round(box, 2, t.Floor, t.Line, 1)
	if p.v.Name != "top" {
		return
	}
	line := mix(t.Floor, t.Line, .5)
	for k := -9; k <= 20; k++ {
		a := p.at([2]float64{float64(k) / 10, float64(k) / 10})
		if a.X > box.X+1 && a.X < box.X+box.W-1 {
			s.Line(a.X, box.Y, a.X, box.Y+box.H, line, 1)
		}
		if a.Y > box.Y+1 && a.Y < box.Y+box.H-1 {
			s.Line(box.X, a.Y, box.X+box.W, a.Y, line, 1)
		}
	}
}

// box is the rectangle of a shape with two corners.
func (p *projection) box(sh *gridarm.Shape) Box {
	a, c := p.at(sh.A), p.at(sh.B)
	return Box{min(a.X, c.X), min(a.Y, c.Y), math.Abs(a.X - c.X), math.Abs(a.Y - c.Y)}
}

// drawShape draws a thing on the table; what the hand touches has a thick dark edge.
func drawShape(s *Scene, t *Theme, p *projection, sh *gridarm.Shape, touch bool) {
	fill, edge, width := mix(t.Panel, t.Doubt, .55), t.Doubt, 1.5
	switch sh.Class {
	case "wall", "net", "hole":
		fill, edge = mix(t.Panel, t.Soft, .45), t.Soft
	default:
		if touch {
			edge, width = t.Ink, 2.5
		}
	}
	switch sh.Kind {
	case gridarm.Line:
		s.Path([]Point{p.at(sh.A), p.at(sh.B)}, edge, max(2, 2*sh.R*p.scale))
	case gridarm.Disc:
		c := p.at(sh.A)
		if sh.Class == "hole" {
			fill = color.NRGBA{}
		}
		s.Circle(c.X, c.Y, max(3, sh.R*p.scale), fill, edge, width)
	case gridarm.Rect:
		box := p.box(sh)
		s.Round(box, 2, fill, edge, width)
		if sh.Class == "wall" { // hatched: not by colour alone
			s.Clip(box)
			for x := box.X - box.H; x < box.X+box.W; x += 7 {
				s.Line(x, box.Y+box.H, x+box.H, box.Y, mix(fill, t.Panel, .5), 1)
			}
			s.Unclip()
		}
	}
}

// drawGoal draws a target: two rings and a word.
func drawGoal(s *Scene, t *Theme, p *projection, sh *gridarm.Shape) {
	c := p.at(sh.A)
	r := max(7, sh.R*p.scale)
	s.Circle(c.X, c.Y, r, color.NRGBA{}, t.Real, 2)
	s.Circle(c.X, c.Y, r*.4, color.NRGBA{}, t.Real, 1.5)
	s.Text(c.X-Measure(styleTinyB, "goal")/2, c.Y-r-styleTinyB.Line()-1, styleTinyB, t.Real, "goal")
}

// drawWays draws where hand and object were, were imagined to go, and really went.
func drawWays(s *Scene, t *Theme, p *projection, e *Episode, i int) {
	hand := func(m moment) Point { return p.flat(m.hand) }
	obj := func(m moment) Point { return p.flat(m.obj) }
	var past, next []Point
	for n := max(0, i-behind); n <= i; n++ {
		if m, ok := e.moment(n); ok {
			past = append(past, hand(m))
		}
	}
	s.Dashed(past, t.Faint, 1.2, 2)
	from, ok := e.moment(i) // what the futures started from
	if !ok {
		return
	}
	step := &e.Steps[i]
	look := 0
	for k := range step.Trace.Candidates {
		look = max(look, len(step.Trace.Candidates[k].Path))
	}
	if look == 0 {
		look = ahead
	}
	for n := i; n <= i+look && n <= len(e.Steps); n++ {
		m, ok := e.moment(n)
		if !ok {
			break
		}
		next = append(next, hand(m))
	}
	draw := func(k int) {
		c := &step.Trace.Candidates[k]
		ms := c.moments()
		if len(ms) == 0 {
			return
		}
		chosen := k == step.Trace.Choice.Index
		hs, os := []Point{hand(from)}, []Point{obj(from)}
		far := false
		for _, m := range ms {
			hs, os = append(hs, hand(m)), append(os, obj(m))
			far = far || distance3(m.obj, from.obj) > .01
		}
		end := hs[len(hs)-1]
		if chosen {
			s.Path(hs, t.Choice, 2.5)
			for _, h := range hs[1:] {
				s.Circle(h.X, h.Y, 2.5, t.Choice, color.NRGBA{}, 0)
			}
			if n := len(hs); math.Hypot(end.X-hs[n-2].X, end.Y-hs[n-2].Y) > 1 {
				arrow(s, hs[n-2], end, 9, t.Choice)
			}
			if far && !e.reaches() {
				s.Dashed(os, t.Choice, 1.5, 3)
				o := os[len(os)-1]
				s.Round(Box{o.X - 5, o.Y - 5, 10, 10}, 2, color.NRGBA{}, t.Choice, 1.5)
			}
		} else {
			s.Dashed(hs, t.Soft, 1.3, 4)
			s.Circle(end.X, end.Y, 2, t.Soft, color.NRGBA{}, 0)
		}
		if len(step.Trace.Candidates) > 1 {
			ink := t.Soft
			if chosen {
				ink = t.Choice
			}
			s.Text(end.X+5, end.Y-6, styleTinyB, ink, fmt.Sprint(k+1))
		}
	}
	for k := range step.Trace.Candidates { // the chosen one last: on top
		if k != step.Trace.Choice.Index {
			draw(k)
		}
	}
	s.Path(next, t.Real, 2)
	for k, q := range next {
		if k > 0 {
			s.Circle(q.X, q.Y, 2, t.Real, color.NRGBA{}, 0)
		}
	}
	if k := step.Trace.Choice.Index; k >= 0 && k < len(step.Trace.Candidates) {
		draw(k)
	}
}

// drawTableLegend says which line is what, as far as there are such lines.
func drawTableLegend(s *Scene, t *Theme, b Box, e *Episode, i int) {
	x, y := b.X, b.Y+3
	mid := y + styleTiny.Line()/2
	item := func(draw func(x float64), text string) {
		w := Measure(styleTiny, text)
		if x+26+w > b.X+b.W {
			return
		}
		draw(x)
		s.Text(x+24, y, styleTiny, t.Soft, text)
		x += 24 + w + 14
	}
	futures, look := 0, 0
	for k := range e.Steps[i].Trace.Candidates {
		if n := len(e.Steps[i].Trace.Candidates[k].Path); n > 0 {
			futures, look = futures+1, max(look, n)
		}
	}
	if futures > 0 {
		item(func(x float64) {
			s.Line(x, mid, x+18, mid, t.Choice, 2.5)
			arrow(s, Point{x, mid}, Point{x + 20, mid}, 7, t.Choice)
		}, fmt.Sprintf("chosen future, imagined %s ahead", plural(look, "decision")))
	}
	if futures > 1 {
		item(func(x float64) { s.Dashed([]Point{{x, mid}, {x + 20, mid}}, t.Soft, 1.3, 4) }, "the others")
	}
	item(func(x float64) { s.Line(x, mid, x+20, mid, t.Real, 2) }, "what really followed")
	item(func(x float64) { s.Dashed([]Point{{x, mid}, {x + 20, mid}}, t.Faint, 1.2, 2) }, "the way so far")
}

// drawContact says in words what the hand has.
func drawContact(s *Scene, t *Theme, b Box, e *Episode, i int) {
	step := &e.Steps[i]
	thing := e.thing()
	word, ink := "no contact", t.Soft
	switch {
	case step.Held:
		word, ink = "holds the "+thing, t.Choice
	case step.Touch:
		word, ink = "touches the "+thing, t.Choice
	}
	w := Measure(styleTinyB, word) + 8
	tag(s, b.X+b.W-w, b.Y, styleTinyB, ink, word)
}
