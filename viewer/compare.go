package viewer

// DrawCompare draws two episodes side by side at the same command.
func DrawCompare(left, right *View, w, h float64, t Theme) *Scene {
	s := NewScene(w, h, t.Back)
	b := Box{0, 0, w, h}
	if left.Hints != "" {
		drawHints(s, &t, Box{0, h - 24, w, 24}, left.Hints)
		b.H -= 24
	}
	in := b.Inset(gap)
	l, r := in.cutLeft(in.W/2 - gap/2)
	_, r = r.cutLeft(gap)
	left.half(s, &t, l)
	right.half(s, &t, r)
	s.Line(w/2, gap, w/2, b.H-gap, t.Line, 1)
	return s
}

// half draws an episode into a narrow column: command, futures, P.
func (v *View) half(s *Scene, t *Theme, b Box) {
	head, rest := b.cut(44)
	v.header(s, t, head)
	if v.Episode.IsArm() {
		v.halfArm(s, t, rest)
		return
	}
	game, rest := rest.cut(min(150, rest.H*.22))
	_, rest = rest.cut(gap)
	lanes, line := rest.cut(rest.H - min(170, rest.H*.3) - gap)
	_, line = line.cut(gap)
	v.game(s, t, game)
	drawLanes(s, t, lanes, v.Episode, v.at())
	drawTimeline(s, t, line, v.Episode, v.at())
}

// halfArm draws an arm's episode into a narrow column: table, futures, P.
func (v *View) halfArm(s *Scene, t *Theme, b Box) {
	e, at := v.Episode, v.at()
	table, rest := b.cut(min(b.W*.5, b.H*.44))
	_, rest = rest.cut(gap)
	lanes, line := rest.cut(rest.H - min(150, rest.H*.38) - gap)
	_, line = line.cut(gap)
	if len(e.Steps) > 0 {
		drawTable(s, t, table, e, at)
	}
	drawArmLanes(s, t, lanes, e, at)
	drawTimeline(s, t, line, e, at)
}
