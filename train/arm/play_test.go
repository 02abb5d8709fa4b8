package arm

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// TestEncode: the model's input is the observation rewritten, place by place.
func TestEncode(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		w, err := gridarm.NewWorld(task, envOptions(false))
		if err != nil {
			t.Fatal(err)
		}
		obs, in, act := make([]float32, w.ObsSize()), make([]float32, ObsSize), make([]float32, gridarm.ActionSize)
		w.ResetInto(5, 1, obs)
		p := gridarm.Scripted(task)
		for !w.Over() {
			p(obs, act)
			w.StepInto(act, obs)
			encode(in, obs)
			m := moment(in)
			want := [7]float32{obs[0], obs[1], obs[2], obs[3], obs[4], obs[5], obs[6]}
			for k := range 3 {
				if d := math.Abs(float64(in[atGoal+k] + m[4+k] - obs[gridarm.ObsGoal+k])); d > 1e-5 {
					t.Fatalf("%s: goal %d is off by %g", task, k, d)
				}
				if d := math.Abs(float64(obs[k] - in[atMove+k] - obs[gridarm.ObsPrev+k])); d > 1e-5 {
					t.Fatalf("%s: motion %d is off by %g", task, k, d)
				}
			}
			for k := range want {
				if math.Abs(float64(m[k]-want[k])) > 1e-5 {
					t.Fatalf("%s: moment %v, observation %v", task, m, want)
				}
			}
			if got := in[atTask+task.Channel()]; got != turnScale {
				t.Fatalf("%s: task channel %v", task, in[atTask:])
			}
		}
	}
}

// testModel has seen a little, so that ψ has a gradient.
func testModel(t testing.TB) *worldmodel.Model {
	l, err := NewLearner(little(t, 1), 7)
	if err != nil {
		t.Fatal(err)
	}
	defer l.trainer.Close()
	if err := l.update(5); err != nil {
		t.Fatal(err)
	}
	return l.Model()
}

// TestSeededReplay: every step of the seeds has a target, also where a corrupted script
// did something else, and scripted episodes are labelled as solved.
func TestSeededReplay(t *testing.T) {
	c := little(t, 1)
	n, capacity := lanes(c)
	r, err := worldmodel.NewReplay(c.Model, n, capacity)
	if err != nil {
		t.Fatal(err)
	}
	if err := seedReplay(c, 1, r); err != nil {
		t.Fatal(err)
	}
	if want := len(c.Tasks) * 2 * (limit + 1); r.Added() != want || r.Steps() != want {
		t.Errorf("%d steps of %d", r.Steps(), want)
	}
}

// TestAgentsPair: every agent meets the same world, agents that do the same play the same
// episode, and a resumed evaluation gives the bytes of a straight one.
func TestEvalIsPairedAndResumes(t *testing.T) {
	m := testModel(t)
	var agents []AgentSpec
	for _, n := range []string{"off", "psi/literal", "noise/in-place", AgentScript, AgentRandom} {
		a, err := NewAgent(n, selfregulate.DefaultGradient(), true)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	zero := selfregulate.DefaultGradient()
	zero.Beta = 0
	still, err := NewAgent("psi/in-place", zero, true)
	if err != nil {
		t.Fatal(err)
	}
	agents = append(agents, still)
	c := EvalConfig{Tasks: []gridarm.Task{gridarm.Reach, gridarm.Soccer}, Agents: agents, Episodes: 2, Futures: 2}
	models := []NamedModel{{Model: m}}
	play := func(dir string, workers int) {
		run := openRun(t, dir, c)
		if err := Eval(t.Context(), run, models, c, workers, nil); err != nil {
			t.Fatal(err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := t.TempDir(), t.TempDir()
	play(a, 2)
	want, err := os.ReadFile(filepath.Join(a, train.FileEpisodes))
	if err != nil {
		t.Fatal(err)
	}
	run := openRun(t, b, c)
	run.Close()
	cut := bytes.LastIndexByte(want[:len(want)/2], '\n') + 7 // half a line behind
	if err := os.WriteFile(filepath.Join(b, train.FileEpisodes), want[:cut], 0o644); err != nil {
		t.Fatal(err)
	}
	play(b, 1)
	got, err := os.ReadFile(filepath.Join(b, train.FileEpisodes))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("resumed: %d bytes, straight %d (%v)", len(got), len(want), err)
	}

	episodes := map[string]*Episode{}
	if err := EachEpisode(a, func(e *Episode) error { episodes[e.ID] = e; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, e := range episodes {
		off := episodes[strings.Replace(e.ID, "#"+e.Arm+"/", "#off/", 1)]
		for i := range e.Start {
			if off == nil || e.Start[i] != off.Start[i] {
				t.Fatalf("%s begins elsewhere than off", e.ID)
			}
		}
		if len(e.Steps) != limit || !e.Truncated {
			t.Errorf("%s has %d steps", e.ID, len(e.Steps))
		}
		if e.Arm == AgentScript && !e.Success {
			t.Errorf("the script loses %s", e.ID)
		}
		if e.Arm == "psi/in-place" { // β is 0
			for i, s := range e.Steps {
				if s.Action[0] != off.Steps[i].Action[0] {
					t.Fatalf("%s: β = 0 acts unlike off at step %d", e.ID, i)
				}
			}
		}
		if e.Arm == "psi/literal" {
			tr := e.Steps[3].Trace
			if len(tr.Candidates) != 2 || tr.State == nil || tr.State.Moved == 0 || len(tr.Candidates[1].Path) != 2 || tr.Choice.Index != 1 {
				t.Errorf("%s: trace %+v", e.ID, tr)
			}
		}
	}
	tab, err := Tabulate([]string{a}, "eval", "off")
	if err != nil {
		t.Fatal(err)
	}
	if len(tab.Rows) != len(agents) || len(tab.Paired) != len(agents)-1 {
		t.Errorf("%d rows, %d pairs", len(tab.Rows), len(tab.Paired))
	}
	for _, r := range tab.Rows {
		if r.Agent == AgentScript && (r.Solved != 2 || r.Success.Value != 1) {
			t.Errorf("script: %+v", r)
		}
	}
	if s := tab.String(); !strings.Contains(s, "before success") || !strings.Contains(s, "soccer") {
		t.Errorf("table:\n%s", s)
	}
}

// TestSiblingsRestore: visiting states leaves the episode as it would have been, and a
// report has a row for every regulator.
func TestSiblings(t *testing.T) {
	m := testModel(t)
	c := DefaultSiblings()
	c.Tasks, c.Episodes, c.Every, c.Actions, c.Limit = []gridarm.Task{gridarm.Reach, gridarm.Push}, 1, 40, 2, 5
	a, err := Siblings(t.Context(), m, c, 1, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Lift.States != 4 || len(a.Regulators) != len(siblingRegulators) {
		t.Errorf("report %+v", a)
	}
	b, err := Siblings(t.Context(), m, c, 1, 1, nil)
	if err != nil || a.String() != b.String() {
		t.Errorf("two workers and one differ: %v\n%s\n%s", err, a, b)
	}
	// branch restores the world.
	w, err := gridarm.NewWorld(gridarm.Push, envOptions(false))
	if err != nil {
		t.Fatal(err)
	}
	p, q := newPlayer(m), newPlayer(m)
	w.ResetInto(1, 1, p.obs)
	encode(p.in, p.obs)
	p.sim.Observe(p.state, p.act, p.in, nil, true, rng.New(1))
	before := w.State()
	branch(p, q, w, nil, c, "s", rng.New(2))
	if w.State() != before {
		t.Error("branch changed the world")
	}
}

// TestOpenLoopReport: tasks, factors and a plot for each.
func TestOpenLoopReport(t *testing.T) {
	r, err := OpenLoop(testModel(t), []gridarm.Task{gridarm.Reach, gridarm.DoorOpen}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tasks) != 2 || r.Least <= 0 || r.Least > r.Mean || len(r.Tasks[1].Ahead) != openAhead {
		t.Errorf("report %+v", r)
	}
	if svg := r.Plot(); !strings.Contains(svg, "door-open") || strings.Contains(svg, "NaN") {
		t.Error("plot")
	}
}

// TestAdapt: the new task's replay is its own, labels and tests are recorded, two workers
// give the bytes of one, and a model alone can be adapted with a seeded replay.
func TestAdapt(t *testing.T) {
	m := testModel(t)
	path := filepath.Join(t.TempDir(), FileModel)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	c := DefaultAdapt()
	c.Tasks, c.Episodes, c.Tests, c.Updates = []gridarm.Task{gridarm.HandlePress}, 2, 1, 2
	for _, n := range []string{"off", "psi/in-place"} {
		a, err := NewAgent(n, selfregulate.DefaultGradient(), false)
		if err != nil {
			t.Fatal(err)
		}
		c.Agents = append(c.Agents, a)
	}
	var got [2][]byte
	for i := range got {
		dir := t.TempDir()
		run := openRun(t, dir, c)
		if err := Adapt(t.Context(), run, []NamedCheckpoint{{Path: path, Replay: SeededReplay(1)}}, c, i+1, nil); err != nil {
			t.Fatal(err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		got[i], _ = os.ReadFile(filepath.Join(dir, train.FileEpisodes))
		for _, phase := range []string{"adapt", "test"} {
			tab, err := Tabulate([]string{dir}, phase, "off")
			if err != nil || len(tab.Rows) != 2 || tab.Rows[0].Episodes != map[string]int{"adapt": 2, "test": 1}[phase] {
				t.Errorf("%s: %+v %v", phase, tab.Rows, err)
			}
		}
	}
	if len(got[0]) == 0 || !bytes.Equal(got[0], got[1]) {
		t.Errorf("%d and %d bytes", len(got[0]), len(got[1]))
	}
}

// TestAgentNames: a name changes settings for itself, and says what it doesn't know.
func TestAgentNames(t *testing.T) {
	a, err := NewAgent("psi/in-place+beta=0.3+keep+steps=4", selfregulate.DefaultGradient(), true)
	if g := a.Gradient; err != nil || g.Beta != 0.3 || !g.Keep || g.Horizon != 4 || g.Reading != selfregulate.InPlace || a.Name != "psi/in-place+beta=0.3+keep+steps=4" {
		t.Errorf("%+v %v", a, err)
	}
	if r, err := a.regulator(testModel(t).NewSim()); err != nil || r.Name() != "psi/in-place" {
		t.Errorf("regulator %v %v", r, err)
	}
	b, err := NewAgent("rollouts/best+futures=3+spread=0.4", selfregulate.DefaultGradient(), true)
	if c := b.Rollouts; err != nil || c.Futures != 3 || c.Spread != 0.4 || c.Horizon != 5 {
		t.Errorf("%+v %v", b, err)
	}
	for name, says := range map[string]string{
		"psi/in-plaice":          `"psi/in-place"`,
		"psi/in-place+betta=1":   "beta=N",
		"psi/in-place+beta=much": "much",
		"psi/in-place+beta=-1":   "beta is -1",
		"psi/in-place+keep=yes":  "keep",
		"off+beta=1":             "no settings",
		"psi/in-place+":          "want",
		"rollouts/best+beta=1":   "want futures",
		"rollouts/best+spread=9": "spread is 9",
		"rollouts/lowest+steps=": "invalid syntax",
	} {
		if _, err := NewAgent(name, selfregulate.DefaultGradient(), true); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPooled: models that differ in their seed make one row.
func TestPooled(t *testing.T) {
	for arm, want := range map[string]string{"off": "off", "off@muse-s0": "off@muse", "off@muse-s12": "off@muse", "off@a-sb": "off@a-sb",
		"off@muse": "off@muse", "psi/in-place+steps=3": "psi/in-place+steps=3", "a-s1": "a-s1"} {
		if got := pooled(arm); got != want {
			t.Errorf("%s: %s, want %s", arm, got, want)
		}
	}
}
