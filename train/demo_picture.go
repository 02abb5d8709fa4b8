package train

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	picWidth  = 960
	picPad    = 24
	picColumn = 180 // one imagined future
	picLine   = 15
)

// SVG draws the decision: the situation, the imagined futures side by side with
// their probabilities, and what really happened. Equal decisions give equal bytes.
func (d *DecisionShown) SVG() string {
	var b strings.Builder
	height := 0
	text := func(x, y, size int, fill, style, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%d" fill="%s"%s>%s</text>`+"\n", x, y, size, fill, style, html.EscapeString(s))
	}
	bold := ` font-weight="bold"`
	y := picPad + 8
	text(picPad, y, 15, "#111", bold, "Task: "+d.Goal)
	y += 24
	for _, l := range d.situation() {
		for _, w := range wrap(l, 124) {
			text(picPad, y, 12, "#444", "", w)
			y += picLine
		}
	}
	y += 12
	n := max(1, len(d.Futures))
	step := (picWidth - 2*picPad) / n
	top, bottom := y, y
	for i, f := range d.Futures {
		x := picPad + i*step
		w := min(step-8, picColumn)
		fy := top + 20
		text(x+8, fy, 14, probabilityColour(f.P), bold, fmt.Sprintf("P = %.3f", f.P))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="6" fill="#ddd"/><rect x="%d" y="%d" width="%d" height="6" fill="%s"/>`+"\n",
			x+8, fy+6, w-16, x+8, fy+6, int(float64(w-16)*f.P+.5), probabilityColour(f.P))
		fy += 30
		for _, p := range f.Pairs {
			for _, l := range wrap("> "+p.Action, 23) {
				text(x+8, fy, 11, "#111", bold, l)
				fy += picLine - 1
			}
			fill := "#666"
			if p.Observation == nothing {
				fill = "#b03030"
			}
			for _, l := range wrap(clip(p.Observation, 72), 25) {
				text(x+8, fy, 10, fill, "", l)
				fy += picLine - 2
			}
			fy += 4
		}
		if f.Claim != "" {
			text(x+8, fy, 11, "#2a7a3a", bold, "["+f.Claim+"]")
			fy += picLine
		}
		bottom = max(bottom, fy)
	}
	for i, f := range d.Futures {
		x := picPad + i*step
		stroke, width := "#bbb", 1
		if f.Chosen {
			stroke, width = "#1f6feb", 3
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="none" stroke="%s" stroke-width="%d"/>`+"\n",
			x, top, min(step-8, picColumn), bottom-top, stroke, width)
	}
	y = bottom + 26
	text(picPad, y, 13, "#1f6feb", bold, "Chosen: > "+d.Action)
	y += picLine + 3
	for _, l := range wrap("The game answered: "+d.Answer, 124) {
		text(picPad, y, 12, "#444", "", l)
		y += picLine
	}
	height = y + picPad - picLine
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, monospace">`+"\n"+
		`<rect width="%d" height="%d" fill="#fff"/>`+"\n", picWidth, height, picWidth, height, picWidth, height)
	return head + b.String() + "</svg>\n"
}

// situation says what happened before the decision.
func (d *DecisionShown) situation() []string {
	if d.Last.Action == "" {
		return []string{"First command of the episode. Five imagined futures and the probability of success that self-assessment gives them:"}
	}
	return []string{
		fmt.Sprintf("After %d commands, the last of them > %s", d.Step, d.Last.Action),
		d.Last.Observation,
		"Five imagined futures and the probability of success that self-assessment gives them:",
	}
}

func probabilityColour(p float64) string {
	switch {
	case p >= .5:
		return "#2a7a3a"
	case p >= .2:
		return "#b07a10"
	}
	return "#b03030"
}

// wrap breaks s into lines of at most n characters, at spaces.
func wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && len([]rune(line))+1+len([]rune(w)) > n {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
