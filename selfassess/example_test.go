package selfassess_test

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/selfassess"
)

// A success predictor from finished episodes: cut them into chunks, train, assess
// an imagined future. Counting features need no embedder.
func Example() {
	var rows []selfassess.Example
	for g := range 12 {
		for k := range 6 {
			e := selfassess.Episode{Task: fmt.Sprintf("game-%d", g), Goal: "put a mug in shelf.", Limit: 50, Success: k%2 == 0}
			for i := range 8 {
				p := selfassess.Pair{Action: fmt.Sprintf("go to desk %d", i), Observation: "On the desk, you see a mug 1."}
				if !e.Success {
					p = selfassess.Pair{Action: "take mug 1", Observation: "Nothing happens."}
				}
				e.Pairs = append(e.Pairs, p)
			}
			rows = append(rows, e.Examples(selfassess.ChunkSize, selfassess.ChunkSize, false)...)
		}
	}
	cfg := selfassess.Default()
	cfg.Input, cfg.Labels, cfg.Hidden = selfassess.InputHistory, selfassess.LabelsOutcome, 16
	model, report, err := selfassess.Train(context.Background(), rows, nil, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := model.Assess(context.Background(), []selfassess.Input{
		{Task: "put a mug in shelf.", Limit: 50, Pairs: rows[0].Input.Pairs},
		{Task: "put a mug in shelf.", Limit: 50, Pairs: rows[2].Input.Pairs},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	eval := selfassess.Evaluate(report.OutOfFold, selfassess.Bootstrap{Draws: 100, Seed: 1})
	fmt.Println("rows:", report.Rows, "tasks:", report.Tasks)
	fmt.Println("the first future looks better:", a[0].P > a[1].P)
	fmt.Printf("AUROC on held-out tasks: %.2f\n", eval.At(selfassess.PositionAll).AUROC.Value)
	// Output:
	// rows: 144 tasks: 12
	// the first future looks better: true
	// AUROC on held-out tasks: 1.00
}
