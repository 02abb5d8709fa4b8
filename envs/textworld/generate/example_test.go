package generate_test

import (
	"fmt"

	"github.com/muse-agent/muse/envs/textworld/generate"
)

// Game 3 of seed 7 is the same everywhere and for ever.
func Example() {
	g, err := generate.New(generate.Options{Seed: 7, Types: []string{"pick_heat_then_place_in_recep"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	game, err := g.Game(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(game.ID())
	fmt.Println(game.Goal())
	// Output:
	// pick_heat_then_place_in_recep-Tomato-None-Countertop-generated/gen_7_000003
	// put a hot tomato in countertop.
}
