package viewer

import (
	"fmt"
	"image/color"
	"math"
	"sort"

	"github.com/muse-agent/muse/internal/runindex"
)

// armStats sums up the episodes of one agent.
type armStats struct {
	arm      string
	n, won   int
	commands int
	p, pn    float64
	byTrial  []share
	running  []float64 // share solved after each episode
}

type share struct{ n, won int }

func (x share) value() float64 { return float64(x.won) / float64(max(1, x.n)) }

// maxTrials bounds the trials of a curve.
const maxTrials = 200

// stats sums up a run, arms in the order of their names.
func stats(es []Entry) []*armStats {
	m := map[string]*armStats{}
	for i := range es {
		e := &es[i]
		if e.Problem != "" {
			continue
		}
		a := m[e.Arm]
		if a == nil {
			a = &armStats{arm: e.Arm}
			m[e.Arm] = a
		}
		a.n++
		a.commands += e.Steps
		if e.Success {
			a.won++
		}
		if e.P != nil {
			a.p += e.P.Mean * float64(e.P.N)
			a.pn += float64(e.P.N)
		}
		if t := e.Trial; t >= 0 && t < maxTrials {
			for len(a.byTrial) <= t {
				a.byTrial = append(a.byTrial, share{})
			}
			a.byTrial[t].n++
			if e.Success {
				a.byTrial[t].won++
			}
		}
		a.running = append(a.running, float64(a.won)/float64(a.n))
	}
	out := make([]*armStats, 0, len(m))
	for _, a := range m {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].arm < out[j].arm })
	return out
}

// ece is the expected calibration error: the mean distance of P and what came of it,
// weighted by decisions (Guo et al., 2017).
func ece(r *Reliability) (v float64, n int) {
	for _, b := range r.Bin {
		if b.N > 0 {
			v += math.Abs(b.P - float64(b.Won))
			n += b.N
		}
	}
	return v / float64(max(1, n)), n
}

// drawRun draws the run as a whole: a table of the agents, the reliability of their P,
// and how success went over trials or episodes.
func (a *App) drawRun(s *Scene, t *Theme, b Box) {
	head, rest := b.cut(44)
	s.Text(head.X+2, head.Y-2, styleTitle, t.Ink, Ellipsis(styleTitle, a.src.Title()+": the run as a whole", head.W*.8))
	st := stats(a.src.Entries())
	rel := map[string]*Reliability{}
	all := a.src.Reliability()
	for i := range all {
		rel[all[i].Arm] = &all[i]
	}
	s.Text(head.X+2, head.Y+22, styleSmall, t.Soft, plural(len(a.src.Entries()), "episode")+" of "+plural(len(st), "agent")+". ↑ ↓ choose whose reliability is shown.")
	if len(st) == 0 {
		return
	}
	a.arm = min(max(a.arm, 0), len(st)-1)
	top, lower := rest.cut(min(48+float64(len(st))*rowHeight, rest.H*.4))
	_, lower = lower.cut(gap)
	a.drawArms(s, t, top, st, rel)
	left, right := lower.cutLeft(lower.W*.5 - gap/2)
	_, right = right.cutLeft(gap)
	drawReliability(s, t, left, st[a.arm].arm, rel[st[a.arm].arm])
	drawLearning(s, t, right, st, a.arm)
}

func (a *App) drawArms(s *Scene, t *Theme, b Box, st []*armStats, rel map[string]*Reliability) {
	in := panel(s, t, b, "")
	s.Clip(in)
	defer s.Unclip()
	cols := []float64{0, .26, .36, .56, .68, .80, .92}
	for k, title := range []string{"agent", "episodes", "solved", "mean commands", "mean P", "calibration error", "decisions"} {
		s.Text(in.X+cols[k]*in.W, in.Y-2, styleTinyB, t.Soft, title)
	}
	for i, x := range st {
		y := in.Y + 16 + float64(i)*rowHeight
		row := Box{in.X - 4, y - 2, in.W + 8, rowHeight}
		if i == a.arm {
			s.Rect(row, t.Band)
			s.Rect(Box{row.X, row.Y, 3, row.H}, t.Choice)
		}
		s.Hit(row, Action{Do: "arm", Index: i})
		name := x.arm
		if name == "" {
			name = "(unnamed)"
		}
		s.Text(in.X+4, y, styleSmall, t.Ink, Ellipsis(styleSmall, name, .25*in.W))
		s.Text(in.X+cols[1]*in.W, y, styleSmall, t.Ink, count(x.n))
		bar(s, t, Box{in.X + cols[2]*in.W, y + 5, .1 * in.W, 6}, float64(x.won)/float64(x.n), t.Good)
		s.Text(in.X+(cols[2]+.11)*in.W, y, styleSmall, t.Ink, fmt.Sprintf("%.3f", float64(x.won)/float64(x.n)))
		s.Text(in.X+cols[3]*in.W, y, styleSmall, t.Ink, fmt.Sprintf("%.1f", float64(x.commands)/float64(x.n)))
		if r := rel[x.arm]; r != nil && x.pn > 0 {
			v, n := ece(r)
			s.Text(in.X+cols[4]*in.W, y, styleSmall, t.Ink, fmt.Sprintf("%.3f", x.p/x.pn))
			s.Text(in.X+cols[5]*in.W, y, styleSmall, t.Ink, fmt.Sprintf("%.3f", v))
			s.Text(in.X+cols[6]*in.W, y, styleSmall, t.Ink, count(n))
		} else {
			s.Text(in.X+cols[4]*in.W, y, styleSmall, t.Faint, "no self-assessment")
		}
	}
}

// axes draws a square of 0 to 1 with labels and returns its inside.
func axes(s *Scene, t *Theme, in Box, x, y string) Box {
	plot := Box{in.X + 34, in.Y + 6, in.W - 46, in.H - 44}
	s.Rect(plot, t.Back)
	for _, v := range []float64{0, .25, .5, .75, 1} {
		yy := plot.Y + (1-v)*plot.H
		s.Line(plot.X, yy, plot.X+plot.W, yy, t.Line, 1)
		s.TextRight(plot.X-4, yy-7, styleTiny, t.Soft, fmt.Sprint(v))
	}
	s.Text(plot.X+(plot.W-Measure(styleTiny, x))/2, plot.Y+plot.H+18, styleTiny, t.Soft, x)
	s.Text(plot.X+4, plot.Y+2, styleTiny, t.Soft, y)
	return plot
}

// drawReliability draws how often decisions of some P belonged to solved episodes: on the
// diagonal, P means what it says.
func drawReliability(s *Scene, t *Theme, b Box, arm string, r *Reliability) {
	in := panel(s, t, b, "Reliability of "+arm)
	if r == nil {
		s.Text(in.X, in.Y+8, styleBody, t.Soft, "This agent gives no probabilities.")
		return
	}
	plot := axes(s, t, in, "P of the chosen future, ten bins; bar: share of decisions", "share of them in solved episodes")
	x := func(p float64) float64 { return plot.X + p*plot.W }
	y := func(p float64) float64 { return plot.Y + (1-p)*plot.H }
	total := 0
	for _, bin := range r.Bin {
		total += bin.N
	}
	for i, bin := range r.Bin {
		h := float64(bin.N) / float64(max(1, total)) * plot.H
		s.Rect(Box{x(float64(i)/runindex.Bins) + 2, plot.Y + plot.H - h, plot.W/runindex.Bins - 4, h}, t.Band)
	}
	for _, v := range []float64{0, .25, .5, .75, 1} {
		s.Text(x(v)-6, plot.Y+plot.H+4, styleTiny, t.Soft, fmt.Sprint(v))
	}
	s.Dashed([]Point{{x(0), y(0)}, {x(1), y(1)}}, t.Faint, 1, 5)
	var ps []Point
	for _, bin := range r.Bin {
		if bin.N > 0 {
			ps = append(ps, Point{x(bin.P / float64(bin.N)), y(float64(bin.Won) / float64(bin.N))})
		}
	}
	s.Path(ps, t.Choice, 2)
	k, most := 0, 1
	for _, bin := range r.Bin {
		most = max(most, bin.N)
	}
	for _, bin := range r.Bin {
		if bin.N == 0 {
			continue
		}
		// A dot's area grows with the decisions behind it: a bin of one says little.
		s.Circle(ps[k].X, ps[k].Y, 2.5+4.5*math.Sqrt(float64(bin.N)/float64(most)), t.Choice, t.Panel, 1)
		s.Text(min(ps[k].X+8, plot.X+plot.W-24), max(plot.Y, ps[k].Y-14), styleTiny, t.Soft, count(bin.N))
		k++
	}
}

// drawLearning draws success over trials where there are several, else the running share
// over episodes. The selected arm is thick; each line has its name at its end.
func drawLearning(s *Scene, t *Theme, b Box, st []*armStats, selected int) {
	trials := 0
	for _, a := range st {
		trials = max(trials, len(a.byTrial))
	}
	title, axis := "Success over trials of a task", "trial"
	if trials < 2 {
		title, axis = "Share solved so far, over the episodes", "episode"
	}
	in := panel(s, t, b, title)
	plot := axes(s, t, in, axis, "share solved")
	plot.W -= 70
	n := 1
	if trials >= 2 {
		n = trials
	} else {
		for _, a := range st {
			n = max(n, len(a.running))
		}
	}
	var labels []float64
	draw := func(i int) {
		a := st[i]
		ys := a.running
		if trials >= 2 {
			ys = nil
			for _, x := range a.byTrial {
				ys = append(ys, x.value())
			}
		}
		ink, w := t.Faint, 1.2
		if i == selected {
			ink, w = t.Choice, 2.5
		}
		var ps []Point
		step := max(1, len(ys)/400) // no more points than pixels
		for k := 0; k < len(ys); k += step {
			ps = append(ps, Point{plot.X + (float64(k)+.5)/float64(n)*plot.W, plot.Y + (1-ys[k])*plot.H})
		}
		if len(ps) == 0 {
			return
		}
		s.Path(ps, ink, w)
		for _, p := range ps {
			if trials >= 2 || len(ps) == 1 {
				s.Circle(p.X, p.Y, w+1, ink, color.NRGBA{}, 0)
			}
		}
		last := ps[len(ps)-1]
		y := last.Y - 7
		for again := true; again; {
			again = false
			for _, l := range labels {
				if math.Abs(l-y) < 11 {
					y, again = l-11, true
				}
			}
		}
		labels = append(labels, y) // one under the other, also of lines that end elsewhere
		s.Text(last.X+8, y, styleTiny, map[bool]color.NRGBA{true: t.Choice, false: t.Soft}[i == selected], Ellipsis(styleTiny, a.arm, plot.X+plot.W+70-last.X-8))
	}
	draw(selected)
	for i := range st {
		if i != selected && i < 12 {
			draw(i)
		}
	}
	s.Text(plot.X, plot.Y+plot.H+4, styleTiny, t.Soft, "1")
	s.TextRight(plot.X+plot.W, plot.Y+plot.H+4, styleTiny, t.Soft, count(n))
}
