package ensemble

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess/msv"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// execute is phase 4.
func (r *run) execute(ctx context.Context) error {
	if r.res.System == 1 {
		return r.bag(ctx)
	}
	return r.boost(ctx)
}

var tasks = [Roles]string{
	Expert:      "You are the domain expert. Answer the question as well as you can.",
	Critic:      "You are the critic. Find errors, gaps and unfounded claims in the contributions; say what should be changed, and answer the question yourself where they fail.",
	Evaluator:   "You are the evaluator. Weigh the contributions against each other: which claims hold, which do not, and what follows for the answer.",
	Synthesizer: "You are the synthesizer. Write the final answer to the question from the contributions.",
	Generalist:  "Answer the question.",
}

const tail = "\nEnd with one line: CONFIDENCE: <0-100> CONFLICT: <0-100> (how sure you are of the answer; how much the contributions contradict each other)."

var said = regexp.MustCompile(`(?i)\s*[*_]*CONFIDENCE[*_]*\s*[:=]\s*<?(\d+(?:\.\d+)?)\s*%?>?[,;]?\s*(?:[*_]*CONFLICT[*_]*\s*[:=]\s*<?(\d+(?:\.\d+)?)\s*%?>?)?[*_.]*\s*$`)

// takeRatings reads the last line and takes it off the text; −1 = not said.
func takeRatings(text string) (rest string, confidence, conflict float64) {
	confidence, conflict = -1, -1
	m := said.FindStringSubmatchIndex(text)
	if m == nil {
		return strings.TrimSpace(text), confidence, conflict
	}
	get := func(i int) float64 {
		if m[i] < 0 {
			return -1
		}
		x, err := strconv.ParseFloat(text[m[i]:m[i+1]], 64)
		if err != nil || x > 100 {
			return -1
		}
		return x
	}
	return strings.TrimSpace(text[:m[0]]), get(2), get(4)
}

// ask lets one node work in its role. seen are the contributions that reach it.
func (r *run) ask(ctx context.Context, i int, task string, seen []Contribution, what ...any) Contribution {
	s := r.res.States[i]
	c := Contribution{Node: s.Node, Role: s.Role, Confidence: -1, Conflict: -1, Cluster: 1, index: i}
	var b strings.Builder
	for _, x := range seen {
		w := r.graph.weight(r.res.States, x.index, i)
		if x.index != i && w < r.cfg.Graph.Quiet {
			continue
		}
		fmt.Fprintf(&b, "--- %s (weight %.2f):\n%s\n", x.Role, w, x.Text)
	}
	text := r.q.Text
	if b.Len() > 0 {
		text += "\n\nContributions so far:\n" + b.String()
	}
	msgs := append([]chat.Message{{Role: chat.System, Content: task + tail}}, r.q.History...)
	a, err := r.nodes[i].Model.Ask(ctx, chat.Request{
		Messages: append(msgs, chat.Message{Role: chat.User, Content: text}), Temperature: r.cfg.Temperature, MaxTokens: r.cfg.MaxTokens,
		Seed: rng.Seed(r.cfg.Seed, append([]any{"ask", i, int(s.Role)}, what...)...),
	})
	r.spend(a.Usage)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.Text, c.Confidence, c.Conflict = takeRatings(a.Text)
	return c
}

// bag is System 1: all nodes answer at once, independently.
func (r *run) bag(ctx context.Context) error {
	out := make([]Contribution, len(r.nodes))
	var wg sync.WaitGroup
	for i := range r.nodes {
		wg.Go(func() {
			out[i] = r.ask(ctx, i, tasks[Generalist], nil)
			r.event(Event{Phase: 4, Kind: "contribution", Contribution: &out[i]})
		})
	}
	wg.Wait()
	r.res.Contributions = out
	if !slices.ContainsFunc(out, func(c Contribution) bool { return c.Error == "" }) {
		return fmt.Errorf("%w: the first error: %s", ErrNoNode, out[0].Error)
	}
	return ctx.Err()
}

// boost is System 2: role after role, each output enriching the next. It stops
// early when two confidences in a row are high, or a critic or evaluator sees next
// to no conflict.
func (r *run) boost(ctx context.Context) error {
	last, texts, first := -1., 0, ""
	for _, role := range order {
		members := r.members(role)
		if len(members) == 0 {
			continue
		}
		c := r.stage(ctx, role, members)
		if err := ctx.Err(); err != nil {
			return err
		}
		r.res.Contributions = append(r.res.Contributions, c)
		r.event(Event{Phase: 4, Kind: "contribution", Contribution: &c})
		if c.Error != "" {
			if first == "" {
				first = c.Error
			}
			continue
		}
		texts++
		r.learn(c)
		if role == Synthesizer {
			break
		}
		switch {
		case last > r.cfg.EarlyConfidence && c.Confidence > r.cfg.EarlyConfidence:
			r.res.EarlyStop = fmt.Sprintf("two confidences in a row are above %.0f (%.0f, %.0f)", r.cfg.EarlyConfidence, last, c.Confidence)
		case texts > 1 && c.Conflict >= 0 && c.Conflict < r.cfg.EarlyConflict:
			r.res.EarlyStop = fmt.Sprintf("conflict %.0f is below %.0f", c.Conflict, r.cfg.EarlyConflict)
		}
		if r.res.EarlyStop != "" {
			break
		}
		last = c.Confidence
	}
	if texts > 0 {
		return nil
	}
	// No role could be filled by a working node: whoever is left answers.
	for _, i := range r.members(Generalist) {
		c := r.ask(ctx, i, tasks[Generalist], nil)
		r.res.Contributions = append(r.res.Contributions, c)
		r.event(Event{Phase: 4, Kind: "contribution", Contribution: &c})
		if c.Error == "" {
			return nil
		}
		if first == "" {
			first = c.Error
		}
	}
	return fmt.Errorf("%w: the first error: %s", ErrNoNode, first)
}

// members are the nodes of a role, the fittest first.
func (r *run) members(role Role) []int {
	var out []int
	for i, s := range r.res.States {
		if s.Role == role {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		x, y := Fitness(role, r.res.States[a].Values), Fitness(role, r.res.States[b].Values)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return out
}

// stage runs one role. Several nodes of a role confer first: all answer, and the
// fittest one makes one contribution of it. A lost node is replaced by the next.
func (r *run) stage(ctx context.Context, role Role, members []int) Contribution {
	seen := r.heard()
	if len(members) == 1 {
		return r.ask(ctx, members[0], tasks[role], seen)
	}
	out := make([]Contribution, len(members))
	var wg sync.WaitGroup
	for k, i := range members {
		wg.Go(func() { out[k] = r.ask(ctx, i, tasks[role], seen) })
	}
	wg.Wait()
	good := slices.DeleteFunc(slices.Clone(out), func(c Contribution) bool { return c.Error != "" })
	switch len(good) {
	case 0:
		return out[0]
	case 1:
		return good[0]
	}
	lead := good[0].index
	c := r.ask(ctx, lead, tasks[role]+" Your colleagues of the same role have spoken, too: make one contribution of all.", append(seen, good...), "caucus")
	if c.Error != "" {
		c = good[0]
	}
	c.Cluster = len(good)
	return c
}

// heard are the contributions with a text.
func (r *run) heard() []Contribution {
	return slices.DeleteFunc(slices.Clone(r.res.Contributions), func(c Contribution) bool { return c.Error != "" })
}

// learn updates the node's state by what it said of its output, and with it the
// activations; a role change that is likely enough happens, for a node whose work is
// done.
func (r *run) learn(c Contribution) {
	s := &r.res.States[c.index]
	if c.Confidence >= 0 {
		s.Values[msv.CE] = c.Confidence / 100
	}
	if c.Conflict >= 0 {
		s.Values[msv.CI] = c.Conflict / 100
	}
	r.snapshot("after " + c.Role.String())
	p := r.cfg.Graph.Transition(s.Role, s.Values)
	to := s.Role
	for x, v := range p {
		if v > r.cfg.Graph.Switch && v > p[to] {
			to = Role(x)
		}
	}
	// A role whose turn is over can't be played any more.
	if to != s.Role && (position(to) < 0 || position(to) > position(c.Role)) {
		r.event(Event{Phase: 4, Kind: "note", Note: fmt.Sprintf("%s changes from %s to %s (%.2f)", s.Node, s.Role, to, p[to])})
		s.Role = to
		r.snapshot("role change of " + s.Node)
	}
}

// synthesize is phase 5: contributions weighted by the states. Where the answers
// are one, the weightiest is the text; else a node writes the text from all, and
// shows the disagreement when the conflict signal is up.
func (r *run) synthesize(ctx context.Context) error {
	r.weigh()
	good := r.heard()
	if len(good) == 0 {
		return errors.New("nothing to put together")
	}
	last := good[len(good)-1]
	top := good[0]
	for _, c := range good {
		if c.Weight > top.Weight {
			top = c
		}
	}
	switch {
	case r.res.System == 2 && last.Role == Synthesizer && !r.res.Disagreement:
		r.res.Text, r.res.Synthesis = last.Text, "written by the synthesizer from "+count(len(good)-1, "contribution")
	case len(good) == 1:
		r.res.Text, r.res.Synthesis = top.Text, "the only contribution"
	case r.res.System == 1 && !r.res.Disagreement:
		win, share := r.vote(good)
		r.res.Text, r.res.Synthesis = win.Text, fmt.Sprintf("the answer with %.0f %% of the weight, as %s put it", 100*share, win.Node)
	default:
		if err := r.compose(ctx, good, top); err != nil {
			return err
		}
	}
	r.snapshot("synthesis")
	c := r.res
	r.event(Event{Phase: 5, Kind: "synthesis", Note: r.res.Synthesis, Result: &c})
	if r.q.Emit != nil {
		return r.q.Emit(r.res.Text)
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// weigh gives every contribution its share: confidence times activation.
func (r *run) weigh() {
	sum := 0.
	for i := range r.res.Contributions {
		c := &r.res.Contributions[i]
		if c.Error != "" {
			continue
		}
		v := r.res.States[c.index].Values
		c.Weight = max(v[msv.CE], .01) * r.cfg.Graph.Activation(v) // an unrated node has a small say
		sum += c.Weight
	}
	for i := range r.res.Contributions {
		if sum > 0 {
			r.res.Contributions[i].Weight /= sum
		}
	}
}

// vote finds the answer with the largest weight among texts that agree on their
// last word: the final answer.
func (r *run) vote(good []Contribution) (Contribution, float64) {
	var best Contribution
	most := -1.
	for _, a := range good {
		sum := 0.
		x := deliberate.FinalAnswer(a.Text)
		for _, b := range good {
			if agree(x, deliberate.FinalAnswer(b.Text)) {
				sum += b.Weight
			}
		}
		if sum > most+1e-12 || sum > most-1e-12 && a.Weight > best.Weight {
			best, most = a, sum
		}
	}
	return best, most
}

// compose has one node write the final text: a synthesizer, or the weightiest.
func (r *run) compose(ctx context.Context, good []Contribution, top Contribution) error {
	lead := top.index
	if m := r.members(Synthesizer); len(m) > 0 {
		lead = m[0]
	}
	task := "Write the final answer to the question from the contributions, in proportion to their weights."
	if r.res.Disagreement {
		task += " They disagree: say clearly on what, who holds which view and how sure each is. Do not force a consensus."
	}
	c := r.ask(ctx, lead, task, good, "synthesis")
	if c.Error != "" {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.res.Text, r.res.Synthesis = top.Text, fmt.Sprintf("the weightiest contribution: the synthesis by %s failed: %s", c.Node, c.Error)
		return nil
	}
	r.res.Text, r.res.Synthesis = c.Text, fmt.Sprintf("written by %s from %s", c.Node, count(len(good), "contribution"))
	if r.res.Disagreement {
		r.res.Synthesis += "; it shows the disagreement"
	}
	return nil
}
