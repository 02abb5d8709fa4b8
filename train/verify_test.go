package train

import (
	"context"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

// verified plays the episodes of a run again; tests call it after what they played.
func verified(t *testing.T, dir string) *Verification {
	t.Helper()
	v, err := VerifyEpisodes(context.Background(), dir, textworld.Open, 3)
	if err != nil {
		t.Fatal(err)
	}
	if v.Equal != v.Episodes {
		t.Errorf("%s: %d of %d episodes are those of the game: %s", dir, v.Equal, v.Episodes, strings.Join(v.First, "; "))
	}
	return v
}

func TestRecordsAreThoseOfTheGame(t *testing.T) {
	dir := t.TempDir()
	b := testBench(t, 2, 4)
	arms := toyArms(t, 1)
	arms[0].Player.Info.EarlyStop = 3
	arms[1].Player.Info.ThinkCost = 1
	b.Env.ThinkCost = 1 // of all arms: what a record says must be what was played
	for i := range arms {
		arms[i].Player.Info.ThinkCost = 1
	}
	evalToy(t, dir, b, arms, EvalConfig{Seeds: 1})
	v := verified(t, dir)
	if v.Episodes != 12 || v.Won < 4 || v.Steps == 0 { // the expert wins its four
		t.Errorf("%+v", v)
	}
	es, err := ReadEpisodes(dir)
	if err != nil {
		t.Fatal(err)
	}
	for words, edit := range map[string]func(e *Episode){
		"":                            func(*Episode) {},
		"command 1: the answer to":    func(e *Episode) { e.Steps[0].Observation += "!" },
		"the episode's success":       func(e *Episode) { e.Success = !e.Success },
		"success is \"true\"":         func(e *Episode) { e.Steps[0].Success = true },
		"the goal is":                 func(e *Episode) { e.Goal = "nap." },
		"reward is":                   func(e *Episode) { e.Steps[0].Reward = 1 },
		"truncated is":                func(e *Episode) { e.Steps[0].Truncated = true },
		"the record ends after":       func(e *Episode) { e.Steps, e.Reason, e.Success = e.Steps[:1], "", false },
		"the game was over before it": func(e *Episode) { e.Steps = append(e.Steps, e.Steps[0]) },
	} {
		for _, e := range es {
			if e.Reason == "early stop" || len(e.Steps) < 2 {
				continue
			}
			x := *e
			x.Steps = append([]Step{}, e.Steps...)
			edit(&x)
			v, err := VerifyEpisodes(context.Background(), lines(t, FileEpisodes, x), textworld.Open, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(v.First, ""); (got == "") != (words == "") || !strings.Contains(got, words) {
				t.Errorf("edited for %q: %q", words, got)
			}
			break
		}
	}
}
