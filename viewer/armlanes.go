package viewer

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// armLane is the least height of a lane.
const armLane = 50

// drawArmLanes draws the imagined futures of one decision of the arm, the chosen one
// marked, and below them what really happened.
func drawArmLanes(s *Scene, t *Theme, b Box, e *Episode, i int) {
	in := panel(s, t, b, "Imagined futures, and what happened")
	if i >= len(e.Steps) {
		s.Text(in.X, in.Y+8, styleBody, t.Soft, "The episode has no decisions.")
		return
	}
	st := &e.Steps[i]
	head, rest := in.cut(styleSmall.Line() + 2)
	s.Text(head.X, head.Y, styleSmall, t.Soft, Ellipsis(styleSmall, diagnosis(e, st), head.W))
	cs := st.Trace.Candidates
	shown := lanesShown(st, min(maxLanes, max(1, int((rest.H-styleTiny.Line())/armLane)-1)))
	if more := len(cs) - len(shown); more > 0 {
		line, r := rest.cut(styleTiny.Line())
		s.Text(line.X+laneRoot, line.Y, styleTiny, t.Soft, fmt.Sprintf("%d more are not drawn", more))
		rest = r
	}
	h := min(rest.H/float64(len(shown)+1), 160)
	if len(shown) == 0 {
		s.Text(rest.X+laneRoot, rest.Y+6, styleBody, t.Soft, "Nothing was imagined before this decision.")
		_, rest = rest.cut(26)
	}
	root := Point{rest.X + 8, rest.Y + h*float64(len(shown))/2}
	for _, k := range shown {
		lane, r := rest.cut(h)
		rest = r
		chosen := k == st.Trace.Choice.Index
		branch(s, t, root, Point{lane.X + laneRoot, lane.Y + h/2}, chosen)
		drawArmLane(s, t, Box{lane.X + laneRoot, lane.Y, lane.W - laneRoot, h}.shrink(3), e, i, k, chosen)
	}
	if len(shown) > 0 {
		s.Circle(root.X, root.Y, 5, t.Ink, t.Ink, 0)
	}
	real, _ := rest.cut(h)
	drawArmReal(s, t, Box{real.X + laneRoot, real.Y, real.W - laneRoot, real.H}.shrink(3), e, i)
}

func drawArmLane(s *Scene, t *Theme, b Box, e *Episode, i, k int, chosen bool) {
	c := &e.Steps[i].Trace.Candidates[k]
	stroke, width := t.Line, 1.0
	if chosen {
		stroke, width = t.Choice, 2.5
	}
	s.Round(b, 5, t.Panel, stroke, width)
	s.Clip(b.Inset(1))
	defer s.Unclip()
	score, rest := b.Inset(5).cutLeft(laneScore)
	y := score.Y - 1
	if c.Assessed != nil {
		p := c.Assessed.P
		s.Text(score.X, y, Style{Bold, 13}, t.probability(p), "P "+number(p))
		y += 18
		bar(s, t, Box{score.X, y, laneScore - 14, 5}, p, t.probability(p))
		y += 9
	} else {
		s.Text(score.X, y, styleSmall, t.Soft, "not assessed")
		y += 16
	}
	if chosen {
		tag(s, score.X, y, styleTinyB, t.Choice, "chosen")
		y += 16
	}
	if c.Label != "" && y+styleTiny.Line() <= b.Y+b.H {
		y += s.TextIn(Box{score.X, y, laneScore - 12, b.Y + b.H - y}, styleTiny, t.Soft, c.Label)
	}
	if why := e.Steps[i].Trace.Choice.Reason; chosen && why != c.Label && y+styleTiny.Line() <= b.Y+b.H {
		s.TextIn(Box{score.X, y, laneScore - 12, b.Y + b.H - y}, styleTiny, t.Soft, why)
	}
	s.TextRight(b.X+laneScore-8, b.Y+4, styleTiny, t.Faint, fmt.Sprint(k+1))
	words, psi := rest.cutLeft(rest.W * .5)
	s.Line(words.X-3, words.Y, words.X-3, words.Y+words.H, t.Line, 1)
	y = words.Y - 1
	for k, l := range e.imagined(i, c) {
		if y+styleSmall.Line() > words.Y+words.H+2 {
			break
		}
		ink := t.Ink
		if k == 0 {
			ink = t.Soft
		}
		s.Text(words.X, y, styleSmall, ink, Ellipsis(styleSmall, l, words.W-6))
		y += styleSmall.Line()
	}
	drawPsi(s, t, psi, c.Psi)
}

// imagined says in a few lines where a future leads.
func (e *Episode) imagined(i int, c *Candidate) []string {
	ms := c.moments()
	from, ok := e.moment(i)
	if len(ms) == 0 || !ok {
		if len(c.Psi) == 0 {
			return []string{"No positions were recorded."}
		}
		return nil
	}
	last := ms[len(ms)-1]
	out := append([]string{fmt.Sprintf("in %s", plural(len(ms), "decision"))}, e.gaps(last)...)
	if d := distance3(last.obj, from.obj); d > .01 && !e.reaches() {
		out = append(out, fmt.Sprintf("%s moved %s", e.thing(), cm(d)))
	}
	if real, ok := e.moment(i + len(ms)); ok && i+len(ms) <= len(e.Steps) && c == e.Steps[i].Chosen() {
		out = append(out, fmt.Sprintf("real hand %s from there", cm(distance3(last.hand, real.hand))))
	}
	return out
}

// gaps are the distances that count, in few words: "puck–goal 12 cm".
func (e *Episode) gaps(m moment) []string {
	thing := e.thing()
	var out []string
	if e.reaches() {
		thing = "hand"
	}
	if d, ok := e.toGoal(m); ok {
		out = append(out, fmt.Sprintf("%s–goal %s", thing, cm(d)))
	}
	if !e.reaches() {
		out = append(out, fmt.Sprintf("hand–%s %s", thing, cm(distance3(m.hand, m.obj))))
	}
	return out
}

// sentence says where hand and object are: "hand 3 cm from the puck, puck 12 cm from the goal".
func (e *Episode) sentence(m moment) string {
	thing := e.thing()
	var parts []string
	d, ok := e.toGoal(m)
	if !e.reaches() {
		parts = append(parts, fmt.Sprintf("hand %s from the %s", cm(distance3(m.hand, m.obj)), thing))
	} else {
		thing = "hand"
	}
	if ok {
		parts = append(parts, fmt.Sprintf("%s %s from the goal", thing, cm(d)))
	}
	return strings.Join(parts, ", ")
}

// cm writes metres as centimetres.
func cm(d float64) string {
	if d < .0995 {
		return fmt.Sprintf("%.1f cm", 100*d)
	}
	return fmt.Sprintf("%.0f cm", 100*d)
}

// drawPsi draws the quantiles as columns: the i-th is P(solved within the i-th N-th of the limit).
func drawPsi(s *Scene, t *Theme, b Box, psi Vector) {
	n := len(psi)
	if n == 0 || b.W < 40 {
		return
	}
	label := styleTiny.Line()
	plot := Box{b.X + 4, b.Y + 1, b.W - 8, b.H - 1}
	if plot.H > 4*label {
		plot.H -= label
	}
	s.Rect(plot, t.Back)
	w := plot.W / float64(n)
	for k, p := range psi {
		s.Rect(Box{plot.X + float64(k)*w + 1, plot.Y + (1-p)*plot.H, max(1, w-2), p * plot.H}, mix(t.Band, t.Choice, .35+.5*p))
	}
	s.Line(plot.X, plot.Y+plot.H/2, plot.X+plot.W, plot.Y+plot.H/2, t.Line, 1)
	s.Line(plot.X, plot.Y+plot.H, plot.X+plot.W, plot.Y+plot.H, t.Line, 1)
	if plot.H < b.H-1 {
		s.Text(plot.X, plot.Y+plot.H+1, styleTiny, t.Soft, "ψ1")
		s.TextRight(plot.X+plot.W, plot.Y+plot.H+1, styleTiny, t.Soft, fmt.Sprintf("ψ%d", n))
		if text := "solved by … of the time"; Measure(styleTiny, text) < plot.W-50 {
			s.Text(plot.X+(plot.W-Measure(styleTiny, text))/2, plot.Y+plot.H+1, styleTiny, t.Faint, text)
		}
	}
}

// drawArmReal shows what the decision did.
func drawArmReal(s *Scene, t *Theme, b Box, e *Episode, i int) {
	if b.H < 20 {
		return
	}
	s.Round(b, 5, mix(t.Panel, t.Real, .06), t.Real, 1.5)
	s.Clip(b.Inset(1))
	defer s.Unclip()
	left, rest := b.Inset(5).cutLeft(laneScore)
	st := &e.Steps[i]
	if st.pending() {
		s.Text(left.X, left.Y-1, styleHead, t.Real, "Your move")
		return
	}
	s.Text(left.X, left.Y-1, styleHead, t.Real, "What happened")
	s.Text(left.X, left.Y+17, styleSmall, t.Ink, fmt.Sprintf("reward %.2f", st.Reward))
	y := left.Y + 33
	if st.Success {
		check(s, left.X, y+1, 9, t.Good)
		s.Text(left.X+13, y, styleTiny, t.Good, "goal reached")
	} else if i == len(e.Steps)-1 {
		outcome(s, t, left.X, y+1, 9, e.Success)
		s.Text(left.X+13, y, styleTiny, t.Soft, Ellipsis(styleTiny, e.ending(), laneScore-20))
	}
	words, acts := rest.cutLeft(rest.W * .62)
	s.Line(words.X-3, words.Y, words.X-3, words.Y+words.H, t.Line, 1)
	look := ahead
	if c := st.Chosen(); c != nil && len(c.Path) > 0 {
		look = len(c.Path)
	}
	column := func(x, w float64, title string, n int) {
		m, ok := e.moment(n)
		if !ok || n > len(e.Steps) {
			return
		}
		y := words.Y - 1
		for k, l := range append([]string{title}, e.gaps(m)...) {
			if y+styleSmall.Line() > words.Y+words.H+2 {
				return
			}
			s.Text(x, y, styleSmall, map[bool]color.NRGBA{true: t.Soft, false: t.Ink}[k == 0], Ellipsis(styleSmall, l, w-6))
			y += styleSmall.Line()
		}
	}
	column(words.X, words.W/2, "after it", i+1)
	column(words.X+words.W/2, words.W/2, fmt.Sprintf("in %s", plural(look, "decision")), i+look)
	drawAction(s, t, acts, st.Action.Numbers)
}

// drawAction draws the four numbers of an action as bars to both sides of 0.
func drawAction(s *Scene, t *Theme, b Box, a []float64) {
	names := [4][3]string{{"left", "right", "x"}, {"near", "far", "y"}, {"down", "up", "z"}, {"open", "close", "fingers"}}
	if b.H < 44 {
		return
	}
	h := min(b.H/4, 20)
	mid := b.X + b.W*.52
	half := max(10, b.W*.48-38)
	for k, n := range names {
		y := b.Y + float64(k)*h
		x := 0.0
		if k < len(a) && !math.IsNaN(a[k]) {
			x = min(max(a[k], -1), 1)
		}
		s.Text(b.X+2, y, styleTiny, t.Soft, n[2])
		s.Rect(Box{mid - half, y + h/2 - 3, 2 * half, 5}, t.Line)
		s.Rect(Box{mid + min(0, x)*half, y + h/2 - 3, math.Abs(x) * half, 5}, t.Real)
		s.Line(mid, y+2, mid, y+h-3, t.Soft, 1)
		word := ""
		if math.Abs(x) >= .05 {
			word = n[0]
			if x > 0 {
				word = n[1]
			}
		}
		s.TextRight(b.X+b.W-2, y, styleTiny, t.Ink, word)
	}
}
