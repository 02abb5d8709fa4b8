package train

import (
	"context"
	"fmt"
)

// CollectConfig are the settings of Algorithm 3's data collection.
type CollectConfig struct {
	Episodes int `json:"episodes"` // per game, paper: until success; here a fixed number
	// Reflect hands the reflections of lost episodes to the next ones (Reflexion);
	// without it an agent just repeats.
	Reflect bool `json:"reflect"`
	// UntilSolved ends a game's episodes after its first success.
	UntilSolved bool `json:"until_solved"`
}

// DefaultCollect: five episodes a game with reflections.
func DefaultCollect() CollectConfig { return CollectConfig{Episodes: 5, Reflect: true} }

// Validate reports all problems at once.
func (c CollectConfig) Validate() error {
	if c.Episodes < 1 {
		return fmt.Errorf("train: collect: episodes is %d; at least 1 is needed", c.Episodes)
	}
	return nil
}

// Collect plays Episodes trials of every game of the bench (Algorithm 3, lines 1–9:
// the agent runs on the seen tasks and everything is stored) into the run folder.
// It continues where an interrupted call ended.
func Collect(ctx context.Context, r *Run, b *Bench, p Player, c CollectConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if len(b.Games) == 0 {
		return fmt.Errorf("train: collect: no games selected")
	}
	plan := make([]string, len(b.Games))
	for i, g := range b.Games {
		plan[i] = g.ID()
	}
	return b.runUnits(ctx, r, "collect", plan, func(ctx context.Context, i int) (unitResult, error) {
		es, ts, _, err := b.play(ctx, b.Games[i], p, trials{
			phase: "collect", n: c.Episodes, reflect: c.Reflect, untilSolved: c.UntilSolved, seedPath: "collect",
		})
		return unitResult{es, ts}, err
	})
}
