package arm

import (
	"fmt"
	"html"
	"strings"
)

// picture is one small plot of lines from 0.
type picture struct {
	title, x, y string
	lines       []line
	top         float64 // of the y axis; 0 = the largest value
}

type line struct {
	name, colour string
	xs, ys       []float64
}

func (l *line) add(x, y float64) { l.xs, l.ys = append(l.xs, x), append(l.ys, y) }

const (
	picW, picH   = 300, 190
	left, bottom = 44, 34
	topMargin    = 26
	perRow       = 3
)

// sheet sets pictures side by side in one SVG.
func sheet(title string, ps []picture) string {
	rows := (len(ps) + perRow - 1) / perRow
	w, h := perRow*picW, 40+rows*picH
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="11">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="12" y="22" font-size="15">%s</text>`+"\n", html.EscapeString(title))
	for i, p := range ps {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`, i%perRow*picW, 36+i/perRow*picH)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	if len(ps) > 0 {
		x := 180
		for _, l := range ps[0].lines {
			fmt.Fprintf(&b, `<rect x="%d" y="14" width="14" height="4" fill="%s"/><text x="%d" y="21">%s</text>`+"\n", x, l.colour, x+18, html.EscapeString(l.name))
			x += 40 + 7*len(l.name)
		}
	}
	return b.String() + "</svg>\n"
}

func (p picture) draw(b *strings.Builder) {
	right, top := 0.0, p.top
	for _, l := range p.lines {
		for i := range l.xs {
			right = max(right, l.xs[i])
			if p.top == 0 {
				top = max(top, l.ys[i])
			}
		}
	}
	if right == 0 {
		right = 1
	}
	if top == 0 {
		top = 1
	}
	w, h := float64(picW-left-14), float64(picH-bottom-topMargin)
	at := func(x, y float64) (float64, float64) {
		return left + x/right*w, topMargin + h - min(max(y/top, 0), 1)*h
	}
	fmt.Fprintf(b, `<text x="%d" y="16" font-size="12">%s</text>`, left, html.EscapeString(p.title))
	fmt.Fprintf(b, `<path d="M%d %d V%.0f H%.0f" fill="none" stroke="#888"/>`, left, topMargin, topMargin+h, left+w)
	for _, f := range []float64{0, 0.5, 1} {
		x, y := at(f*right, f*top)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end" fill="#555">%.3g</text>`, left-4, y+4, f*top)
		fmt.Fprintf(b, `<text x="%.1f" y="%.0f" text-anchor="middle" fill="#555">%.4g</text>`, x, topMargin+h+13, f*right)
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle" fill="#555">%s</text>`, left+w/2, picH-6, html.EscapeString(p.x))
	for _, l := range p.lines {
		var d strings.Builder
		for i := range l.xs {
			x, y := at(l.xs[i], l.ys[i])
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8"/>`, d.String(), l.colour)
	}
}

// PlotCurve draws a learning curve: the mean of all tasks, then each task.
func PlotCurve(points []Point) string {
	if len(points) == 0 {
		return sheet("Learning curve", nil)
	}
	mean := picture{title: "mean of all tasks", x: "own decisions (thousands)", top: 1,
		lines: []line{{name: "success at any step", colour: "#0b7a75"}, {name: "at the last step", colour: "#b5651d"}}}
	ps := make([]picture, len(points[0].Tasks))
	for _, p := range points {
		x := float64(p.Decisions) / 1000
		mean.lines[0].add(x, p.Success)
		mean.lines[1].add(x, p.Last)
		for i, t := range p.Tasks {
			if len(ps[i].lines) == 0 {
				ps[i] = picture{title: t.Task, x: "own decisions (thousands)", top: 1, lines: []line{{colour: "#0b7a75"}, {colour: "#b5651d"}}}
			}
			ps[i].lines[0].add(x, t.Success)
			ps[i].lines[1].add(x, t.Last)
		}
	}
	return sheet("Learning curve", append([]picture{mean}, ps...))
}
