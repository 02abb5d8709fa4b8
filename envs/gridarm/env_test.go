package gridarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/gridarm"
)

var ctx = context.Background()

func TestConformance(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		t.Run(task.String(), func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return gridarm.New(task, gridarm.Options{}) }, envtest.Options{Seed: 3})
		})
	}
	for name, o := range map[string]gridarm.Options{
		"grid": {Grid: true, TaskChannel: gridarm.ChannelOneHot}, "short": {MaxSteps: 7, TaskChannel: gridarm.ChannelNone},
		"ends": {EndOnSuccess: true, PartiallyObservable: true, HideTask: true},
	} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return gridarm.New(gridarm.Push, o) }, envtest.Options{})
		})
	}
}

func newEnv(t *testing.T, task gridarm.Task, o gridarm.Options) *gridarm.Env {
	t.Helper()
	e, err := gridarm.New(task, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func reset(t *testing.T, e *gridarm.Env, o envs.ResetOptions) []float32 {
	t.Helper()
	obs, _, err := e.Reset(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return obs.([]float32)
}

// A seed begins its episode 0, no seed goes on to the next one, an option names one.
func TestResetChoosesTheEpisode(t *testing.T) {
	e, seed := newEnv(t, gridarm.Push, gridarm.Options{}), uint64(5)
	first := reset(t, e, envs.ResetOptions{Seed: &seed})
	second := reset(t, e, envs.ResetOptions{})
	if slices.Equal(first, second) {
		t.Error("the next episode equals the first")
	}
	if got := reset(t, e, envs.ResetOptions{Seed: &seed}); !slices.Equal(got, first) {
		t.Error("the seed does not bring the first episode back")
	}
	if got := reset(t, e, envs.ResetOptions{Options: map[string]any{"episode": 1}}); !slices.Equal(got, second) {
		t.Error("episode 1 is not the second")
	}
	reset(t, e, envs.ResetOptions{Seed: &seed, Options: map[string]any{"task": "gridarm/reach"}})
	if e.Task() != gridarm.Reach || e.Spec().ID != "gridarm/reach-v1" {
		t.Errorf("the task is %s, the id %s", e.Task(), e.Spec().ID)
	}
	for _, bad := range []map[string]any{{"episode": -1}, {"episode": "1"}, {"task": "fly"}, {"task": 3}, {"tsk": "push"}} {
		if _, _, err := e.Reset(ctx, envs.ResetOptions{Options: bad}); err == nil {
			t.Errorf("reset option %v is accepted", bad)
		}
	}
	if e.Task() != gridarm.Reach {
		t.Error("a refused reset changed the task")
	}
}

// The observation of a step belongs to the caller.
func TestObservationsAreNotReused(t *testing.T) {
	e := newEnv(t, gridarm.Push, gridarm.Options{})
	first := reset(t, e, envs.ResetOptions{})
	kept := slices.Clone(first)
	if _, err := e.Step(ctx, []float32{1, 1, -1, 0}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first, kept) {
		t.Error("Step wrote into the observation of Reset")
	}
}

func TestActionsAreChecked(t *testing.T) {
	e := newEnv(t, gridarm.Push, gridarm.Options{})
	reset(t, e, envs.ResetOptions{})
	before := e.World().State()
	for _, a := range []envs.Action{nil, "go", []float64{0, 0, 0, 0}, []float32{0, 0, 0}, []float32{0, 0, 0, 0, 0},
		[]float32{float32(math.NaN()), 0, 0, 0}, []float32{0, 0, 0, float32(math.Inf(1))}} {
		if _, err := e.Step(ctx, a); err == nil || e.World().State() != before {
			t.Errorf("action %v: error %v, state changed: %v", a, err, e.World().State() != before)
		}
	}
}

// Success does not end an episode, unless it is asked for; the agent never sees it.
func TestSuccessAndTheEnd(t *testing.T) {
	for _, ends := range []bool{false, true} {
		e := newEnv(t, gridarm.Reach, gridarm.Options{EndOnSuccess: ends, MaxSteps: 20})
		obs, policy, a := reset(t, e, envs.ResetOptions{}), gridarm.Scripted(gridarm.Reach), make([]float32, gridarm.ActionSize)
		var last envs.Step
		solved := false
		for !last.Done() {
			policy(obs, a)
			st, err := e.Step(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			last, obs = st, st.Obs.([]float32)
			solved = solved || st.Info.Success()
			if st.Info.Public().Success() {
				t.Fatal("the public part of Info has success")
			}
		}
		if !solved || !last.Info.Success() || last.Terminated != ends || last.Truncated == ends || (e.Steps() == 20) == ends {
			t.Errorf("EndOnSuccess %v: solved %v, last %+v after %d decisions", ends, solved, last, e.Steps())
		}
	}
}

func TestSnapshotsAreOfATask(t *testing.T) {
	push, reach := newEnv(t, gridarm.Push, gridarm.Options{}), newEnv(t, gridarm.Reach, gridarm.Options{})
	if _, err := push.Snapshot(); !errors.Is(err, envs.ErrResetNeeded) {
		t.Errorf("snapshot before Reset: %v", err)
	}
	reset(t, push, envs.ResetOptions{})
	s, err := push.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := reach.Restore(s); err == nil || !strings.Contains(err.Error(), "push") {
		t.Errorf("a state of push restored into reach: %v", err)
	}
	other := newEnv(t, gridarm.Push, gridarm.Options{})
	if err := other.Restore(s); err != nil {
		t.Fatal(err)
	}
	a, err1 := push.Step(ctx, []float32{1, 0, 0, 0})
	b, err2 := other.Step(ctx, []float32{1, 0, 0, 0})
	if err1 != nil || err2 != nil || !slices.Equal(a.Obs.([]float32), b.Obs.([]float32)) {
		t.Errorf("restored environments differ: %v %v", err1, err2)
	}
}

func TestTaskChannel(t *testing.T) {
	for _, c := range []struct {
		task gridarm.Task
		o    gridarm.Options
		want []float32
	}{
		{gridarm.DrawerOpen, gridarm.Options{}, []float32{5}},
		{gridarm.LeverPull, gridarm.Options{}, []float32{0}},
		{gridarm.DrawerOpen, gridarm.Options{HideTask: true}, []float32{0}},
		{gridarm.WindowClose, gridarm.Options{TaskChannel: gridarm.ChannelOneHot}, []float32{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
		{gridarm.SweepInto, gridarm.Options{TaskChannel: gridarm.ChannelOneHot}, []float32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{gridarm.Push, gridarm.Options{TaskChannel: gridarm.ChannelNone}, []float32{}},
	} {
		obs := reset(t, newEnv(t, c.task, c.o), envs.ResetOptions{})
		if got := obs[gridarm.ObsTask:]; !slices.Equal(got, c.want) {
			t.Errorf("%s with %+v: channel %v, want %v", c.task, c.o, got, c.want)
		}
	}
}

func TestHiddenGoal(t *testing.T) {
	obs := reset(t, newEnv(t, gridarm.Push, gridarm.Options{PartiallyObservable: true, Grid: true}), envs.ResetOptions{})
	if g := obs[gridarm.ObsGoal : gridarm.ObsGoal+3]; !slices.Equal(g, []float32{0, 0, 0}) {
		t.Errorf("goal %v is shown", g)
	}
	for i, x := range obs[len(obs)-gridarm.GridWidth*gridarm.GridHeight:] {
		if x != 0 {
			t.Fatalf("the raster shows the goal in cell %d", i)
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := gridarm.New(gridarm.Push, gridarm.Options{MaxSteps: -1, StepSize: 2, TaskChannel: "words"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, word := range []string{"MaxSteps", "StepSize", "TaskChannel"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
	if _, err := gridarm.New(99, gridarm.Options{}); err == nil {
		t.Error("task 99 is accepted")
	}
}

func TestParseTasks(t *testing.T) {
	ts, err := gridarm.ParseTasks([]string{"mt10", "soccer"})
	if err != nil || len(ts) != 11 || ts[0] != gridarm.Reach || ts[10] != gridarm.Soccer {
		t.Errorf("%v, %v", ts, err)
	}
	if ts, err := gridarm.ParseTasks([]string{"all"}); err != nil || len(ts) != 21 {
		t.Errorf("%v, %v", ts, err)
	}
	for _, bad := range [][]string{{"mt10", "push"}, {"shove"}} {
		if _, err := gridarm.ParseTasks(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	if n := len(gridarm.TrainingTasks()); n != gridarm.TrainingTaskCount || len(gridarm.NovelTasks()) != 10 {
		t.Errorf("%d training and %d novel tasks", n, len(gridarm.NovelTasks()))
	}
}

// Specs and states can be written as JSON, and the settings name everything that
// changes bytes.
func TestSpecAndStateAsJSON(t *testing.T) {
	e := newEnv(t, gridarm.PegInsertSide, gridarm.Options{Grid: true})
	reset(t, e, envs.ResetOptions{})
	for _, v := range []any{e.Spec(), e.Describe(), e.World().Scene()} {
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	}
	b, err := json.Marshal(e.Describe())
	if err != nil {
		t.Fatal(err)
	}
	var back gridarm.State
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	before := e.World().State()
	if err := e.World().SetState(back); err != nil || e.World().State() != before {
		t.Errorf("a state read from JSON differs: %v", err)
	}
	if n := len(e.Spec().ObservationSpace.Low); n != e.Options().ObsSize() {
		t.Errorf("%d lower bounds, %d numbers", n, e.Options().ObsSize())
	}
	if e.Spec().Settings["reward"] != gridarm.RewardVersion {
		t.Error("the spec does not name the version of the rewards")
	}
}
