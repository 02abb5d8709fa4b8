package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
)

// Files of a run that learns the language model.
const (
	FileAdapter = "adapter.safetensors"
	// FileHeld lists the games that were not learnt from, for `muse eval --list`.
	FileHeld = "held.txt"
)

// LearnConfig are the settings that SFT and DPO share.
type LearnConfig struct {
	Adapter lora.Options `json:"adapter"`
	Steps   int          `json:"steps"` // updates
	Rate    float64      `json:"rate"`  // learning rate after the warm-up; it then falls linearly to a tenth
	Clip    float64      `json:"clip"`  // largest norm of the gradient
	Held    float64      `json:"held"`  // share of the games that is held out
	// Shuffle is the control: the same steps with labels dealt out at random.
	Shuffle bool   `json:"shuffle"`
	Seed    uint64 `json:"seed"`
	Workers int    `json:"-"` // changes no result
}

// Validate reports all problems at once, or nil.
func (c LearnConfig) Validate() error {
	errs := []error{c.Adapter.Validate()}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("train: "+format, args...)) }
	if c.Steps < 1 || c.Steps > 1_000_000 {
		bad("steps is %d; it must lie between 1 and 1,000,000", c.Steps)
	}
	if !(c.Rate > 0) || math.IsInf(c.Rate, 0) {
		bad("rate is %v; it must be a finite number > 0", c.Rate)
	}
	if !(c.Clip >= 0) {
		bad("clip is %v; it must be ≥ 0 (0 = no clipping)", c.Clip)
	}
	if !(c.Held >= 0 && c.Held < 1) {
		bad("held is %v; it must be ≥ 0 and < 1", c.Held)
	}
	return errors.Join(errs...)
}

// warmUp is the number of first updates with a growing rate, at most a fifth of all.
const warmUp = 10

// rate of update i, from 0.
func (c LearnConfig) rate(i int) float64 {
	warm := min(warmUp, max(1, c.Steps/5))
	if i < warm {
		return c.Rate * float64(i+1) / float64(warm)
	}
	return c.Rate * (1 - .9*float64(i-warm)/float64(max(1, c.Steps-warm)))
}

// HeldOut chooses the games that are not learnt from: the same ones for every seed
// and recipe, and for a larger share always more of them. At least one game is left
// for each side where there are two and share is not 0. The result is sorted.
func HeldOut(games []string, share float64) []string {
	games = slices.Compact(slices.Sorted(slices.Values(games)))
	if share <= 0 || len(games) < 2 {
		return nil
	}
	n := min(max(int(math.Round(share*float64(len(games)))), 1), len(games)-1)
	slices.SortFunc(games, func(a, b string) int { return cmp.Compare(rng.Seed(0, "held", a), rng.Seed(0, "held", b)) })
	games = games[:n]
	slices.Sort(games)
	return games
}

// LearnPoint is the state of a training run after some updates.
type LearnPoint struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`           // mean over the updates since the point before
	Held float64 `json:"held,omitempty"` // of the held-out games
	// Accuracy of preferences on held-out games (DPO).
	Accuracy *float64 `json:"held_accuracy,omitempty"`
}

// student is a network that learns.
type student struct {
	base embedded.Base
	net  *lora.Net
	ad   *lora.Adapter
	enc  embedded.Encoder
	cfg  LearnConfig
}

// newStudent reads the network. enc is an opened model of the same name: it has the tokens.
func newStudent(name string, m llm.Model, c LearnConfig) (*student, error) {
	enc, ok := m.(embedded.Encoder)
	if !ok {
		return nil, fmt.Errorf("train: %s can't be taught here; only embedded models can (for served ones use `muse export`)", m.Info().Name)
	}
	b, err := embedded.Read(name)
	if err != nil {
		return nil, err
	}
	if b.Hash != m.Info().Hash {
		return nil, fmt.Errorf("train: %s carries an adapter already; teach the base model, without --adapter", m.Info().Name)
	}
	n, err := lora.ReadNet(b.Graph, b.Spec.HeadDim)
	if err != nil {
		return nil, err
	}
	c.Adapter.Seed = c.Seed
	ad, err := lora.New(n, c.Adapter)
	if err != nil {
		return nil, err
	}
	ad.Model, ad.Base = b.Hash, "embedded/"+b.Spec.Name
	return &student{base: b, net: n, ad: ad, enc: enc, cfg: c}, nil
}

// fit does the updates. step computes loss and gradient of update i, held measures
// the held-out games; it is called before the first, and about five times more.
func (s *student) fit(ctx context.Context, bar *Progress, step func(i int, g *lora.Grads) (float64, error), held func(p *LearnPoint) error) ([]LearnPoint, error) {
	first := LearnPoint{}
	if err := held(&first); err != nil {
		return nil, err
	}
	points := []LearnPoint{first}
	opt := lora.NewAdam(s.ad, 0, s.cfg.Clip)
	g := s.ad.NewGrads()
	every, sum, n := max(1, (s.cfg.Steps+4)/5), 0.0, 0
	for i := range s.cfg.Steps {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("train: learning stopped after %d of %d updates: %w", i, s.cfg.Steps, err)
		}
		g.Zero()
		loss, err := step(i, g)
		if err != nil {
			return nil, err
		}
		opt.Rate = s.cfg.rate(i)
		if _, err := opt.Step(g); err != nil {
			return nil, err
		}
		sum, n = sum+loss, n+1
		note := ""
		if (i+1)%every == 0 || i+1 == s.cfg.Steps {
			p := LearnPoint{Step: i + 1, Loss: sum / float64(n)}
			if err := held(&p); err != nil {
				return nil, err
			}
			points, sum, n = append(points, p), 0, 0
			note = fmt.Sprintf("loss %.4f, held %.4f", p.Loss, p.Held)
		}
		bar.Add(1, note)
	}
	return points, nil
}

// Recipe is what an adapter says about its making (lora.Adapter.Recipe, JSON).
type Recipe struct {
	Method   string `json:"method"`
	Settings any    `json:"settings"`
	// Data is a hash of the token sequences and weights that were learnt, wherever the
	// runs lie and however they are packed.
	Data string `json:"data"`
	Held int    `json:"held_games"`
	BLAS string `json:"blas"` // the products' library: another one gives other last bits
}

// finish names the adapter and writes it with the list of held-out games.
func (s *student) finish(r *Run, method string, settings any, data []lora.Sequence, held []string) error {
	b, err := json.Marshal(Recipe{method, settings, fingerprint(data), len(held), lora.BLAS})
	if err != nil {
		return err
	}
	s.ad.Name, s.ad.Recipe = method, string(b)
	if len(held) > 0 {
		if err := writeFile(r.Path(FileHeld), []byte(strings.Join(held, "\n")+"\n")); err != nil {
			return err
		}
	}
	return s.ad.Save(r.Path(FileAdapter))
}

// fingerprint is a hash of sequences, 16 hexadecimal digits.
func fingerprint(ss []lora.Sequence) string {
	h := sha256.New()
	for _, s := range ss {
		fmt.Fprintln(h, s.IDs, s.Weights)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// lineWeights are the weights of an episode's lines in a loss.
type lineWeights struct {
	own         float32 // plan, thoughts and commands
	observation float32
	skipFailed  bool // commands without effect, and their thoughts, count for nothing
}

// writer builds a sequence piece by piece, in the pieces of play.
type writer struct {
	enc embedded.Encoder
	seq lora.Sequence
	err error
}

func newWriter(enc embedded.Encoder) *writer {
	return &writer{enc: enc, seq: lora.Sequence{IDs: []int32{enc.Start()}, Weights: []float32{0}}}
}

// add appends a text; the line break that opens it has the weight open.
func (w *writer) add(text string, open, weight float32) {
	if w.err != nil {
		return
	}
	ids, err := w.enc.Tokens(text)
	if err != nil {
		w.err = err
		return
	}
	for i, id := range ids {
		x := weight
		if i == 0 {
			x = open
		}
		w.seq.IDs, w.seq.Weights = append(w.seq.IDs, id), append(w.seq.Weights, x)
	}
}

// episode appends an episode as its player saw it.
func (w *writer) episode(e *Episode, lw lineWeights) {
	t := reflexion.EmbeddedTemplate{}
	w.add(t.Prompt(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections), 0, 0)
	if e.Plan != "" {
		w.add(llm.RenderPlan(e.Plan), 0, lw.own) // the tag is the agent's, not the model's
	}
	for _, p := range e.Pairs() {
		own := lw.own
		if lw.skipFailed && p.Observation == nothing {
			own = 0
		}
		for _, t := range p.Thoughts {
			w.add(llm.RenderThought(t), own, own)
		}
		w.add(llm.RenderAction(p.Action), own, own)
		w.add(llm.RenderObservation(p.Observation), own, lw.observation) // the line break ends the command
	}
}

// cut drops what is beyond n tokens.
func (w *writer) cut(n int) {
	if len(w.seq.IDs) > n {
		w.seq.IDs, w.seq.Weights = w.seq.IDs[:n], w.seq.Weights[:n]
	}
}
