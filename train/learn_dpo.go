package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
)

// DPOConfig are the settings of preference optimisation (Rafailov et al., 2024).
type DPOConfig struct {
	LearnConfig
	Beta      float64 `json:"beta"`  // how dearly distance from the base model is paid
	Batch     int     `json:"pairs"` // of an update
	MaxTokens int     `json:"max_tokens"`
	// SFT adds so much of the loss −log p of the preferred text, per token, which keeps
	// it likely; 0 = plain DPO.
	SFT float64 `json:"sft"`
}

// DefaultDPO are the settings that docs/learning.md reports.
func DefaultDPO() DPOConfig {
	return DPOConfig{
		LearnConfig: LearnConfig{Adapter: lora.Options{Rank: 8, Alpha: 16, Targets: lora.TargetsHead, Seed: 1}, Steps: 100, Rate: 5e-3, Clip: 1, Held: .2, Seed: 1},
		Beta:        .1, Batch: 8, MaxTokens: 1024,
	}
}

// Validate reports all problems at once, or nil.
func (c DPOConfig) Validate() error {
	errs := []error{c.LearnConfig.Validate()}
	if !(c.Beta > 0) || math.IsInf(c.Beta, 0) {
		errs = append(errs, fmt.Errorf("train: beta is %v; it must be a finite number > 0", c.Beta))
	}
	if c.Batch < 1 {
		errs = append(errs, fmt.Errorf("train: pairs is %d; at least 1 is needed", c.Batch))
	}
	if c.MaxTokens < 2 {
		errs = append(errs, fmt.Errorf("train: max-tokens is %d; at least 2 are needed", c.MaxTokens))
	}
	if !(c.SFT >= 0) {
		errs = append(errs, fmt.Errorf("train: sft is %v; it must be ≥ 0", c.SFT))
	}
	return errors.Join(errs...)
}

// PreferencePair is a reflection after which a task went better, and one after
// which it went worse.
type PreferencePair struct {
	Better, Worse string
	// Trial is the lost one that Better is about, Other that of Worse: the same one
	// where several reflections were tried on it.
	Trial, Other          *LostTrial
	RateBetter, RateWorse float64
}

// PreferencePairs are all pairs of reflections on the same lost trial after which
// the shares of won trials differ.
//
// The paper prefers a reflection between a failure and a success, and disprefers
// one between a success and a failure (4.1); the two are on different episodes.
// Here both answer the same prompt, as DPO's loss has it: what differs is the text.
func PreferencePairs(ls []*LostTrial) []PreferencePair {
	var out []PreferencePair
	for _, l := range ls {
		for _, a := range l.Reflections {
			for _, b := range l.Reflections {
				if a.rate() > b.rate() {
					out = append(out, PreferencePair{a.Text, b.Text, l, l, a.rate(), b.rate()})
				}
			}
		}
	}
	return out
}

// ReflectedTrials are the lost trials of runs that were reflected on and played again
// by somebody who had read that: each with one reflection and one outcome.
func ReflectedTrials(es []*Episode) []*LostTrial {
	var out []*LostTrial
	for i, e := range es[:max(0, len(es)-1)] {
		next := es[i+1]
		if e.Success || e.Reflection == "" || e.Final || next.Unit != e.Unit || next.Trial != e.Trial+1 || !slices.Contains(next.Reflections, e.Reflection) {
			continue
		}
		a := TriedAdvice{Text: e.Reflection, Plays: 1}
		if next.Success {
			a.Wins = 1
		}
		out = append(out, &LostTrial{
			Format: PreferenceFormat, Unit: e.ID, Final: true, Task: e.Task, TaskType: e.TaskType, Goal: e.Goal, Room: e.Room,
			Model: e.Agent.Model, Given: e.Reflections, Plan: e.Plan, Pairs: e.Pairs(), Reflections: []TriedAdvice{a},
		})
	}
	return out
}

// pairsAcross bounds the pairs of one preferred reflection in [PairsOfTrials].
const pairsAcross = 4

// PairsOfTrials pairs reflections between a failure and a success with those between
// two failures (paper, Alg. 3; reflections follow lost trials only, so there is none
// between a success and a failure): of the same game where there are any, else of the
// same type of task, at most four for each. The prompts of a pair differ.
func PairsOfTrials(ls []*LostTrial) []PreferencePair {
	var out []PreferencePair
	for i, good := range ls {
		if len(good.Reflections) != 1 || good.Reflections[0].Wins == 0 {
			continue
		}
		var other []*LostTrial
		for _, bad := range ls {
			if bad.TaskType == good.TaskType && len(bad.Reflections) == 1 && bad.Reflections[0].Wins == 0 && bad.Reflections[0].Text != good.Reflections[0].Text {
				other = append(other, bad)
			}
		}
		far := func(l *LostTrial) int {
			if l.Task == good.Task {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(other, func(a, b *LostTrial) int {
			return cmp.Or(far(a)-far(b), cmp.Compare(rng.Seed(0, "pair", i, a.Unit), rng.Seed(0, "pair", i, b.Unit)))
		})
		for _, bad := range other[:min(len(other), pairsAcross)] {
			out = append(out, PreferencePair{good.Reflections[0].Text, bad.Reflections[0].Text, good, bad, good.Reflections[0].rate(), 0})
		}
	}
	return out
}

// PreferenceSummary describes preferences.
type PreferenceSummary struct {
	Trials int     `json:"lost_trials"`
	Games  int     `json:"games"`
	Texts  int     `json:"reflections"`
	Plays  int     `json:"plays"`
	Won    float64 `json:"won"` // share of plays
	Pairs  int     `json:"pairs"`
	Mixed  int     `json:"trials_with_pairs"`
}

// DescribePreferences summarises preferences.
func DescribePreferences(ls []*LostTrial) PreferenceSummary {
	s := PreferenceSummary{Trials: len(ls)}
	games, mixed, wins := map[string]bool{}, map[string]bool{}, 0
	for _, l := range ls {
		games[l.Task] = true
		for _, a := range l.Reflections {
			s.Texts, s.Plays, wins = s.Texts+1, s.Plays+a.Plays, wins+a.Wins
		}
	}
	for _, p := range PreferencePairs(ls) {
		s.Pairs++
		mixed[p.Trial.Unit] = true
	}
	s.Games, s.Mixed, s.Won = len(games), len(mixed), float64(wins)/float64(max(1, s.Plays))
	return s
}

// String is the summary for people.
func (s PreferenceSummary) String() string {
	return fmt.Sprintf("%d lost trials of %d games, %d different reflections, %d plays after them (%.3f won); %d pairs from %d trials",
		s.Trials, s.Games, s.Texts, s.Plays, s.Won, s.Pairs, s.Mixed)
}

// DPOReport is report.json of `muse train dpo`.
type DPOReport struct {
	Model     string    `json:"model"`
	Config    DPOConfig `json:"config"`
	Pairs     int       `json:"pairs"` // learnt from
	Games     int       `json:"games"`
	HeldPairs int       `json:"held_pairs"`
	Held      []string  `json:"held"` // games left out
	Params    int       `json:"params"`
	// Accuracy of preferences on held-out games, by bootstrap over games: the share of
	// pairs whose preferred text is the likelier one, before and after (Raw), and whose
	// log ratio to the base model is the larger one (Margin; .5 before, by definition).
	// Each held-out trial counts once, whatever its number of pairs.
	RawBefore   selfassess.Estimate `json:"raw_before"`
	RawAfter    selfassess.Estimate `json:"raw_after"`
	MarginAfter selfassess.Estimate `json:"margin_after"`
	// KL is the mean of log p − log p_base of the held-out texts: negative where both
	// kinds became less likely.
	Drift  float64      `json:"drift"`
	Points []LearnPoint `json:"points"`
}

// String is the report for people.
func (r *DPOReport) String() string {
	return fmt.Sprintf("%s learnt from %d pairs of %d games, %d parameters, %d updates\nheld-out games: %d pairs of %d; preferred text likelier %s before, %s after; larger log ratio %s; drift %+.2f nats",
		r.Model, r.Pairs, r.Games, r.Params, r.Config.Steps, r.HeldPairs, len(r.Held), r.RawBefore, r.RawAfter, r.MarginAfter, r.Drift)
}

// answer is the sequence of a lost trial and one reflection on it; the text and the
// line break that ends it have weight 1.
func answer(enc embedded.Encoder, l *LostTrial, text string, limit int) (lora.Sequence, error) {
	w := newWriter(enc)
	w.add(reflexion.EmbeddedTemplate{}.Prompt(reflexion.Task{Goal: l.Goal, Room: l.Room}, l.Given), 0, 0)
	if l.Plan != "" {
		w.add(llm.RenderPlan(l.Plan), 0, 0)
	}
	for _, p := range l.Pairs {
		w.add(llm.RenderPair(p), 0, 0)
	}
	tail := newWriter(enc)
	tail.add(llm.RenderEnd(false), 0, 0)
	tail.add(llm.RenderReflection(text), 0, 1)
	tail.add("\n", 1, 1)
	ids, weights := tail.seq.IDs[1:], tail.seq.Weights[1:]
	w.cut(limit - len(ids)) // the reflection stays, the end of a long trial goes
	w.seq.IDs, w.seq.Weights = append(w.seq.IDs, ids...), append(w.seq.Weights, weights...)
	return w.seq, errors.Join(w.err, tail.err)
}

// DPO teaches a model which reflections help and leaves adapter.safetensors,
// held.txt and report.json in the run folder; see [SFT] for the arguments. With
// c.Shuffle each pair of the training games is turned round with probability one half.
func DPO(ctx context.Context, r *Run, name string, m llm.Model, ls []*LostTrial, c DPOConfig, bar *Progress) (*DPOReport, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := newStudent(name, m, c.LearnConfig)
	if err != nil {
		return nil, err
	}
	rep := &DPOReport{Model: s.ad.Base, Config: c, Params: s.ad.Params()}
	var games []string
	for _, l := range ls { // of all trials, also those without pairs
		games = append(games, l.Task)
	}
	rep.Held = HeldOut(games, c.Held)
	held := map[string]bool{}
	for _, g := range rep.Held {
		held[g] = true
	}
	sides := map[bool][]*LostTrial{}
	for _, l := range ls {
		sides[held[l.Task]] = append(sides[held[l.Task]], l)
	}
	pairs := PreferencePairs(ls)
	for _, side := range []bool{false, true} { // both texts of a pair are learnt, or held out
		pairs = append(pairs, PairsOfTrials(sides[side])...)
	}
	limit := min(c.MaxTokens, s.base.Spec.Context)
	coin := rng.New(c.Seed, "shuffled preferences")
	var learn, test []lora.Preference
	var testPairs []PreferencePair
	seen := map[string]bool{}
	for _, p := range pairs {
		if c.Shuffle && !held[p.Trial.Task] && coin.IntN(2) == 0 {
			p.Better, p.Worse, p.Trial, p.Other = p.Worse, p.Better, p.Other, p.Trial
		}
		better, err := answer(s.enc, p.Trial, p.Better, limit)
		worse, err2 := answer(s.enc, p.Other, p.Worse, limit)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("train: trial %s: %w", p.Trial.Unit, err)
		}
		x := lora.Preference{Preferred: better, Dispreferred: worse}
		if held[p.Trial.Task] {
			test, testPairs = append(test, x), append(testPairs, p)
			continue
		}
		learn = append(learn, x)
		seen[p.Trial.Task] = true
	}
	rep.Pairs, rep.Games, rep.HeldPairs = len(learn), len(seen), len(test)
	if len(learn) == 0 {
		return nil, errors.New("train: no pair of reflections with different outcomes outside the held-out games; collect more by `muse preferences`")
	}
	for _, ps := range [][]lora.Preference{learn, test} {
		if err := s.reference(ps); err != nil {
			return nil, err
		}
	}
	order, pass := []int(nil), 0
	rep.Points, err = s.fit(ctx, bar, func(_ int, g *lora.Grads) (float64, error) {
		var batch []lora.Preference
		for range c.Batch {
			if len(order) == 0 {
				order = rng.New(c.Seed, "pass", pass).Perm(len(learn))
				pass++
			}
			batch, order = append(batch, learn[order[0]]), order[1:]
		}
		loss, _, err := lora.DPO(s.net, s.ad, batch, c.Beta, g, c.Workers)
		if err != nil || c.SFT == 0 {
			return loss, err
		}
		var chosen []lora.Sequence
		for _, p := range batch {
			chosen = append(chosen, p.Preferred)
		}
		extra := s.ad.NewGrads()
		nll, err := lora.CrossEntropy(s.net, s.ad, chosen, extra, c.Workers)
		g.AddScaled(extra, c.SFT)
		return loss + c.SFT*nll, err
	}, func(p *LearnPoint) error {
		if len(test) == 0 {
			return nil
		}
		loss, accuracy, err := lora.DPO(s.net, s.ad, test, c.Beta, nil, c.Workers)
		p.Held, p.Accuracy = loss, &accuracy
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.judge(rep, test, testPairs); err != nil {
		return nil, err
	}
	kind := "dpo"
	if c.Shuffle {
		kind = "dpo-shuffled"
	}
	var data []lora.Sequence
	for _, p := range learn {
		data = append(data, p.Preferred, p.Dispreferred)
	}
	if err := s.finish(r, kind, c, data, rep.Held); err != nil {
		return nil, err
	}
	return rep, r.WriteJSON(FileMSAReport, rep)
}

// reference scores the texts under the base model, once, and keeps what the blocks
// below the adapter compute. A text of several pairs is worked on once.
func (s *student) reference(ps []lora.Preference) error {
	var ss []lora.Sequence
	at := map[string]int{}
	place := func(x lora.Sequence) int {
		key := fmt.Sprint(x.IDs)
		i, ok := at[key]
		if !ok {
			i = len(ss)
			at[key], ss = i, append(ss, x)
		}
		return i
	}
	places := make([][2]int, len(ps))
	for i, p := range ps {
		places[i] = [2]int{place(p.Preferred), place(p.Dispreferred)}
	}
	if err := s.net.Prepare(s.ad, ss, s.cfg.Workers); err != nil {
		return err
	}
	sums, err := s.net.LogProbs(s.ad, ss, s.cfg.Workers) // the adapter still changes nothing
	if err != nil {
		return err
	}
	for i := range ps {
		a, b := places[i][0], places[i][1]
		ps[i].Preferred, ps[i].Dispreferred = ss[a], ss[b]
		ps[i].RefPreferred, ps[i].RefDispreferred = sums[a], sums[b]
	}
	return nil
}

// judge fills the report's accuracies on held-out pairs.
func (s *student) judge(rep *DPOReport, test []lora.Preference, pairs []PreferencePair) error {
	if len(test) == 0 {
		return nil
	}
	ss := make([]lora.Sequence, 0, 2*len(test))
	for _, p := range test {
		ss = append(ss, p.Preferred, p.Dispreferred)
	}
	sums, err := s.net.LogProbs(s.ad, ss, s.cfg.Workers)
	if err != nil {
		return err
	}
	// One value a trial: the mean over its pairs.
	type means struct{ before, after, margin, n float64 }
	trials := map[string]*means{}
	var order []*LostTrial
	for i, p := range test {
		l := pairs[i].Trial
		t := trials[l.Unit]
		if t == nil {
			t = &means{}
			trials[l.Unit] = t
			order = append(order, l)
		}
		a, b := sums[2*i], sums[2*i+1]
		t.before += right(p.RefPreferred - p.RefDispreferred)
		t.after += right(a - b)
		t.margin += right(lora.Margin(a, b, p.RefPreferred, p.RefDispreferred))
		t.n++
		rep.Drift += (a - p.RefPreferred + b - p.RefDispreferred) / float64(2*len(test))
	}
	var task []string
	var before, after, margin []float64
	for _, l := range order {
		t := trials[l.Unit]
		task = append(task, l.Task)
		before, after, margin = append(before, t.before/t.n), append(after, t.after/t.n), append(margin, t.margin/t.n)
	}
	boot := selfassess.Bootstrap{}
	rep.RawBefore, rep.RawAfter, rep.MarginAfter = selfassess.MeanByTask(task, before, boot), selfassess.MeanByTask(task, after, boot), selfassess.MeanByTask(task, margin, boot)
	return nil
}

// right is 1 for a positive difference, one half for none.
func right(d float64) float64 {
	switch {
	case d > 0:
		return 1
	case d == 0:
		return .5
	}
	return 0
}
