package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train/corpus"
)

// The sources of the reflection that a lost game is tried again with.
const (
	AdviceRepeat = "repeat" // a plain repeat
	AdviceOwn    = "own"    // the model's own, as it wrote it
	AdviceCut    = "cut"    // the model's own up to its first malformed sentence
	AdviceExpert = "expert" // the teacher's, from the same trace
	AdviceNext   = "next"   // the place where the teacher would look next, worded as one where the thing was
	AdviceTrue   = "true"   // a place that holds the thing: privileged, a test of obedience only
	AdviceWrong  = "wrong"  // a place that doesn't
	AdviceEmpty  = "empty"  // some places that don't, named as such: privileged likewise
)

// AdviceSources lists the sources in the order of the report.
func AdviceSources() []string {
	return []string{AdviceRepeat, AdviceOwn, AdviceCut, AdviceExpert, AdviceNext, AdviceTrue, AdviceWrong, AdviceEmpty}
}

// emptyListed is how many places a reflection of source [AdviceEmpty] names.
const emptyListed = 6

// ReflectCheck says whether a model's reflections on lost games are true, and
// whether it does what reflections say (Reflexion; Alg. 3, line 13).
type ReflectCheck struct {
	Model  string       `json:"model"`
	Lost   int          `json:"lost"` // games, by their first lost episode
	Texts  []TextCheck  `json:"texts"`
	Trials []TrialCheck `json:"trials"`
}

// TextCheck are the reflections of one author. Shares have intervals over games.
type TextCheck struct {
	Author string              `json:"author"`
	N      int                 `json:"n"`
	Whole  selfassess.Estimate `json:"whole"`  // every sentence has a known form
	Lead   selfassess.Estimate `json:"lead"`   // the first one has
	Names  selfassess.Estimate `json:"names"`  // says where the thing is
	Shown  selfassess.Estimate `json:"shown"`  // of these: it was displayed there in the trace
	Holds  selfassess.Estimate `json:"holds"`  // of these: it is there at the start of the game
	Lists  selfassess.Estimate `json:"lists"`  // says where the thing is not
	Looked selfassess.Estimate `json:"looked"` // of the places listed: displayed in the trace, without it
	Free   selfassess.Estimate `json:"free"`   // of the places listed: without it at the start of the game
	// CouldName is the share of traces that displayed the thing at all.
	CouldName selfassess.Estimate `json:"could_name"`
}

// TrialCheck are the second trials with the reflections of one source.
type TrialCheck struct {
	Source  string              `json:"source"`
	N       int                 `json:"n"`
	Success selfassess.Estimate `json:"success"`
	Against selfassess.Estimate `json:"against_repeat"` // paired difference to source repeat; null without it
	// FirstGo is the share of trials whose first "go to" is the place named, of those
	// whose reflection names one; FirstGoRepeat is the same of the plain repeats of these games.
	Named         int                 `json:"named"`
	FirstGo       selfassess.Estimate `json:"first_go"`
	FirstGoRepeat selfassess.Estimate `json:"first_go_repeat"`
	// Listed is the share of the places named as empty that are gone to all the same,
	// before the thing was displayed; ListedRepeat is the same of the plain repeats.
	Lists        int                 `json:"lists"`
	Listed       selfassess.Estimate `json:"listed"`
	ListedRepeat selfassess.Estimate `json:"listed_repeat"`
	// PlanNames is the share of plans that name the thing: those of a model led astray by its prompt don't.
	PlanNames selfassess.Estimate `json:"plan_names"`
}

// CheckReflections plays every lost game of es once more with a reflection of each
// source, all with the seed of the second trial of [Eval]. es are single or first
// trials (others are left out); reflections that es don't hold are written now, from
// the recorded trace.
func CheckReflections(ctx context.Context, b *Bench, p Player, es []*Episode, sources []string) (*ReflectCheck, error) {
	games := map[string]*textworld.Game{}
	for _, g := range b.Games {
		games[g.ID()] = g
	}
	var lost []*Episode
	for _, e := range es {
		if e.Trial > 0 || e.Success || slices.ContainsFunc(lost, func(o *Episode) bool { return o.Task == e.Task }) {
			continue
		}
		if games[e.Task] == nil {
			return nil, fmt.Errorf("train: episode %s: no such game among those given", e.ID)
		}
		lost = append(lost, e)
	}
	if len(lost) == 0 {
		return nil, errors.New("train: no lost first trial to reflect on")
	}
	bar := NewProgress(b.Progress, b.TTY, "reflections", 0, len(lost))
	defer bar.Close()
	all := make([]*retried, len(lost))
	won := map[string]int{}
	err := Ordered(ctx, b.Workers, 0, len(lost), func(ctx context.Context, i int) (*retried, error) {
		return b.retry(ctx, games[lost[i].Task], p, lost[i], sources)
	}, func(i int, r *retried) error {
		all[i] = r
		var note []string
		for _, s := range sources {
			if r.trials[s].Success {
				won[s]++
			}
			note = append(note, fmt.Sprintf("%s %d", s, won[s]))
		}
		bar.Add(1, "won "+strings.Join(note, ", "))
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &ReflectCheck{Model: p.Info.Model.Name, Lost: len(lost)}
	for _, author := range []string{AdviceOwn, AdviceExpert} {
		out.Texts = append(out.Texts, textCheck(author, all))
	}
	for _, s := range sources {
		out.Trials = append(out.Trials, trialCheck(s, all, slices.Contains(sources, AdviceRepeat)))
	}
	return out, nil
}

// retried is one lost game with the texts about it and the trials after them.
type retried struct {
	task          string
	object        string
	texts         map[string]string
	with, without []string            // places as the trace showed them
	holds         map[string]bool     // places that hold the thing at the start
	trials        map[string]*Episode // by source
}

func (b *Bench) retry(ctx context.Context, g *textworld.Game, p Player, e *Episode, sources []string) (*retried, error) {
	goal, err := corpus.ParseGoal(e.Goal)
	if err != nil {
		return nil, err
	}
	r := &retried{task: e.Task, object: goal.Object, texts: map[string]string{}, holds: map[string]bool{}, trials: map[string]*Episode{}}
	if r.with, r.without, err = corpus.Shown(e.Goal, e.Pairs()); err != nil {
		return nil, err
	}
	var yes, no []string
	for place, things := range g.Contents() {
		if slices.ContainsFunc(things, func(x string) bool { return strings.HasPrefix(x, goal.Object+" ") }) {
			r.holds[place] = true
			yes = append(yes, place)
		} else {
			no = append(no, place)
		}
	}
	slices.Sort(yes)
	slices.Sort(no)
	own := e.Reflection
	if own == "" {
		own, _, err = p.Agent.Reflect(ctx, &reflexion.Carry{Task: reflexion.Task{Goal: e.Goal, Room: e.Room},
			Reflections: e.Reflections, Plan: e.Plan, Pairs: e.Pairs(), Seed: e.Seed})
		if err != nil {
			return nil, fmt.Errorf("train: episode %s: %w", e.ID, err)
		}
	}
	r.texts[AdviceOwn] = own
	r.texts[AdviceCut] = corpus.ReadAdvice(own).Lead
	r.texts[AdviceExpert] = corpus.Reflect(e.Goal, e.Pairs())
	object, place, err := corpus.NextPlace(llm.RenderTask(e.Goal, e.Room), e.Pairs())
	if err != nil {
		return nil, err
	}
	draw := rng.New(b.Seed, "advice", g.ID())
	r.texts[AdviceNext] = hintAt(object, []string{place}, draw)
	r.texts[AdviceTrue] = hintAt(goal.Object, yes, draw)
	r.texts[AdviceWrong] = hintAt(goal.Object, no, draw)
	draw.Shuffle(len(no), func(i, j int) { no[i], no[j] = no[j], no[i] })
	if no = no[:min(emptyListed, len(no))]; len(no) > 0 {
		r.texts[AdviceEmpty] = "the " + goal.Object + " is not in " + strings.Join(no, ", ") + "."
	}
	env := textworld.New(g, b.Env)
	defer env.Close()
	const trial = 1
	for _, s := range sources {
		var given []string
		if t := r.texts[s]; t != "" {
			given = []string{t}
		}
		x, _, err := PlayEpisode(ctx, env, p.Agent, EpisodeSpec{
			Game: info(g), Phase: "eval", Arm: s, Rep: e.Rep, Trial: trial,
			Seed: rng.Seed(b.Seed, "eval", g.ID(), e.Rep, trial), Reflections: given, Agent: p.Info,
		})
		if err != nil {
			return nil, err
		}
		r.trials[s] = &x
	}
	return r, nil
}

// hintAt names one of the places, "" where there is none.
func hintAt(object string, places []string, r *rand.Rand) string {
	if len(places) == 0 {
		return ""
	}
	return "the " + object + " was in " + places[r.IntN(len(places))] + ", go there first."
}

func textCheck(author string, all []*retried) TextCheck {
	t := TextCheck{Author: author, N: len(all)}
	// of collects one value a unit: each game, or each place that a text names.
	of := func(f func(r *retried, a corpus.Advice, add func(bool))) selfassess.Estimate {
		var m means
		for _, r := range all {
			f(r, corpus.ReadAdvice(r.texts[author]), func(hit bool) { m.add(r.task, one(hit)) })
		}
		return m.estimate()
	}
	t.Whole = of(func(_ *retried, a corpus.Advice, add func(bool)) { add(a.Whole) })
	t.Lead = of(func(_ *retried, a corpus.Advice, add func(bool)) { add(a.Lead != "") })
	t.Names = of(func(_ *retried, a corpus.Advice, add func(bool)) { add(len(a.First) > 0) })
	t.Lists = of(func(_ *retried, a corpus.Advice, add func(bool)) { add(len(a.Avoid) > 0) })
	t.CouldName = of(func(r *retried, _ corpus.Advice, add func(bool)) { add(len(r.with) > 0) })
	each := func(places func(corpus.Advice) []string, hit func(r *retried, place string) bool) selfassess.Estimate {
		return of(func(r *retried, a corpus.Advice, add func(bool)) {
			for _, x := range places(a) {
				add(hit(r, x))
			}
		})
	}
	first := func(a corpus.Advice) []string { return a.First }
	avoid := func(a corpus.Advice) []string { return a.Avoid }
	t.Shown = each(first, func(r *retried, x string) bool { return slices.Contains(r.with, x) })
	t.Holds = each(first, func(r *retried, x string) bool { return r.holds[x] })
	t.Looked = each(avoid, func(r *retried, x string) bool { return slices.Contains(r.without, x) })
	t.Free = each(avoid, func(r *retried, x string) bool { return !r.holds[x] })
	return t
}

func trialCheck(source string, all []*retried, paired bool) TrialCheck {
	t := TrialCheck{Source: source, N: len(all)}
	var success, diff, first, firstRepeat, listed, listedRepeat, plan means
	for _, r := range all {
		x, again := r.trials[source], r.trials[AdviceRepeat]
		success.add(r.task, one(x.Success))
		plan.add(r.task, one(strings.Contains(x.Plan, " "+r.object+" in ")))
		if paired {
			diff.add(r.task, one(x.Success)-one(again.Success))
		}
		a := corpus.ReadAdvice(r.texts[source])
		if len(a.First) > 0 {
			t.Named++
			first.add(r.task, one(firstPlace(x) == a.First[0]))
			if paired {
				firstRepeat.add(r.task, one(firstPlace(again) == a.First[0]))
			}
		}
		if len(a.Avoid) > 0 {
			t.Lists++
			for _, place := range a.Avoid {
				listed.add(r.task, one(slices.Contains(searched(x, r.object), place)))
				if paired {
					listedRepeat.add(r.task, one(slices.Contains(searched(again, r.object), place)))
				}
			}
		}
	}
	t.Success, t.Against, t.PlanNames = success.estimate(), diff.estimate(), plan.estimate()
	t.FirstGo, t.FirstGoRepeat = first.estimate(), firstRepeat.estimate()
	t.Listed, t.ListedRepeat = listed.estimate(), listedRepeat.estimate()
	return t
}

// firstPlace is the place of the first "go to", "" if there is none.
func firstPlace(e *Episode) string {
	for _, p := range e.Pairs() {
		if r, ok := strings.CutPrefix(p.Action, "go to "); ok {
			return r
		}
	}
	return ""
}

// searched lists the places gone to before a thing of the type was displayed.
func searched(e *Episode, object string) []string {
	var out []string
	for _, p := range e.Pairs() {
		if r, ok := strings.CutPrefix(p.Action, "go to "); ok && p.Observation != nothing {
			out = append(out, r)
		}
		if strings.Contains(p.Observation, "a "+object+" ") {
			break
		}
	}
	return out
}

// means gathers values by game for a mean with its interval over games.
type means struct {
	pos    map[string]int
	sum, n []float64
}

func (m *means) add(task string, v float64) {
	if m.pos == nil {
		m.pos = map[string]int{}
	}
	i, ok := m.pos[task]
	if !ok {
		i = len(m.n)
		m.pos[task] = i
		m.sum, m.n = append(m.sum, 0), append(m.n, 0)
	}
	m.sum[i] += v
	m.n[i]++
}

// estimate is the pooled mean of all values, NaN for none; games are drawn.
func (m *means) estimate() selfassess.Estimate {
	return selfassess.Bootstrap{}.Interval(len(m.n), func(w []float64) float64 {
		var s, k float64
		for i := range w {
			s, k = s+w[i]*m.sum[i], k+w[i]*m.n[i]
		}
		return s / k // NaN for nothing of nothing
	})
}
