package train

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
)

// madePart writes a part whose game i under seed j is won where won says so.
func madePart(t *testing.T, dir, arm, msa, selector string, n, seeds int, won func(game, seed int) bool) {
	t.Helper()
	name := strings.SplitN(arm, "-", 2)[0]
	c, err := reflexion.Default(name)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPart(arm, PartSpec{
		Agent:      AgentInfo{Config: c, Model: llm.Info{Name: "embedded/base", Hash: "x"}, Selector: selector, Assessor: msa, Dialect: "move"},
		Adaptation: AdaptNone, Trials: 1, Seed: 1, Engine: "1", MaxSteps: 50,
	})
	gs, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range SampleGames(gs, n) {
		for j := range seeds {
			r := PartRow{Game: g.ID(), Rep: uint64(j), Won: []int{0}, Steps: []int{50}}
			if won(i, j) {
				r.Won[0], r.Steps[0] = 1, 20
			}
			if err := p.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Save(dir); err != nil {
		t.Fatal(err)
	}
}

func target(t *testing.T, r *Results, what string) Target {
	t.Helper()
	for _, x := range r.Targets {
		if x.What == what {
			return x
		}
	}
	t.Fatalf("no bar %q", what)
	return Target{}
}

func TestResultsFromParts(t *testing.T) {
	dir := t.TempDir()
	parts, assess := filepath.Join(dir, "parts"), filepath.Join(dir, "assess")
	def := "msa/" + ActingSetting + "@12345678"
	half := func(i, j int) bool { return (i+j)%2 == 0 }
	madePart(t, parts, "muse-best", def, "best", 134, 2, func(i, j int) bool { return i%4 != 0 })
	madePart(t, parts, "muse-random", "", "random", 134, 2, half)
	madePart(t, parts, "muse-lowest", def, "lowest", 134, 2, func(i, j int) bool { return false })
	madePart(t, parts, "react", "", "off", 40, 2, half)
	madePart(t, parts, "muse-off", "", "off", 134, 2, half)
	r, err := CompileResults(parts, assess)
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, x := range r.Selection.Rows {
		arms = append(arms, x.Arm)
		if x.Actor != "base" || x.Split != "unseen" || x.Seeds != 2 {
			t.Errorf("row %+v", x)
		}
	}
	if want := []string{"react", "muse-off", "muse-lowest", "muse-random", "muse-best"}; !slices.Equal(arms, want) {
		t.Errorf("rows %q, want %q", arms, want)
	}
	best := r.Selection.Rows[4]
	// 100 of 134 games are won by each seed, in 20 commands, the others count 100.
	if *best.Success != .7463 || *best.Steps != 40.2985 || !strings.Contains(best.Command, "--agent muse-best --model base --split unseen --seeds 2 --msa runs/default-base") {
		t.Errorf("best: success %v, steps %v, command %s", *best.Success, *best.Steps, best.Command)
	}
	if c := r.Selection.Rows[0].Command; !strings.Contains(c, "--sample 40") {
		t.Errorf("40 games are played again by %s", c)
	}
	i := slices.IndexFunc(r.Selection.Paired, func(c Comparison) bool { return c.A == "muse-best" && c.B == "muse-random" })
	if i < 0 || r.Selection.Paired[i].Success.Value != .2463 || r.Selection.Paired[i].NTasks != 134 {
		t.Errorf("paired: %+v", r.Selection.Paired)
	}
	for what, state := range map[string]string{
		"base: best − random, success": met, "base: best − lowest, success": met, "weak: best − random, success": missing,
		"base: random choice is plain sampling": met, "base, the paper's own setting: best − random, success": missing,
	} {
		if x := target(t, r, what); x.State != state {
			t.Errorf("%s: %s (%s), want %s", what, x.State, x.Got, state)
		}
	}
	react := "base, react: 134 unseen games × 2 (so far 40 games × 2)"
	if !slices.Contains(r.Selection.Missing, react) || slices.ContainsFunc(r.Selection.Missing, func(s string) bool {
		return strings.HasPrefix(s, "base, muse-best by "+ActingSetting+":")
	}) {
		t.Errorf("missing: %q", r.Selection.Missing)
	}

	// The same files give the same bytes, and a change is noticed.
	out := filepath.Join(dir, "out")
	if err := r.Write(out); err != nil {
		t.Fatal(err)
	}
	again, err := CompileResults(parts, assess)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Check(out); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(out, "selection.json"), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := again.Check(out); !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "selection.json") {
		t.Errorf("an old selection.json: %v", err)
	}
}

func TestABarThatIsNotReachedIsSaid(t *testing.T) {
	dir := t.TempDir()
	def := "msa/" + ActingSetting + "@12345678"
	madePart(t, dir, "muse-best", def, "best", 134, 1, func(i, _ int) bool { return i%3 == 0 })
	madePart(t, dir, "muse-random", "", "random", 134, 1, func(i, _ int) bool { return i%3 == 1 })
	r, err := CompileResults(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if x := target(t, r, "base: best − random, success"); x.State != notMet {
		t.Errorf("%+v", x)
	}
	if p := r.Page(); !strings.Contains(p, "**not met**") || !strings.Contains(p, "Not measured yet") {
		t.Error("the page hides what fell short")
	}
}

func TestResultsNeverMixModels(t *testing.T) {
	a := &Part{Arm: "muse-best", Spec: PartSpec{Agent: AgentInfo{Config: reflexion.Config{Name: "muse"}, Selector: "best"}, Adaptation: AdaptNone, Trials: 1}}
	a.Rows = []PartRow{{Game: "g", Won: []int{1}, Steps: []int{5}}}
	b := *a
	b.Arm, b.Spec.Agent.Selector = "muse-random", "random"
	if _, ok := compareParts(a, &b, selfassess.Bootstrap{Seed: 1}); !ok {
		t.Fatal("equal settings are not compared")
	}
	for name, change := range map[string]func(*PartSpec){
		"model":       func(s *PartSpec) { s.Agent.Model.Hash = "other" },
		"seed":        func(s *PartSpec) { s.Seed++ },
		"rules":       func(s *PartSpec) { s.Engine = "2" },
		"limit":       func(s *PartSpec) { s.MaxSteps++ },
		"temperature": func(s *PartSpec) { s.Agent.Config.Temperature = 1 },
		"horizon":     func(s *PartSpec) { s.Agent.Config.Horizon = 2 },
		"thoughts":    func(s *PartSpec) { s.Agent.ThinkCost = 1 },
		"early stop":  func(s *PartSpec) { s.Agent.EarlyStop = 8 },
		"trials":      func(s *PartSpec) { s.Trials = 2 },
	} {
		c := b
		change(&c.Spec)
		if _, ok := compareParts(a, &c, selfassess.Bootstrap{Seed: 1}); ok {
			t.Errorf("parts with another %s are compared", name)
		}
	}
}

func TestNothingToCompile(t *testing.T) {
	_, err := CompileResults(filepath.Join(t.TempDir(), "none"), "")
	if err == nil || !strings.Contains(err.Error(), "--parts") {
		t.Errorf("empty folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"format":"muse/assess@9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CompileResults(dir+"-none", dir); !errors.Is(err, ErrVersion) {
		t.Errorf("unknown version: %v", err)
	}
}

func TestPortableCommand(t *testing.T) {
	in := []string{"adapt", "--msa", "/home/me/runs/msa-x", "--collect=/a/b,../c", "--agent", "muse-best", "--workers", "1", "-q", "--out", "/tmp/y", "--msa", "d=/z/w", "--seed=2"}
	got := strings.Join(portable(in), " ")
	want := "adapt --msa runs/msa-x --collect=runs/b,runs/c --agent muse-best --msa d=runs/w --seed=2"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is committed under docs/results is what its parts give.
func TestCommittedResults(t *testing.T) {
	dir := "../docs/results"
	if _, err := os.Stat(filepath.Join(dir, "selection.json")); errors.Is(err, os.ErrNotExist) {
		t.Fatal("docs/results/selection.json is missing; run `muse results`")
	}
	r, err := CompileResults(filepath.Join(dir, "parts"), filepath.Join(dir, "assess"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(dir); err != nil {
		t.Error(err)
	}
}

func TestFillReadme(t *testing.T) {
	dir := t.TempDir()
	def := "msa/" + ActingSetting + "@12345678"
	madePart(t, dir, "muse-best", def, "best", 134, 2, func(i, j int) bool { return i%4 != 0 })
	madePart(t, dir, "muse-random", "", "random", 134, 2, func(i, j int) bool { return i%2 == 0 })
	r, err := CompileResults(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("a\n<!-- results:begin -->\nold\n<!-- results:end -->\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // filling twice changes nothing
		if err := r.FillReadme(page, ""); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, page)
	if strings.Contains(got, "old") || !strings.HasPrefix(got, "a\n<!--") || !strings.HasSuffix(got, "-->\nb\n") ||
		strings.Count(got, "| **best** | 0.5 | 0.746") != 1 || !strings.Contains(got, "Best − random: +0.246") {
		t.Errorf("page:\n%s", got)
	}
	if err := os.WriteFile(page, []byte("no marks"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.FillReadme(page, ""); err == nil || !strings.Contains(err.Error(), "results:begin") {
		t.Errorf("a page without marks: %v", err)
	}
}
