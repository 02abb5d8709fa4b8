package viewer

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
)

// View is one episode at one command.
type View struct {
	Episode *Episode
	// Previous is the episode before it of the same task and agent, nil if there is none:
	// what changed since then is marked.
	Previous *Episode
	At       int // command, from 0
	Run      string
	Hints    string // last line of the picture; "" leaves it out
}

// at is the command within the episode, whatever was asked for.
func (v *View) at() int { return min(max(v.At, 0), max(0, len(v.Episode.Steps)-1)) }

// Draw draws the episode screen.
func (v *View) Draw(w, h float64, t Theme) *Scene {
	s := NewScene(w, h, t.Back)
	b := Box{0, 0, w, h}
	if v.Hints != "" {
		line := Box{0, h - 24, w, 24}
		drawHints(s, &t, line, v.Hints)
		b.H -= 24
	}
	v.draw(s, &t, b.Inset(gap))
	return s
}

// draw fills b with all panels.
func (v *View) draw(s *Scene, t *Theme, b Box) {
	head, rest := b.cut(44)
	v.header(s, t, head)
	if v.Episode.IsArm() {
		v.drawArm(s, t, rest)
		return
	}
	bottom := min(196, rest.H*.3)
	upper, lower := rest.cut(rest.H - bottom - gap)
	_, lower = lower.cut(gap)
	left, right := upper.cutLeft(upper.W * .4)
	_, right = right.cutLeft(gap)
	room, game := left.cut(left.H * .64)
	_, game = game.cut(gap)
	at := v.at()
	e := v.Episode
	drawRoom(s, t, room, e, RoomAt(e, at+1))
	v.game(s, t, game)
	drawLanes(s, t, right, e, at)
	line, side := lower.cutLeft(lower.W * .5)
	_, side = side.cutLeft(gap)
	drawTimeline(s, t, line, e, at)
	memory, why := side.cutLeft(side.W*.55 - gap/2)
	_, why = why.cutLeft(gap)
	v.memory(s, t, memory)
	v.why(s, t, why)
}

func (v *View) header(s *Scene, t *Theme, b Box) {
	e := v.Episode
	right := b.X + b.W - 2
	st := Style{Bold, 15}
	if e.open() {
		s.TextRight(right, b.Y, st, t.Choice, "in progress")
	} else {
		word, c := "failed", t.Bad
		if e.Success {
			word, c = "solved", t.Good
		}
		w := Measure(st, word)
		s.Text(right-w, b.Y, st, c, word)
		outcome(s, t, right-w-20, b.Y+3, 14, e.Success)
	}
	pos := fmt.Sprintf("%s %d of %d", e.unit(), v.at()+1, len(e.Steps))
	if len(e.Steps) == 0 {
		pos = "no " + e.unit() + "s"
	}
	s.TextRight(right, b.Y+22, styleSmall, t.Soft, pos)
	s.Text(b.X+2, b.Y-2, styleTitle, t.Ink, Ellipsis(styleTitle, "Task: "+e.Goal, b.W-160))
	s.Text(b.X+2, b.Y+22, styleSmall, t.Soft, Ellipsis(styleSmall, v.facts(), b.W-160))
}

// facts names the episode in one line.
func (v *View) facts() string {
	e := v.Episode
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if v.Run != "" {
		add("%s", v.Run)
	}
	if e.Arm != "" {
		add("agent %s", e.Arm)
	} else if e.Agent.Config.Name != "" {
		add("agent %s", e.Agent.Config.Name)
	}
	if e.Agent.Model.Name != "" {
		add("model %s", e.Agent.Model.Name)
	}
	if e.Agent.Assessor != "" {
		add("self-assessment %s", e.Agent.Assessor)
	}
	if e.Phase != "" {
		add("%s", e.Phase)
	}
	add("trial %d", e.Trial+1)
	if e.Split != "" {
		add("%s", e.Split)
	}
	add("%s", e.Task)
	return strings.Join(parts, " · ")
}

// game shows the command with its thoughts and answer, and what was before.
func (v *View) game(s *Scene, t *Theme, b Box) {
	in := panel(s, t, b, "Command and answer")
	e, at := v.Episode, v.at()
	if len(e.Steps) == 0 {
		s.TextIn(in, styleBody, t.Soft, e.Room)
		return
	}
	s.Clip(in)
	defer s.Unclip()
	st := &e.Steps[at]
	y := in.Y
	for _, th := range st.Trace.Thoughts {
		if y > in.Y+in.H-60 {
			break
		}
		y += s.TextIn(Box{in.X, y, in.W, 2 * styleSmall.Line()}, styleSmall, t.Soft, "thought: "+th)
	}
	y += 2
	if !st.pending() {
		y += s.TextIn(Box{in.X, y, in.W, 2 * styleMonoB.Line()}, Style{MonoBold, 13}, t.Choice, "> "+st.Action.String())
	}
	y += 2
	c := t.Ink
	if st.Nothing() {
		c = t.Bad
	}
	if st.pending() {
		words := "Your move."
		if len(st.Trace.Candidates) > 0 {
			words += " Beside it: what the agent would do."
		}
		y += s.TextIn(Box{in.X, y, in.W, 3 * styleBody.Line()}, styleBody, t.Soft, words)
		if at == 0 {
			s.TextIn(Box{in.X, y, in.W, in.Y + in.H - y}, styleBody, t.Ink, e.Room)
			return
		}
	}
	y += s.TextIn(Box{in.X, y, in.W, in.Y + in.H - y}, styleBody, c, st.Observation.String())
	if at == len(e.Steps)-1 && !e.open() && y+styleHead.Line() < in.Y+in.H {
		outcome(s, t, in.X, y+3, 12, e.Success)
		s.Text(in.X+17, y+1, styleHead, t.Ink, Ellipsis(styleHead, "The episode ends here: "+e.ending(), in.W-18))
		y += styleHead.Line()
	}
	y += 4
	for k := at - 1; k >= 0 && y+styleTiny.Line() <= in.Y+in.H; k-- { // what was before, latest first
		p := &e.Steps[k]
		line := fmt.Sprintf("%d  > %s — %s", k+1, p.Action, canonical(p.Observation.String()))
		s.Text(in.X, y, styleTiny, t.Soft, Ellipsis(styleTiny, line, in.W))
		y += styleTiny.Line()
	}
}

// memory shows plan and reflections, new ones marked.
func (v *View) memory(s *Scene, t *Theme, b Box) {
	e := v.Episode
	in := panel(s, t, b, "Memory: what the agent was told")
	s.Clip(in)
	defer s.Unclip()
	y := in.Y
	line := styleSmall.Line()
	if e.Plan != "" {
		w := s.Text(in.X, y, Style{Bold, 10.5}, t.Ink, "Plan ")
		lines := Wrap(styleSmall, e.Plan, in.W-w, 2)
		for i, l := range lines {
			s.Text(in.X+w, y+float64(i)*line, styleSmall, t.Soft, l)
		}
		y += float64(len(lines)) * line
		y += 3
	}
	if len(e.Reflections) == 0 {
		s.Text(in.X, y, styleSmall, t.Soft, "No reflections.")
		y += line
	}
	if v.Previous != nil {
		if gone := difference(v.Previous.Reflections, e.Reflections); gone > 0 {
			s.Text(in.X, y, styleTiny, t.Soft, fmt.Sprintf("%s of the episode before %s no longer here.", plural(gone, "reflection"), map[bool]string{true: "is", false: "are"}[gone == 1]))
			y += styleTiny.Line()
		}
	}
	for i := len(e.Reflections) - 1; i >= 0 && y+line < in.Y+in.H; i-- { // newest first
		x := in.X
		if v.Previous != nil && !slices.Contains(v.Previous.Reflections, e.Reflections[i]) {
			x += tag(s, x, y, styleTinyB, t.Choice, "new") + 4
		} else {
			s.Circle(x+4, y+7, 2, t.Soft, color.NRGBA{}, 0)
			x += 11
		}
		lines := Wrap(styleSmall, e.Reflections[i], in.W-(x-in.X), 2)
		for k, l := range lines {
			s.Text(x, y+float64(k)*line, styleSmall, t.Ink, l)
		}
		y += float64(len(lines))*line + 2
	}
}

// difference counts what is in a and not in b.
func difference(a, b []string) int {
	n := 0
	for _, x := range a {
		if !slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// why explains the episode and what it cost.
func (v *View) why(s *Scene, t *Theme, b Box) {
	e := v.Episode
	title := "Why it failed"
	lines := Explain
	switch {
	case e.open():
		title, lines = "So far", soFar
	case e.Success:
		title = "How it was solved"
	}
	in := panel(s, t, b, title)
	s.Clip(in)
	defer s.Unclip()
	line := styleSmall.Line()
	body, foot := in.cut(in.H - line)
	y := body.Y
	for _, l := range lines(e) {
		y += s.TextIn(Box{body.X, y, body.W, min(2*line, body.Y+body.H-y)}, styleSmall, t.Ink, l) + 1
	}
	if e.Reflection != "" && y+line < body.Y+body.H {
		s.TextIn(Box{body.X, y, body.W, body.Y + body.H - y}, styleSmall, t.Real, "It reflected: "+e.Reflection)
	}
	so, unit := 0, ""
	for i := range e.Steps[:min(len(e.Steps), v.at()+1)] {
		so += e.Steps[i].Trace.Usage.CompletionTokens
	}
	if e.Usage.Estimated {
		unit = " (estimated)"
	}
	if e.IsArm() || e.open() && e.Usage.Calls == 0 { // nothing is written, so nothing is paid for
		return
	}
	cost := fmt.Sprintf("Cost: %s of %s tokens written so far, %s%s", count(so), count(e.Usage.CompletionTokens), plural(e.Usage.Calls, "call"), unit)
	s.Text(foot.X, foot.Y+1, styleTiny, t.Soft, Ellipsis(styleTiny, cost, foot.W))
}

// drawHints draws the line that says which keys do something.
func drawHints(s *Scene, t *Theme, b Box, hints string) {
	s.Rect(b, mix(t.Back, t.Line, .5))
	s.Text(b.X+10, b.Y+4, styleSmall, t.Ink, Ellipsis(styleSmall, hints, b.W-20))
}
