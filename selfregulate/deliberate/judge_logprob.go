package deliberate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
)

// alternatives is how many next tokens are asked for: the most that servers give.
const alternatives = 20

// LogProb is a judge that reads P(yes) from the next-token probabilities of a
// frozen model: one forward pass a candidate, no text is generated. Spellings of
// yes and of no are summed, then the two are normalised. The probabilities are those
// before sampling settings. The question is always whether something is right:
// asking whether it is wrong measured worse than no judge.
//
// A server that sends no log probabilities is an error that matches
// chat.ErrUnable; use [Vote] there. Safe for concurrent use.
type LogProb struct {
	Model chat.Model
	// Chars of a candidate that are shown, counted from its end (the end says where a
	// path is going); 0 = 6000.
	Chars int
	// Parallel questions at a time; 0 = 8.
	Parallel int
	// Orders in which Choose shows the candidates, against a preference for positions;
	// 0 = 1.
	Orders int
}

// Identity is the model's.
func (j *LogProb) Identity() string { return j.Model.Identity() }

// Ready refuses a model without log probabilities, before anything is spent.
func (j *LogProb) Ready(ctx context.Context) error { return j.Model.Probe(ctx, chat.LogProbs) }

// Score asks one question for each candidate.
func (j *LogProb) Score(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	return each(ctx, c, j.Parallel, func(ctx context.Context, _ int, c Candidate) (float64, llm.Usage, error) {
		probs, u, err := j.next(ctx, Question(problem, c, j.Chars))
		if err != nil {
			return math.NaN(), u, err
		}
		p, err := pYes(probs)
		if err != nil {
			return math.NaN(), u, fmt.Errorf("%s: %w", j.Identity(), err)
		}
		return p, u, nil
	})
}

// next returns the alternatives of the first token of the reply.
func (j *LogProb) next(ctx context.Context, question string) ([]chat.Token, llm.Usage, error) {
	a, err := j.Model.Ask(ctx, chat.Request{
		Messages: []chat.Message{{Role: chat.User, Content: question}}, MaxTokens: 1, TopLogProbs: alternatives,
	})
	if err != nil {
		return nil, a.Usage, err
	}
	if len(a.LogProbs) == 0 || len(a.LogProbs[0].Top) == 0 {
		return nil, a.Usage, fmt.Errorf("%w: %s sends no log probabilities (llama.cpp, vLLM and Ollama ≥ 0.12.11 do, with top_logprobs); use the vote judge instead", chat.ErrUnable, j.Identity())
	}
	return a.LogProbs[0].Top, a.Usage, nil
}

// word takes a token's spelling apart from its meaning: " Yes", "▁yes", "YES.".
func word(token string) string {
	token = strings.TrimLeft(token, "▁Ġ")
	return strings.ToLower(strings.TrimFunc(token, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}

// pYes is P(yes) / (P(yes) + P(no)). A word that is not listed has at most the
// smallest listed probability, and at most what the listed ones leave: that bound is
// taken, never 0.
func pYes(top []chat.Token) (float64, error) {
	var yes, no, sum float64
	least := 1.
	for _, t := range top {
		p := math.Exp(t.LogProb)
		if p != p || p > 1+1e-3 {
			return 0, fmt.Errorf("log probability %v of %q", t.LogProb, t.Text)
		}
		sum += p
		least = min(least, p)
		switch word(t.Text) {
		case "yes":
			yes += p
		case "no":
			no += p
		}
	}
	bound := max(0, min(least, 1-sum))
	if yes+no < 1e-3 {
		return 0, fmt.Errorf("neither yes nor no is among the likely next tokens (the likeliest is %q): a thinking model must be told not to think", top[0].Text)
	}
	if yes == 0 {
		yes = min(bound, no)
	}
	if no == 0 {
		no = min(bound, yes)
	}
	return yes / (yes + no), nil
}

// Choose asks which candidate is right, by letters, in Orders rotations.
func (j *LogProb) Choose(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	if len(c) > maxChoices {
		return Verdict{}, fmt.Errorf("deliberate: %d candidates; a comparative question takes at most %d", len(c), maxChoices)
	}
	orders := min(max(j.Orders, 1), len(c))
	turns := make([]Candidate, orders)
	shares := make([][]float64, orders)
	v, err := each(ctx, turns, j.Parallel, func(ctx context.Context, k int, _ Candidate) (float64, llm.Usage, error) {
		shift := k * len(c) / orders
		shown := make([]Candidate, len(c))
		for i := range c {
			shown[i] = c[(i+shift)%len(c)]
		}
		top, u, err := j.next(ctx, choiceQuestion(problem, shown, j.Chars))
		if err != nil {
			return math.NaN(), u, err
		}
		s := make([]float64, len(c))
		total := 0.
		for _, t := range top {
			if w := word(t.Text); len(w) == 1 && w[0] >= 'a' && int(w[0]-'a') < len(c) {
				s[(int(w[0]-'a')+shift)%len(c)] += math.Exp(t.LogProb)
				total += math.Exp(t.LogProb)
			}
		}
		if total < 1e-3 {
			return math.NaN(), u, fmt.Errorf("%s: no letter is among the likely next tokens (the likeliest is %q)", j.Identity(), top[0].Text)
		}
		for i := range s {
			s[i] /= total
		}
		shares[k] = s
		return 0, u, nil
	})
	if err != nil {
		return v, err
	}
	out := make([]float64, len(c))
	n := 0.
	for _, s := range shares {
		if s == nil {
			continue
		}
		n++
		for i := range s {
			out[i] += s[i]
		}
	}
	for i := range out {
		out[i] = min(1, out[i]/n)
	}
	v.Scores = out
	return v, nil
}

// Vote is a judge for servers without log probabilities: it samples Votes answers
// to the same question and returns the share of yes, (yes + ½) / (votes + 1). Safe
// for concurrent use.
type Vote struct {
	Model    chat.Model
	Votes    int // 0 = 5
	Chars    int
	Parallel int
	Seed     uint64
}

// Identity is the model's.
func (j *Vote) Identity() string { return j.Model.Identity() }

// Score asks each question Votes times; an answer that is neither yes nor no is no
// vote, and a candidate without any vote is lost.
func (j *Vote) Score(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	votes := j.Votes
	if votes <= 0 {
		votes = 5
	}
	return each(ctx, c, j.Parallel, func(ctx context.Context, i int, c Candidate) (float64, llm.Usage, error) {
		var u llm.Usage
		yes, n := 0., 0.
		said := ""
		for k := range votes {
			a, err := j.Model.Ask(ctx, chat.Request{
				Messages:    []chat.Message{{Role: chat.User, Content: Question(problem, c, j.Chars)}},
				Temperature: 1, MaxTokens: 4, Seed: rng.Seed(j.Seed, "vote", i, k),
			})
			u = u.Add(a.Usage)
			if err != nil {
				return math.NaN(), u, err
			}
			said, _, _ = strings.Cut(strings.TrimSpace(a.Text), " ")
			switch word(said) {
			case "yes":
				yes++
				n++
			case "no":
				n++
			}
		}
		if n == 0 {
			return math.NaN(), u, fmt.Errorf("%s answered %q instead of yes or no", j.Identity(), said)
		}
		return (yes + .5) / (n + 1), u, nil
	})
}

// each scores candidates side by side. One that is lost is NaN and a note; when all
// are, that is the error.
func each(ctx context.Context, c []Candidate, parallel int, f func(context.Context, int, Candidate) (float64, llm.Usage, error)) (Verdict, error) {
	if parallel <= 0 {
		parallel = 8
	}
	v := Verdict{Scores: make([]float64, len(c))}
	errs := make([]error, len(c))
	usage := make([]llm.Usage, len(c))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range c {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				v.Scores[i], usage[i], errs[i] = f(ctx, i, c[i])
			}
		})
	}
	wg.Wait()
	lost := 0
	for i, err := range errs {
		v.Usage = v.Usage.Add(usage[i])
		if err == nil {
			continue
		}
		lost++
		v.Scores[i] = math.NaN()
		v.Notes = append(v.Notes, fmt.Sprintf("candidate %d: %v", i, err))
	}
	if lost == len(c) && lost > 0 {
		v.Notes = nil
		return v, errs[0]
	}
	return v, nil
}
