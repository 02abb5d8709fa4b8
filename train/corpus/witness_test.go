package corpus

import (
	"fmt"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/rng"
)

// What the witness calls a failure is one, whatever is played; and of the failures
// of confused players it knows most.
func TestWitnessIsNeverWrong(t *testing.T) {
	m, _ := Lookup("weak")
	failed, foreseen, commands := 0, 0, 0
	for i, g := range games(t, 60, "val", "unseen") {
		r := rng.New(3, "witness", i)
		world := textworld.NewWorld(g, textworld.DialectMove)
		p, err := newPlayer(testPrior(t), world.Intro(), nil, m.Noise, r)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWitness(world.Intro())
		if err != nil {
			t.Fatal(err)
		}
		c := confusion{level: Level{Confuse: .4, Recover: .1}, modes: m.Modes}
		for step := 0; step < 80 && !world.Won(); step++ {
			_, action := p.decide(&c)
			switch u := r.IntN(10); {
			case u < 3:
				all := world.AppendAdmissible(nil)
				action = all[r.IntN(len(all))]
			case u < 5:
				a, b := p.places[r.IntN(len(p.places))].name, p.places[r.IntN(len(p.places))].name
				x := p.goal.Object + fmt.Sprintf(" %d", 1+r.IntN(3))
				wild := []string{"go to " + a, "open " + a, "close " + a, "examine " + a, "take " + x + " from " + b, "move " + x + " to " + a,
					"heat " + x + " with microwave 1", "cool " + x + " with " + a, "clean " + x + " with sinkbasin 1", "use desklamp 1", "use " + x, "take", "dance"}
				action = wild[r.IntN(len(wild))]
			}
			must := w.MustFail(action)
			obs, effect := world.Do(action)
			obs = textworld.CutArrival(obs)
			if must && effect {
				t.Fatalf("game %s, step %d: %q was called impossible and gave %q", g.ID(), step, action, obs)
			}
			commands++
			if !effect {
				failed++
				if must {
					foreseen++
				}
			}
			w.Add(action, obs)
			p.update(action, obs)
		}
	}
	share := float64(foreseen) / float64(failed)
	t.Logf("%d commands, %d failed, %.3f of them foreseen", commands, failed, share)
	if failed < 1000 || share < .7 {
		t.Errorf("%.3f of %d failures foreseen; want most", share, failed)
	}
}
