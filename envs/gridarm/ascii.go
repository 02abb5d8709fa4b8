package gridarm

import (
	"fmt"
	"strings"
)

// Render implements envs.Renderer: the view from above and from the side as text.
func (e *Env) Render() string { return e.world.Render() }

// The cells of the text picture, metres. A character is about twice as high as wide.
const (
	textCellX = 0.025
	textCellY = 0.05
)

// letters are how classes look in the text picture; what comes later in a view covers
// what came before.
var letters = map[string]byte{"table": '.', "wall": '#', "net": 'n', "hole": 'u', "goal": '*', "puck": 'o', "block": 'b', "ball": 'O',
	"plate": '0', "peg": '=', "drawer": 'd', "door": 'D', "button": 'B', "window": 'w', "coffee machine": 'c', "handle": 'h',
	"lever": 'l', "lock": 'L', "finger": '|', "hand": 'H'}

// Legend says what the letters of Render mean for a task.
func Legend(t Task) string {
	seen, out := map[string]bool{}, []string{}
	w := World{spec: &specs[t], opt: Options{}.filled()}
	w.s.Task = t
	w.Reset(0, 0)
	for _, v := range w.Scene().Views {
		for _, sh := range v.Shapes {
			if c, ok := letters[sh.Class]; ok && !seen[sh.Class] {
				seen[sh.Class] = true
				out = append(out, fmt.Sprintf("%c %s", c, sh.Class))
			}
		}
	}
	return strings.Join(out, ", ")
}

// Render draws the state as text: from above on the left, from the side (arm at the
// left) on the right.
func (w *World) Render() string {
	sc := w.Scene()
	views := [2][]string{
		sc.Views[0].text([2]float64{handLow[0], handLow[1]}, [2]float64{handHigh[0], handHigh[1]}),
		sc.Views[1].text([2]float64{handLow[1], -textCellY}, [2]float64{handHigh[1], handHigh[2]}),
	}
	var b strings.Builder
	s := &w.s
	fmt.Fprintf(&b, "%s, decision %d, hand %.2f %.2f %.2f, fingers %.1f\n", s.Task, s.Steps, s.Hand[0], s.Hand[1], s.Hand[2], s.Open)
	for i, line := range views[0] {
		if k := i - (len(views[0]) - len(views[1])); k >= 0 {
			line += "   " + views[1][k]
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// text draws the shapes of v that have a letter between low and high, the highest row
// first. A shape covers the cells whose middles are in it, and always one.
func (v *View) text(low, high [2]float64) []string {
	nx, ny := int((high[0]-low[0])/textCellX+.5), int((high[1]-low[1])/textCellY+.5)
	rows := make([][]byte, ny)
	for i := range rows {
		rows[i] = []byte(strings.Repeat(" ", nx))
	}
	for _, sh := range v.Shapes {
		c, ok := letters[sh.Class]
		if !ok {
			continue
		}
		for y := range ny {
			for x := range nx {
				p := [2]float64{low[0] + (float64(x)+.5)*textCellX, low[1] + (float64(y)+.5)*textCellY}
				if sh.covers(p) || sh.inCell(p) {
					rows[ny-1-y][x] = c
				}
			}
		}
	}
	out := make([]string, ny)
	for i, r := range rows {
		out[i] = string(r)
	}
	return out
}

// covers reports whether a point is in the shape.
func (sh *Shape) covers(p [2]float64) bool {
	switch sh.Kind {
	case Rect:
		return p[0] >= sh.A[0] && p[0] <= sh.B[0] && p[1] >= sh.A[1] && p[1] <= sh.B[1]
	case Disc:
		return sq(p[0]-sh.A[0])+sq(p[1]-sh.A[1]) <= sq(sh.R)
	}
	d := [2]float64{sh.B[0] - sh.A[0], sh.B[1] - sh.A[1]}
	t := 0.0
	if n := sq(d[0]) + sq(d[1]); n > 0 {
		t = clip(((p[0]-sh.A[0])*d[0]+(p[1]-sh.A[1])*d[1])/n, 0, 1)
	}
	return sq(p[0]-sh.A[0]-t*d[0])+sq(p[1]-sh.A[1]-t*d[1]) <= sq(sh.R)
}

// inCell reports whether the middle of the shape is in the cell around p.
func (sh *Shape) inCell(p [2]float64) bool {
	m := sh.A
	if sh.Kind != Disc {
		m = [2]float64{(sh.A[0] + sh.B[0]) / 2, (sh.A[1] + sh.B[1]) / 2}
	}
	return m[0] >= p[0]-textCellX/2 && m[0] < p[0]+textCellX/2 && m[1] >= p[1]-textCellY/2 && m[1] < p[1]+textCellY/2
}
