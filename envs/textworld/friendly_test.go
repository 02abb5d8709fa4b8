package textworld_test

import (
	"context"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/textworld"
)

// A little room: a mug on the desk, a closed cabinet with a plate, two shelves that
// share a place, a sink.
func friendlyRoom(t testing.TB) *textworld.Game {
	t.Helper()
	b := textworld.Blueprint{ID: "x/y", TaskType: "pick_clean_then_place_in_recep", Object: "mug", Target: "shelf",
		Receptacles: []textworld.BlueprintReceptacle{{Type: "desk", Location: 1}, {Type: "cabinet", Location: 2, Opens: true}, {Type: "shelf", Location: 3}, {Type: "shelf", Location: 3}, {Type: "sinkbasin", Location: 4}},
		Objects:     []textworld.BlueprintObject{{Type: "mug", In: 0}, {Type: "plate", In: 1}, {Type: "pen", In: 0}}}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFriendlyUnderstandsNearMisses(t *testing.T) {
	env := textworld.New(friendlyRoom(t), textworld.Options{Dialect: textworld.DialectFriendly})
	if _, _, err := env.Reset(context.Background(), envs.ResetOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cmd, want string }{
		{"Walk to the desk.", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."},
		{"take plate 1 from desk 1", "Nothing happens: you see no such thing here."},
		{"take spaceship 1 from desk 1", "Nothing happens: you see no such thing here."},
		{"> pick up the mug", "You pick up the mug 1 from the desk 1."},
		{"take pen", "Nothing happens: the hand already holds mug 1."},
		{"goto sinkbasin1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."},
		{"wash mug", "You clean the mug 1 using the sinkbasin 1."},
		{"open the fridge", "Nothing happens: there is no fridge in this room."},
		{"go to cabinet", "You arrive at cabinet 1. The cabinet 1 is closed."},
		{"put mug 1 in cabinet 1", "Nothing happens: cabinet 1 is closed."},
		{"I would like to dance", "Nothing happens: not a command: unknown verb; did you mean \"go\"?"},
		{"go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see nothing."},
		{"go to shelf 1", "You arrive at shelf 1. On the shelf 1, you see nothing."},
		{"put mug in/on shelf 1", "You move the mug 1 to the shelf 1."},
	} {
		st, err := env.Step(context.Background(), c.cmd)
		if err != nil {
			t.Fatal(err)
		}
		if st.Obs != c.want {
			t.Errorf("%q: %q, want %q", c.cmd, st.Obs, c.want)
		}
		if done := strings.HasPrefix(c.cmd, "put mug in/on"); st.Terminated != done || st.Info.Success() != done {
			t.Errorf("%q: terminated %v, success %v", c.cmd, st.Terminated, st.Info.Success())
		}
	}
	if d := env.Spec().Settings["dialect"]; d != "friendly" {
		t.Errorf("the spec says dialect %v", d)
	}
}

// Off by default: the near misses of friendly players do nothing in ALFWorld's game,
// and what ALFWorld's game accepts, the friendly one answers alike.
func TestFriendlyIsANameOfItsOwn(t *testing.T) {
	g := friendlyRoom(t)
	w := textworld.NewWorld(g, textworld.DialectMove)
	for _, c := range []string{"Walk to the desk.", "goto desk 1", "take mug"} {
		if obs, did := w.Do(c); did || obs != "Nothing happens." {
			t.Errorf("%q: %q", c, obs)
		}
	}
	ctx := context.Background()
	for _, g := range sampleGames(t) {
		a, b := textworld.New(g, textworld.Options{}), textworld.New(g, textworld.Options{Dialect: textworld.DialectFriendly})
		x, _, err := a.Reset(ctx, envs.ResetOptions{})
		y, _, err2 := b.Reset(ctx, envs.ResetOptions{})
		if err != nil || err2 != nil || x != y {
			t.Fatalf("%s: %v %v", g.ID(), err, err2)
		}
		for _, c := range g.Walkthrough() {
			p, _ := a.Step(ctx, c)
			q, _ := b.Step(ctx, c)
			if p.Obs != q.Obs || p.Terminated != q.Terminated {
				t.Errorf("%s, %q: %q, friendly %q", g.ID(), c, p.Obs, q.Obs)
			}
		}
	}
}

func TestFriendlyConforms(t *testing.T) {
	g := friendlyRoom(t)
	for _, err := range envtest.Check(context.Background(), func() (envs.Env, error) {
		return textworld.New(g, textworld.Options{Dialect: textworld.DialectFriendly}), nil
	}, envtest.Options{Episodes: 2}) {
		t.Error(err)
	}
}
