//go:build cgo && native

package train

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/reflexion"
)

// learnRun runs work in a new run folder and returns the adapter's bytes.
func learnRun(t *testing.T, work func(r *Run) error) []byte {
	t.Helper()
	r, err := OpenRun(t.TempDir(), Manifest{Command: "test", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := work(r); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(r.Path(FileAdapter))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A sequence has the tokens that play feeds, and weights on the model's own lines only.
func TestSequenceIsWhatPlayFeeds(t *testing.T) {
	m, err := embedded.Open("base", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	e := wonEpisode()
	w := newWriter(m.(embedded.Encoder))
	w.episode(e, lineWeights{1, .5, true})
	if w.err != nil {
		t.Fatal(w.err)
	}
	tmpl := reflexion.EmbeddedTemplate{}
	whole := tmpl.Prompt(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections) + llm.RenderPlan(e.Plan) + llm.RenderPairs(e.Pairs())
	ids, err := m.(embedded.Encoder).Tokens(whole)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != len(w.seq.IDs)-1 {
		t.Fatalf("%d tokens, the whole text has %d", len(w.seq.IDs)-1, len(ids))
	}
	own := 0
	for i, id := range ids {
		if w.seq.IDs[i+1] != id {
			t.Fatalf("token %d is %d, in the whole text %d", i, w.seq.IDs[i+1], id)
		}
		if w.seq.Weights[i+1] == 1 {
			own++
		}
	}
	prompt, err := m.(embedded.Encoder).Tokens(tmpl.Prompt(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections))
	if err != nil {
		t.Fatal(err)
	}
	for i := range prompt {
		if w.seq.Weights[i+1] != 0 {
			t.Fatalf("token %d of the prompt has weight %g", i, w.seq.Weights[i+1])
		}
	}
	if own == 0 || own > len(ids)/2+10 {
		t.Errorf("%d of %d tokens are the model's own", own, len(ids))
	}
}

// SFT on recorded play lowers the loss of held-out games, and the same seed gives the
// same bytes with any number of workers; shuffled outcomes learn as many episodes.
func TestSFT(t *testing.T) {
	es, err := ReadEpisodes("data/base/episodes.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	es = es[:60]
	m, err := embedded.Open("base", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := DefaultSFT()
	c.Steps, c.Batch, c.MaxTokens, c.Rate, c.Adapter.Targets, c.Adapter.Rank = 8, 1024, 300, 5e-3, lora.TargetsLast, 4
	var reps []*SFTReport
	sft := func(workers int, shuffle bool) []byte {
		c.Workers, c.Shuffle = workers, shuffle
		return learnRun(t, func(r *Run) error {
			rep, err := SFT(context.Background(), r, "base", m, es, c, nil)
			reps = append(reps, rep)
			return err
		})
	}
	a, b, shuffled := sft(1, false), sft(2, false), sft(1, true)
	if !bytes.Equal(a, b) {
		t.Error("the number of workers changes the adapter")
	}
	if bytes.Equal(a, shuffled) || reps[2].Episodes != reps[0].Episodes || reps[2].Won >= reps[0].Won || reps[0].Won != reps[0].Episodes {
		t.Errorf("learnt %d episodes (%d won), shuffled %d (%d won)", reps[0].Episodes, reps[0].Won, reps[2].Episodes, reps[2].Won)
	}
	first, last := reps[0].Points[0].Held, reps[0].Points[len(reps[0].Points)-1].Held
	if !(last < first) {
		t.Errorf("held-out loss %.4f before, %.4f after", first, last)
	}
	ad, err := lora.Decode(a)
	if err != nil || ad.Name != "sft" || ad.Model != m.Info().Hash || ad.Base != "embedded/base" {
		t.Errorf("%v, %v", ad, err)
	}
}

// DPO moves the log ratios of the pairs that are learnt apart.
func TestDPO(t *testing.T) {
	es, err := ReadEpisodes("data/base/episodes.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	ls := ReflectedTrials(es[:250])
	m, err := embedded.Open("base", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := DefaultDPO()
	c.Steps, c.Batch, c.MaxTokens, c.Adapter.Targets, c.Adapter.Rank, c.Held, c.Workers, c.Rate = 12, 4, 200, lora.TargetsHead, 4, .3, 2, 5e-3
	var rep *DPOReport
	b := learnRun(t, func(r *Run) (err error) {
		rep, err = DPO(context.Background(), r, "base", m, ls, c, nil)
		return err
	})
	p := rep.Points
	if first := p[1].Loss; !(p[len(p)-1].Loss < first) || rep.HeldPairs == 0 || rep.Pairs == 0 {
		t.Errorf("%d pairs, %d held; loss %.4f, then %.4f", rep.Pairs, rep.HeldPairs, first, p[len(p)-1].Loss)
	}
	ad, err := lora.Decode(b)
	if err != nil || ad.Name != "dpo" {
		t.Errorf("%v, %v", ad, err)
	}
}
