package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/embed"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/embedded"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// decisionBench is what `bench decision --json` prints: medians on one core.
type decisionBench struct {
	Model string `json:"model"`
	embedded.BenchResult
	EmbedMS    float64 `json:"embed_ms"` // MiniLM on the five futures, nothing cached, median
	EmbedMSMin float64 `json:"embed_ms_min"`
	DecisionMS float64 `json:"decision_ms"` // rollouts and MiniLM
	// DecisionMSMin is the sum of the least times: what the machine can do when undisturbed.
	DecisionMSMin float64 `json:"decision_ms_min"`
	Repeats       int     `json:"repeats"`
	// Of the texts of a played episode's decisions, the cache saves this share.
	CacheSaved  float64 `json:"cache_saved"`
	CacheTexts  int     `json:"cache_texts"`
	CachePlayed string  `json:"cache_played"`
}

func benchDecisionCmd(a *app) *cobra.Command {
	var (
		model    string
		repeats  int
		temp     float64
		episodes int
		asJSON   bool
	)
	c := &cobra.Command{
		Use: "decision", Short: "Time of one decision: five futures of four pairs, and their embedding", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if repeats < 1 {
				return usagef("--repeats must be at least 1")
			}
			if !(temp > 0) { // at 0 all futures are one
				return usagef("--temperature is %v; it must be above 0", temp)
			}
			ctx := c.Context()
			m, err := embedded.Open(model, embedded.Options{})
			if err != nil {
				return err
			}
			defer m.Close()
			b := decisionBench{Model: m.Info().Name, Repeats: repeats}
			if b.BenchResult, err = embedded.BenchRollouts(ctx, m, embedded.BenchOptions{Temperature: temp, Repeats: repeats}); err != nil {
				return err
			}
			e, err := embed.Open(embed.Options{CacheEntries: -1})
			if err != nil {
				return err
			}
			defer e.Close()
			s, err := m.Open(ctx, embedded.BenchPrefix)
			if err != nil {
				return err
			}
			defer s.Close()
			var ms []float64
			for i := range repeats + 2 {
				cs, _, err := s.Sample(ctx, llm.Request{N: 5, Temperature: temp, Until: llm.UntilPairs, Pairs: 4, Seed: rng.Seed(1, "bench", i)})
				if err != nil {
					return err
				}
				texts := make([]string, len(cs))
				for k, x := range cs {
					texts[k] = x.Text
				}
				start := time.Now()
				if _, err := e.Embed(ctx, texts); err != nil {
					return err
				}
				if i >= 2 { // the first calls warm up
					ms = append(ms, float64(time.Since(start).Microseconds())/1000)
				}
			}
			slices.Sort(ms)
			b.EmbedMS, b.EmbedMSMin = ms[len(ms)/2], ms[0]
			b.DecisionMS, b.DecisionMSMin = b.RolloutsMS+b.EmbedMS, b.BestMS+b.EmbedMSMin
			if episodes > 0 {
				if err := a.cacheSavings(c, m, &b, episodes, temp); err != nil {
					return err
				}
			}
			if asJSON {
				return a.printJSON(b)
			}
			fmt.Fprintf(a.stdout, "%s: rollouts %.0f ms (%.0f at best, %.0f tokens), MiniLM %.0f ms (%.0f at best), decision %.0f ms (%.0f at best)\n",
				b.Model, b.RolloutsMS, b.BestMS, b.Tokens, b.EmbedMS, b.EmbedMSMin, b.DecisionMS, b.DecisionMSMin)
			if episodes > 0 {
				fmt.Fprintf(a.stdout, "the cache saves %.0f %% of %d texts in %s\n", 100*b.CacheSaved, b.CacheTexts, b.CachePlayed)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&model, "model", "base", "embedded model: weak, base or strong")
	f.IntVar(&repeats, "repeats", 30, "decisions to time")
	f.Float64Var(&temp, "temperature", .5, "of the futures")
	f.IntVar(&episodes, "episodes", 4, "episodes to play for the share of texts that the cache saves, 0 = none")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// embedOnly is an assessor that embeds as M_sa does and predicts nothing: with it
// best takes the first future, which is plain sampling.
type embedOnly struct {
	e     *embed.Model
	texts *atomic.Int64
}

func (embedOnly) Name() string { return "embed only" }

func (o embedOnly) Assess(ctx context.Context, in []selfassess.Input) ([]selfassess.Assessment, error) {
	texts := make([]string, len(in))
	for i := range in {
		texts[i] = selfassess.TrajectoryText(&in[i], selfassess.Default().Text)
	}
	o.texts.Add(int64(len(texts)))
	if _, err := o.e.Embed(ctx, texts); err != nil {
		return nil, err
	}
	return make([]selfassess.Assessment, len(in)), nil
}

// cacheSavings plays unseen games and counts the texts that needn't be embedded.
func (a *app) cacheSavings(c *cobra.Command, m llm.Model, b *decisionBench, n int, temp float64) error {
	e, err := embed.Open(embed.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	games, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}})
	if err != nil {
		return err
	}
	games = train.SampleGames(games, n)
	cfg, err := reflexion.Default("muse")
	if err != nil {
		return err
	}
	cfg.Temperature = temp
	texts := new(atomic.Int64)
	ag, err := reflexion.New(cfg, m, embedOnly{e, texts}, selfregulate.Best)
	if err != nil {
		return err
	}
	for _, g := range games {
		env := textworld.New(g, textworld.Options{})
		_, _, err := train.PlayEpisode(c.Context(), env, ag, train.EpisodeSpec{
			Game: train.GameInfo{ID: g.ID(), Split: g.Split()}, Phase: "bench", Seed: rng.Seed(1, "bench", g.ID()),
		})
		if err := errors.Join(err, env.Close()); err != nil {
			return err
		}
	}
	b.CacheTexts = int(texts.Load())
	b.CacheSaved = 1 - float64(e.Stats().Computed)/max(1, float64(b.CacheTexts))
	b.CachePlayed = fmt.Sprintf("%d unseen games", len(games))
	return nil
}
