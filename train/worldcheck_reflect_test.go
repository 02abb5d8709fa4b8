package train

import (
	"math"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train/corpus"
)

// obedient goes first where a reflection sends it, and then walks along a fixed
// round; it reflects by the words given.
func obedient(reflection string) llm.Model {
	return scripted.New("obedient", func(p scripted.Prompt) (string, error) {
		head, _, _ := strings.Cut(p.Prefix, "\n"+llm.TagPlan)
		if p.Request.Until == llm.UntilLine {
			if strings.HasSuffix(p.Prefix, llm.TagReflection) {
				return " " + reflection, nil
			}
			goal, err := corpus.ParseGoal(strings.SplitN(p.Prefix, "\n", 2)[0])
			return " find " + goal.Object + " in bed 1.", err
		}
		if _, given, ok := strings.Cut(head, "\n"+llm.TagReflection+" "); ok && len(llm.Parse(p.Prefix).Pairs) == 0 {
			if a := corpus.ReadAdvice(given); len(a.First) > 0 {
				return "\n> go to " + a.First[0], nil
			}
		}
		return "\n> look", nil
	})
}

func TestCheckReflections(t *testing.T) {
	// Three commands are too few to win, so all games are lost.
	b := &Bench{Games: games(t, 8, "pick", "heat"), Env: textworld.Options{MaxSteps: 3}, Seed: 2, Workers: 2}
	m := obedient("the spoon was in nowhere 1, go there first. and so on")
	p := player(t, "reflexion", m, selfregulate.Off, nil)
	var es []*Episode
	for _, g := range b.Games {
		got, _, _, err := b.play(t.Context(), g, p, trials{phase: "eval", arm: "reflexion", n: 2, seedPath: "eval"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			es = append(es, &got[i])
		}
	}
	r, err := CheckReflections(t.Context(), b, p, es, AdviceSources())
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost != len(b.Games) || len(r.Texts) != 2 || len(r.Trials) != len(AdviceSources()) {
		t.Fatalf("%d lost of %d games, %d authors, %d sources", r.Lost, len(b.Games), len(r.Texts), len(r.Trials))
	}
	own, expert := r.Texts[0], r.Texts[1]
	if own.Whole.Value != 0 || own.Lead.Value != 1 || own.Names.Value != 1 || own.Shown.Value != 0 || own.Holds.Value != 0 {
		t.Errorf("own: %+v", own)
	}
	if expert.Whole.Value != 1 || !math.IsNaN(expert.Shown.Value) && expert.Shown.Value != 1 {
		t.Errorf("expert: %+v", expert)
	}
	for _, x := range r.Trials {
		if x.Success.Value != 0 || x.PlanNames.Value != 1 {
			t.Errorf("%s: success %v, plans %v", x.Source, x.Success, x.PlanNames)
		}
		switch x.Source {
		case AdviceNext, AdviceTrue, AdviceWrong, AdviceOwn, AdviceCut:
			if x.Named != r.Lost || x.FirstGo.Value != 1 || x.FirstGoRepeat.Value != 0 {
				t.Errorf("%s: %d named, first go %v, unasked %v", x.Source, x.Named, x.FirstGo, x.FirstGoRepeat)
			}
		case AdviceEmpty:
			if x.Lists != r.Lost || x.Listed.Value != 0 {
				t.Errorf("empty: %d lists, gone to %v", x.Lists, x.Listed)
			}
		}
	}
	for _, e := range es {
		e.Success = true
	}
	if _, err := CheckReflections(t.Context(), b, p, es, nil); err == nil {
		t.Error("no error without a lost game")
	}
}

// The second trials are those of Eval: same seed, same prompt.
func TestRepeatIsTheSecondTrial(t *testing.T) {
	b := &Bench{Games: games(t, 3, "pick"), Env: textworld.Options{MaxSteps: 6}, Seed: 9}
	p := player(t, "reflexion", scripted.Toy(), selfregulate.Off, nil)
	for _, g := range b.Games {
		es, _, _, err := b.play(t.Context(), g, p, trials{phase: "eval", arm: "x", n: 2, seedPath: "eval", reflect: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.retry(t.Context(), g, p, &es[0], []string{AdviceOwn})
		if err != nil {
			t.Fatal(err)
		}
		again := r.trials[AdviceOwn]
		if es[0].Reflection == "" || len(again.Reflections) != 1 || again.Reflections[0] != es[0].Reflection {
			t.Errorf("reflections %q, written %q", again.Reflections, es[0].Reflection)
		}
		if llm.RenderPairs(again.Pairs()) != llm.RenderPairs(es[1].Pairs()) {
			t.Errorf("game %s: another second trial", g.ID())
		}
	}
}
