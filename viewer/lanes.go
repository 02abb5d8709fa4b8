package viewer

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

const (
	laneRoot  = 30.0  // width of the branching
	laneScore = 104.0 // width of the column with P
	maxLanes  = 6     // more futures are counted, not drawn
	maxChips  = 4     // imagined commands a lane
)

// drawLanes draws the imagined futures of one decision as branches from the present, the
// chosen one marked, and below them what really happened.
func drawLanes(s *Scene, t *Theme, b Box, e *Episode, i int) {
	in := panel(s, t, b, "Imagined futures, and what happened")
	if i >= len(e.Steps) {
		s.Text(in.X, in.Y+8, styleBody, t.Soft, "The episode has no commands.")
		return
	}
	st := &e.Steps[i]
	head, rest := in.cut(styleSmall.Line() + 2)
	s.Text(head.X, head.Y, styleSmall, t.Soft, Ellipsis(styleSmall, diagnosis(e, st), head.W))
	cs := st.Trace.Candidates
	shown := lanesShown(st, maxLanes)
	if more := len(cs) - len(shown); more > 0 {
		line, r := rest.cut(styleTiny.Line())
		s.Text(line.X+laneRoot, line.Y, styleTiny, t.Soft, fmt.Sprintf("%d more are not drawn", more))
		rest = r
	}
	h := min(rest.H/float64(len(shown)+1), 104)
	if len(shown) == 0 {
		s.Text(rest.X+laneRoot, rest.Y+6, styleBody, t.Soft, "Nothing was imagined before this command.")
		_, rest = rest.cut(26)
	}
	root := Point{rest.X + 8, rest.Y + h*float64(len(shown))/2}
	for n, k := range shown {
		lane, r := rest.cut(h)
		rest = r
		chosen := k == st.Trace.Choice.Index
		branch(s, t, root, Point{lane.X + laneRoot, lane.Y + h/2}, chosen)
		drawLane(s, t, Box{lane.X + laneRoot, lane.Y, lane.W - laneRoot, h}.shrink(3), e, i, k, n+1, chosen)
	}
	if len(shown) > 0 {
		s.Circle(root.X, root.Y, 5, t.Ink, color.NRGBA{}, 0)
	}
	real, _ := rest.cut(h)
	drawReal(s, t, Box{real.X + laneRoot, real.Y, real.W - laneRoot, real.H}.shrink(3), e, i)
}

// lanesShown lists the candidates that have a lane, at most most, the chosen one always.
func lanesShown(st *Step, most int) []int {
	cs := st.Trace.Candidates
	rows := min(len(cs), most)
	if len(cs) > most && st.Trace.Choice.Index >= most {
		rows = most - 1 // leaves a row for the chosen one
	}
	shown := make([]int, 0, most)
	for k := range rows {
		shown = append(shown, k)
	}
	if k := st.Trace.Choice.Index; k >= rows && k < len(cs) {
		shown = append(shown, k)
	}
	return shown
}

// shrink takes d off the top and the bottom.
func (b Box) shrink(d float64) Box { return Box{b.X, b.Y + d, b.W, max(0, b.H-2*d)} }

// branch draws a curve from the present to a lane: thick when chosen.
func branch(s *Scene, t *Theme, a, b Point, chosen bool) {
	c, w := t.Faint, 1.0
	if chosen {
		c, w = t.Choice, 3
	}
	ps := make([]Point, 0, 13)
	for k := range 13 {
		u := float64(k) / 12
		v := (1 - math.Cos(u*math.Pi)) / 2
		ps = append(ps, Point{a.X + (b.X-a.X)*u, a.Y + (b.Y-a.Y)*v})
	}
	s.Path(ps, c, w)
	if chosen {
		arrow(s, ps[11], Point{b.X + 1, b.Y}, 9, c)
	}
}

func drawLane(s *Scene, t *Theme, b Box, e *Episode, i, k, n int, chosen bool) {
	c := &e.Steps[i].Trace.Candidates[k]
	stroke, width := t.Line, 1.0
	if chosen {
		stroke, width = t.Choice, 2.5
	}
	s.Round(b, 5, t.Panel, stroke, width)
	s.Clip(b.Inset(1))
	defer s.Unclip()
	score, chips := b.Inset(5).cutLeft(laneScore)
	y := score.Y - 1
	if c.Assessed != nil {
		p := c.Assessed.P
		s.Text(score.X, y, Style{Bold, 13}, t.probability(p), "P "+number(p))
		y += 18
		bar(s, t, Box{score.X, y, laneScore - 14, 5}, p, t.probability(p))
		y += 8
	} else {
		s.Text(score.X, y, styleSmall, t.Soft, "not assessed")
		y += 16
	}
	var notes []string
	if chosen {
		tag(s, score.X, y, styleTinyB, t.Choice, "chosen: "+Ellipsis(styleTinyB, e.Steps[i].Trace.Choice.Reason, laneScore-70))
		y += 16
	}
	if c.Claim != "" {
		notes = append(notes, "ends in “"+c.Claim+"”")
	}
	if !c.Valid {
		notes = append(notes, "not valid")
	}
	if c.Same >= 0 && c.Same != k && c.Same < len(e.Steps[i].Trace.Candidates) {
		notes = append(notes, fmt.Sprintf("begins as %d", c.Same+1))
	}
	for _, note := range notes {
		if y+styleTiny.Line() > b.Y+b.H {
			break
		}
		s.Text(score.X, y, styleTiny, t.Soft, Ellipsis(styleTiny, note, laneScore-10))
		y += styleTiny.Line()
	}
	s.TextRight(b.X+laneScore-8, b.Y+4, styleTiny, t.Faint, fmt.Sprint(n))
	cols := max(1, min(len(c.Pairs), maxChips))
	w := chips.W / float64(max(cols, 3))
	for j := range c.Pairs {
		if j >= maxChips {
			break
		}
		p := &c.Pairs[j]
		box := Box{chips.X + float64(j)*w, chips.Y, w - 6, chips.H}
		mark := ""
		if chosen {
			mark = comesTrue(e, i+j, c, j)
		}
		drawPair(s, t, box, p.Action, p.Observation, mark, t.Ink)
	}
	if extra := len(c.Pairs) - maxChips; extra > 0 {
		s.TextRight(b.X+b.W-4, b.Y+b.H-13, styleTiny, t.Soft, fmt.Sprintf("+%d", extra))
	}
}

// comesTrue compares an imagined pair of the chosen future with the real step at the same
// place, as long as the agent really followed it: "true", "differs", or "".
func comesTrue(e *Episode, i int, c *Candidate, j int) string {
	for k := 0; k <= j; k++ {
		at := i - j + k
		if at >= len(e.Steps) || e.Steps[at].Action.Text != c.Pairs[k].Action {
			return ""
		}
	}
	if c.Pairs[j].Observation == "" {
		return ""
	}
	if canonical(e.Steps[i].Observation.Text) == canonical(c.Pairs[j].Observation) {
		return "true"
	}
	return "differs"
}

func drawPair(s *Scene, t *Theme, b Box, action, observation, mark string, ink color.NRGBA) {
	s.Line(b.X-3, b.Y, b.X-3, b.Y+b.H, t.Line, 1)
	w := b.W
	switch mark {
	case "true":
		check(s, b.X+b.W-11, b.Y+1, 10, t.Good)
		w -= 13
	case "differs":
		s.Text(b.X+b.W-10, b.Y-1, styleHead, t.Bad, "≠")
		w -= 13
	}
	lines := Wrap(styleMonoB, action, w, 2)
	y := b.Y - 1
	for _, l := range lines {
		s.Text(b.X, y, styleMonoB, ink, l)
		y += styleMonoB.Line() - 1
	}
	c := t.Soft
	if observation == "Nothing happens." {
		c = t.Bad
	}
	s.TextIn(Box{b.X, y, b.W, b.Y + b.H - y + 1}, styleTiny, c, canonical(observation))
}

// drawReal shows the real command and its answer under the futures, and what came next.
func drawReal(s *Scene, t *Theme, b Box, e *Episode, i int) {
	if b.H < 20 {
		return
	}
	s.Round(b, 5, mix(t.Panel, t.Real, .06), t.Real, 1.5)
	s.Clip(b.Inset(1))
	defer s.Unclip()
	left, chips := b.Inset(5).cutLeft(laneScore)
	if e.Steps[i].pending() {
		s.Text(left.X, left.Y-1, styleHead, t.Real, "Your move")
		return
	}
	s.Text(left.X, left.Y-1, styleHead, t.Real, "What happened")
	y := left.Y + 17
	if c := e.Steps[i].Chosen(); c != nil && len(c.Pairs) > 0 {
		switch comesTrue(e, i, c, 0) {
		case "true":
			check(s, left.X, y+1, 9, t.Good)
			s.Text(left.X+13, y, styleTiny, t.Soft, "as imagined")
		case "differs":
			s.Text(left.X, y-1, styleHead, t.Bad, "≠")
			s.Text(left.X+13, y, styleTiny, t.Soft, "not as imagined")
		}
		y += styleTiny.Line()
	}
	cols := 3
	if c := e.Steps[i].Chosen(); c != nil {
		cols = max(cols, min(len(c.Pairs), maxChips))
	}
	w := chips.W / float64(cols)
	for j := range cols {
		box := Box{chips.X + float64(j)*w, chips.Y, w - 6, chips.H}
		if i+j >= len(e.Steps) {
			s.Line(box.X-3, box.Y, box.X-3, box.Y+box.H, t.Line, 1)
			outcome(s, t, box.X, box.Y+2, 11, e.Success)
			s.Text(box.X+15, box.Y, styleSmall, t.Soft, Ellipsis(styleSmall, e.ending(), box.W-16))
			break
		}
		x := &e.Steps[i+j]
		if x.pending() {
			break
		}
		ink := t.Ink
		if j > 0 {
			ink = t.Soft
		}
		drawPair(s, t, box, x.Action.String(), x.Observation.String(), "", ink)
	}
}

// ending is how the episode ended, in words.
func (e *Episode) ending() string {
	word := "failed"
	if e.Success {
		word = "solved"
	}
	if e.Reason != "" && e.Reason != "goal reached" {
		word += ": " + e.Reason
	}
	return word
}

// diagnosis says in one line how the choice was made.
func diagnosis(e *Episode, st *Step) string {
	cs := st.Trace.Candidates
	var parts []string
	if e.Agent.Selector != "" {
		parts = append(parts, "rule: "+Ellipsis(styleSmall, e.Agent.Selector, 120))
	}
	if len(cs) > 1 {
		first := map[string]bool{}
		valid, sum, n := 0, 0.0, 0
		for k := range cs {
			if len(cs[k].Pairs) > 0 {
				first[cs[k].Pairs[0].Action] = true
			}
			if cs[k].Valid {
				valid++
			}
			if a := cs[k].Assessed; a != nil {
				sum += a.P
				n++
			}
		}
		if e.IsArm() {
			parts = append(parts, plural(len(cs), "future"))
		} else {
			parts = append(parts, fmt.Sprintf("%d futures, %s", len(cs), plural(len(first), "different first command")))
		}
		if valid < len(cs) && !e.IsArm() {
			parts = append(parts, fmt.Sprintf("%d not valid", len(cs)-valid))
		}
		if low, high, ok := st.Spread(); ok && n > 1 {
			line := fmt.Sprintf("P from %.3f to %.3f, mean %.3f", low, high, sum/float64(n))
			if p, ok := st.P(); ok {
				line += fmt.Sprintf(", chosen %+.3f above it", p-sum/float64(n))
				if p < sum/float64(n) {
					line = strings.Replace(strings.Replace(line, "chosen -", "chosen ", 1), "above", "below", 1)
				} else {
					line = strings.Replace(line, "chosen +", "chosen ", 1)
				}
			}
			parts = append(parts, line)
		}
	}
	if t := st.Trace.Usage.CompletionTokens; t > 0 {
		parts = append(parts, plural(t, "token"))
	}
	if st.Trace.Cut > 0 {
		parts = append(parts, plural(st.Trace.Cut, "output")+" cut")
	}
	parts = append(parts, st.Trace.Events...)
	return strings.Join(parts, " · ")
}
