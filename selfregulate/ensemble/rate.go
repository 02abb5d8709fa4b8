package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess/msv"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// run is one query on its way through the phases.
type run struct {
	*Ensemble
	q     Query
	graph *graph

	mu  sync.Mutex
	res Result
}

func (r *run) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cfg.Observe != nil {
		r.cfg.Observe(e)
	}
}

func (r *run) spend(u llm.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Usage = r.res.Usage.Add(u)
}

// rate is phase 1: every node rates the query, all at the same time; then the
// measured channels are filled in.
func (r *run) rate(ctx context.Context) error {
	r.res.States = make([]State, len(r.nodes))
	var wg sync.WaitGroup
	for i, n := range r.nodes {
		wg.Go(func() {
			s := State{Node: n.Name, Role: Generalist}
			rep, err := r.report(ctx, i)
			if err != nil {
				s.Error = err.Error()
			} else {
				s.Rated, s.Vector, s.Quick = true, rep.Vector, rep.Quick
			}
			r.res.States[i] = s
		})
	}
	wg.Wait()
	if err := r.measure(ctx); err != nil {
		return err
	}
	for i := range r.res.States {
		s := &r.res.States[i]
		if s.Rated {
			s.Values = s.Vector.Values(r.cfg.Weights)
		}
		r.event(Event{Phase: 1, Kind: "state", State: s})
	}
	return ctx.Err()
}

// report asks one node; an unreadable answer is asked for again with its error.
func (r *run) report(ctx context.Context, i int) (msv.Report, error) {
	msgs := []chat.Message{{Role: chat.User, Content: msv.Prompt(r.context())}}
	for try := 0; ; try++ {
		a, err := r.nodes[i].Model.Ask(ctx, chat.Request{Messages: msgs, MaxTokens: r.cfg.RatingTokens, Schema: msv.Schema(), Seed: rng.Seed(r.cfg.Seed, "rate", i, try)})
		r.spend(a.Usage)
		if err != nil {
			return msv.Report{}, fmt.Errorf("rating by %s: %w", r.nodes[i].Name, err)
		}
		rep, err := msv.Parse(a.Text)
		if err == nil || try >= r.cfg.Retries {
			if err != nil {
				err = fmt.Errorf("rating by %s, asked %d times: %w", r.nodes[i].Name, try+1, err)
			}
			return rep, err
		}
		msgs = append(msgs[:1:1], chat.Message{Role: chat.Assistant, Content: a.Text},
			chat.Message{Role: chat.User, Content: err.Error() + ". Reply again, with the JSON object only."})
	}
}

// context is the query with the turns before it.
func (r *run) context() string {
	var b strings.Builder
	for _, m := range r.q.History {
		if m.Role != chat.System {
			fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content)
		}
	}
	b.WriteString(r.q.Text)
	return b.String()
}

// measure fills the measured channels: EM by the embedder, CE by the judge, CI by
// the disagreement of the quick answers. An instrument that is away measures
// nothing, which is noted.
func (r *run) measure(ctx context.Context) error {
	states := r.res.States
	if r.cfg.Embedder != nil && len(r.cfg.Memory) > 0 {
		sim, err := r.familiarity(ctx)
		if err != nil {
			r.event(Event{Phase: 1, Kind: "note", Note: "familiarity is not measured: " + err.Error()})
		}
		for i := range states {
			if err == nil && states[i].Rated {
				states[i].Vector.Knowledge.Measure(sim, "embedder")
			}
		}
	}
	if r.cfg.Judge != nil {
		var (
			c  []deliberate.Candidate
			of []int
		)
		for i, s := range states {
			if s.Rated && s.Quick != "" {
				c, of = append(c, deliberate.Candidate{Kind: deliberate.KindAnswer, Text: "Final answer: " + s.Quick, Answer: s.Quick}), append(of, i)
			}
		}
		if len(c) > 0 {
			v, err := r.cfg.Judge.Score(ctx, r.context(), c)
			r.spend(v.Usage)
			if err == nil && len(v.Scores) != len(c) {
				err = fmt.Errorf("%w: %d scores of %d", deliberate.ErrVerdict, len(v.Scores), len(c))
			}
			if err != nil {
				r.event(Event{Phase: 1, Kind: "note", Note: "correctness is not measured: " + err.Error()})
			} else {
				for k, i := range of {
					states[i].Vector.Facts.Measure(v.Scores[k], "judge")
				}
			}
		}
	}
	r.disagree()
	return ctx.Err()
}

// familiarity is the largest cosine similarity of the query to the memory.
func (r *run) familiarity(ctx context.Context) (float64, error) {
	rows, err := r.cfg.Embedder.Embed(ctx, append([]string{r.q.Text}, r.cfg.Memory...))
	if err != nil {
		return 0, err
	}
	if len(rows) != len(r.cfg.Memory)+1 {
		return 0, errors.New("the embedder lost a text")
	}
	best := math.Inf(-1)
	for _, row := range rows[1:] {
		dot := 0.
		for k, x := range row {
			dot += float64(x) * float64(rows[0][k])
		}
		best = max(best, dot)
	}
	return best, nil
}

// disagree measures, for each node, the share of other nodes with another quick
// answer. Two answers at least are needed.
func (r *run) disagree() {
	var with []int
	for i, s := range r.res.States {
		if s.Rated && s.Quick != "" {
			with = append(with, i)
		}
	}
	if len(with) < 2 {
		return
	}
	for _, i := range with {
		other := 0.
		for _, k := range with {
			if !agree(r.res.States[i].Quick, r.res.States[k].Quick) {
				other++
			}
		}
		r.res.States[i].Vector.Sources.Measure(other/float64(len(with)-1), "quick answers")
	}
}

// agree takes two short answers for one when they are the same, or one is contained
// in the other, word by word ("Sacramento", "It is Sacramento.").
func agree(a, b string) bool {
	if deliberate.Same(a, b) {
		return true
	}
	words := func(s string) string {
		return " " + strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !(r == '\'' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127)
		}), " ") + " "
	}
	x, y := words(a), words(b)
	return len(strings.TrimSpace(x)) > 0 && len(strings.TrimSpace(y)) > 0 && (strings.Contains(x, y) || strings.Contains(y, x))
}

// rated returns the values of the nodes that rated, and their indices.
func (r *run) rated() (vs []msv.Values, of []int) {
	for i, s := range r.res.States {
		if s.Rated {
			vs, of = append(vs, s.Values), append(of, i)
		}
	}
	return vs, of
}

// decide is phase 3: the aggregate against the thresholds.
func (r *run) decide(context.Context) error {
	vs, _ := r.rated()
	r.res.Aggregate, r.res.Conflict = msv.Mean(vs), msv.Conflict(vs)
	r.res.System, r.res.Reason = r.cfg.Thresholds.Choose(vs)
	if len(vs) == 0 {
		r.res.Conflict = 0
	}
	if r.res.System == 2 {
		r.res.Aggregate = msv.MeanByCE(vs)
	}
	r.res.Disagreement = len(vs) > 0 && 100*r.res.Conflict > r.cfg.Thresholds.CI
	c := r.res
	r.event(Event{Phase: 3, Kind: "system", Note: r.res.Reason, Result: &c})
	return nil
}

// Choose decides between the systems and says why. All means are arithmetic (the
// aggregate of System 1: the decision comes before System 2's own weighting). Without
// any rating it is System 2: nothing speaks for haste.
func (t Thresholds) Choose(vs []msv.Values) (system int, reason string) {
	if len(vs) == 0 {
		return 2, "no node could rate the query"
	}
	m, ci := msv.Mean(vs), 100*msv.Conflict(vs)
	var why []string
	if x := 100 * m[msv.CE]; x < t.CE {
		why = append(why, fmt.Sprintf("mean confidence CE %.0f is below %.0f", x, t.CE))
	}
	if x := 100 * m[msv.EM]; x < t.EM {
		why = append(why, fmt.Sprintf("mean familiarity EM %.0f is below %.0f", x, t.EM))
	}
	if ci > t.CI {
		why = append(why, fmt.Sprintf("conflict CI (75th percentile) %.0f is above %.0f", ci, t.CI))
	}
	if x := 100 * m[msv.PI]; x > t.PI {
		why = append(why, fmt.Sprintf("mean importance PI %.0f is above %.0f", x, t.PI))
	}
	if len(why) > 0 {
		return 2, strings.Join(why, "; ")
	}
	return 1, fmt.Sprintf("CE %.0f ≥ %.0f, EM %.0f ≥ %.0f, CI %.0f ≤ %.0f, PI %.0f ≤ %.0f",
		100*m[msv.CE], t.CE, 100*m[msv.EM], t.EM, ci, t.CI, 100*m[msv.PI], t.PI)
}
