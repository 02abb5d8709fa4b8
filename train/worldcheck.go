package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train/corpus"
)

// WorldCheck is how well a language model foretells the answers to commands that
// were really given, mostly its own (Alg. 4's imagined futures stand on this).
// Every answer is foretold greedily from the true text before it.
type WorldCheck struct {
	Model    string `json:"model"`
	Actor    string `json:"actor"` // whose commands
	Games    int    `json:"games"`
	Episodes int    `json:"episodes"`
	Commands int    `json:"commands"`
	// Unread commands stood behind the end of the model's context.
	Unread int `json:"unread,omitempty"`

	// NothingShare is the share of commands without effect, NothingAUROC the area
	// under the curve of P("Nothing happens.") for that event.
	NothingShare selfassess.Estimate `json:"nothing_share"`
	NothingAUROC selfassess.Estimate `json:"nothing_auroc"`
	// NothingFresh is the same without commands given before in the episode: of a
	// player that repeats itself, most failures are easy to foresee.
	NothingFresh selfassess.Estimate `json:"nothing_auroc_fresh"`
	FreshShare   selfassess.Estimate `json:"fresh_share"`
	// The means of that probability where nothing happened and where something did.
	PWhenNothing selfassess.Estimate `json:"p_when_nothing"`
	PWhenEffect  selfassess.Estimate `json:"p_when_effect"`

	// Shares of answers foretold to the letter.
	Works     selfassess.Estimate `json:"works"`     // take, move, clean, heat, cool, use that had an effect
	MustFail  selfassess.Estimate `json:"must_fail"` // failures that text and rules decide (corpus.Witness)
	Unchanged ExactPair           `json:"unchanged"` // a place as it was displayed last
	Known     ExactPair           `json:"known"`     // a place as it follows from what was displayed, changed ones too
	Decided   ExactPair           `json:"decided"`   // all of these together
	All       ExactPair           `json:"all"`

	// The model's own claim that the episode is won, where the last answer was
	// foretold: share of the winning commands that have it, and share of claims that hold.
	WonRecall    selfassess.Estimate `json:"won_recall"`
	WonPrecision selfassess.Estimate `json:"won_precision"`

	Rows []WorldRow `json:"rows"`
}

// ExactPair is a share of exact answers of the model alone, and with the memory of
// seen text ([reflexion.SeenMemory]) that answers for it as in play.
type ExactPair struct {
	Alone  selfassess.Estimate `json:"alone"`
	Recall selfassess.Estimate `json:"recall"`
}

// WorldRow are the figures of one kind of answer.
type WorldRow struct {
	Kind    string  `json:"kind"`
	N       int     `json:"n"`
	Decided bool    `json:"decided"` // text and rules leave only this answer
	Exact   float64 `json:"exact"`
	Recall  float64 `json:"recall"`
}

// foretold is one answer and what the model made of it.
type foretold struct {
	task    string
	kind    string
	class   answerClass
	nothing bool
	fresh   bool    // the command was not given before in the episode
	p       float64 // of "Nothing happens."; NaN where the model gives none
	exact   bool
	recall  bool // exact with the memory
	won     bool // the command won the episode
	claimed bool // the model claimed so
}

// answerClass says what decides an answer.
type answerClass int

const (
	undecided answerClass = iota // first looks, and failures that the text doesn't tell
	works                        // an action that succeeded
	mustFail
	unchanged // contents as displayed last
	changed   // contents displayed, and changed by the player since
)

// CheckWorld judges a model as a world model on recorded episodes. Workers and
// progress as in [Bench].
func CheckWorld(ctx context.Context, m llm.Model, es []*Episode, workers int, progress io.Writer, tty bool) (*WorldCheck, error) {
	if len(es) == 0 {
		return nil, errors.New("train: no episodes to check a world model on")
	}
	out := &WorldCheck{Model: m.Info().Name, Actor: es[0].Agent.Model.Name, Episodes: len(es)}
	type result struct {
		rows   []foretold
		unread int
	}
	var all []foretold
	p := NewProgress(progress, tty, "world", 0, len(es))
	defer p.Close()
	err := Ordered(ctx, workers, 0, len(es), func(ctx context.Context, i int) (result, error) {
		rows, unread, err := foretell(ctx, m, es[i])
		return result{rows, unread}, err
	}, func(i int, r result) error {
		all = append(all, r.rows...)
		out.Unread += r.unread
		p.Add(1, "")
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.sum(all)
	return out, nil
}

// foretell asks the model for the answer to every command of an episode, each time
// from the true text so far, and reports the commands that its context didn't hold.
func foretell(ctx context.Context, m llm.Model, e *Episode) (rows []foretold, unread int, err error) {
	fail := func(err error) ([]foretold, int, error) {
		return nil, 0, fmt.Errorf("train: episode %s: %w", e.ID, err)
	}
	w, err := corpus.NewWitness(llm.RenderTask(e.Goal, e.Room))
	if err != nil {
		return fail(err)
	}
	t := reflexion.TemplateFor(m.Info())
	s, err := m.Open(ctx, t.Prompt(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections))
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if e.Plan != "" {
		if _, err := s.Append(ctx, llm.RenderPlan(e.Plan)); err != nil {
			return fail(err)
		}
	}
	memory := reflexion.NewSeenMemory(nil)
	shown := map[string]string{} // the last displayed text of each place
	given := map[string]bool{}
	pairs := e.Pairs()
	for i, pr := range pairs {
		head := strings.TrimSuffix(t.Pair(pr), llm.RenderObservation(pr.Observation))
		_, err := s.Append(ctx, head)
		if errors.Is(err, llm.ErrContext) {
			return rows, len(pairs) - i, nil
		} else if err != nil {
			return fail(err)
		}
		out, _, err := s.Sample(ctx, llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 1, MaxTokens: 400})
		if errors.Is(err, llm.ErrContext) {
			return rows, len(pairs) - i, nil
		} else if err != nil {
			return fail(err)
		} else if len(out) == 0 {
			return fail(errors.New("the model returned no continuation"))
		}
		imagined := llm.Parse(head + out[0].Text)
		row := foretold{task: e.Task, nothing: pr.Observation == nothing, fresh: !given[pr.Action], p: math.NaN(), won: e.Steps[i].Success, claimed: imagined.Claim == "won"}
		if len(out[0].Nothing) > 0 {
			row.p = out[0].Nothing[0]
		}
		text := ""
		if n := len(imagined.Pairs); n > 0 {
			text = imagined.Pairs[n-1].Observation
		}
		row.exact = text == pr.Observation
		row.recall = row.exact
		seen, known := memory.Recall(pr.Action)
		if known && text != nothing { // as in play: a model that foresees a failure is believed
			row.recall = seen == pr.Observation
		}
		row.kind, row.class = kindOf(pr, w, shown, known && seen == pr.Observation)
		rows = append(rows, row)

		given[pr.Action] = true
		memory.Add(pr)
		w.Add(pr.Action, pr.Observation)
		if _, err := s.Append(ctx, llm.RenderObservation(pr.Observation)); errors.Is(err, llm.ErrContext) {
			return rows, len(pairs) - i - 1, nil
		} else if err != nil {
			return fail(err)
		}
	}
	return rows, 0, nil
}

// kindOf names an answer and says what decides it. shown is brought up to date.
// recalled says that the memory of seen text gives this very answer.
func kindOf(pr llm.Pair, w *corpus.Witness, shown map[string]string, recalled bool) (string, answerClass) {
	verb, _, _ := strings.Cut(pr.Action, " ")
	if pr.Observation == nothing {
		if w.MustFail(pr.Action) {
			return "fails: " + w.Reason(pr.Action), mustFail
		}
		return "fails, not told: " + w.Reason(pr.Action), undecided
	}
	switch verb {
	case "take", "move", "clean", "heat", "cool", "use":
		return verb, works
	case "go", "open", "examine":
	default:
		return "other", undecided
	}
	place := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(pr.Action, "go to "), "open "), "examine ")
	look := strings.TrimPrefix(pr.Observation, "You open the "+place+". ")
	before, ok := shown[place]
	shown[place] = look
	closed := strings.HasSuffix(look, " is closed.")
	switch {
	case recalled && before == look && closed:
		return verb + ": is closed, seen before", unchanged
	case recalled && before == look:
		return verb + ": seen, unchanged", unchanged
	case recalled:
		return verb + ": seen, changed", changed
	case closed:
		return verb + ": is closed, first look", undecided
	case ok && verb != "open":
		return verb + ": seen, not told", undecided
	}
	return verb + ": first look", undecided
}

// sum fills the figures.
func (c *WorldCheck) sum(all []foretold) {
	c.Commands = len(all)
	tasks := map[string]bool{}
	var pred, fresh []selfassess.Prediction
	rows := map[string]*WorldRow{}
	for _, r := range all {
		tasks[r.task] = true
		if !math.IsNaN(r.p) {
			x := selfassess.Prediction{Task: r.task, Label: one(r.nothing), P: r.p}
			pred = append(pred, x)
			if r.fresh {
				fresh = append(fresh, x)
			}
		}
		row := rows[r.kind]
		if row == nil {
			row = &WorldRow{Kind: r.kind, Decided: r.class != undecided}
			rows[r.kind] = row
		}
		row.N++
		row.Exact += one(r.exact)
		row.Recall += one(r.recall)
	}
	c.Games = len(tasks)
	mean := func(in func(foretold) bool, value func(foretold) float64) selfassess.Estimate {
		return meanOf(all, in, value)
	}
	c.NothingAUROC = selfassess.MetricsOf(pred, selfassess.PositionAll, selfassess.Bootstrap{}).AUROC
	c.NothingFresh = selfassess.MetricsOf(fresh, selfassess.PositionAll, selfassess.Bootstrap{}).AUROC
	c.FreshShare = mean(func(foretold) bool { return true }, func(r foretold) float64 { return one(r.fresh) })
	c.NothingShare = mean(func(foretold) bool { return true }, func(r foretold) float64 { return one(r.nothing) })
	p := func(r foretold) float64 { return r.p }
	c.PWhenNothing = mean(func(r foretold) bool { return r.nothing && !math.IsNaN(r.p) }, p)
	c.PWhenEffect = mean(func(r foretold) bool { return !r.nothing && !math.IsNaN(r.p) }, p)
	pair := func(in func(answerClass) bool) ExactPair {
		counts := func(r foretold) bool { return in(r.class) }
		return ExactPair{
			mean(counts, func(r foretold) float64 { return one(r.exact) }),
			mean(counts, func(r foretold) float64 { return one(r.recall) }),
		}
	}
	c.Works = pair(func(x answerClass) bool { return x == works }).Alone
	c.MustFail = pair(func(x answerClass) bool { return x == mustFail }).Alone
	c.Unchanged = pair(func(x answerClass) bool { return x == unchanged })
	c.Known = pair(func(x answerClass) bool { return x == unchanged || x == changed })
	c.Decided = pair(func(x answerClass) bool { return x != undecided })
	c.All = pair(func(answerClass) bool { return true })
	c.WonRecall = mean(func(r foretold) bool { return r.exact && r.won }, func(r foretold) float64 { return one(r.claimed) })
	c.WonPrecision = mean(func(r foretold) bool { return r.exact && r.claimed }, func(r foretold) float64 { return one(r.won) })
	for _, r := range rows {
		r.Exact, r.Recall = r.Exact/float64(r.N), r.Recall/float64(r.N)
		c.Rows = append(c.Rows, *r)
	}
	sort.Slice(c.Rows, func(i, j int) bool { return c.Rows[i].Kind < c.Rows[j].Kind })
}

// meanOf is the pooled mean of a value over the rows that count.
func meanOf(all []foretold, counts func(foretold) bool, value func(foretold) float64) selfassess.Estimate {
	var m means
	for _, r := range all {
		if counts(r) {
			m.add(r.task, value(r))
		}
	}
	return m.estimate()
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
