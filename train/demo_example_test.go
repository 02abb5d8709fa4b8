package train_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/selfassess"
)

// Self-assessment for an agent of your own: play, label, train, ask. The player here
// follows the game's expert in some of its commands and wanders otherwise.
func Example() {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 1))
	games, err := textworld.Select(textworld.Selection{Splits: []string{"val"}, Types: []string{"pick"}, Limit: 20})
	if err != nil {
		log.Fatal(err)
	}
	var rows []selfassess.Example
	for i := range 80 {
		env := textworld.New(games[i%20], textworld.Options{})
		env.Reset(ctx, envs.ResetOptions{})
		e := selfassess.Episode{Task: env.Game().ID(), Goal: env.Game().Goal(), Limit: 50}
		for skill, done := r.Float64(), false; !done; {
			all := env.Admissible()
			command := all[r.IntN(len(all))]
			if expert, ok, _ := env.World().ExpertAction(); ok && r.Float64() < skill {
				command = expert
			}
			step, err := env.Step(ctx, command)
			if err != nil {
				log.Fatal(err)
			}
			e.Pairs = append(e.Pairs, selfassess.Pair{Action: command, Observation: step.Obs.(string)})
			done, e.Success = step.Done(), step.Info.Success() // success is read here only, as a label
		}
		rows = append(rows, e.Examples(4, 4, false)...)
	}
	cfg := selfassess.Default()
	cfg.Input, cfg.Labels = selfassess.InputHistory, selfassess.LabelsOutcome
	model, report, err := selfassess.Train(ctx, rows, nil, cfg)
	if err != nil {
		log.Fatal(err)
	}
	a, err := model.Assess(ctx, []selfassess.Input{rows[0].Input})
	if err != nil {
		log.Fatal(err)
	}
	held := selfassess.Evaluate(report.OutOfFold, selfassess.Bootstrap{Seed: 1}).At(selfassess.PositionBefore)
	fmt.Printf("P(success) of the first chunk: %.1f\n", a[0].P)
	fmt.Printf("AUROC before the end, on games not seen in training: %.1f\n", held.AUROC.Value)
	// Output:
	// P(success) of the first chunk: 0.7
	// AUROC before the end, on games not seen in training: 0.8
}
