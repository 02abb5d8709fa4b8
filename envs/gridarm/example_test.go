package gridarm_test

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/gridarm"
)

// A scripted episode on the bare engine.
func Example() {
	w, err := gridarm.NewWorld(gridarm.DrawerOpen, gridarm.Options{})
	if err != nil {
		panic(err)
	}
	obs, act := make([]float32, w.ObsSize()), make([]float32, gridarm.ActionSize)
	policy := gridarm.Scripted(gridarm.DrawerOpen)
	w.ResetInto(7, 0, obs)
	for !w.Success() {
		policy(obs, act)
		w.StepInto(act, obs)
	}
	fmt.Printf("open after %d decisions\n", w.Steps())
	// Output: open after 11 decisions
}

// The same environment under the rules of package envs.
func ExampleNew() {
	env, err := gridarm.New(gridarm.Reach, gridarm.Options{MaxSteps: 2})
	if err != nil {
		panic(err)
	}
	defer env.Close()
	ctx, seed := context.Background(), uint64(1)
	if _, _, err := env.Reset(ctx, envs.ResetOptions{Seed: &seed}); err != nil {
		panic(err)
	}
	for {
		st, err := env.Step(ctx, []float32{1, 0, 0, -1})
		if err != nil {
			panic(err)
		}
		fmt.Printf("hand at %.2f, truncated %v, success %v\n", st.Obs.([]float32)[gridarm.ObsHand], st.Truncated, st.Info.Success())
		if st.Done() {
			break
		}
	}
	// Output:
	// hand at 0.05, truncated false, success false
	// hand at 0.10, truncated true, success false
}

// Counterfactuals: a state is a plain value that can be gone back to.
func ExampleWorld_SetState() {
	w, _ := gridarm.NewWorld(gridarm.Reach, gridarm.Options{})
	w.Reset(1, 0)
	saved := w.State()
	for _, dx := range []float32{-1, 1} {
		if err := w.SetState(saved); err != nil {
			panic(err)
		}
		w.Step([]float32{dx, 0, 0, 0})
		fmt.Printf("%+.2f\n", w.State().Hand[0])
	}
	// Output:
	// -0.05
	// +0.05
}
