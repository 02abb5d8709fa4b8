package arm

import (
	"embed"
	"fmt"
	"html"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
)

//go:embed data
var data embed.FS

// DemoModel writes the model that is in the program to path.
func DemoModel(path string) error {
	b, err := data.ReadFile("data/demo.safetensors")
	if err != nil {
		return fmt.Errorf("arm: this program holds no model; give one with --checkpoint (make it with `muse train worldmodel --env gridarm --tasks mt10`)")
	}
	if err := atomicfile.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("arm: %w", err)
	}
	return nil
}

// DemoConfig is the adaptation of the demo: two novel tasks, minutes on one core. The actor
// learns one of them in a few episodes and not the other.
func DemoConfig() AdaptConfig {
	c := DefaultAdapt()
	c.Tasks = []gridarm.Task{gridarm.PlateSlide, gridarm.PushWall}
	c.Episodes, c.Tests, c.Updates, c.Futures = 10, 5, 10, 8
	return c
}

// FilePage is the page of an adaptation.
const FilePage = "report.html"

// WritePage writes the tables of an adaptation and its pictures: what was solved over the
// episodes, and ψ over the decisions of each task's last episode.
func WritePage(run *train.Run, tables ...Table) error {
	var es []*Episode
	if err := EachEpisode(run.Dir, func(e *Episode) error { es = append(es, e); return nil }); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Adaptation on the arm</title>
<style>body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}pre{overflow-x:auto;font-size:12px}svg{max-width:100%;height:auto}</style>
<h1>Adaptation on the arm</h1>` + "\n")
	fmt.Fprintf(&b, "<p>Seed %d. Command: <code>%s</code></p>\n", run.Manifest.Seed, html.EscapeString(strings.Join(run.Manifest.Args, " ")))
	for _, t := range tables {
		fmt.Fprintf(&b, "<pre>%s</pre>\n", html.EscapeString(t.String()))
	}
	b.WriteString(solvedSheet(es))
	b.WriteString(psiSheet(es))
	b.WriteString("</html>\n")
	if err := atomicfile.WriteFile(run.Path(FilePage), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("arm: %w", err)
	}
	return nil
}

var colours = []string{"#0b7a75", "#b5651d", "#5b4b8a", "#a83232", "#3c6e3c", "#777777", "#1f5fa8"}

// solvedSheet is the share of episodes solved so far, a picture a task.
func solvedSheet(es []*Episode) string {
	type key struct{ task, arm string }
	won, n := map[key][]float64{}, map[key][]float64{}
	var tasks, arms []string
	for _, e := range es {
		if e.Phase != "adapt" {
			continue
		}
		tasks, arms = with(tasks, e.TaskType), with(arms, e.Arm)
		k := key{e.TaskType, e.Arm}
		for len(won[k]) <= e.Trial {
			won[k], n[k] = append(won[k], 0), append(n[k], 0)
		}
		won[k][e.Trial] += is(e.Success)
		n[k][e.Trial]++
	}
	var ps []picture
	for _, t := range tasks {
		p := picture{title: t, x: "adaptation episode", top: 1}
		for i, a := range arms {
			l := line{name: a, colour: colours[i%len(colours)]}
			w, m := 0.0, 0.0
			for k := range won[key{t, a}] {
				w, m = w+won[key{t, a}][k], m+n[key{t, a}][k]
				l.add(float64(k+1), w/m)
			}
			p.lines = append(p.lines, l)
		}
		ps = append(ps, p)
	}
	return sheet("Solved so far", ps)
}

// psiSheet is ψ over the decisions of the last episode of each task, by the first agent.
func psiSheet(es []*Episode) string {
	last := map[string]*Episode{}
	var tasks []string
	for _, e := range es {
		if len(es) > 0 && e.Arm == es[0].Arm {
			tasks = with(tasks, e.TaskType)
			last[e.TaskType] = e
		}
	}
	var ps []picture
	for _, t := range tasks {
		e := last[t]
		p := picture{title: fmt.Sprintf("%s: %s", t, e.Reason), x: "decision", top: 1}
		var ls []line
		for i, s := range e.Steps {
			if s.Trace == nil || len(s.Trace.Candidates) == 0 {
				continue
			}
			for k, v := range s.Trace.Candidates[0].Psi {
				if k == len(ls) {
					ls = append(ls, line{name: fmt.Sprintf("ψ%d", k+1), colour: colours[k%len(colours)]})
				}
				ls[k].add(float64(i+1), float64(v))
			}
		}
		p.lines = ls
		ps = append(ps, p)
	}
	return sheet("ψ in the last episode", ps)
}

func with(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}
