package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

func evalToy(t *testing.T, dir string, b *Bench, arms []Arm, c EvalConfig) []*Part {
	t.Helper()
	r, err := OpenRun(dir, Manifest{Command: "eval", Seed: b.Seed})
	if err != nil {
		t.Fatal(err)
	}
	ps, err := Eval(context.Background(), r, b, arms, c)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return ps
}

func toyArms(t *testing.T, trials int) []Arm {
	m := scripted.Toy()
	return []Arm{
		{Name: "react", Player: player(t, "react", m, selfregulate.Off, nil), Trials: trials},
		{Name: "muse-off", Player: player(t, "muse", m, selfregulate.Off, nil), Trials: trials},
		{Name: "expert", Expert: true, Trials: 1},
	}
}

func TestEvalPairsArmsAndKeepsParts(t *testing.T) {
	parts := filepath.Join(t.TempDir(), "parts")
	b := testBench(t, 2, 5)
	ps := evalToy(t, t.TempDir(), b, toyArms(t, 1), EvalConfig{Seeds: 2, Parts: parts})
	for _, p := range ps {
		if len(p.Rows) != 10 {
			t.Fatalf("%s has %d rows, want 10", p.Arm, len(p.Rows))
		}
	}
	// Arms share draws: plain sampling is plain sampling, whoever's name it bears.
	for i := range ps[0].Rows {
		if x, y := ps[0].Rows[i], ps[1].Rows[i]; x.Won[0] != y.Won[0] || x.Steps[0] != y.Steps[0] {
			t.Errorf("react and muse-off differ in %s: %v and %v", x.id(), x, y)
		}
	}
	// The same rows again cost nothing, a larger selection only what is new.
	dir := t.TempDir()
	evalToy(t, dir, b, toyArms(t, 1), EvalConfig{Seeds: 2, Parts: parts})
	if s := read(t, filepath.Join(dir, FileEpisodes)); s != "" {
		t.Errorf("finished rows were played again: %d bytes", len(s))
	}
	before := snapshot(t, parts)
	big := testBench(t, 2, 6)
	dir = t.TempDir()
	ps = evalToy(t, dir, big, toyArms(t, 1), EvalConfig{Seeds: 2, Parts: parts})
	es, err := ReadEpisodes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(es) != 6 || len(ps[0].Rows) != 12 {
		t.Errorf("%d episodes were played and %d rows returned, want 6 and 12", len(es), len(ps[0].Rows))
	}
	if after := snapshot(t, parts); len(after) != len(before) || after[0] == before[0] {
		t.Error("the parts were not extended in place")
	}
	// Another order of work gives the same files.
	other := filepath.Join(t.TempDir(), "parts")
	evalToy(t, t.TempDir(), big, toyArms(t, 1), EvalConfig{Seeds: 2, Parts: other})
	x, y := snapshot(t, parts), snapshot(t, other)
	for i := range x {
		if x[i] != y[i] {
			t.Errorf("part %d depends on how the work was cut", i)
		}
	}
}

// Arms of one name would write over each other's rows.
func TestArmsHaveNamesOfTheirOwn(t *testing.T) {
	r, err := OpenRun(t.TempDir(), Manifest{Command: "eval"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	arms := toyArms(t, 1)
	arms[1].Name = arms[0].Name
	if _, err := Eval(context.Background(), r, testBench(t, 1, 1), arms, EvalConfig{Seeds: 1}); err == nil || !strings.Contains(err.Error(), "--msa NAME=PATH") {
		t.Errorf("eval: %v", err)
	}
	two := []AdaptArm{{Name: "muse-best"}, {Name: "muse-best"}}
	if err := Adapt(context.Background(), r, testBench(t, 1, 1), two, nil, DefaultAdapt()); err == nil || !strings.Contains(err.Error(), "muse-best") {
		t.Errorf("adapt: %v", err)
	}
}

func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no parts in %s: %v", dir, err)
	}
	var out []string
	for _, n := range names {
		out = append(out, filepath.Base(n)+"\n"+read(t, n))
	}
	return out
}

func TestPartsRefuseContradictions(t *testing.T) {
	p := NewPart("a", PartSpec{})
	if err := p.Add(PartRow{Game: "g", Won: []int{1}, Steps: []int{9}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(PartRow{Game: "g", Won: []int{1}, Steps: []int{9}}); err != nil {
		t.Errorf("an equal row was refused: %v", err)
	}
	if err := p.Add(PartRow{Game: "g", Won: []int{0}, Steps: []int{50}}); err == nil {
		t.Error("a row with another outcome was accepted")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, p.File()), []byte(`{"format":"muse/part@9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadParts(dir); !errors.Is(err, ErrVersion) {
		t.Errorf("a part of another version: %v", err)
	}
}

func TestTabulate(t *testing.T) {
	mk := func(arm string, won ...int) *Part {
		p := NewPart(arm, PartSpec{Trials: 1})
		for i, w := range won {
			if err := p.Add(PartRow{Game: string(rune('a' + i)), Won: []int{w}, Steps: []int{10}, Different: 2}); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	s := Tabulate([]*Part{mk("best", 1, 1, 1, 0), mk("random", 1, 0, 0, 0)}, "random")
	if len(s.Rows) != 2 || *s.Rows[0].Success != .75 || *s.Rows[1].Success != .25 {
		t.Fatalf("rows %+v", s.Rows)
	}
	// Three games in ten steps and a lost one at 100; one and three.
	if *s.Rows[0].Steps != 32.5 || *s.Rows[1].Steps != 77.5 {
		t.Errorf("steps %v and %v, want 32.5 and 77.5", *s.Rows[0].Steps, *s.Rows[1].Steps)
	}
	if len(s.Paired) != 1 || s.Paired[0].A != "best" || s.Paired[0].Success.Value != .5 || s.Paired[0].Steps.Value != -45 {
		t.Errorf("paired %+v", s.Paired)
	}
	if p := s.Paired[0].Success; p.Low > .5 || p.High < .5 || p.Low == p.High {
		t.Errorf("interval %v", p)
	}
	trials := NewPart("t", PartSpec{Trials: 2})
	if err := trials.Add(PartRow{Game: "a", Won: []int{0, 1}, Steps: []int{50, 8}}, PartRow{Game: "b", Won: []int{0, 0}, Steps: []int{50, 50}}); err != nil {
		t.Fatal(err)
	}
	r := Tabulate([]*Part{trials}).Rows[0]
	if len(r.SolvedBy) != 2 || r.SolvedBy[0].Value != 0 || r.SolvedBy[1].Value != .5 {
		t.Errorf("solved by %v, want 0 then 0.5", r.SolvedBy)
	}
	if !strings.Contains(s.String(), "best − random (4 tasks): success +0.500") {
		t.Errorf("table:\n%s", s)
	}
}

// The whole loop with a model that a test can train in a second.
func TestAdaptChangesTheModelAndResumes(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if err := collectToy(ctx, t, dir, 2); err != nil {
		t.Fatal(err)
	}
	es, err := ReadEpisodes(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := selfassess.Default()
	cfg.Input, cfg.Labels, cfg.Folds, cfg.Epochs, cfg.Hidden = selfassess.InputHistory, selfassess.LabelsOutcome, 2, 3, 16
	m, rep, err := TrainSelfAssess(ctx, nil, es, nil, nil, []selfassess.Config{cfg}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Held.At(selfassess.PositionAll).N != len(Chunks(es)) {
		t.Errorf("held-out figures of %d chunks, there are %d", rep.Held.At(selfassess.PositionAll).N, len(Chunks(es)))
	}
	replay, err := selfassess.NewReplay(ctx, m, Chunks(es))
	if err != nil {
		t.Fatal(err)
	}
	ac := DefaultAdapt()
	ac.Episodes, ac.Tests, ac.MSA.Epochs = 2, 2, 2
	seen := map[string]bool{}
	arm := AdaptArm{Name: "muse-best", By: player(t, "reflexion", scripted.Toy(), selfregulate.Off, nil), MSA: m, Reflect: true,
		Test: func(a *selfassess.Model) (Player, error) {
			seen[a.Name()] = true
			return player(t, "muse", scripted.Toy(), selfregulate.Best, a), nil
		}}
	play := func(dir string) {
		b := testBench(t, 1, 3)
		r, err := OpenRun(dir, Manifest{Command: "adapt", Seed: b.Seed})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Adapt(ctx, r, b, []AdaptArm{arm}, replay, ac), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	one, two := t.TempDir(), t.TempDir()
	play(one)
	if len(seen) != 3 || seen[m.Name()] {
		t.Errorf("tests were played by %v, want three models other than the trained one", seen)
	}
	want := read(t, filepath.Join(one, FileEpisodes))
	for name, content := range map[string]string{FileRun: read(t, filepath.Join(one, FileRun)), FileEpisodes: want[:len(want)*2/3]} {
		if err := os.WriteFile(filepath.Join(two, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	play(two)
	if read(t, filepath.Join(two, FileEpisodes)) != want {
		t.Error("a resumed adaptation gives other bytes")
	}
	got, err := ReadEpisodes(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got {
		if e.Phase == "test" && e.Reflection != "" {
			t.Error("a test episode was reflected on: tests must not change anything")
		}
	}
	a, err := AssessAdaptation(ctx, got, "muse-best", m, replay, ac.MSA)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rows) != 12 { // four adaptations × three positions
		t.Errorf("%d rows, want 12", len(a.Rows))
	}
	// A task that was not adapted to is named, and left out only when asked.
	gone := got[0].Task
	var part []*Episode
	for _, e := range got {
		if e.Task != gone || e.Phase == "test" {
			part = append(part, e)
		}
	}
	if _, err := AssessAdaptation(ctx, part, "", m, replay, ac.MSA); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), gone) {
		t.Errorf("a task without adaptation episodes: %v", err)
	}
	// One row of a table is of one actor.
	other := *got[len(got)-1]
	other.Agent.Model.Name, other.Agent.Model.Hash = "another", "1234"
	if _, err := AssessAdaptation(ctx, append(append([]*Episode{}, got...), &other), "", m, replay, ac.MSA); err == nil || !strings.Contains(err.Error(), "two actors") {
		t.Errorf("episodes of two actors: %v", err)
	}
	kept, lack := CompleteTasks(part)
	if len(lack) != 1 || lack[0] != gone {
		t.Errorf("left out: %v, want %s", lack, gone)
	}
	if a, err := AssessAdaptation(ctx, kept, "", m, replay, ac.MSA); err != nil || len(a.Rows) != 12 || a.Rows[0].Tasks != 2 {
		t.Errorf("two tasks of three: %+v, %v", a, err)
	}
	ps := TestParts(testBench(t, 1, 3), got, nil)
	if len(ps) != 1 || len(ps[0].Rows) != 6 || ps[0].Spec.Adaptation != AdaptTask {
		t.Errorf("parts %+v", ps)
	}
}

func TestEvalExamplesHoldNothingPrivileged(t *testing.T) {
	e := &Episode{Task: "g", Goal: "x", Success: true, Steps: []Step{{Action: "look", Observation: "a"}, {Action: "go to b 1", Observation: "You arrive at b 1. On the b 1, you see nothing.", Success: true}}}
	for _, x := range append(Chunks([]*Episode{e}), Windows([]*Episode{e})...) {
		if x.Input.WinClaim {
			t.Error("a real window carries the outcome")
		}
		for _, p := range x.Input.Pairs {
			if strings.HasPrefix(p.Observation, "You arrive") {
				t.Errorf("%q is not in the form that models see", p.Observation)
			}
		}
	}
}
