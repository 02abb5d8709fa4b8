package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// play makes logs in which the early steps tell the outcome through what was done with
// the goal's object, the same for all tasks, while the words differ between tasks.
func play(n int) []Episode {
	var es []Episode
	things := []string{"mug", "apple", "pen", "book", "plate", "soap", "vase", "fork", "cup", "egg"}
	for i := range n {
		r := rng.New(7, "play", i)
		obj, place := things[i%len(things)], things[(i+3)%len(things)]+"shelf"
		e := Episode{
			ID: fmt.Sprint("e", i), Task: fmt.Sprintf("put a %s in %s.", obj, place), TaskID: fmt.Sprint("t", i%40),
			Model: fmt.Sprint("m", i%7), Known: true,
		}
		good := r.Float64() < 0.5
		e.Success = r.Float64() < 0.1 == !good
		for k := range 6 + r.IntN(20) {
			s := Step{fmt.Sprintf("go to drawer %d", r.IntN(9)), fmt.Sprintf("On the drawer %d, you see a %s 1.", k, things[r.IntN(10)])}
			switch {
			case !good && r.Float64() < 0.4:
				s.Observation = "Nothing happens."
			case good && k == 2:
				s = Step{"take " + obj + " 1 from drawer 1", "You pick up the " + obj + " 1 from the drawer 1."}
			}
			e.Steps = append(e.Steps, s)
		}
		es = append(es, e)
	}
	return es
}

func small() Config {
	c := Default()
	c.Positions, c.Trees.Trees, c.Trees.MinWeight, c.Folds, c.Draws = []int{2, 4, 8}, 20, 5, 3, 50
	return c
}

func TestTrainOnHeldOutTasksAndPlayers(t *testing.T) {
	es := play(300)
	m, rep, err := Train(context.Background(), es, nil, small(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Tasks != 40 || rep.Models != 7 || len(rep.Results) != 5 {
		t.Fatalf("%d tasks, %d players, %d results", rep.Tasks, rep.Models, len(rep.Results))
	}
	for _, r := range rep.Results {
		if r.SeesEnd != (r.Position == Whole) {
			t.Errorf("%s %s: sees the end %v", r.Split, r.Position, r.SeesEnd)
		}
		if r.Model.AUROC.Value < 0.75 {
			t.Errorf("%s after %s: AUROC %s", r.Split, r.Position, r.Model.AUROC)
		}
		if r.Model.N != r.NGram.N || r.Model.N == 0 {
			t.Errorf("model judged on %d, baseline on %d episodes", r.Model.N, r.NGram.N)
		}
	}
	for _, a := range rep.Alerts {
		if a.FalseRate > a.Budget+0.12 || a.Caught < 0 || a.Caught > 1 {
			t.Errorf("alert %+v", a)
		}
	}
	// Saved, loaded and scored: the same numbers, and a good start beats a bad one.
	dir := t.TempDir()
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	n, err := Load(dir, nil)
	if err != nil || n.Hash() != m.Hash() || rep.ModelHash != m.Hash() {
		t.Fatalf("loaded %v, hash %s, want %s", err, n.Hash(), m.Hash())
	}
	good := Episode{Task: "put a mug in shelf.", Steps: []Step{{"go to drawer 1", "On the drawer 1, you see a mug 1."},
		{"take mug 1 from drawer 1", "You pick up the mug 1 from the drawer 1."}, {"go to shelf 1", "On the shelf 1, you see nothing."}}}
	bad := Episode{Task: "put a mug in shelf.", Steps: []Step{{"take mug", "Nothing happens."}, {"take mug", "Nothing happens."}, {"take mug", "Nothing happens."}}}
	a, err := n.Score(context.Background(), &good)
	b, err2 := m.Score(context.Background(), &bad)
	if err != nil || err2 != nil || len(a) != 3 || a[2] <= b[2] {
		t.Errorf("good %v, bad %v, %v, %v", a, b, err, err2)
	}
	_, again, err := Train(context.Background(), es, nil, small(), nil)
	x, _ := json.Marshal(rep)
	y, _ := json.Marshal(again)
	if err != nil || !bytes.Equal(x, y) {
		t.Error("the same logs gave another report")
	}
	if s := rep.String(); !strings.Contains(s, "see the end") || !strings.Contains(s, "alert at step k") {
		t.Errorf("report:\n%s", s)
	}
}

// Shuffled outcomes must teach nothing.
func TestShuffledOutcomesTeachNothing(t *testing.T) {
	es := play(300)
	r := rng.New(3, "shuffle")
	r.Shuffle(len(es), func(i, j int) { es[i].Success, es[j].Success = es[j].Success, es[i].Success })
	_, rep, err := Train(context.Background(), es, nil, small(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range rep.Results {
		if v := x.Model.AUROC.Value; v < 0.35 || v > 0.65 {
			t.Errorf("%s after %s: AUROC %.3f of shuffled outcomes", x.Split, x.Position, v)
		}
	}
}

// Figures that can't be computed are null, not an error when the report is written.
func TestReportOfOneOutcomeIsWritten(t *testing.T) {
	es := play(60)
	for i := range es {
		es[i].Success = false
	}
	_, rep, err := Train(context.Background(), es, nil, small(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(rep); err != nil || !bytes.Contains(b, []byte(`"auroc":{"value":null`)) {
		t.Errorf("%v", err)
	}
}

func TestRunningLeavesEndedEpisodesOut(t *testing.T) {
	step := Step{"look", "You see nothing."}
	es := []Episode{
		{Task: "t", TaskID: "a", Steps: slices.Repeat([]Step{step}, 4), Success: true, Known: true},
		{Task: "t", TaskID: "a", Steps: slices.Repeat([]Step{step}, 5), Known: true},
		{Task: "t", TaskID: "a", Steps: slices.Repeat([]Step{step}, 6), Success: true, Known: true},
		{Task: "t", TaskID: "b", Steps: slices.Repeat([]Step{step}, 6), Success: true, Known: true},
	}
	rows := Running(es, 4)
	if len(rows) != 2 || rows[0].N != 2 || rows[0].Won != 1 || !slices.Equal(rows[0].Episodes, []int{1, 2}) || rows[1].Task != "b" {
		t.Errorf("rows %+v", rows)
	}
	if got := Running(es, 0); len(got) != 4 { // lengths differ but for the last, which is of another task
		t.Errorf("%d whole episodes", len(got))
	}
}

func TestFeaturesFollowTheObject(t *testing.T) {
	e := Episode{Task: "put a clean mug in shelf.", Room: "you see a shelf 2, a shelf 1, and a desk 1.", Steps: []Step{
		{"go to desk 1", "On the desk 1, you see a mug 2, and a pen 1."},
		{"take the mug", "Nothing happens."},
		{"take mug 2 from desk 1", "You pick up the mug 2 from the desk 1."},
		{"clean mug 2 with sinkbasin 1", "You clean the mug 2 using the sinkbasin 1."},
		{"move mug 2 to shelf 1", "You move the mug 2 to the shelf 1."},
	}}
	want := map[string][5]float32{
		"steps": {1, 2, 3, 4, 5}, "failed": {0, 1, 1, 1, 1}, "failed_last": {0, 1, 0, 0, 0}, "picked_object": {0, 0, 1, 1, 1},
		"holds_object": {0, 0, 1, 1, 0}, "treated": {0, 0, 0, 1, 1}, "placed_target": {0, 0, 0, 0, 1}, "articles": {0, 1, 1, 1, 1},
		"object_seen": {1, 1, 2, 3, 4}, "goal_clean": {1, 1, 1, 1, 1}, "room_targets": {2, 2, 2, 2, 2}, "failed_takes_object": {0, 1, 1, 1, 1},
		"tried_take": {0, 1, 2, 2, 2}, "worked_take": {0, 0, 1, 1, 1}, "worked_put": {0, 0, 0, 0, 1}, "places": {1, 1, 1, 1, 1},
	}
	for n := 1; n <= 5; n++ {
		x := Features(&e, n)
		for name, w := range want {
			if got := x[slices.Index(FeatureNames, name)]; got != w[n-1] {
				t.Errorf("%s after %d steps: %g, want %g", name, n, got, w[n-1])
			}
		}
	}
}

func TestTreesFitWhatALineCannot(t *testing.T) {
	var x [][]float32
	var y, w []float64
	for i := range 400 {
		r := rng.New(1, "xor", i)
		a, b := float32(r.Float64()), float32(r.Float64())
		x, w = append(x, []float32{a, b, 1}), append(w, 1)
		y = append(y, float64(bit((a > 0.5) != (b > 0.5))))
	}
	m := FitTrees(x, y, w, TreeConfig{Trees: 40, Depth: 3, Rate: 0.3, L2: 1, MinWeight: 5})
	for _, c := range []struct {
		a, b float32
		won  bool
	}{{.1, .1, false}, {.9, .1, true}, {.1, .9, true}, {.9, .9, false}} {
		if z := m.Logit([]float32{c.a, c.b, 1}); z > 0 != c.won || math.Abs(z) < 1 {
			t.Errorf("%v: logit %.2f", c, z)
		}
	}
}

// The figures are those of scikit-learn 1.9 on the same four texts: TfidfVectorizer(
// ngram_range=(1, 2), min_df=2, sublinear_tf=True), LogisticRegression(C=1).
func TestNGramIsScikitLearns(t *testing.T) {
	texts := []string{"put a mug in shelf > go to shelf 1", "put a mug in desk > go to desk 1 nothing happens",
		"heat some egg > go to shelf 1 shelf 1", "heat some egg > nothing happens nothing happens"}
	y, w := []float64{1, 0, 1, 0}, []float64{1, 1, 1, 1}
	m, err := FitNGram(texts, y, w)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range ngramGolden {
		if got := m.Logit(texts[i]); math.Abs(got-want) > 2e-3 {
			t.Errorf("text %d: logit %.5f, scikit-learn has %.5f", i, got, want)
		}
	}
}

func TestReadNamesFileAndLine(t *testing.T) {
	p := filepath.Join(t.TempDir(), "f.jsonl")
	write := func(s string) {
		if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"task":"t","steps":[{"action":"look","observation":"x"}],"success":true,"agent":"gpt"}` + "\n\n" +
		`{"format":"muse/episode@1","id":"g#1","task_id":"g","goal":"put a mug in shelf.","agent":{"model":{"name":"base"}},"steps":[{"action":"look","observation":"x"}]}` + "\n" +
		`{"task":"t","steps":[]}` + "\n")
	es, empty, err := Read(nil, p)
	if err != nil || len(es) != 2 || empty != 1 {
		t.Fatalf("%d episodes, %d empty, %v", len(es), empty, err)
	}
	if es[0].Model != "gpt" || es[0].TaskID != "t" || es[0].ID != p+":1" || !es[0].Success {
		t.Errorf("%+v", es[0])
	}
	if e := es[1]; e.Model != "base" || e.Task != "put a mug in shelf." || e.TaskID != "g" || e.Known || e.ID != "g#1" {
		t.Errorf("%+v", e)
	}
	if err := needOutcome(es); !errors.Is(err, ErrLog) || !strings.Contains(err.Error(), "g#1") {
		t.Errorf("no outcome: %v", err)
	}
	write("{\"task\":\"t\",\"steps\":[{\"action\":\"a\",\"observation\":\"b\"}]}\n{\"steps\":[{\"action\":\"a\"}]}\n")
	if _, _, err := Read(nil, p); !errors.Is(err, ErrLog) || !strings.Contains(err.Error(), "f.jsonl:2") {
		t.Errorf("no task: %v", err)
	}
	write("{\"steps\": 7}\n")
	if _, _, err := Read(nil, p); err == nil || !strings.Contains(err.Error(), "f.jsonl:1") {
		t.Errorf("wrong type: %v", err)
	}
	if _, _, err := Read(strings.NewReader("{}\n"), "-"); !errors.Is(err, ErrLog) {
		t.Errorf("no steps at all: %v", err)
	}
}

func TestLoadRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir, nil); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "assess train") {
		t.Errorf("nothing there: %v", err)
	}
	f := (&Model{trees: &forest{trees: byLength{4: {Nodes: [][]Node{{{Feature: 1, Left: 0}}}}}}, known: &forest{trees: byLength{4: {}}, mem: &Memory{}}, stack: Stack{W: []float64{1, 1, 1}}}).file()
	b, _ := json.Marshal(f)
	if err := os.WriteFile(filepath.Join(dir, FileModel), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, nil); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "points nowhere") {
		t.Errorf("a tree that never ends: %v", err)
	}
}

func TestTreesOfTheLengthThatIsFilled(t *testing.T) {
	b := byLength{2: {Base: 2}, 8: {Base: 8}}
	for n, want := range map[int]float64{1: 2, 2: 2, 7: 2, 8: 8, 50: 8} {
		if got := b.at(n).Base; got != want {
			t.Errorf("%d steps are judged by the trees of %g, want %g", n, got, want)
		}
	}
}
