package deliberate_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// A thinker of known accuracy and a judge of known AUROC: its score is σ(k z) with
// z ~ N(±d/2, 1) for right and wrong, so AUROC = Φ(d/√2). Expectations are computed
// on a grid of scores, independently of the package.
const (
	accuracy = .45
	spread   = 1.6 // d: AUROC .871
	slope    = 1.5 // k
	cells    = 120
)

func phi(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }

// below is P(score < s) of the right or the wrong.
func below(s float64, right bool) float64 {
	if s <= 0 {
		return 0
	}
	if s >= 1 {
		return 1
	}
	m := -spread / 2
	if right {
		m = spread / 2
	}
	return phi(math.Log(s/(1-s))/slope - m)
}

// grid is the distribution of a score: cell i is [i/cells, (i+1)/cells).
func grid(right bool) []float64 {
	p := make([]float64, cells)
	for i := range p {
		p[i] = below(float64(i+1)/cells, right) - below(float64(i)/cells, right)
	}
	return p
}

// cumulate returns F with F[i] = P(X < cell i) + ½ P(X = cell i).
func cumulate(p []float64) []float64 {
	f, sum := make([]float64, len(p)), 0.
	for i, v := range p {
		f[i] = sum + v/2
		sum += v
	}
	return f
}

func binom(n, k int, p float64) float64 {
	c := 1.
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
}

// maxOf is the distribution of the largest of k draws from p.
func maxOf(p []float64, k int) []float64 {
	out, sum := make([]float64, len(p)), 0.
	for i, v := range p {
		out[i] = math.Pow(sum+v, float64(k)) - math.Pow(sum, float64(k))
		sum += v
	}
	return out
}

// pickRight is the chance that the highest score of n paths is a right one's.
func pickRight(n int, acc float64) float64 {
	r, w := grid(true), cumulate(grid(false))
	total := 0.
	for k := 1; k <= n; k++ {
		for i, p := range maxOf(r, k) {
			total += binom(n, k, acc) * p * math.Pow(w[i], float64(n-k))
		}
	}
	return total
}

func draw(right bool, path ...any) float64 {
	z := rng.New(7, path...).NormFloat64() - spread/2
	if right {
		z += spread
	}
	return 1 / (1 + math.Exp(-slope*z))
}

// judge scores texts: right ones are those without "wrong".
var judge = deliberate.JudgeFunc(func(_ context.Context, problem string, c []deliberate.Candidate) (deliberate.Verdict, error) {
	v := deliberate.Verdict{}
	for _, x := range c {
		v.Scores = append(v.Scores, draw(!strings.Contains(x.Text, "wrong"), "judge", problem, x.Text))
	}
	return v, nil
})

func path(r chat.Request) string {
	x := rng.New(r.Seed, "answer")
	if x.Float64() < accuracy {
		return fmt.Sprintf("by way %d\nFinal answer: right", r.Seed)
	}
	return fmt.Sprintf("by way %d\nFinal answer: wrong %d", r.Seed, r.Seed)
}

var thinker = chat.Func{Name: "simulated", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
	return chat.Reply{Text: path(r)}, nil
}}

const problems = 3000

// measure runs the loop on all problems and compares the share of right answers
// with the expectation: it must lie in the 95 % interval.
func measure(t *testing.T, name string, want, alone float64, one func(i int) deliberate.Result) {
	t.Helper()
	n := problems
	if testing.Short() {
		n /= 10
	}
	right := make([]bool, n)
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := k; i < n; i += 4 {
				right[i] = one(i).Answer == "right"
			}
		})
	}
	wg.Wait()
	hits := 0
	for _, r := range right {
		if r {
			hits++
		}
	}
	got := float64(hits) / float64(n)
	half := 1.96 * math.Sqrt(got*(1-got)/float64(n))
	t.Logf("%s: measured %.4f ± %.4f, expected %.4f (lift %+.4f)", name, got, half, want, want-alone)
	if math.Abs(got-want) > half {
		t.Errorf("%s: measured %.4f ± %.4f, expected %.4f", name, got, half, want)
	}
	if want <= alone+.05 {
		t.Errorf("%s: expected %.4f is no lift over %.4f: the check would show nothing", name, want, alone)
	}
}

func do(t *testing.T, thinker chat.Model, i int, cfg deliberate.Config) deliberate.Result {
	cfg.Seed = uint64(i)
	res, err := deliberate.Run(t.Context(), thinker, judge, deliberate.Problem{Text: fmt.Sprint("problem ", i)}, cfg)
	if err != nil {
		t.Errorf("problem %d: %v", i, err)
	}
	return res
}

func TestLiftBestOfN(t *testing.T) {
	cfg := deliberate.Default()
	cfg.Mode = deliberate.BestOfN
	measure(t, "best_of_n", pickRight(cfg.Paths, accuracy), accuracy, func(i int) deliberate.Result { return do(t, thinker, i, cfg) })
}

// adaptiveRight follows the definition: stop at .95, else round(2 + 4u) more, path
// scores plus half the answer's score. Right paths share one answer and its score.
func adaptiveRight() float64 {
	r, w := grid(true), grid(false)
	// The combined score of a wrong path: s + ½ s' in units of ½ cell, index 2i + j.
	comb := make([]float64, 3*cells)
	for i, p := range w {
		for j, q := range w {
			comb[2*i+j] += p * q
		}
	}
	fc, fw := cumulate(comb), cumulate(w)
	total := 0.
	for _, greedyRight := range []bool{true, false} {
		s0s, pg := w, 1-accuracy
		if greedyRight {
			s0s, pg = r, accuracy
		}
		for s0, p0 := range s0s {
			score := (float64(s0) + .5) / cells
			if score >= .95 {
				if greedyRight {
					total += pg * p0
				}
				continue
			}
			n := int(math.Round(2 + 4*(1-score)))
			for k := range n + 1 {
				pk := pg * p0 * binom(n, k, accuracy)
				best := maxOf(r, k)
				if greedyRight { // the greedy path is among the right ones
					clipped := make([]float64, cells)
					for i, p := range best {
						clipped[max(i, s0)] += p
					}
					if k == 0 {
						clipped = make([]float64, cells)
						clipped[s0] = 1
					}
					best = clipped
				} else if k == 0 {
					continue
				}
				for m, pm := range best {
					if pm < 1e-12 {
						continue
					}
					for a, pa := range r {
						win := math.Pow(fc[2*m+a], float64(n-k))
						if !greedyRight { // its own combined score: 2·s0 + j
							if j := 2*m + a - 2*s0; j < 0 {
								win = 0
							} else if j < cells {
								win *= fw[j]
							}
						}
						total += pk * pm * pa * win
					}
				}
			}
		}
	}
	return total
}

func TestLiftAdaptive(t *testing.T) {
	measure(t, "adaptive", adaptiveRight(), accuracy, func(i int) deliberate.Result { return do(t, thinker, i, deliberate.Default()) })
}

// TestLiftStepwise: each continuation keeps a right beginning right with chance q;
// four steps, four continuations each.
func TestLiftStepwise(t *testing.T) {
	const q, steps = .6, 4
	walker := chat.Func{Name: "walker", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		a := chat.Reply{Text: fmt.Sprintf("step %d. ", r.Seed), Finish: chat.FinishLength, Tokens: 10}
		bad := strings.Contains(r.Prefix, "wrong")
		if !bad && rng.New(r.Seed, "step").Float64() > q {
			a.Text, bad = fmt.Sprintf("wrong step %d. ", r.Seed), true
		}
		if strings.Count(r.Prefix, "step") == steps-1 {
			a.Finish, a.Tokens = chat.FinishStop, 9
			if bad {
				a.Text += fmt.Sprint("\nFinal answer: wrong ", r.Seed)
			} else {
				a.Text += "\nFinal answer: right"
			}
		}
		return a, nil
	}}
	cfg := deliberate.Default()
	cfg.Mode, cfg.StepTokens, cfg.MaxTokens, cfg.CommitConfidence = deliberate.Stepwise, 10, 100, 2
	alone := math.Pow(q, steps)
	measure(t, "stepwise", math.Pow(pickRight(cfg.Paths, q), steps), alone, func(i int) deliberate.Result { return do(t, walker, i, cfg) })
}

// raceRight walks through the questions in their order: chunk by chunk, stream by
// stream. The first convincing score wins; two equal answers end the race; else the
// best last score, all of which lie below the threshold.
func raceRight(streams, chunks int, threshold float64) float64 {
	total := 0.
	for code := range 1 << streams {
		right := func(i int) bool { return code>>i&1 == 1 }
		alive, nRight := 1., 0
		for i := range streams {
			if right(i) {
				alive *= accuracy
				nRight++
			} else {
				alive *= 1 - accuracy
			}
		}
		for range chunks {
			for i := range streams {
				p := 1 - below(threshold, right(i))
				if right(i) {
					total += alive * p
				}
				alive *= 1 - p
			}
		}
		done := 0
		for i := range streams {
			if right(i) {
				if done++; done == 2 {
					break
				}
			}
			p := 1 - below(threshold, right(i))
			if right(i) {
				total += alive * p
			}
			alive *= 1 - p
		}
		switch {
		case done == 2:
			total += alive
		case nRight == 1:
			cut := func(right bool) []float64 {
				p := grid(right)
				sum := 0.
				for i := range p {
					if (float64(i)+.5)/cells >= threshold {
						p[i] = 0
					}
					sum += p[i]
				}
				for i := range p {
					p[i] /= sum
				}
				return p
			}
			w := cumulate(cut(false))
			for i, p := range cut(true) {
				total += alive * p * math.Pow(w[i], float64(streams-1))
			}
		}
	}
	return total
}

// TestLiftRace: streams take turns, one chunk each, and wait for the judge's word.
func TestLiftRace(t *testing.T) {
	const streams, chunks, width = 3, 3, 40
	cfg := deliberate.Default()
	cfg.Mode, cfg.Paths, cfg.RaceScoreChars = deliberate.Race, streams, width
	measure(t, "race", raceRight(streams, chunks, cfg.RaceConfidence), accuracy, func(i int) deliberate.Result {
		turns := make([]chan struct{}, streams*(chunks+1)+1)
		for k := range turns {
			turns[k] = make(chan struct{})
		}
		close(turns[0])
		free := make(chan struct{})
		wait := func(ctx context.Context, k int) error {
			select {
			case <-turns[k]:
			case <-free:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return ctx.Err()
		}
		index := map[uint64]int{}
		for id := range streams {
			index[rng.Seed(uint64(i), "path", id, 0)] = id
		}
		runner := chat.Func{Name: "runner", Reply: func(ctx context.Context, r chat.Request) (chat.Reply, error) {
			id := index[r.Seed]
			end := path(r)
			bad := strings.Contains(end, "wrong")
			for c := range chunks {
				if err := wait(ctx, c*streams+id); err != nil {
					return chat.Reply{}, err
				}
				mark := "fine"
				if bad {
					mark = "wrong"
				}
				text := fmt.Sprintf("%-*s", width, fmt.Sprintf("%s %d %d", mark, c, r.Seed))
				if err := r.Emit(text); err != nil {
					return chat.Reply{}, err
				}
			}
			if err := wait(ctx, chunks*streams+id); err != nil {
				return chat.Reply{}, err
			}
			return chat.Reply{Text: end}, nil
		}}
		turn, over := 0, false
		c := cfg
		c.Observe = func(e deliberate.Event) {
			if e.Kind != deliberate.EventScore || over {
				return
			}
			if over = *e.Score >= cfg.RaceConfidence; over {
				close(free)
				return
			}
			turn++
			close(turns[turn])
		}
		return do(t, runner, i, c)
	})
}
