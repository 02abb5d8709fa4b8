package logs_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/selfassess/logs"
)

// From logs to the probability that an episode that still runs will succeed.
func Example() {
	var file strings.Builder
	for i := range 60 {
		fmt.Fprintf(&file, `{"task": "put a mug in shelf %d.", "model": "m%d", "success": %v, "steps": [`, i%12, i%5, i%2 == 0)
		for k := range 6 {
			answer := []string{"You see a mug 1.", "Nothing happens."}[i%2]
			fmt.Fprintf(&file, `{"action": "open drawer %d", "observation": "%s"}%s`, k, answer, []string{",", "]}\n"}[k/5])
		}
	}
	es, _, err := logs.Read(strings.NewReader(file.String()), "-")
	if err != nil {
		fmt.Println(err)
		return
	}
	c := logs.Default()
	c.Trees.MinWeight = 3
	m, report, err := logs.Train(context.Background(), es, nil, c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Score(context.Background(), &es[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	r := report.Results[0]
	fmt.Printf("without the judged %s, after %s steps: AUROC %.2f\n", r.Split, r.Position, r.Model.AUROC.Value)
	fmt.Println("the won episode looks well after 4 steps:", p[3] > 0.5)
	// Output:
	// without the judged tasks, after 4 steps: AUROC 1.00
	// the won episode looks well after 4 steps: true
}
