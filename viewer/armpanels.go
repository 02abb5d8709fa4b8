package viewer

import (
	"fmt"
	"image/color"
	"math"

	"github.com/muse-agent/muse/envs/gridarm"
)

// reaches says that the task is to bring the hand to a point: there is no object.
func (e *Episode) reaches() bool { return e.task == gridarm.Reach }

// drawArm fills b with the panels of an arm's episode.
func (v *View) drawArm(s *Scene, t *Theme, b Box) {
	e, at := v.Episode, v.at()
	bottom := min(196, b.H*.3)
	upper, lower := b.cut(b.H - bottom - gap)
	_, lower = lower.cut(gap)
	left, right := upper.cutLeft(upper.W * .62)
	_, right = right.cutLeft(gap)
	if len(e.Steps) == 0 {
		in := panel(s, t, left, "Table")
		s.Text(in.X, in.Y+8, styleBody, t.Soft, "The episode has no decisions.")
	} else {
		drawTable(s, t, left, e, at)
	}
	drawArmLanes(s, t, right, e, at)
	line, side := lower.cutLeft(lower.W * .5)
	_, side = side.cutLeft(gap)
	drawTimeline(s, t, line, e, at)
	reg, why := side.cutLeft(side.W*.5 - gap/2)
	_, why = why.cutLeft(gap)
	drawRegulation(s, t, reg, e, at)
	v.why(s, t, why)
}

// drawRegulation draws how far regulation moved the latent state before each action: the
// length of the move, what it changed in Σψ, and what it changed in the policy.
func drawRegulation(s *Scene, t *Theme, b Box, e *Episode, at int) {
	in := panel(s, t, b, "Regulation of the latent state")
	var name string
	for i := range e.Steps {
		if r := e.Steps[i].Trace.State; r != nil {
			name = r.Regulator
			break
		}
	}
	if name == "" {
		s.TextIn(Box{in.X, in.Y, in.W, in.H}, styleBody, t.Soft, "This agent acts as its policy says: nothing was moved.")
		return
	}
	rows := []struct {
		title string
		of    func(r *StateTrace) float64
	}{
		{"‖Δs‖ length of the move", func(r *StateTrace) float64 { return r.Moved }},
		{"ΔΣψ by the move", func(r *StateTrace) float64 { return r.Gain }},
		{"KL of the policy, nats", func(r *StateTrace) float64 { return r.KL }},
	}
	foot := styleTiny.Line()
	h := (in.H - foot) / float64(len(rows))
	for k, row := range rows {
		drawStrip(s, t, Box{in.X, in.Y + float64(k)*h, in.W, h}, e, at, row.title, row.of)
	}
	line := name
	if at < len(e.Steps) {
		if r := e.Steps[at].Trace.State; r != nil {
			line = fmt.Sprintf("%s: Σψ %.2f → %.2f", Ellipsis(styleTiny, name, in.W*.5), r.Before, r.After)
		}
	}
	s.Text(in.X, in.Y+in.H-foot+1, styleTiny, t.Soft, Ellipsis(styleTiny, line, in.W))
}

// drawStrip draws one number over the decisions, with its value now.
func drawStrip(s *Scene, t *Theme, b Box, e *Episode, at int, title string, of func(*StateTrace) float64) {
	n := len(e.Steps)
	lo, hi := 0.0, 0.0
	value := func(i int) (float64, bool) {
		r := e.Steps[i].Trace.State
		if r == nil {
			return 0, false
		}
		x := of(r)
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	for i := range n {
		if x, ok := value(i); ok {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	s.Text(b.X, b.Y-1, styleTiny, t.Soft, title)
	now := "–"
	if at < n {
		if x, ok := value(at); ok {
			now = small(x)
		}
	}
	s.TextRight(b.X+b.W, b.Y-1, styleTinyB, t.Ink, now)
	plot := Box{b.X, b.Y + styleTiny.Line(), b.W, b.H - styleTiny.Line() - 3}
	if plot.H < 6 || n == 0 {
		return
	}
	s.Rect(plot, t.Back)
	if !(hi > lo) {
		hi = lo + 1
	}
	x := func(i int) float64 { return plot.X + (float64(i)+.5)*plot.W/float64(n) }
	y := func(v float64) float64 { return plot.Y + plot.H - 1 - (v-lo)/(hi-lo)*(plot.H-2) }
	s.Line(plot.X, y(0), plot.X+plot.W, y(0), t.Line, 1)
	var ps []Point
	for i := range n {
		if v, ok := value(i); ok {
			ps = append(ps, Point{x(i), y(v)})
		} else {
			s.Path(ps, t.Choice, 1.3)
			ps = nil
		}
	}
	s.Path(ps, t.Choice, 1.3)
	if at < n {
		s.Line(x(at), plot.Y, x(at), plot.Y+plot.H, t.Ink, 1)
		if v, ok := value(at); ok {
			s.Circle(x(at), y(v), 2.5, t.Choice, color.NRGBA{}, 0)
		}
	}
}

// small writes a number with three digits that count.
func small(x float64) string {
	if a := math.Abs(x); a != 0 && (a < .001 || a >= 1e4) {
		return fmt.Sprintf("%.1e", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// explainArm says in a few lines what the record tells about how an episode of the arm
// went: facts that are measured in it.
func explainArm(e *Episode) []string {
	n := len(e.Steps)
	thing := e.thing()
	var out []string
	solvedAt, last := e.SolvedAt, false
	touched, held := 0, 0
	for i := range e.Steps {
		st := &e.Steps[i]
		if st.Success && solvedAt == 0 {
			solvedAt = i + 1
		}
		last = st.Success
		if st.Touch && touched == 0 {
			touched = i + 1
		}
		if st.Held && held == 0 {
			held = i + 1
		}
	}
	switch {
	case e.Success && solvedAt > 0 && !last && n > 0:
		out = append(out, fmt.Sprintf("Solved at decision %d of %d, but not kept: at the end the goal is lost.", solvedAt, n))
	case e.Success && solvedAt > 0:
		out = append(out, fmt.Sprintf("Solved at decision %d of %d.", solvedAt, n))
	case e.Success:
		out = append(out, fmt.Sprintf("Solved in %s.", plural(n, "decision")))
	case e.Reason != "":
		out = append(out, fmt.Sprintf("Failed: %s after %s.", e.Reason, plural(n, "decision")))
	default:
		out = append(out, fmt.Sprintf("Failed after %s.", plural(n, "decision")))
	}
	if !e.reaches() {
		switch {
		case touched == 0 && n > 0:
			near, at := math.Inf(1), 0
			for i := 0; i <= n; i++ {
				if m, ok := e.moment(i); ok {
					if d := distance3(m.hand, m.obj); d < near {
						near, at = d, i
					}
				}
			}
			if at > 0 {
				out = append(out, fmt.Sprintf("The hand never touched the %s: nearest %s, at decision %d.", thing, cm(near), at))
			}
		case held > 0:
			out = append(out, fmt.Sprintf("It held the %s from decision %d on.", thing, held))
		case touched > 0:
			out = append(out, fmt.Sprintf("It first touched the %s at decision %d.", thing, touched))
		}
	}
	out = append(out, e.nearest()...)
	return append(out, confidence(e)...)
}

// nearest says how near the episode came to its goal, and where it ended.
func (e *Episode) nearest() []string {
	n := len(e.Steps)
	first, ok := e.moment(0)
	end, ok2 := e.moment(n)
	d0, ok3 := e.toGoal(first)
	d1, _ := e.toGoal(end)
	if !ok || !ok2 || !ok3 || n == 0 {
		return nil
	}
	low, at := d0, 0
	for i := 1; i <= n; i++ {
		if m, ok := e.moment(i); ok {
			if d, _ := e.toGoal(m); d < low {
				low, at = d, i
			}
		}
	}
	thing := "The " + e.thing()
	if e.reaches() {
		thing = "The hand"
	}
	switch {
	case at == 0:
		return []string{fmt.Sprintf("%s never came nearer to the goal than at the start (%s); it ended %s away.", thing, cm(d0), cm(d1))}
	case d1 > low+.02:
		return []string{fmt.Sprintf("%s began %s from the goal, came as near as %s at decision %d, and ended %s away.", thing, cm(d0), cm(low), at, cm(d1))}
	}
	return []string{fmt.Sprintf("%s began %s from the goal and ended %s from it.", thing, cm(d0), cm(d1))}
}
