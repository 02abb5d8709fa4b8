package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/internal/rng"
)

// SFTConfig are the settings of supervised fine-tuning (paper, 4.1: the actor
// learns from successful episodes only).
type SFTConfig struct {
	LearnConfig
	Batch       int     `json:"batch_tokens"` // tokens of an update, at least one episode
	MaxTokens   int     `json:"max_tokens"`   // an episode is cut there
	Observation float64 `json:"observation"`  // weight of the world's answers; own lines have 1
	// SkipFailed leaves commands without effect, and the thoughts before them, out of the loss.
	SkipFailed bool `json:"skip_failed"`
}

// DefaultSFT are the settings that docs/learning.md reports.
func DefaultSFT() SFTConfig {
	return SFTConfig{
		LearnConfig: LearnConfig{Adapter: lora.DefaultOptions(), Steps: 120, Rate: 2e-3, Clip: 1, Held: .2, Seed: 1},
		Batch:       4096, MaxTokens: 1024, SkipFailed: true,
	}
}

// Validate reports all problems at once, or nil.
func (c SFTConfig) Validate() error {
	errs := []error{c.LearnConfig.Validate()}
	if c.Batch < 1 {
		errs = append(errs, fmt.Errorf("train: batch is %d tokens; at least 1 is needed", c.Batch))
	}
	if c.MaxTokens < 2 {
		errs = append(errs, fmt.Errorf("train: max-tokens is %d; at least 2 are needed", c.MaxTokens))
	}
	if !(c.Observation >= 0) {
		errs = append(errs, fmt.Errorf("train: observation is %v; it must be ≥ 0", c.Observation))
	}
	return errors.Join(errs...)
}

// SFTReport is report.json of `muse train sft`.
type SFTReport struct {
	Model    string       `json:"model"`
	Config   SFTConfig    `json:"config"`
	Episodes int          `json:"episodes"` // learnt from
	Won      int          `json:"won"`      // of these
	Tokens   int          `json:"tokens"`   // with a weight, in one pass
	Games    int          `json:"games"`    // that they are from
	Held     []string     `json:"held"`     // games left out
	HeldWon  int          `json:"held_won"` // their successful episodes: the held-out likelihood
	Params   int          `json:"params"`
	Points   []LearnPoint `json:"points"` // losses in nats a token; the first is the base model
}

// String is the report for people.
func (r *SFTReport) String() string {
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	return fmt.Sprintf("%s learnt from %d episodes (%d won) of %d games, %d parameters, %d updates\nheld-out games %d: loss of their %d won episodes %.4f before, %.4f after",
		r.Model, r.Episodes, r.Won, r.Games, r.Params, r.Config.Steps, len(r.Held), r.HeldWon, first.Held, last.Held)
}

// SFT teaches a model the successful ones of the episodes and leaves
// adapter.safetensors, held.txt and report.json in the run folder. name is the
// model's name for embedded.Read, m the opened model. With c.Shuffle the outcomes
// are dealt out again at random among the episodes: as many are learnt, for as many updates.
func SFT(ctx context.Context, r *Run, name string, m llm.Model, es []*Episode, c SFTConfig, bar *Progress) (*SFTReport, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := newStudent(name, m, c.LearnConfig)
	if err != nil {
		return nil, err
	}
	rep := &SFTReport{Model: s.ad.Base, Config: c, Params: s.ad.Params()}
	var games []string
	for _, e := range es {
		games = append(games, e.Task)
	}
	rep.Held = HeldOut(games, c.Held)
	isHeld := map[string]bool{}
	for _, g := range rep.Held {
		isHeld[g] = true
	}
	sequence := func(e *Episode) (lora.Sequence, error) {
		w := newWriter(s.enc)
		w.episode(e, lineWeights{1, float32(c.Observation), c.SkipFailed})
		w.cut(min(c.MaxTokens, s.base.Spec.Context))
		if w.err != nil {
			return lora.Sequence{}, fmt.Errorf("train: episode %s: %w", e.ID, w.err)
		}
		return w.seq, nil
	}
	var pool []*Episode
	var learn, held []lora.Sequence
	for _, e := range es {
		switch {
		case !isHeld[e.Task]:
			pool = append(pool, e)
		case e.Success && len(held) < heldEpisodes:
			x, err := sequence(e)
			if err != nil {
				return nil, err
			}
			held = append(held, x)
		}
	}
	chosen := choose(pool, c)
	seen := map[string]bool{}
	for _, e := range chosen {
		x, err := sequence(e)
		if err != nil {
			return nil, err
		}
		if x.Weight() == 0 {
			continue
		}
		learn = append(learn, x)
		rep.Episodes, rep.Tokens = rep.Episodes+1, rep.Tokens+int(x.Weight())
		if e.Success {
			rep.Won++
		}
		seen[e.Task] = true
	}
	rep.Games, rep.HeldWon = len(seen), len(held)
	if len(learn) == 0 {
		return nil, errors.New("train: no successful episode outside the held-out games; collect more, or lower --held")
	}
	for _, ss := range [][]lora.Sequence{learn, held} {
		if err := s.net.Prepare(s.ad, ss, c.Workers); err != nil {
			return nil, err
		}
	}
	next := batches(learn, c.Batch, c.Seed)
	rep.Points, err = s.fit(ctx, bar, func(_ int, g *lora.Grads) (float64, error) {
		return lora.CrossEntropy(s.net, s.ad, next(), g, c.Workers)
	}, func(p *LearnPoint) (err error) {
		if len(held) > 0 {
			p.Held, err = lora.CrossEntropy(s.net, s.ad, held, nil, c.Workers)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	kind := "sft"
	if c.Shuffle {
		kind = "sft-shuffled"
	}
	if err := s.finish(r, kind, c, learn, rep.Held); err != nil {
		return nil, err
	}
	return rep, r.WriteJSON(FileMSAReport, rep)
}

// heldEpisodes bounds the episodes whose likelihood is measured while learning.
const heldEpisodes = 48

// choose are the episodes that are learnt: the successful ones, or as many of any.
func choose(pool []*Episode, c SFTConfig) []*Episode {
	var won []*Episode
	for _, e := range pool {
		if e.Success {
			won = append(won, e)
		}
	}
	if !c.Shuffle {
		return won
	}
	any := slices.Clone(pool)
	rnd := rng.New(c.Seed, "shuffled outcomes")
	rnd.Shuffle(len(any), func(i, j int) { any[i], any[j] = any[j], any[i] })
	return any[:len(won)]
}

// batches returns a function that gives batch after batch of about tokens tokens,
// in passes over all sequences, each in an order of its own.
func batches(ss []lora.Sequence, tokens int, seed uint64) func() []lora.Sequence {
	var order []int
	pass := 0
	return func() []lora.Sequence {
		var out []lora.Sequence
		for n := 0; n < tokens; {
			if len(order) == 0 {
				order = rng.New(seed, "pass", pass).Perm(len(ss))
				pass++
			}
			s := ss[order[0]]
			if n > 0 && n+len(s.IDs) > tokens {
				break
			}
			out, order, n = append(out, s), order[1:], n+len(s.IDs)
		}
		return out
	}
}
