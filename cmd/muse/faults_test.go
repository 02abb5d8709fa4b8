package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

// household is a served model that plays: it goes somewhere, and imagines what it sees.
func household(r llmtest.Request) llmtest.Reply {
	if p := r.Prompt(); strings.HasSuffix(p, "one line only.") {
		return llmtest.Reply{Text: "look for it on the desks."}
	}
	n := r.Number % 3
	return llmtest.Reply{Text: fmt.Sprintf("think: next is desk %d.\n> go to desk %d\nOn the desk %d, you see a pen 1.\n> look\nYou are facing the desk %d.", n, n, n, n)}
}

// counting is a success predictor of commands and answers, trained in a moment.
func counting(t testing.TB) *selfassess.Model {
	t.Helper()
	var rows []selfassess.Example
	for i := range 60 {
		won := float64(i % 2)
		answer := llm.NothingHappens
		if won == 1 {
			answer = "You pick up the mug 1 from the desk 1."
		}
		rows = append(rows, selfassess.Example{Task: fmt.Sprint(i / 6), Label: won, Input: selfassess.Input{
			Task: "put a mug in shelf.", Pairs: []llm.Pair{{Action: "take mug 1 from desk 1", Observation: answer}}, Limit: 50}})
	}
	cfg := selfassess.Default()
	cfg.Input, cfg.Labels, cfg.Folds, cfg.Epochs, cfg.Hidden = selfassess.InputHistory, selfassess.LabelsOutcome, 2, 3, 8
	m, _, err := selfassess.Train(t.Context(), rows, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// servedArms are all agents of muse eval on a served model.
func servedArms(t testing.TB, m llm.Model, msa *selfassess.Model) []train.Arm {
	t.Helper()
	var (
		p    playFlags
		tree searchFlags
		meta metaFlags
	)
	c := &cobra.Command{}
	p.add(c, "unseen", 0)
	tree.add(c)
	meta.add(c.Flags())
	args := []string{"--max-steps", "3", "--rollouts", "2", "--horizon", "1", "--min-plans", "1", "--max-plans", "1"}
	if err := c.Flags().Parse(args); err != nil {
		t.Fatal(err)
	}
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	names := slices.DeleteFunc(slices.Clone(armNames), func(n string) bool { return n == "expert" })
	arms, err := a.arms(names, &p, &tree, &meta, m, []namedMSA{{"counting", msa}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []string{"changes", "stakes"} {
		meta.gate = g
		more, err := a.arms([]string{armGated}, &p, &tree, &meta, m, []namedMSA{{"counting", msa}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		more[0].Name += "/" + g
		arms = append(arms, more...)
	}
	return arms
}

// TestFaultyServer: every agent meets every fault of the list, streamed and not, at every
// request and at the first ones: an episode or one clear error, soon, and nothing is left.
func TestFaultyServer(t *testing.T) {
	msa := counting(t)
	games, err := textworld.Select(textworld.Selection{Splits: []string{"seen"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	env := textworld.New(games[0], textworld.Options{Dialect: textworld.DialectMove, MaxSteps: 3})
	defer env.Close()
	played := 0
	for _, f := range llmtest.Faults() {
		for _, stream := range []bool{false, true} {
			for _, always := range []bool{true, false} {
				if !always && (!f.Once || f.Waits) {
					continue
				}
				s := llmtest.New(t, household)
				o := s.Options("m")
				o.Stream = stream
				if f.Waits {
					o = llmtest.Impatient(o)
				}
				m, err := openai.New(o)
				if err != nil {
					t.Fatal(err)
				}
				for _, arm := range servedArms(t, m, msa) {
					name := fmt.Sprintf("%s %s/stream %t/always %t/%s", f.ID, f.Name, stream, always, arm.Name)
					when := llmtest.Always
					if !always {
						from := len(s.Requests())
						when = func(n int) bool { return n < from+2 }
					}
					s.Break(f, when)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					e, _, err := train.PlayEpisode(ctx, env, arm.Player.Agent, train.EpisodeSpec{
						Game: train.GameInfo{ID: games[0].ID()}, Seed: 1, Reflect: true, Agent: arm.Player.Info})
					late := ctx.Err() != nil
					cancel()
					played++
					switch {
					case late:
						t.Fatalf("%s: it hangs", name)
					case err == nil && len(e.Steps) == 0:
						t.Errorf("%s: an episode without a command", name)
					case err == nil && always && f.Want == llmtest.Fails:
						t.Errorf("%s: an episode from nothing: %+v", name, e.Steps)
					case err != nil && (f.Want == llmtest.Answers || !always):
						t.Errorf("%s: %v", name, err)
					case err != nil && !strings.Contains(err.Error(), s.URL[len("http://"):]):
						t.Errorf("%s: an error that doesn't say where: %v", name, err)
					case err != nil && strings.Contains(err.Error(), "\n"):
						t.Errorf("%s: not one error: %v", name, err)
					}
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				s.CloseClientConnections()
				s.Close()
			}
		}
	}
	t.Logf("%d episodes", played)
	llmtest.NoLeaks(t)
}

// TestCutsAreRecorded: a server that writes on with what only the game may say is cut
// there, and each record of a step counts how often.
func TestCutsAreRecorded(t *testing.T) {
	s := llmtest.New(t, household)
	dir := t.TempDir()
	must(t, "-q", "eval", "--agent", "react,muse-random", "--model", "openai:m", "--url", s.URL+"/v1", "--limit", "1", "--max-steps", "2", "--rollouts", "2", "--horizon", "1", "--out", dir)
	es, err := train.ReadEpisodes(dir)
	if err != nil || len(es) != 2 {
		t.Fatalf("%d episodes, %v", len(es), err)
	}
	for _, e := range es {
		for i, st := range e.Steps {
			// One command is wanted, or two futures of one pair; each answer goes on.
			if want := map[string]int{"react": 1, "muse-random": 0}[e.Arm]; st.Trace.Cut != want {
				t.Errorf("%s, step %d: %d cuts, want %d: %+v", e.Arm, i+1, st.Trace.Cut, want, st.Trace)
			}
		}
	}
}
