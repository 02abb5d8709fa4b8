package viewer

import (
	"sort"
	"strconv"
	"strings"
)

// drawRoom draws the room as a plan: a tile for each receptacle with its door and what is
// known of its content, the agent where it stands, the way it came, and what it carries.
// The text game has no geometry: tiles stand by kind and number.
func drawRoom(s *Scene, t *Theme, b Box, e *Episode, r *Room) {
	in := panel(s, t, b, "Room, as far as it has been seen")
	s.Rect(in, t.Floor)
	head, floor := in.Inset(4).cut(16)
	x := head.X + 12
	if r.Held != "" {
		person(s, head.X+5, head.Y, 13, t.Choice)
		label := "carries " + r.Held
		if c := r.Changed[r.Held]; c != "" {
			label += ", " + c
		}
		s.Text(x, head.Y, styleSmall, t.Ink, Ellipsis(styleSmall, label, head.W-12))
	} else {
		person(s, head.X+5, head.Y, 13, t.Soft)
		where := "hand empty"
		if r.At == "" {
			where = "in the middle of the room, hand empty"
		}
		s.Text(x, head.Y, styleSmall, t.Soft, where)
	}
	places := append([]Place(nil), r.Places...)
	sort.SliceStable(places, func(i, j int) bool { return placeBefore(places[i].Name, places[j].Name) })
	if len(places) == 0 {
		s.Text(floor.X, floor.Y+8, styleBody, t.Soft, "The record names no receptacle.")
		return
	}
	cols, rows := grid(len(places), floor.W, floor.H)
	w, h := floor.W/float64(cols), floor.H/float64(rows)
	centre := map[string]Point{}
	for i := range places {
		tile := Box{floor.X + float64(i%cols)*w, floor.Y + float64(i/cols)*h, w, h}.Inset(2)
		drawPlace(s, t, tile, &places[i], e.Goal, r)
		centre[places[i].Name] = Point{tile.X + tile.W - 9, tile.Y + min(tile.H/2, 12)}
	}
	to, there := centre[r.At]
	if from, ok := centre[r.Before]; ok && there && r.Before != r.At {
		way := t.Choice
		way.A = 120 // names below stay readable
		s.Dashed([]Point{from, to}, way, 1.5, 4)
		arrow(s, from, Point{to.X, to.Y}, 8, t.Choice)
	}
	if there {
		person(s, to.X, to.Y-8, 16, t.Choice)
	}
}

// grid chooses columns and rows for n tiles so that the names are readable.
func grid(n int, w, h float64) (cols, rows int) {
	best := -1.0
	cols, rows = 1, n
	for c := 1; c <= min(n, 12); c++ {
		r := (n + c - 1) / c
		if v := min(w/float64(c)/104, h/float64(r)/40); v > best {
			best, cols, rows = v, c, r
		}
	}
	return cols, rows
}

func drawPlace(s *Scene, t *Theme, b Box, p *Place, goal string, r *Room) {
	stroke, width := t.Line, 1.0
	if p.Name == r.At {
		stroke, width = t.Choice, 2.5
	}
	fill := t.Panel
	if !p.Seen {
		fill = mix(t.Panel, t.Floor, .75)
	}
	s.Round(b, 3, fill, stroke, width)
	s.Clip(b)
	defer s.Unclip()
	switch p.Door { // a lid: lying on the box, or lifted
	case Closed:
		s.Line(b.X+3, b.Y+1.5, b.X+b.W-3, b.Y+1.5, t.Soft, 3)
	case Opened:
		s.Line(b.X+3, b.Y+2, b.X+14, b.Y+7, t.Soft, 2)
	}
	in := Box{b.X + 4, b.Y + 2, b.W - 8, b.H - 3}
	st := styleTinyB
	name := p.Name
	if p.Door == Opened {
		in.X, in.W = in.X+10, in.W-10
	}
	used := s.Text(in.X, in.Y, st, t.Ink, Ellipsis(st, name, in.W-14))
	if inGoal(goal, p.Name) { // a target
		s.Circle(in.X+used+8, in.Y+7, 4, t.Panel, t.Real, 1.5)
		s.Circle(in.X+used+8, in.Y+7, 1.3, t.Real, t.Real, 0)
	}
	_, in = in.cut(st.Line())
	if p.Door == Opened {
		in.X, in.W = in.X-10, in.W+10
	}
	switch {
	case p.Door == Closed && !p.Seen:
		s.Text(in.X, in.Y, styleTiny, t.Soft, "closed")
	case !p.Seen:
		s.Text(in.X, in.Y, styleTiny, t.Faint, "not seen")
	case len(p.Items) == 0:
		s.Text(in.X, in.Y, styleTiny, t.Soft, "empty")
	default:
		drawItems(s, t, in, p.Items, goal, r)
	}
}

// drawItems writes the objects in a receptacle: those of the goal first and bold, new
// ones underlined.
func drawItems(s *Scene, t *Theme, b Box, items []string, goal string, r *Room) {
	items = append([]string(nil), items...)
	rank := func(x string) int {
		switch {
		case inGoal(goal, x):
			return 0
		case r.New[x]:
			return 1
		}
		return 2
	}
	sort.SliceStable(items, func(i, j int) bool { return rank(items[i]) < rank(items[j]) })
	x, y := b.X, b.Y
	line := styleTiny.Line()
	for i, it := range items {
		st, c := styleTiny, t.Soft
		if inGoal(goal, it) {
			st, c = styleTinyB, t.Choice
		}
		label := it
		if ch := r.Changed[it]; ch != "" {
			label += " (" + ch + ")"
		}
		if r.Lamp == it {
			label += " (on)"
		}
		w := Measure(st, label)
		if x > b.X && x+w > b.X+b.W {
			x, y = b.X, y+line
		}
		if y+line > b.Y+b.H+2 {
			return
		}
		last := y+2*line > b.Y+b.H+2
		more := "+" + strconv.Itoa(len(items)-i)
		if room := b.X + b.W - x; last && i < len(items)-1 && w+Measure(st, more)+6 > room && x > b.X {
			s.Text(x, y, styleTiny, t.Soft, more)
			return
		}
		used := s.Text(x, y, st, c, Ellipsis(st, label, b.X+b.W-x))
		if r.New[it] {
			s.Line(x, y+line-1, x+used, y+line-1, c, 1)
		}
		x += used + 6
	}
}

// placeBefore orders names by kind, then number.
func placeBefore(a, b string) bool {
	ka, kb := kindOf(a), kindOf(b)
	if ka != kb {
		return ka < kb
	}
	na, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(a, ka)))
	nb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(b, kb)))
	return na < nb
}
