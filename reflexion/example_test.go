package reflexion_test

import (
	"context"
	"fmt"

	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate"
)

// An episode with a toy model: it looks for a mug in the places that the room
// names. Here the game's answers are given by hand.
func Example() {
	ctx := context.Background()
	cfg, _ := reflexion.Default("reflexion")
	agent, err := reflexion.New(cfg, scripted.Toy(), nil, selfregulate.Off)
	if err != nil {
		fmt.Println(err)
		return
	}
	task, _ := reflexion.ParseIntro("-= Welcome to TextWorld, ALFRED! =-\n\n" +
		"You are in the middle of a room. Looking quickly around you, you see a desk 1.\n\n" +
		"Your task is to: put a mug in shelf.")
	c, _, err := agent.Begin(ctx, task, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close(c)
	for _, answer := range []string{"You arrive at desk 1. On the desk 1, you see a mug 2.", "You pick up the mug 2 from the desk 1."} {
		action, trace, err := agent.Act(ctx, c)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := agent.Observe(ctx, c, action, trace, answer); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(action)
	}
	fmt.Println(c.Pairs[0].Observation)
	// Output:
	// go to desk 1
	// take mug 2 from desk 1
	// On the desk 1, you see a mug 2.
}
