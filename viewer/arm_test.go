package viewer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/viewer"
)

const armFile = "testdata/arm/episodes.jsonl"

// recordArm plays scripts and spoilt scripts. What a world model would imagine is made by
// the engine itself here: from a copy of the state, following the policy with noise of
// several strengths; ψ is how near such a future comes to the goal. It is data for
// pictures, not a result.
func recordArm(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, x := range []struct {
		task    gridarm.Task
		seed    uint64
		arm     string
		spoil   gridarm.Corruption
		futures int
	}{
		{gridarm.PickPlace, 3, "test/noise", gridarm.Corruption{}, 5},
		{gridarm.PickPlace, 3, "test/psi", gridarm.Corruption{Object: [3]float64{.07, .03, 0}}, 2},
		{gridarm.Reach, 1, "test/noise", gridarm.Corruption{Limp: .3}, 3},
		{gridarm.PushWall, 2, "test/psi", gridarm.Corruption{}, 2},
		{gridarm.DrawerOpen, 4, "test/none", gridarm.Corruption{}, 0},
	} {
		line, err := json.Marshal(playArm(t, x.task, x.seed, x.arm, x.spoil, x.futures))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

func playArm(t *testing.T, task gridarm.Task, seed uint64, arm string, spoil gridarm.Corruption, futures int) map[string]any {
	const limit, look, n = 50, 8, 10
	w, err := gridarm.NewWorld(task, gridarm.Options{MaxSteps: limit})
	if err != nil {
		t.Fatal(err)
	}
	other, err := gridarm.NewWorld(task, gridarm.Options{MaxSteps: limit + look})
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(seed, "viewer", task.String(), arm)
	policy := spoil.Policy(task, r)
	obs := make([]float32, w.ObsSize())
	w.ResetInto(seed, 0, obs)
	first := append([]float32(nil), obs...)
	var steps []map[string]any
	solvedAt := 0
	for i := range limit {
		act := make([]float32, gridarm.ActionSize)
		policy(obs, act)
		trace := map[string]any{"choice": map[string]any{"index": -1, "reason": "script"}}
		if futures > 0 {
			var cs []map[string]any
			best, at := -1.0, 0
			for k := range futures {
				path, psi := imagine(other, w.State(), spoil.Policy(task, r), r, .25*float64(k), look, n, float64(i)/limit)
				label := "policy"
				if k > 0 {
					label = arm
				}
				p := psi[n-1]
				cs = append(cs, map[string]any{"label": label, "valid": true, "same": -1, "assessment": map[string]any{"p": p}, "psi": psi, "path": path})
				if p > best {
					best, at = p, k
				}
			}
			trace["candidates"] = cs
			trace["choice"] = map[string]any{"index": at, "reason": "best"}
			if strings.Contains(arm, "psi") {
				trace["choice"] = map[string]any{"index": 1, "reason": arm}
				a, b := sum(cs[0]["psi"].([]float64)), sum(cs[1]["psi"].([]float64))
				trace["state"] = map[string]any{"regulator": "psi/in-place", "before": a, "after": b, "moved": .02 + .2*r.Float64(), "gain": b - a, "kl": .01 * r.Float64()}
			}
		}
		res := w.StepInto(act, obs)
		st := w.State()
		if res.Success && solvedAt == 0 {
			solvedAt = i + 1
		}
		steps = append(steps, map[string]any{
			"action": act, "observation": append([]float32(nil), obs[:gridarm.StateSize]...), "reward": math.Round(1000*res.Reward) / 1000,
			"success": res.Success, "touch": st.Touch, "held": st.Held, "trace": trace,
		})
	}
	reason := "step limit"
	if solvedAt > 0 {
		reason = "goal reached"
	}
	return map[string]any{
		"format": "muse/episode@1", "id": fmt.Sprintf("%s/%d#test/%s", task, seed, arm), "env": gridarm.SpecID(task), "split": "test",
		"task_id": fmt.Sprintf("%s/%d/0", task, seed), "task_type": task.String(), "goal": task.Summary(), "phase": "test", "arm": arm, "seed": seed,
		"agent":      map[string]any{"config": map[string]any{"name": "script", "limit": limit}, "model": map[string]any{"name": "the engine"}, "selector": arm},
		"init_state": first[:gridarm.StateSize], "steps": steps, "success": solvedAt > 0, "solved_at": solvedAt, "truncated": true, "reason": reason,
	}
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// imagine follows a policy with noise from a state.
func imagine(w *gridarm.World, from gridarm.State, policy gridarm.Policy, r *rand.Rand, noise float64, look, n int, spent float64) (path [][]float64, psi []float64) {
	if err := w.SetState(from); err != nil {
		panic(err)
	}
	obs, act := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
	w.Observe(obs)
	for range look {
		policy(obs, act)
		for k := range act {
			act[k] += float32(noise * r.NormFloat64())
		}
		w.StepInto(act, obs)
		m := make([]float64, 7)
		for k := range m {
			m[k] = math.Round(1000*float64(obs[k])) / 1000
		}
		path = append(path, m)
	}
	s := w.State()
	d := 0.0
	for k := range s.Goal {
		x := s.Obj[k]
		if s.Task == gridarm.Reach {
			x = s.Hand[k]
		}
		d += (x - s.Goal[k]) * (x - s.Goal[k])
	}
	near := math.Exp(-6 * math.Sqrt(d))
	for k := range n {
		p := 0.0
		if left := float64(k+1)/float64(n) - spent*.8; left > 0 || from.Solved {
			p = near * (1 - math.Exp(-4*max(left, .05)))
		}
		psi = append(psi, math.Round(1000*p)/1000)
	}
	return path, psi
}

// The test data are what their generator says (-update writes them).
func TestArmData(t *testing.T) {
	want := recordArm(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(armFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(armFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(armFile)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the test data differ from what the engine plays now; -update if it is right")
	}
}

func openArm(t testing.TB) *viewer.Run {
	t.Helper()
	r, err := viewer.Open(armFile, viewer.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// What the record holds is on the screen: distances, contacts, ψ, what regulation did.
func TestArmScreen(t *testing.T) {
	r := openArm(t)
	texts := func(s *viewer.Scene) string {
		var b strings.Builder
		for _, it := range s.Items {
			b.WriteString(it.Text + "\n")
		}
		return b.String()
	}
	want := func(got string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(got, w) {
				t.Errorf("%q is not on the screen", w)
			}
		}
	}
	a := app(r, viewer.Light)
	e, err := r.Episode(0)
	if err != nil || !e.IsArm() {
		t.Fatal(e, err)
	}
	want(texts(press(a, 0, "end").Scene()), "From above", "From the side", "goal", "holds the puck", "decision 50 of 50", "ψ1 (soon) to ψ10", "goal reached", "in 8 decisions", "This agent acts as its policy says")
	want(texts(press(a, 1, "pagedown").Scene()), "no contact", "The hand never touched the puck", "psi/in-place: Σψ", "KL of the policy", "‖Δs‖", "Why it failed")
	want(texts(press(a, 2, "end").Scene()), "hand–goal", "The hand began")
	want(texts(press(a, 4, "end").Scene()), "Nothing was imagined before this decision.", "acts without self-assessment")
	for i := range r.Entries() { // decisions of every episode can be drawn, in any size
		e, err := r.Episode(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range [][2]float64{{320, 240}, {1280, 800}, {4000, 500}} {
			a.Resize(size[0], size[1])
			a.Open(i)
			for n := 0; n < len(e.Steps); n += 7 {
				a.Show(n)
				a.Scene()
			}
		}
	}
}

// Arms' records that lie, or lack what they should have, are drawn as far as they go.
func TestArmHostile(t *testing.T) {
	start := strings.Repeat("0.1,", 38) + "0.6"
	for name, line := range map[string]string{
		"no start":     `"env":"gridarm/push-v1","task_type":"push","steps":[{"action":[1,0,0,0],"observation":[1,2]}]`,
		"unknown task": `"env":"gridarm/knit-v1","task_type":"knit","init_state":[` + start + `],"steps":[{"action":"x","observation":"y"}]`,
		"far away": `"env":"gridarm/push-v1","task_type":"push","init_state":[` + strings.ReplaceAll(start, "0.1", "1e300") + `],"goal_at":[1e300,-1e300,0],"steps":[{"action":[1e300,-1e300],` +
			`"observation":[` + strings.ReplaceAll(start, "0.1", "-1e300") + `],"trace":{"candidates":[{"psi":[-1,2,1e300],"assessment":{"p":7},"path":[[1e300,-1e300,1e300,5,1,1,1],[1]]}],"choice":{"index":0},` +
			`"state":{"moved":1e300,"gain":-1e300,"kl":1e300}}}]`,
		"short paths": `"env":"gridarm/push-v1","task_type":"push","init_state":[` + start + `],"steps":[{"action":[],"observation":[],"trace":{"candidates":[{"path":[[]]},{"psi":[],"path":[]}],"choice":{"index":1}}}]`,
		"no steps":    `"env":"gridarm/push-v1","task_type":"push","init_state":[` + start + `]`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "episodes.jsonl")
			line = `{"format":"muse/episode@1","id":"a",` + line + "}\n"
			if err := os.WriteFile(file, []byte(line+line), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := viewer.Open(file, viewer.OpenOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			viewer.Raster(press(app(r, viewer.Light), 0, "end").Scene(), 1)
			viewer.Raster(press(app(r, viewer.Light), 0, "c").Scene(), 1)
			app(r, viewer.Light).Scene()
		})
	}
}
