package train

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plot names for [PlayReport.Plot].
const (
	PlotSuccess     = "success"
	PlotSteps       = "steps"
	PlotCurve       = "curve"
	PlotReliability = "reliability"
	PlotROC         = "roc"
)

// Plots lists the plots.
var Plots = []string{PlotSuccess, PlotSteps, PlotCurve, PlotReliability, PlotROC}

// palette tells up to eight agents apart, also for most who see colours differently
// (Okabe and Ito).
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#444444"}

const (
	plotW, plotH                        = 640, 360
	plotLeft, plotRight, plotTop, plotB = 60, 16, 28, 44
)

// canvas is an SVG with axes over [x0,x1] × [y0,y1].
type canvas struct {
	b              strings.Builder
	x0, x1, y0, y1 float64
	h              float64
}

func newCanvas(title string, x0, x1, y0, y1 float64) *canvas {
	c := &canvas{x0: x0, x1: x1, y0: y0, y1: y1, h: plotH}
	c.open(title, plotH)
	return c
}

func (c *canvas) open(title string, h int) {
	c.h = float64(h)
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12">`+"\n", plotW, h, plotW, h)
	fmt.Fprintf(&c.b, "<title>%s</title><rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", html.EscapeString(title), plotW, h)
	c.text(plotLeft, 18, "start", "#111", title)
}

func (c *canvas) px(x float64) float64 {
	return plotLeft + (x-c.x0)/(c.x1-c.x0)*(plotW-plotLeft-plotRight)
}
func (c *canvas) py(y float64) float64 {
	return c.h - plotB - (y-c.y0)/(c.y1-c.y0)*(c.h-plotTop-plotB)
}

func (c *canvas) text(x, y float64, anchor, fill, s string) {
	fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, fill, html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, colour string, width float64, dash string) {
	fmt.Fprintf(&c.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"%s/>`+"\n", x1, y1, x2, y2, colour, width, dash)
}

// dashed is the stroke of baselines and diagonals.
const dashed = ` stroke-dasharray="5 4"`

// axes draws horizontal rules with labels and the axes' names.
func (c *canvas) axes(x, y string, ticks int) {
	for i := range ticks + 1 {
		v := c.y0 + (c.y1-c.y0)*float64(i)/float64(ticks)
		c.line(plotLeft, c.py(v), plotW-plotRight, c.py(v), "#ddd", 1, "")
		c.text(plotLeft-6, c.py(v)+4, "end", "#444", fmt.Sprintf("%.4g", v))
	}
	if c.x0 == 0 && c.x1 == 1 { // a share
		for i := range 6 {
			c.text(c.px(float64(i)/5), c.h-plotB+16, "middle", "#444", fmt.Sprintf("%.1f", float64(i)/5))
		}
	}
	c.text((plotLeft+plotW-plotRight)/2, c.h-8, "middle", "#444", x)
	fmt.Fprintf(&c.b, `<text x="14" y="%.1f" text-anchor="middle" fill="#444" transform="rotate(-90 14 %.1f)">%s</text>`+"\n", c.h/2, c.h/2, html.EscapeString(y))
}

func (c *canvas) path(pts [][2]float64, colour, dash string) {
	var d strings.Builder
	for i, p := range pts {
		op := "L"
		if i == 0 {
			op = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", op, c.px(p[0]), c.py(p[1]))
	}
	fmt.Fprintf(&c.b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", d.String(), colour, dash)
}

func (c *canvas) dot(x, y float64, colour string) {
	fmt.Fprintf(&c.b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", c.px(x), c.py(y), colour)
}

// legend writes one line a series at the right.
func (c *canvas) legend(i int, colour, dash, name string) {
	y := float64(plotTop + 14 + 16*i)
	c.line(plotW-210, y-4, plotW-186, y-4, colour, 2, dash)
	c.text(plotW-180, y, "start", "#222", name)
}

func (c *canvas) done() string { return c.b.String() + "</svg>\n" }

// Plot draws one plot as SVG, "" where the records have nothing for it.
func (r *PlayReport) Plot(name string) (string, error) {
	switch name {
	case PlotSuccess:
		return r.bars("success (mean of games, 95 % interval)", "success", func(g *GroupReport) (v, lo, hi float64) {
			return g.Success.Value, g.Success.Low, g.Success.High
		}, 1), nil
	case PlotSteps:
		return r.bars(fmt.Sprintf("steps (a lost episode counts %d)", FailureSteps), "steps", func(g *GroupReport) (v, lo, hi float64) {
			return g.Steps.Value, g.Steps.Low, g.Steps.High
		}, FailureSteps), nil
	case PlotCurve:
		return r.curves(), nil
	case PlotReliability:
		return r.reliability(), nil
	case PlotROC:
		return r.rocs(), nil
	}
	return "", fmt.Errorf("train: unknown plot %q; known are %s", name, strings.Join(Plots, ", "))
}

func (r *PlayReport) bars(title, y string, get func(*GroupReport) (v, lo, hi float64), top float64) string {
	n := float64(len(r.Groups))
	c := newCanvas(title, -0.2, n, 0, top)
	c.axes("", y, 5)
	for i := range r.Groups {
		g := &r.Groups[i]
		v, lo, hi := get(g)
		colour := palette[i%len(palette)]
		x := float64(i)
		fmt.Fprintf(&c.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity=".75"/>`+"\n",
			c.px(x+.2), c.py(v), c.px(x+.8)-c.px(x+.2), c.py(0)-c.py(v), colour)
		if !math.IsNaN(lo) && !math.IsNaN(hi) {
			c.line(c.px(x+.5), c.py(lo), c.px(x+.5), c.py(hi), "#111", 1.5, "")
		}
		c.text(c.px(x+.5), c.py(v)-6, "middle", "#111", fmt.Sprintf("%.3g", v))
		c.text(c.px(x+.5), c.h-plotB+16, "middle", "#222", g.Arm)
		c.text(c.px(x+.5), c.h-plotB+30, "middle", "#777", g.Phase)
	}
	return c.done()
}

func (r *PlayReport) curves() string {
	if len(r.Curves) == 0 {
		return ""
	}
	n := 2
	for _, l := range r.Curves {
		n = max(n, len(l.Trials))
	}
	c := newCanvas("success by trial of a game (dashed: agents that learn nothing)", 1, float64(n), 0, 1)
	c.axes("trial", "success", 5)
	for k := 1; k <= n; k++ {
		c.text(c.px(float64(k)), c.h-plotB+16, "middle", "#444", fmt.Sprint(k))
	}
	for i, l := range r.Curves {
		colour, dash := palette[i%len(palette)], ""
		if l.Repeat {
			dash = dashed
		}
		var pts [][2]float64
		for k, e := range l.Trials {
			x := float64(k + 1)
			pts = append(pts, [2]float64{x, e.Value})
			if !math.IsNaN(e.Low) {
				c.line(c.px(x), c.py(e.Low), c.px(x), c.py(e.High), colour, 1, "")
			}
			c.dot(x, e.Value, colour)
		}
		c.path(pts, colour, dash)
		c.legend(i, colour, dash, l.Arm+", "+l.Phase)
	}
	return c.done()
}

func (r *PlayReport) reliability() string {
	if len(r.Reliable) == 0 {
		return ""
	}
	c := newCanvas("reliability: predicted and real success of the chosen futures", 0, 1, 0, 1)
	c.axes("predicted probability", "share of successes", 5)
	c.path([][2]float64{{0, 0}, {1, 1}}, "#999", dashed)
	for i, l := range r.Reliable {
		colour := palette[i%len(palette)]
		var pts [][2]float64
		for _, b := range l.Bins {
			pts = append(pts, [2]float64{b.MeanP, b.Freq})
			c.line(c.px(b.MeanP), c.py(b.WilsonLow), c.px(b.MeanP), c.py(b.WilsonHigh), colour, 1, "")
			c.dot(b.MeanP, b.Freq, colour)
		}
		c.path(pts, colour, "")
		c.legend(i, colour, "", fmt.Sprintf("%s, %s (ECE %.3f)", l.Arm, l.Phase, l.ECE.Value))
	}
	return c.done()
}

func (r *PlayReport) rocs() string {
	c := newCanvas("ROC of the chosen futures' probability, by position in the episode", 0, 1, 0, 1)
	c.axes("false positive rate", "true positive rate", 5)
	c.path([][2]float64{{0, 0}, {1, 1}}, "#999", dashed)
	n := 0
	for _, a := range r.Assessment {
		if len(a.ROC) == 0 {
			continue
		}
		colour := palette[n%len(palette)]
		c.path(a.ROC, colour, "")
		c.legend(n+10, colour, "", fmt.Sprintf("%s, %s (%.3f)", a.Arm, a.Position, a.AUROC.Value))
		n++
	}
	if n == 0 {
		return ""
	}
	return c.done()
}

// style is the whole style of a report: nothing is loaded from anywhere.
const style = `body{font:15px/1.45 sans-serif;max-width:880px;margin:2em auto;padding:0 1em;color:#111}
table{border-collapse:collapse;margin:1em 0;font-size:13px}td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child,td:nth-child(2),th:nth-child(2){text-align:left}caption{text-align:left;color:#555;padding-bottom:.3em}svg{max-width:100%;height:auto}
p.note{color:#555}`

// HTML is the whole report as one page without scripts, that opens offline. Equal
// records give equal bytes.
func (r *PlayReport) HTML() string {
	var b strings.Builder
	esc := html.EscapeString
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<style>%s</style></head><body>\n<h1>%s</h1>\n", esc(r.Title), style, esc(r.Title))
	fmt.Fprintf(&b, "<p class=\"note\">Intervals are 95 %%, by bootstrap over games. Steps count %d for a lost episode.</p>\n<h2>Success and steps</h2>\n", FailureSteps)
	b.WriteString("<table><tr><th>agent</th><th>phase</th><th>episodes</th><th>games</th><th>success</th><th>steps</th><th>without effect</th></tr>\n")
	for i := range r.Groups {
		g := &r.Groups[i]
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%s</td><td>%d</td><td>%d</td><td>%s</td><td>%.1f [%.1f, %.1f]</td><td>%.0f %%</td></tr>\n",
			esc(g.Arm), esc(g.Phase), g.Episodes, g.Tasks, g.Success, g.Steps.Value, g.Steps.Low, g.Steps.High, 100*g.Nothing)
	}
	b.WriteString("</table>\n")
	section := func(title, plot, note string) {
		s, _ := r.Plot(plot) // the names are ours
		if s == "" {
			return
		}
		if title != "" {
			fmt.Fprintf(&b, "<h2>%s</h2>\n", title)
		}
		if note != "" {
			fmt.Fprintf(&b, "<p class=\"note\">%s</p>\n", note)
		}
		b.WriteString(s)
	}
	section("", PlotSuccess, "")
	section("", PlotSteps, "")
	section("Learning curves", PlotCurve, "A curve means something only beside that of an agent that repeats the game without learning.")
	section("Self-assessment: reliability", PlotReliability, "Of the futures that were acted on; bars are 95 % intervals that take steps for independent.")
	section("Self-assessment: ROC by position", PlotROC, "The position “all” contains the last steps, where the win may be read off the text; “first” and “before” are predictions.")
	r.typeTable(&b)
	b.WriteString("<h2>Cost</h2>\n<table><tr><th>agent</th><th>phase</th><th>completion tokens an episode</th><th>model calls an episode</th></tr>\n")
	for i := range r.Groups {
		g := &r.Groups[i]
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%s</td><td>%.0f</td><td>%.1f</td></tr>\n", esc(g.Arm), esc(g.Phase), g.Tokens, g.Calls)
	}
	b.WriteString("</table>\n</body></html>\n")
	return b.String()
}

func (r *PlayReport) typeTable(b *strings.Builder) {
	b.WriteString("<h2>By task type</h2>\n<table><tr><th>agent</th><th>task type</th><th>games</th><th>success</th></tr>\n")
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, t := range g.Types {
			fmt.Fprintf(b, "<tr><td>%s (%s)</td><td>%s</td><td>%d</td><td>%s</td></tr>\n", html.EscapeString(g.Arm), html.EscapeString(g.Phase), html.EscapeString(t.Type), t.Tasks, t.Success)
		}
	}
	b.WriteString("</table>\n")
}
