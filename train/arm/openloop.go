package arm

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/worldmodel"
)

// OpenLoopFormat is the format tag of an [OpenLoopReport].
const OpenLoopFormat = "muse/armopenloop@1"

// The measure of open-loop prediction: what is observed first, how far ahead, and how
// far apart the starts are.
const (
	openContext = 5
	openAhead   = 15
	openStride  = 5
)

// OpenLoopReport says how well a model foresees held-out episodes without seeing them:
// a third by the script, a third by corrupted scripts, a third by the actor's own samples.
type OpenLoopReport struct {
	Format   string         `json:"format"`
	Episodes int            `json:"episodes"` // a task
	Tasks    []OpenLoopTask `json:"tasks"`
	// Least is the smallest factor of any task, Mean that of all.
	Least float64 `json:"least"`
	Mean  float64 `json:"mean"`
}

// OpenLoopTask is one task.
type OpenLoopTask struct {
	Task string `json:"task"`
	// Factor is the squared error of repeating the last observation over that of the
	// model, both summed over 1 to 15 steps ahead: above 1 the model is better.
	Factor float64                    `json:"factor"`
	Ahead  []worldmodel.OpenLoopError `json:"ahead"`
}

// OpenLoop measures a model on episodes of each task that no training has seen.
func OpenLoop(m *worldmodel.Model, tasks []gridarm.Task, episodes int, seed uint64) (OpenLoopReport, error) {
	rep := OpenLoopReport{Format: OpenLoopFormat, Episodes: episodes}
	for _, t := range tasks {
		var all [][]worldmodel.Step
		for e := range episodes {
			ep, err := heldOut(m, t, e, seed)
			if err != nil {
				return rep, err
			}
			all = append(all, ep)
		}
		ahead, err := worldmodel.OpenLoop(m, all, openContext, openAhead, openStride, rng.New(seed, "open loop", t.String()))
		if err != nil {
			return rep, fmt.Errorf("arm: %s: %w", t, err)
		}
		model, still := 0.0, 0.0
		for _, a := range ahead {
			model, still = model+a.Model, still+a.Copy
		}
		x := OpenLoopTask{Task: t.String(), Factor: still / max(model, 1e-12), Ahead: ahead}
		if rep.Mean += x.Factor / float64(len(tasks)); rep.Least == 0 || x.Factor < rep.Least {
			rep.Least = x.Factor
		}
		rep.Tasks = append(rep.Tasks, x)
	}
	return rep, nil
}

// heldOut is one episode as steps of the model's input.
func heldOut(m *worldmodel.Model, t gridarm.Task, e int, seed uint64) ([]worldmodel.Step, error) {
	w, err := gridarm.NewWorld(t, envOptions(false))
	if err != nil {
		return nil, err
	}
	rnd := rng.New(seed, "held out", t.String(), e)
	worlds := rng.Seed(seed, "held out", "worlds")
	var ep []worldmodel.Step
	keep := func(s worldmodel.Step, _ float64) error {
		s.Obs, s.Action, s.State = append([]float32{}, s.Obs...), append([]float32{}, s.Action...), nil
		ep = append(ep, s)
		return nil
	}
	if e%3 == 2 {
		p := newPlayer(m)
		w.ResetInto(worlds, e, p.obs)
		_, err := p.play(w, rnd.Uint64(), keep)
		return ep, err
	}
	var bad gridarm.Corruption
	if e%3 == 1 {
		bad = gridarm.RandomCorruption(t, rnd.Float64(), rnd)
	}
	policy, obs, in, act := bad.Policy(t, rnd), make([]float32, w.ObsSize()), make([]float32, ObsSize), make([]float32, gridarm.ActionSize)
	w.ResetInto(worlds, e, obs)
	var res gridarm.Result
	for i := 0; ; i++ {
		encode(in, obs)
		if err := keep(worldmodel.Step{Obs: in, Action: act, Reward: float32(res.Reward), First: i == 0, Last: res.Done()}, 0); err != nil || res.Done() {
			return ep, err
		}
		policy(obs, act)
		for k, v := range act {
			act[k] = min(max(v, -1), 1)
		}
		res = w.StepInto(act, obs)
	}
}

// String is the report as a table.
func (r OpenLoopReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "squared error of copying the last observation over that of the model, %d held-out episodes a task\n%-26s %8s %8s %8s %8s\n", r.Episodes, "task", "1 step", "5", "15", "1 to 15")
	for _, t := range r.Tasks {
		at := func(k int) float64 { return t.Ahead[k-1].Copy / max(t.Ahead[k-1].Model, 1e-12) }
		fmt.Fprintf(&b, "%-26s %8.2f %8.2f %8.2f %8.2f\n", t.Task, at(1), at(5), at(openAhead), t.Factor)
	}
	fmt.Fprintf(&b, "least %.2f, mean %.2f\n", r.Least, r.Mean)
	return b.String()
}

// Plot draws the errors over steps ahead as SVG, one small picture a task.
func (r OpenLoopReport) Plot() string {
	ps := make([]picture, 0, len(r.Tasks))
	for _, t := range r.Tasks {
		p := picture{title: t.Task, x: "steps ahead", y: "squared error"}
		model, still := line{name: "model", colour: "#0b7a75"}, line{name: "copy of the last", colour: "#b5651d"}
		for _, a := range t.Ahead {
			model.add(float64(a.Ahead), a.Model)
			still.add(float64(a.Ahead), a.Copy)
		}
		p.lines = []line{still, model}
		ps = append(ps, p)
	}
	return sheet("Open-loop prediction", ps)
}
