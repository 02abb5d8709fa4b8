package textworld_test

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
)

func Example() {
	g, err := textworld.Open("look_at_obj_in_light-AlarmClock-None-DeskLamp-323/trial_T20190909_044715_250790")
	if err != nil {
		fmt.Println(err)
		return
	}
	env := textworld.New(g, textworld.Options{})
	ctx := context.Background()
	obs, _, _ := env.Reset(ctx, envs.ResetOptions{})
	fmt.Println(obs)
	for _, cmd := range []string{"dance", "go to desk 1", "use desklamp 1", "take alarmclock 2 from desk 1"} {
		s, _ := env.Step(ctx, cmd)
		fmt.Printf("> %s\n%s\n", cmd, s.Obs)
		if s.Done() {
			fmt.Println("success:", s.Info.Success(), "reward:", s.Reward)
		}
	}
	// Output:
	// -= Welcome to TextWorld, ALFRED! =-
	//
	// You are in the middle of a room. Looking quickly around you, you see a bed 2, a bed 1, a desk 1, a drawer 11, a drawer 10, a drawer 9, a drawer 8, a drawer 7, a drawer 6, a drawer 5, a drawer 4, a drawer 3, a drawer 2, a drawer 1, a dresser 1, a garbagecan 1, a safe 1, a sidetable 2, and a sidetable 1.
	//
	// Your task is to: look at alarmclock under the desklamp.
	// > dance
	// Nothing happens.
	// > go to desk 1
	// You arrive at desk 1. On the desk 1, you see a alarmclock 2, a book 1, a bowl 1, a cd 2, a desklamp 1, a mug 2, a mug 1, a pen 2, and a pen 1.
	// > use desklamp 1
	// You turn on the desklamp 1.
	// > take alarmclock 2 from desk 1
	// You pick up the alarmclock 2 from the desk 1.
	// success: true reward: 1
}
