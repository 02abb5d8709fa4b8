package viewer

import (
	"fmt"
	"image/color"
)

const rowHeight = 20.0

// listState is what the list screen shows.
type listState struct {
	filter  int
	query   string
	typing  bool
	rows    []int // entries shown
	counts  []int // entries that each filter keeps, whatever the search
	at, top int   // selected row, first row on the screen
}

// columns of the list: title, share of the width, right-aligned.
var columns = []struct {
	title string
	w     float64
	right bool
}{
	{"", .03, false}, {"goal", .37, false}, {"agent", .14, false}, {"phase", .08, false}, {"trial", .05, true},
	{"commands", .09, true}, {"no effect", .08, true}, {"P first", .08, true}, {"P last", .08, true},
}

// drawList draws the list of episodes with a preview of the selected one.
func (a *App) drawList(s *Scene, t *Theme, b Box) {
	l := &a.list
	es := a.src.Entries()
	head, rest := b.cut(44)
	won, bad := 0, 0
	for i := range es {
		if es[i].Success {
			won++
		}
		if es[i].Problem != "" {
			bad++
		}
	}
	s.Text(head.X+2, head.Y-2, styleTitle, t.Ink, Ellipsis(styleTitle, a.src.Title(), head.W*.6))
	line := plural(len(es), "episode")
	if len(es) > bad {
		line += fmt.Sprintf(", %d solved (%.0f %%)", won, 100*float64(won)/float64(len(es)-bad))
	}
	if bad > 0 {
		line += fmt.Sprintf(", %d can't be read", bad)
	}
	s.Text(head.X+2, head.Y+22, styleSmall, t.Soft, line)
	if n := a.note(); n != "" {
		s.TextRight(head.X+head.W-2, head.Y+22, styleSmall, t.Bad, Ellipsis(styleSmall, n, head.W*.6))
	}
	chips, rest := rest.cut(28)
	x := chips.X
	for i, f := range Filters {
		label := fmt.Sprintf("%d %s", i+1, f.Name)
		if i < len(l.counts) {
			label += " (" + count(l.counts[i]) + ")"
		}
		w := Measure(styleSmall, label) + 16
		fill, ink, edge := t.Panel, t.Soft, t.Line
		if i < len(l.counts) && l.counts[i] == 0 {
			ink = t.Faint
		}
		if i == l.filter {
			fill, ink, edge = t.Choice, t.Panel, t.Choice
		}
		box := Box{x, chips.Y, w, 20}
		s.Round(box, 10, fill, edge, 1)
		s.Text(x+8, chips.Y+3, styleSmall, ink, label)
		s.Hit(box, Action{Do: "filter", Index: i})
		x += w + 6
	}
	query := "/ search"
	ink := t.Faint
	if l.typing || l.query != "" {
		query, ink = "/ "+l.query, t.Ink
		if l.typing {
			query += "▏"
		}
	}
	box := Box{x, chips.Y, max(60, chips.X+chips.W-x), 20}
	s.Round(box, 4, t.Panel, map[bool]color.NRGBA{true: t.Choice, false: t.Line}[l.typing], 1)
	s.Text(x+8, chips.Y+3, styleSmall, ink, Ellipsis(styleSmall, query, box.W-16))
	s.Hit(box, Action{Do: "search"})

	table, side := rest.cutLeft(rest.W * .66)
	_, side = side.cutLeft(gap)
	a.drawTable(s, t, table, es)
	a.drawPreview(s, t, side, es)
}

// listRows is the number of rows that a table of some height shows.
func listRows(h float64) int { return max(1, int((h-20-34)/rowHeight)) }

func (a *App) drawTable(s *Scene, t *Theme, b Box, es []Entry) {
	l := &a.list
	in := panel(s, t, b, "")
	s.Clip(in)
	defer s.Unclip()
	a.rowsShown = listRows(b.H)
	cell := func(y float64, k int, st Style, ink color.NRGBA, text string) {
		x := in.X
		for j := range k {
			x += columns[j].w * in.W
		}
		w := columns[k].w*in.W - 8
		if columns[k].right {
			s.TextRight(x+w, y, st, ink, Ellipsis(st, text, w))
		} else {
			s.Text(x, y, st, ink, Ellipsis(st, text, w))
		}
	}
	for k := range columns {
		cell(in.Y-2, k, styleTinyB, t.Soft, columns[k].title)
	}
	s.Line(in.X, in.Y+14, in.X+in.W, in.Y+14, t.Line, 1)
	if len(l.rows) == 0 {
		s.Text(in.X, in.Y+24, styleBody, t.Soft, "No episode matches. 1 shows all, escape clears the search.")
	}
	for k := 0; k < a.rowsShown && l.top+k < len(l.rows); k++ {
		i := l.rows[l.top+k]
		e := &es[i]
		y := in.Y + 18 + float64(k)*rowHeight
		row := Box{in.X - 4, y - 2, in.W + 8, rowHeight}
		if l.top+k == l.at {
			s.Rect(row, t.Band)
			s.Rect(Box{row.X, row.Y, 3, row.H}, t.Choice)
		}
		s.Hit(row, Action{Do: "row", Index: l.top + k})
		if e.Problem != "" {
			s.Text(in.X, y, styleHead, t.Doubt, "!")
			cell(y, 1, styleSmall, t.Bad, "can't be shown: "+e.Problem)
			continue
		}
		outcome(s, t, in.X+2, y+2, 11, e.Success)
		goal := e.Goal
		if goal == "" {
			goal = e.ID
		}
		cell(y, 1, styleSmall, t.Ink, goal)
		cell(y, 2, styleSmall, t.Soft, e.Arm)
		cell(y, 3, styleSmall, t.Soft, e.Phase)
		cell(y, 4, styleSmall, t.Soft, fmt.Sprint(e.Trial+1))
		cell(y, 5, styleSmall, t.Soft, fmt.Sprint(e.Steps))
		cell(y, 6, styleSmall, t.Soft, fmt.Sprint(e.Nothing))
		if e.P != nil {
			cell(y, 7, styleSmall, t.probability(e.P.First), fmt.Sprintf("%.2f", e.P.First))
			cell(y, 8, styleSmall, t.probability(e.P.Last), fmt.Sprintf("%.2f", e.P.Last))
		} else {
			cell(y, 7, styleSmall, t.Faint, "–")
			cell(y, 8, styleSmall, t.Faint, "–")
		}
	}
	foot := fmt.Sprintf("%d–%d of %s", min(l.top+1, len(l.rows)), min(l.top+a.rowsShown, len(l.rows)), count(len(l.rows)))
	s.TextRight(in.X+in.W, in.Y+in.H-12, styleTiny, t.Soft, foot)
}

func (a *App) drawPreview(s *Scene, t *Theme, b Box, es []Entry) {
	in := panel(s, t, b, "Selected episode")
	s.Clip(in)
	defer s.Unclip()
	i, ok := a.selected()
	if !ok {
		return
	}
	x := &es[i]
	if x.Problem != "" {
		s.TextIn(in, styleBody, t.Bad, "This line can't be shown: "+x.Problem)
		return
	}
	y := in.Y
	y += s.TextIn(Box{in.X, y, in.W, 3 * styleHead.Line()}, Style{Bold, 14}, t.Ink, x.Goal)
	y += 4
	e := a.peek(i)
	if e == nil {
		s.Text(in.X, y, styleSmall, t.Soft, "loading …")
		return
	}
	v := View{Episode: e}
	y += s.TextIn(Box{in.X, y, in.W, 4 * styleSmall.Line()}, styleSmall, t.Soft, v.facts())
	y += 8
	for _, l := range Explain(e) {
		y += s.TextIn(Box{in.X, y, in.W, 2 * styleBody.Line()}, styleBody, t.Ink, l) + 2
	}
	y += 6
	if x.P != nil {
		s.Text(in.X, y, styleTiny, t.Soft, "P(success) over the episode")
		y += 16
		drawSpark(s, t, Box{in.X, y, in.W, 60}, e)
		outcome(s, t, in.X+in.W-14, y+map[bool]float64{true: 2, false: 46}[e.Success], 11, e.Success)
		y += 70
	}
	if e.Plan != "" {
		s.Text(in.X, y, styleHead, t.Soft, "Plan")
		y += 18
		y += s.TextIn(Box{in.X, y, in.W, 4 * styleSmall.Line()}, styleSmall, t.Ink, e.Plan) + 6
	}
	if n := len(e.Reflections); n > 0 {
		s.Text(in.X, y, styleHead, t.Soft, "Latest reflection it was given")
		y += 18
		y += s.TextIn(Box{in.X, y, in.W, 4 * styleSmall.Line()}, styleSmall, t.Ink, e.Reflections[n-1]) + 6
	}
	if e.Reflection != "" {
		s.Text(in.X, y, styleHead, t.Soft, "It reflected afterwards")
		y += 18
		y += s.TextIn(Box{in.X, y, in.W, 5 * styleSmall.Line()}, styleSmall, t.Real, e.Reflection) + 6
	}
	button := Box{in.X, in.Y + in.H - 30, in.W, 26}
	drawEnd(s, t, Box{in.X, y, in.W, button.Y - y - 6}, e)
	if y < button.Y {
		s.Round(button, 5, t.Choice, t.Choice, 1)
		label := "Enter: watch it think"
		s.Text(button.X+(button.W-Measure(styleHead, label))/2, button.Y+5, styleHead, t.Panel, label)
		s.Hit(button, Action{Do: "open"})
	}
}

// drawEnd writes how the episode ended: its last commands, as many as fit, at most eight.
func drawEnd(s *Scene, t *Theme, b Box, e *Episode) {
	line := styleSmall.Line()
	n := min(len(e.Steps), 8, int((b.H-18)/(2*line)))
	if n < 1 || e.IsArm() {
		return
	}
	s.Text(b.X, b.Y, styleHead, t.Soft, "The last commands")
	y := b.Y + 18
	for i := len(e.Steps) - n; i < len(e.Steps); i++ {
		st := &e.Steps[i]
		ink := t.Soft
		if st.Nothing() {
			ink = t.Bad
		}
		s.Text(b.X, y, styleSmall, t.Ink, Ellipsis(styleSmall, fmt.Sprintf("%d > %s", i+1, st.Action), b.W))
		s.Text(b.X+14, y+line, styleSmall, ink, Ellipsis(styleSmall, canonical(st.Observation.String()), b.W-14))
		y += 2 * line
	}
}
