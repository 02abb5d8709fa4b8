package gridarm

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page of each task, by Gymnasium's template, is made from its spec: a page that
// says something else than the code fails here.
func TestPagesOfTheTasks(t *testing.T) {
	all, err := Scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range Tasks() {
		Golden(t, filepath.Join("../../docs/envs", "gridarm-"+task.String()+".md"), page(task, all[task]))
	}
}

// The overview names every task, links its page and states the versions.
func TestOverviewIsComplete(t *testing.T) {
	b, err := os.ReadFile("../../docs/envs/gridarm.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{SpecVersion, RewardVersion}
	for _, task := range Tasks() {
		want = append(want, fmt.Sprintf("[%s](gridarm-%s.md)", task, task))
	}
	for _, c := range gridClasses {
		want = append(want, c)
	}
	for _, w := range want {
		if !bytes.Contains(b, []byte(w)) {
			t.Errorf("docs/envs/gridarm.md lacks %q", w)
		}
	}
}

func page(task Task, r ScriptResult) []byte {
	var b bytes.Buffer
	sp := &specs[task]
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# %s\n", SpecID(task))
	p("<!-- made by: go test ./envs/gridarm -update -->\n")
	p("| | |\n|---|---|")
	p("| Action space | Box(-1, 1, (%d,), float32) |", ActionSize)
	p("| Observation space | Box((%d,), float32): %d of state, 1 of task |", Options{}.ObsSize(), StateSize)
	p("| Reward | 0 to 10 a decision (%s) |", RewardVersion)
	p("| Episode limit | %d decisions (`max_episode_steps`) |", DefaultMaxSteps)
	p("| Import | `gridarm.New(gridarm.%s, gridarm.Options{})` |", goName(task))
	group := "training"
	if task.Novel() {
		group = "novel"
	}
	if task > DoorUnlock {
		group = "extra, none of the twenty"
	}
	p("| Group | %s; task channel %d |\n", group, task.Channel())
	p("## Description\n\n%s", sp.summary)
	p("Object 1 is %s. %s\n", describe1(sp), describe2(sp))
	w, err := NewWorld(task, Options{})
	if err != nil {
		panic(err)
	}
	w.Reset(1, 0)
	p("A start (seed 1), from above and from the side:\n\n```\n%s\n%s\n```\n", w.Render(), Legend(task))
	p("## Action space\n")
	p("| | number | from −1 | to 1 |\n|---|---|---|---|")
	p("| 0 | dx | left 5 cm | right 5 cm |\n| 1 | dy | towards the arm's foot 5 cm | away 5 cm |\n| 2 | dz | down 5 cm | up 5 cm |")
	p("| 3 | effort of the fingers | open by a half | close by a half |\n")
	p("## Observation space\n")
	p("| | numbers |\n|---|---|")
	p("| 0–2 | hand x, y, z, metres |\n| 3 | opening of the fingers, 0 to 1 |")
	p("| 4–6 | %s x, y, z |\n| 7–10 | %s quaternion x, y, z, w |", sp.class(), sp.class())
	if sp.fixed != "" {
		p("| 11–13 | %s x, y, z (fixed) |\n| 14–17 | %s quaternion, 0 0 0 1 |", sp.fixed, sp.fixed)
	} else {
		p("| 11–17 | 0: there is no object 2 |")
	}
	p("| 18–35 | the same one decision before |\n| 36–38 | goal x, y, z; 0 with `PartiallyObservable` |\n| 39 | task channel: %d |\n", task.Channel())
	p("## Starting state\n\nHand at (%g, %g, %g), fingers open; %s. Over %d seeds:\n", handStart[0], handStart[1], handStart[2], sp.starts, r.Episodes)
	p("| | x | y | z |\n|---|---|---|---|")
	obj, goal := ranges(w, r.Episodes)
	p("| %s | %s |\n| goal | %s |\n", sp.class(), obj, goal)
	p("## Rewards\n\n%s. The largest is 10.\n", upper(sp.shaped))
	p("## Episode end\n")
	p("Success (privileged): %s. It ends nothing unless `EndOnSuccess` is set; the episode is truncated after %d decisions, and counts as solved when any decision had success.\n", sp.success, DefaultMaxSteps)
	p("## Scripted policy\n\nStages: %s.\n", strings.Join(Stages(task), ", "))
	p("| over %d seeds | script | random actions |\n|---|---|---|", r.Episodes)
	p("| solved | %d (%d within %d decisions, %d at the last) | %d |", r.Solved, r.InTime, int(InTimeShare*DefaultMaxSteps), r.AtEnd, r.RandomWins)
	p("| first success after | %d to %d decisions, median %d | |", r.FirstLeast, r.FirstMost, r.FirstHalf)
	p("| mean return | %.0f | %.0f |\n", r.Return, r.Random)
	p("## Arguments\n\nThose of all tasks: see [gridarm](gridarm.md#arguments).\n")
	p("## Version history\n\n- %s, rewards %s: first version.", SpecVersion, RewardVersion)
	return b.Bytes()
}

// ranges are where object 1 and the goal start, as cells of a table.
func ranges(w *World, seeds int) (obj, goal string) {
	inf := math.Inf(1)
	lo, hi := [2]vec{{inf, inf, inf}, {inf, inf, inf}}, [2]vec{{-inf, -inf, -inf}, {-inf, -inf, -inf}}
	for seed := range uint64(seeds) {
		w.Reset(seed, 0)
		for i, p := range [2]vec{w.s.Obj, w.s.Goal} {
			for k := range 3 {
				lo[i][k], hi[i][k] = min(lo[i][k], p[k]), max(hi[i][k], p[k])
			}
		}
	}
	var out [2]string
	for i := range out {
		var cells []string
		for k := range 3 {
			a, b := fmt.Sprintf("%.2f", lo[i][k]), fmt.Sprintf("%.2f", hi[i][k])
			if a != b {
				a += " to " + b
			}
			cells = append(cells, strings.ReplaceAll(a, "-", "−"))
		}
		out[i] = strings.Join(cells, " | ")
	}
	return out[0], out[1]
}

func describe1(sp *spec) string {
	if b := sp.body; b != nil {
		d := sub(b.hi, b.lo)
		s := fmt.Sprintf("a free %s of %g × %g × %g cm", b.class, cm(d[0]), cm(d[1]), cm(d[2]))
		if b.dish > 0 {
			return s + ", which a low hand inside its rim drags along"
		}
		return s + fmt.Sprintf(", held at a finger opening of %g", math.Round(100*b.grip/gapHalf)/100)
	}
	j := sp.joint
	s := "a " + j.class
	switch j.class {
	case "drawer", "door", "window":
		s = "the handle of the " + j.class
	case "coffee machine":
		s = "the button of the coffee machine"
	case "lock":
		s = "the bar of the lock"
	}
	if j.hinge {
		s += fmt.Sprintf(", which turns by %.0f° on a radius of %g cm", (j.lim[1]-j.lim[0])*180/math.Pi, cm(j.rad))
	} else {
		s += fmt.Sprintf(", which slides by %g cm", cm(j.lim[1]-j.lim[0]))
	}
	if j.spring > 0 {
		s += fmt.Sprintf(" and springs back by %g cm a decision", cm(j.spring))
	}
	return s
}

func describe2(sp *spec) string {
	if sp.fixed == "" {
		return "There is no object 2."
	}
	return fmt.Sprintf("Object 2 is the %s, which is fixed.", sp.fixed)
}

func cm(m float64) float64 { return math.Round(1000*m) / 10 }

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// goName is the constant of a task.
func goName(t Task) string {
	var out string
	for _, w := range strings.Split(t.String(), "-") {
		out += upper(w)
	}
	return out
}
