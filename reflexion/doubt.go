package reflexion

import (
	"context"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate"
)

// Forget says when commands that failed are kept out of the text that the model
// goes on from. A command that the game refuses changes nothing in the room, so
// leaving it out loses nothing about the room; but a language model reads its own
// failures as a sign that a failing player is at work, and goes on failing.
type Forget string

const (
	ForgetNever  Forget = ""
	ForgetDoubt  Forget = "doubt"  // futures of second thoughts are imagined without them
	ForgetAlways Forget = "always" // so are all others, and the commands of plain sampling
)

// SecondThoughts returns c with the settings that win on val games
// (docs/second-thoughts.md): the world model foresees failures that the transcript
// gives away, and a decision without a promising future is thought over, up to three
// times, on a text without the agent's failures.
func SecondThoughts(c Config) Config {
	c.Rethink, c.Doubt, c.Forget, c.Foresee = 3, 0.15, ForgetDoubt, true
	return c
}

// heat is what each round of second thoughts adds to the temperature.
const heat = 0.25

// memory is what futures are imagined with.
func (a *agent) memory(c *Carry) func([]llm.Pair, string) (string, bool) {
	if a.cfg.Foresee {
		return ForeseeFrom(c.Task.Room, c.Pairs, c.Task.Known...)
	}
	return RecallFrom(c.Pairs, c.Task.Known...)
}

// doubtful reports whether a decision deserves second thoughts: no future is worth
// taking, as each either has P below Config.Doubt or begins with a command that has
// failed since anything last worked, hence will fail again.
func (a *agent) doubtful(c *Carry, cands []Candidate, d []selfregulate.Candidate) bool {
	for i, cand := range cands {
		if !cand.Valid || futile(c.Pairs, cand.Pairs[0].Action) {
			continue
		}
		if !d[i].Assessed || d[i].Assessment.P >= a.cfg.Doubt {
			return false
		}
	}
	return true
}

// futile reports whether a command failed since anything last worked. What failed
// changed nothing, so the game would answer the same.
func futile(history []llm.Pair, action string) bool {
	for i := len(history) - 1; i >= 0 && history[i].Observation == llm.NothingHappens; i-- {
		if history[i].Action == action {
			return true
		}
	}
	return false
}

// again turns the request of the first futures into that of a later round.
func (a *agent) again(c *Carry, r *llm.Request, round int) {
	r.Seed = rng.Seed(c.Seed, "step", len(c.Pairs), "again", round)
	r.Temperature += heat * float64(round)
}

// sampleFrom is sample, or the same on the text without failed commands.
func (a *agent) sampleFrom(ctx context.Context, c *Carry, r llm.Request, lucid bool) ([]llm.Completion, llm.Usage, error) {
	if !lucid || len(worked(c.Pairs)) == len(c.Pairs) && c.From == 0 {
		return a.sample(ctx, c, r)
	}
	l := c.lucid()
	out, u, err := a.sample(ctx, l, r)
	c.keep(l)
	return out, u, err
}

// lucid is the carry as if the failed commands had not been sent, until [Carry.keep].
func (c *Carry) lucid() *Carry {
	return &Carry{
		Task: c.Task, Reflections: c.Reflections, Plan: c.Plan, Pairs: worked(c.Pairs), Seed: c.Seed,
		Session: c.Lucid, From: c.LucidFrom,
	}
}

// keep takes back what changed in l.
func (c *Carry) keep(l *Carry) {
	c.Lucid, c.LucidFrom = l.Session, l.From
	c.usage = c.usage.Add(l.takeUsage())
	c.events = append(c.events, l.takeEvents()...)
}

// forgotten reports whether p stays out of the agent's text.
func (a *agent) forgotten(p llm.Pair) bool {
	return a.cfg.Forget == ForgetAlways && p.Observation == llm.NothingHappens
}

// worked are the pairs that did something.
func worked(ps []llm.Pair) []llm.Pair {
	var out []llm.Pair
	for _, p := range ps {
		if p.Observation != llm.NothingHappens {
			out = append(out, p)
		}
	}
	return out
}
