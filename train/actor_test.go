package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
)

// visits of four games with hidden states of width 6; odd futures win.
func hiddenVisits() []*SiblingGame {
	var gs []*SiblingGame
	for _, task := range []string{"a", "b", "c", "d"} {
		var st SiblingState
		for i := range 4 {
			h := make([]float32, 6)
			h[i] = 1
			p := []llm.Pair{{Action: "go to " + task, Observation: "x"}}
			st.Actions = append(st.Actions, SiblingAction{Action: p[0].Action, Wins: i % 2, Plays: 1})
			st.Candidates = append(st.Candidates, SiblingCandidate{Pairs: p, Action: i, Hidden: packHalf(h)})
		}
		gs = append(gs, &SiblingGame{Format: SiblingFormat, Unit: task + "#sibling/0", Final: true, Task: task, Limit: 50, States: []SiblingState{st}})
	}
	return gs
}

func siblingRun(t *testing.T, gs []*SiblingGame, model llm.Info) string {
	t.Helper()
	vs := make([]any, len(gs))
	for i := range gs {
		vs[i] = gs[i]
	}
	dir := filepath.Dir(lines(t, FileSiblings, vs...))
	m := Manifest{Format: RunFormat, Command: "siblings", Config: map[string]any{"agent": AgentInfo{Model: model}}}
	if err := WriteJSON(filepath.Join(dir, FileRun), m); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMSAOfHiddenStatesIsTiedToItsActor(t *testing.T) {
	base, weak := llm.Info{Name: "embedded/base", Hash: "b1a5"}, llm.Info{Name: "embedded/weak", Hash: "3ea7"}
	dir := siblingRun(t, hiddenVisits(), base)
	pack := filepath.Join(t.TempDir(), "pack.jsonl.gz")
	gs, err := ReadSiblings(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := PackSiblings(pack, gs); err != nil {
		t.Fatal(err)
	}
	cfg := selfassess.Default()
	cfg.Input, cfg.Folds, cfg.Epochs, cfg.Hidden = selfassess.InputHistoryHidden, 2, 1, 4
	train := func(paths ...string) (*selfassess.Model, error) {
		gs, err := ReadSiblings(paths...)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := TrainSelfAssess(context.Background(), nil, nil, gs, nil, []selfassess.Config{cfg}, nil)
		return m, err
	}
	for _, path := range []string{dir, filepath.Join(dir, FileSiblings), pack} {
		m, err := train(path)
		if err != nil {
			t.Fatal(err)
		}
		if a := m.Actor(); a.Name != base.Name || a.Hash != base.Hash {
			t.Errorf("trained on %s: actor %+v, want %+v", path, a, base)
		}
		if err := m.CheckActor(selfassess.Actor{Name: weak.Name, Hash: weak.Hash}); !errors.Is(err, selfassess.ErrActor) {
			t.Errorf("weak is accepted: %v", err)
		}
	}
	_, err = train(dir, siblingRun(t, hiddenVisits(), weak))
	wantError(t, err, "hidden states of two models")
}

// What a run folder and its packs without hidden states hold has not changed.
func TestPacksNamePlayersOfHiddenStatesOnly(t *testing.T) {
	gs := hiddenVisits()
	for _, g := range gs {
		for i := range g.States[0].Candidates {
			g.States[0].Candidates[i].Hidden = ""
		}
	}
	path := filepath.Join(t.TempDir(), "p.jsonl.gz")
	want, err := packLines(gs)
	if err != nil {
		t.Fatal(err)
	}
	gs, err = ReadSiblings(siblingRun(t, gs, llm.Info{Name: "m", Hash: "h"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := PackSiblings(path, gs); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want) {
		t.Errorf("%d bytes, %v; want the %d of before", len(got), err, len(want))
	}
}

// Recorded episodes without hidden states name the actor where nothing else does.
func TestActorOf(t *testing.T) {
	e := &Episode{Agent: AgentInfo{Model: llm.Info{Name: "base", Hash: "1"}}}
	if a, err := actorOf([]*Episode{e}, hiddenVisits()); err != nil || a.Hash != "1" {
		t.Errorf("%+v, %v", a, err)
	}
	other := &Episode{Agent: AgentInfo{Model: llm.Info{Name: "weak", Hash: "2"}}, states: []llm.States{}}
	e.states = []llm.States{}
	_, err := actorOf([]*Episode{e, other}, nil)
	wantError(t, err, "two models")
}
