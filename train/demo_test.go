package train

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// toySet collects a small set with the toy model: folders of collect and siblings.
func toySet(t testing.TB) (collect, siblings string) {
	t.Helper()
	m := scripted.Toy()
	b := testBench(t, 2, 6, "pick")
	dir := t.TempDir()
	collect, siblings = filepath.Join(dir, "c"), filepath.Join(dir, "s")
	r, err := OpenRun(collect, Manifest{Command: "collect", Args: []string{"--out", "/secret/place"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Collect(t.Context(), r, b, player(t, "reflexion", m, selfregulate.Off, nil), CollectConfig{Episodes: 2}), r.Close()); err != nil {
		t.Fatal(err)
	}
	r, err = OpenRun(siblings, Manifest{Command: "siblings"})
	if err != nil {
		t.Fatal(err)
	}
	c := SiblingConfig{Episodes: 1, PerVisit: 2, Share: 1, Plays: 1, EarlyStop: 5}
	if err := errors.Join(CollectSiblings(t.Context(), r, b, player(t, "muse", m, selfregulate.Random, nil), player(t, "muse", m, selfregulate.Off, nil), c), r.Close()); err != nil {
		t.Fatal(err)
	}
	return collect, siblings
}

func toyDemo(t testing.TB, set *DemoSet, m llm.Model, workers int) *Demo {
	t.Helper()
	gs, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}, Types: []string{"pick"}})
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultDemo()
	c.Episodes, c.MSA.Input, c.MSA.Epochs, c.MSA.Folds, c.Adapt.Epochs = 2, selfassess.InputHistory, 2, 2, 2
	c.Agent.Limit = 12
	return &Demo{Config: c, Model: m, Set: set,
		Bench: &Bench{Games: DemoGames(gs, 3), Env: textworld.Options{Dialect: "move", MaxSteps: 12}, Seed: 3, Workers: workers}}
}

func runDemo(ctx context.Context, d *Demo, dir string) (*DemoResult, error) {
	r, err := d.OpenDemo(dir, Manifest{})
	if err != nil {
		return nil, err
	}
	res, err := d.Run(ctx, r)
	return res, errors.Join(err, r.Close())
}

func TestDemoResumesToTheSameBytes(t *testing.T) {
	set, err := OpenSet(sets(toySet(t)))
	if err != nil {
		t.Fatal(err)
	}
	whole := t.TempDir()
	res, err := runDemo(t.Context(), toyDemo(t, set, scripted.Toy(), 2), whole)
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, x := range res.Selection.Rows {
		arms = append(arms, x.Arm)
		if x.NTasks != 3 || x.Adaptation != AdaptTask {
			t.Errorf("%s: %d games, adaptation %q", x.Arm, x.NTasks, x.Adaptation)
		}
	}
	if !slices.Equal(arms, DemoArms) {
		t.Errorf("rows %q, want %q", arms, DemoArms)
	}
	for _, a := range []string{AdaptNone, AdaptTask, AdaptOther} {
		if !slices.ContainsFunc(res.Assessment.Rows, func(x AssessRow) bool { return x.Adaptation == a && x.Position == "all" && x.N > 0 }) {
			t.Errorf("no assessment for adaptation %q", a)
		}
	}
	text := res.String()
	for _, want := range []string{"muse-lowest", "before", "after", "imagined futures", "wide", "docs/results"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}

	checkDecision(t, res)
	page := filepath.Join(t.TempDir(), "README.md")
	marks := "<!-- results:begin -->\n<!-- results:end -->\n<!-- demo:begin -->\n<!-- demo:end -->\n"
	if err := os.WriteFile(page, []byte(marks), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := new(Results).FillReadme(page, filepath.Join(whole, "demo.json")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, page); !strings.Contains(got, strings.TrimRight(res.String(), "\n")) || !strings.Contains(got, FilePicture) {
		t.Errorf("the page lacks the report or the picture:\n%s", got)
	}
	if read(t, filepath.Join(filepath.Dir(page), FilePicture)) != res.Decision.SVG() {
		t.Error("the picture is not that of the decision")
	}

	// Interrupted at many points (the model fails after so many calls), on one worker.
	broken := t.TempDir()
	for calls := 40; ; calls += 1500 {
		if calls > 20000 {
			t.Fatal("never finished")
		}
		_, err := runDemo(t.Context(), toyDemo(t, set, failAfter(calls), 1), broken)
		if err == nil {
			break
		} else if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"demo.json", "run.json", "msa/" + FileMSA, "msa/" + FileMSAReport, "adapt/" + FileEpisodes, "test/" + FileEpisodes} {
		if read(t, filepath.Join(whole, f)) != read(t, filepath.Join(broken, f)) {
			t.Errorf("%s differs after interrupts", f)
		}
	}
}

func sets(collect, siblings string) ([]string, []string) {
	return []string{collect}, []string{siblings}
}

var errBroken = errors.New("broken model")

// failAfter is the toy model that fails from its n-th call on.
func failAfter(n int) llm.Model {
	return &brokenModel{Model: scripted.Toy(), left: n}
}

type brokenModel struct {
	llm.Model
	left int
}

func (b *brokenModel) Open(ctx context.Context, prefix string) (llm.Session, error) {
	if b.left -= 10; b.left < 0 {
		return nil, errBroken
	}
	return b.Model.Open(ctx, prefix)
}

func TestDemoGames(t *testing.T) {
	gs, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	got := DemoGames(gs, 12)
	types, tasks := map[string]int{}, map[string]bool{}
	for _, g := range got {
		types[g.TaskType()]++
		task, _, _ := strings.Cut(g.ID(), "/")
		if tasks[task] {
			t.Errorf("%s twice though other tasks are left", task)
		}
		tasks[task] = true
	}
	if len(types) != 6 {
		t.Errorf("types %v, want all six", types)
	}
	for k, n := range types {
		if n != 2 {
			t.Errorf("%s: %d games, want 2", k, n)
		}
	}
	back := slices.Clone(gs)
	slices.Reverse(back)
	for i, g := range DemoGames(back, 12) {
		if g.ID() != got[i].ID() {
			t.Fatalf("game %d depends on the order of the input", i)
		}
	}
	if n := len(DemoGames(gs, 1000)); n != len(gs) {
		t.Errorf("%d games of %d", n, len(gs))
	}
}

func TestPackSetKeepsWhatTrainingReads(t *testing.T) {
	collect, siblings := toySet(t)
	dir, again := t.TempDir(), t.TempDir()
	info, err := PackSet(collect, siblings, dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Episodes != 12 || info.Games != 6 || info.States == 0 {
		t.Errorf("info %+v", info)
	}
	if _, err := PackSet(collect, siblings, again); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{FileSet, FileSetEpisodes, FileSetSiblings} {
		if read(t, filepath.Join(dir, f)) != read(t, filepath.Join(again, f)) {
			t.Errorf("%s: packing twice gives different bytes", f)
		}
	}
	if strings.Contains(read(t, filepath.Join(dir, FileSet)), "secret") {
		t.Error("set.json tells paths of the machine")
	}
	before, err := OpenSet(sets(collect, siblings))
	if err != nil {
		t.Fatal(err)
	}
	after, err := OpenSet([]string{filepath.Join(dir, FileSetEpisodes)}, []string{filepath.Join(dir, FileSetSiblings)})
	if err != nil {
		t.Fatal(err)
	}
	if before.Hash != after.Hash {
		t.Error("the set's hash changed by packing")
	}
	train := func(s *DemoSet) string {
		d, err := MSAData(s.Episodes, s.Siblings)
		if err != nil {
			t.Fatal(err)
		}
		c := toyDemo(t, s, scripted.Toy(), 1).Config.MSA
		m, _, err := selfassess.TrainData(t.Context(), d, nil, c)
		if err != nil {
			t.Fatal(err)
		}
		return m.Hash()
	}
	if train(before) != train(after) {
		t.Error("a model trained on the packed set differs")
	}
}

// checkDecision: five futures, the best one chosen, drawn as well-formed XML.
func checkDecision(t *testing.T, res *DemoResult) {
	t.Helper()
	if res.Decision == nil || len(res.Decision.Futures) != 5 {
		t.Fatalf("decision %+v", res.Decision)
	}
	chosen := 0
	for _, f := range res.Decision.Futures {
		if f.Chosen {
			chosen++
			for _, g := range res.Decision.Futures {
				if g.P > f.P {
					t.Errorf("P %.3f chosen though another has %.3f", f.P, g.P)
				}
			}
		}
	}
	if chosen != 1 {
		t.Errorf("%d futures chosen", chosen)
	}
	d := xml.NewDecoder(strings.NewReader(res.Decision.SVG()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
