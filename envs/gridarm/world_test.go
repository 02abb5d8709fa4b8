package gridarm_test

import (
	"context"
	"testing"

	"github.com/muse-agent/muse/envs/gridarm"
)

// Every scripted policy solves its task in all of 200 seeds within 60 % of the limit,
// and still has it solved at the end; random play hardly ever does.
func TestScriptedPoliciesSolveEverySeed(t *testing.T) {
	const seeds = 200
	all, err := gridarm.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range gridarm.Tasks() {
		r := all[task]
		if r.Solved != seeds || r.InTime != seeds || r.AtEnd != seeds {
			t.Errorf("%+v", r)
		}
		if r.RandomWins > seeds*9/10 || r.Random > .8*r.Return {
			t.Errorf("random play is too good: %+v", r)
		}
		t.Logf("%+v", r)
	}
}

// The scripts do not depend on the size of a decision: with the original's 1 cm and 500
// steps they solve every task too.
func TestScriptsInSmallSteps(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		r, err := gridarm.CheckScript(context.Background(), task, gridarm.Options{StepSize: .01, MaxSteps: 500}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if r.InTime != 10 || r.AtEnd != 10 {
			t.Errorf("%+v", r)
		}
	}
}
