package selfassess

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// The golden vectors were computed by the prototype's Python function.
func TestHistoryFeaturesGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/features.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		History []Pair
		Pairs   []Pair
		Win     bool
		Want    []float64
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("only %d cases", len(cases))
	}
	var moved [NumFeatures]bool
	got := make([]float32, NumFeatures)
	for i, c := range cases {
		HistoryFeatures(got, &Input{History: c.History, Pairs: c.Pairs, WinClaim: c.Win, Limit: 50})
		for j, w := range c.Want {
			if math.Abs(float64(got[j])-w) > 1e-6 {
				t.Errorf("case %d, %s = %g, want %g", i, FeatureNames[j], got[j], w)
			}
			moved[j] = moved[j] || w != cases[0].Want[j]
		}
	}
	for j, m := range moved {
		if !m {
			t.Errorf("%s never varies in the cases", FeatureNames[j])
		}
	}
}

func TestHistoryFeaturesLimit(t *testing.T) {
	in := Input{History: make([]Pair, 10), Limit: 100}
	got := make([]float32, NumFeatures)
	HistoryFeatures(got, &in)
	if got[7] != .1 {
		t.Errorf("step = %g with 10 of 100 commands, want 0.1", got[7])
	}
	in.Limit = 0
	if HistoryFeatures(got, &in); got[7] != .2 {
		t.Errorf("step = %g with 10 of the default 50, want 0.2", got[7])
	}
}

var sample = Input{
	Task: "put a mug in shelf.", Plan: "find a mug.",
	History: []Pair{{Action: "look", Observation: "A room."}, {Action: "go to desk 1", Observation: "On the desk 1, you see a mug 1."}},
	Pairs:   []Pair{{Thoughts: []string{"take it."}, Action: "take mug 1 from desk 1", Observation: "You pick up the mug 1."}},
}

func TestTrajectoryText(t *testing.T) {
	pairs := "> take mug 1 from desk 1\nYou pick up the mug 1."
	for _, c := range []struct {
		o    TextOptions
		want string
	}{
		{TextOptions{}, pairs},
		{TextOptions{Plan: true}, "plan: find a mug.\n" + pairs},
		{TextOptions{Thoughts: true}, "think: take it.\n" + pairs},
		{TextOptions{Context: 1}, "> go to desk 1\nOn the desk 1, you see a mug 1.\n" + pairs},
		{TextOptions{Context: 9}, "> look\nA room.\n> go to desk 1\nOn the desk 1, you see a mug 1.\n" + pairs},
	} {
		if got := TrajectoryText(&sample, c.o); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.o, got, c.want)
		}
	}
	if got := TrajectoryText(&Input{}, TextOptions{Plan: true, Context: 3}); got != "nothing" {
		t.Errorf("without pairs: %q", got)
	}
}

func TestChunks(t *testing.T) {
	pairs := make([]Pair, 10)
	for i := range pairs {
		pairs[i].Action = string(rune('a' + i))
	}
	acts := func(ps []Pair) (s string) {
		for _, p := range ps {
			s += p.Action
		}
		return s
	}
	var got []string
	for i, w := range Chunks(pairs, 4, 4) {
		if w.Index != i || len(w.History) != w.Start || w.Last != (i == 2) {
			t.Errorf("chunk %d: %+v", i, w)
		}
		got = append(got, acts(w.Pairs))
	}
	if s := strings.Join(got, " "); s != "abcd efgh ij" {
		t.Errorf("chunks %q", s)
	}
	slide := Chunks(pairs, 4, 1)
	if len(slide) != 10 || acts(slide[3].Pairs) != "defg" || acts(slide[9].Pairs) != "j" || slide[5].Last || !slide[6].Last {
		t.Errorf("sliding windows: %d, %+v", len(slide), slide[6])
	}
	if n := len(Chunks(pairs[:8], 0, 0)); n != 2 {
		t.Errorf("default size gives %d chunks of 8 pairs", n)
	}
	if len(Chunks(nil, 4, 4)) != 0 {
		t.Error("no pairs, no chunks")
	}
	_ = append(Chunks(pairs, 4, 4)[0].Pairs, Pair{Action: "X"})
	if pairs[4].Action != "e" {
		t.Error("appending to a window must not write into the episode")
	}
}

func TestEpisodeExamples(t *testing.T) {
	e := Episode{Task: "g", Goal: sample.Task, Plan: "p", Pairs: append(sample.History, sample.Pairs...), Success: true, Limit: 50}
	for _, claim := range []bool{false, true} {
		ex := e.Examples(2, 2, claim)
		if len(ex) != 2 || ex[0].Label != 1 || ex[1].Label != 1 || ex[0].Input.WinClaim || ex[1].Input.WinClaim != claim || !ex[1].Last {
			t.Errorf("claim %v: %+v", claim, ex)
		}
	}
	e.Success = false
	if ex := e.Examples(2, 2, true); ex[0].Label != 0 || ex[1].Input.WinClaim {
		t.Errorf("a lost episode: %+v", ex)
	}
}

func TestConfigValidate(t *testing.T) {
	for _, c := range []Config{Default(), Paper()} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	if p := Paper(); p.Input != InputEmbedding || p.Labels != LabelsOutcome {
		t.Errorf("the paper's row is %s", p)
	}
	err := Config{Input: "histry", Labels: "x", Folds: 1}.Validate()
	for _, s := range []string{`"histry"`, `"x"`, "hidden is 0", "epochs is 0", "folds is 1", "lr is 0"} {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not name %s", err, s)
		}
	}
}
