package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

func games(t testing.TB, n int, types ...string) []*textworld.Game {
	t.Helper()
	gs, err := textworld.Select(textworld.Selection{Splits: []string{"seen"}, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return SampleGames(gs, n)
}

func player(t testing.TB, name string, m llm.Model, s selfregulate.Selector, a selfassess.Assessor) Player {
	t.Helper()
	c, err := reflexion.Default(name)
	if err != nil {
		t.Fatal(err)
	}
	ag, err := reflexion.New(c, m, a, s)
	if err != nil {
		t.Fatal(err)
	}
	return Player{Agent: ag, Info: AgentInfo{Config: c, Model: m.Info(), Selector: s.Name(), Dialect: "move"}}
}

func testBench(t testing.TB, workers, n int, types ...string) *Bench {
	return &Bench{Games: games(t, n, types...), Seed: 7, Workers: workers}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// walker plays a game's own solution: what the runner does with success is then known.
func walker(g *textworld.Game, idle int) *scripted.Model {
	plan := g.Walkthrough()
	return scripted.New("walker", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " walk", nil
		}
		n := strings.Count(p.Prefix, "\n> ")
		if n < idle || n-idle >= len(plan) {
			return "\nthink: wait\n> look", nil
		}
		return "\nthink: on\n> " + plan[n-idle], nil
	})
}

func playWalker(t *testing.T, idle int, o textworld.Options, info func(*AgentInfo)) Episode {
	t.Helper()
	g := games(t, 1, "pick")[0]
	p := player(t, "react", walker(g, idle), selfregulate.Off, nil)
	if info != nil {
		info(&p.Info)
	}
	env := textworld.New(g, o)
	defer env.Close()
	e, tm, err := PlayEpisode(context.Background(), env, p.Agent, EpisodeSpec{Game: info2(g), Phase: "eval", Agent: p.Info})
	if err != nil {
		t.Fatal(err)
	}
	if tm.ID != e.ID || tm.Steps != len(e.Steps) {
		t.Errorf("timing %+v of episode %s with %d steps", tm, e.ID, len(e.Steps))
	}
	return e
}

func info2(g *textworld.Game) GameInfo { return info(g) }

func TestEpisodeEndsAtTheBoundary(t *testing.T) {
	plan := len(games(t, 1, "pick")[0].Walkthrough())
	e := playWalker(t, 50-plan, textworld.Options{}, nil)
	if !e.Success || !e.Terminated || e.Truncated || len(e.Steps) != 50 || e.Reason != "goal reached" || e.CountedSteps() != 50 {
		t.Errorf("win on command 50: success %v, terminated %v, truncated %v, %d steps, %q", e.Success, e.Terminated, e.Truncated, len(e.Steps), e.Reason)
	}
	e = playWalker(t, 51-plan, textworld.Options{}, nil)
	if e.Success || e.Terminated || !e.Truncated || len(e.Steps) != 50 || e.Reason != "step limit" || e.CountedSteps() != FailureSteps {
		t.Errorf("win would need command 51: success %v, terminated %v, truncated %v, %d steps, %q", e.Success, e.Terminated, e.Truncated, len(e.Steps), e.Reason)
	}
}

func TestThoughtsCostCommandsOnlyWhenAsked(t *testing.T) {
	plan := len(games(t, 1, "pick")[0].Walkthrough())
	e := playWalker(t, 0, textworld.Options{MaxSteps: plan}, nil)
	if !e.Success {
		t.Error("free thoughts: the solution doesn't fit into as many commands")
	}
	charge := func(a *AgentInfo) { a.ThinkCost = 1 }
	e = playWalker(t, 0, textworld.Options{MaxSteps: 2 * plan, ThinkCost: 1}, charge)
	if !e.Success || len(e.Steps) != plan {
		t.Errorf("charged thoughts: success %v in %d commands of %d", e.Success, len(e.Steps), plan)
	}
	e = playWalker(t, 0, textworld.Options{MaxSteps: 2*plan - 1, ThinkCost: 1}, charge)
	if e.Success || !e.Truncated {
		t.Errorf("charged thoughts: success %v with one command too few", e.Success)
	}
}

func TestEarlyStop(t *testing.T) {
	m := scripted.New("stuck", func(p scripted.Prompt) (string, error) {
		if p.Request.Until == llm.UntilLine {
			return " none", nil
		}
		return "\n> dance", nil
	})
	p := player(t, "react", m, selfregulate.Off, nil)
	p.Info.EarlyStop = 12
	b := testBench(t, 1, 1)
	es, _, _, err := b.play(context.Background(), b.Games[0], p, trials{n: 1})
	if err != nil {
		t.Fatal(err)
	}
	if e := es[0]; len(e.Steps) != 12 || e.Reason != "early stop" || !e.Truncated || e.Success {
		t.Errorf("%d steps, reason %q", len(e.Steps), e.Reason)
	}
}

func collectToy(ctx context.Context, t testing.TB, dir string, workers int) error {
	t.Helper()
	b := testBench(t, workers, 6)
	r, err := OpenRun(dir, Manifest{Command: "collect", Seed: b.Seed})
	if err != nil {
		t.Fatal(err)
	}
	err = Collect(ctx, r, b, player(t, "reflexion", scripted.Toy(), selfregulate.Off, nil), CollectConfig{Episodes: 3, Reflect: true})
	return errors.Join(err, r.Close())
}

func TestCollectSameBytesForAnyWorkersAndAfterInterrupts(t *testing.T) {
	ctx := context.Background()
	one, two, cut := t.TempDir(), t.TempDir(), t.TempDir()
	if err := collectToy(ctx, t, one, 1); err != nil {
		t.Fatal(err)
	}
	if err := collectToy(ctx, t, two, 4); err != nil {
		t.Fatal(err)
	}
	want := read(t, filepath.Join(one, FileEpisodes))
	if strings.Count(want, "\n") != 18 {
		t.Fatalf("%d episodes, want 18", strings.Count(want, "\n"))
	}
	if read(t, filepath.Join(two, FileEpisodes)) != want {
		t.Error("four workers give other bytes than one")
	}
	// An interrupt in the middle, then a torn last line, then the same command.
	c, cancel := context.WithCancel(ctx)
	cancel()
	if err := collectToy(c, t, cut, 2); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if err := os.WriteFile(filepath.Join(cut, FileEpisodes), []byte(want[:len(want)/2]), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := collectToy(ctx, t, cut, 2); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{FileEpisodes, FileIndex, FileMetrics, FileRun} {
		if read(t, filepath.Join(cut, name)) != read(t, filepath.Join(one, name)) {
			t.Errorf("%s differs after a resume", name)
		}
	}
}

func TestReflectionsAreHandedOn(t *testing.T) {
	dir := t.TempDir()
	if err := collectToy(context.Background(), t, dir, 2); err != nil {
		t.Fatal(err)
	}
	es, err := ReadEpisodes(dir)
	if err != nil {
		t.Fatal(err)
	}
	handed := 0
	for i, e := range es {
		if e.Trial == 0 && len(e.Reflections) != 0 {
			t.Errorf("%s begins with reflections", e.ID)
		}
		if e.Success && e.Reflection != "" {
			t.Errorf("%s was won and reflected on", e.ID)
		}
		if e.Trial > 0 && es[i-1].Reflection != "" {
			if n := len(e.Reflections); n == 0 || e.Reflections[n-1] != es[i-1].Reflection {
				t.Errorf("%s did not get the reflection of the trial before", e.ID)
			}
			handed++
		}
	}
	if handed == 0 {
		t.Error("no reflection was ever handed on: the test sees nothing")
	}
}

func siblingsToy(t testing.TB, dir string, workers int) []*SiblingGame {
	t.Helper()
	b := testBench(t, workers, 4)
	r, err := OpenRun(dir, Manifest{Command: "siblings", Seed: b.Seed})
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.Toy()
	err = CollectSiblings(context.Background(), r, b, player(t, "muse", m, selfregulate.Random, nil), player(t, "muse", m, selfregulate.Off, nil),
		SiblingConfig{Episodes: 1, PerVisit: 3, Share: 1, Plays: 2, EarlyStop: 12})
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	gs, err := ReadSiblings(dir)
	if err != nil {
		t.Fatal(err)
	}
	return gs
}

func TestSiblings(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	gs := siblingsToy(t, one, 1)
	siblingsToy(t, two, 3)
	if read(t, filepath.Join(one, FileSiblings)) != read(t, filepath.Join(two, FileSiblings)) {
		t.Error("three workers give other bytes than one")
	}
	s := DescribeSiblings(gs)
	if s.States == 0 || s.Plays < 2*s.States {
		t.Fatalf("%+v", s)
	}
	for _, g := range gs {
		game := find(t, g.Task)
		for _, st := range g.States {
			if len(st.Actions) < 2 {
				t.Errorf("%s@%d: %d first commands", g.Unit, st.Step, len(st.Actions))
			}
			// The recorded answers are those of the game after this history.
			w := textworld.NewWorld(game, textworld.DialectMove)
			for _, p := range g.Pairs[:st.Step] {
				w.Do(p.Action)
			}
			for _, a := range st.Actions {
				c := w.Clone()
				if obs, _ := c.Do(a.Action); obs != a.Observation {
					t.Errorf("%s@%d %q: recorded %q, the game says %q", g.Unit, st.Step, a.Action, a.Observation, obs)
				}
				if a.Wins > a.Plays || a.Plays == 0 {
					t.Errorf("%d wins of %d plays", a.Wins, a.Plays)
				}
			}
		}
	}
	ex, err := SiblingExamples(gs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ex {
		if e.State == "" || e.Label < 0 || e.Label > 1 || len(e.Input.Pairs) == 0 {
			t.Fatalf("bad example %+v", e)
		}
	}
	pack := filepath.Join(t.TempDir(), "s.jsonl.gz")
	if err := PackSiblings(pack, gs); err != nil {
		t.Fatal(err)
	}
	back, err := ReadSiblings(pack)
	if err != nil {
		t.Fatal(err)
	}
	if DescribeSiblings(back) != s {
		t.Error("packing loses something")
	}
}

func find(t testing.TB, id string) *textworld.Game {
	t.Helper()
	g, err := textworld.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHalf(t *testing.T) {
	for _, v := range []float32{0, 1, -1, 0.5, 0.333251953125, 65504, -3.140625} {
		h, err := unpackHalf(packHalf([]float32{v}))
		if err != nil || h[0] != v {
			t.Errorf("%v became %v (%v)", v, h, err)
		}
	}
	if h, _ := unpackHalf(packHalf([]float32{0.1})); h[0] < 0.0999 || h[0] > 0.1001 {
		t.Errorf("0.1 became %v", h[0])
	}
	if _, err := unpackHalf("AAAA"); err == nil || !strings.Contains(err.Error(), "3 bytes") {
		t.Errorf("half a number: %v", err)
	}
	if _, err := unpackHalf("!"); err == nil {
		t.Error("garbage was accepted")
	}
}
