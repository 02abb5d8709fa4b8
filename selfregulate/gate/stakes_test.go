package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfregulate/gate"
)

const failed = "Nothing happens."

func TestStakes(t *testing.T) {
	type past [][2]string
	moved := past{{"open fridge 1", failed}, {"go to desk 1", "On the desk 1, you see a mug 1."}}
	stuck := past{{"go to desk 1", "On the desk 1, you see a mug 1."}, {"open desk 1", failed}, {"look", "You are facing the desk 1."}, {"Take  cup 1 from desk 1", failed}}
	for _, c := range []struct {
		name   string
		past   past
		drafts []string
		single bool
		fire   bool
		reason string
		take   int
	}{
		{"different worlds", nil, []string{"go to desk 1", "go to bed 1"}, false, true, gate.ReasonStakes, 0},
		{"one world", nil, []string{"go to desk 1", "Go to  desk 1"}, false, false, gate.ReasonAgree, 0},
		{"an undisputed change", nil, []string{"take mug 1 from desk 1", "take mug 1 from desk 1"}, false, false, gate.ReasonAgree, 0},
		{"one draft is none", nil, []string{"", "go to desk 1", "go to desk 1"}, false, false, gate.ReasonAgree, 1},
		{"no drafts", nil, nil, true, true, gate.ReasonNoDraft, 0},
		{"empty drafts", nil, []string{"", " "}, true, true, gate.ReasonNoDraft, 0},
		{"all failed here", stuck, []string{"open desk 1", "take cup 1 from desk 1"}, false, false, gate.ReasonNoEffect, 0},
		{"looking changes nothing", append(slices.Clone(stuck), [2]string{"inventory", "You are carrying nothing."}), []string{"open desk 1", "take cup 1 from desk 1"}, false, false, gate.ReasonNoEffect, 0},
		{"failed before the move", moved, []string{"open fridge 1", "open desk 1"}, false, true, gate.ReasonStakes, 0},
		{"one can do something", stuck, []string{"open desk 1", "take mug 1 from desk 1"}, false, true, gate.ReasonStakes, 0},
		{"one can, and may", stuck, []string{"open desk 1", "take mug 1 from desk 1", "take mug 1 from desk 1"}, true, false, gate.ReasonSingle, 1},
		{"two can", stuck, []string{"open desk 1", "take mug 1 from desk 1", "go to bed 1"}, true, true, gate.ReasonStakes, 0},
	} {
		var commands, answers []string
		for _, p := range c.past {
			commands, answers = append(commands, p[0]), append(answers, p[1])
		}
		stuck := c.reason == gate.ReasonNoEffect
		if d, _ := (gate.Stakes{Single: c.single, Stuck: true}).Decide(c.drafts, commands, answers); stuck && (!d.Fire || d.Reason != gate.ReasonStuck) || !stuck && d.Reason != c.reason {
			t.Errorf("%s, thinking again: %+v", c.name, d)
		}
		if d, take := (gate.Stakes{Single: c.single}).Decide(c.drafts, commands, answers); d.Fire != c.fire || d.Reason != c.reason || take != c.take {
			t.Errorf("%s: %+v, take %d", c.name, d, take)
		}
	}
}

// TestStakesHold: in a world whose commands change a counter or nothing, a skipped
// step has the same outcome whichever draft is sent.
func TestStakesHold(t *testing.T) {
	names := []string{"go to a", "open b", "take c", "look", "inventory"}
	reasons := map[string]int{}
	for seed := range uint64(2000) {
		r := rng.New(seed, "stakes")
		var works [12]bool // command k has an effect where the counter is i: works[(3i+k) % 12]
		for i := range works {
			works[i] = r.IntN(3) == 0
		}
		counter := 0
		outcome := func(k int) (int, string) {
			switch {
			case k > 2:
				return counter, "You see."
			case works[(3*counter+k)%12]:
				return counter + 1, "Done."
			}
			return counter, failed
		}
		var commands, answers []string
		for range 20 {
			drafts := make([]int, 1+r.IntN(4))
			texts := make([]string, len(drafts))
			for i := range drafts {
				drafts[i] = r.IntN(3)
				texts[i] = names[drafts[i]]
			}
			d, take := gate.Stakes{}.Decide(texts, commands, answers)
			reasons[d.Reason]++
			for i, k := range drafts {
				want, _ := outcome(drafts[take])
				if got, _ := outcome(k); !d.Fire && got != want {
					t.Fatalf("seed %d: skipped (%s), but draft %d leads to %d and draft %d to %d", seed, d.Reason, take, want, i, got)
				}
			}
			k := r.IntN(len(names))
			var answer string
			counter, answer = outcome(k)
			commands, answers = append(commands, names[k]), append(answers, answer)
		}
	}
	for _, want := range []string{gate.ReasonAgree, gate.ReasonNoEffect, gate.ReasonStakes} {
		if reasons[want] < 1000 {
			t.Errorf("only %d decisions for the reason %q: the test shows little", reasons[want], want)
		}
	}
}

func FuzzStakes(f *testing.F) {
	f.Add("go to desk 1\ngo to bed 1", "look\nopen desk 1", "You see.\nNothing happens.")
	f.Fuzz(func(t *testing.T, drafts, commands, answers string) {
		ds := strings.Split(drafts, "\n")
		for _, single := range []bool{false, true} {
			d, take := gate.Stakes{Single: single}.Decide(ds, strings.Split(commands, "\n"), strings.Split(answers, "\n"))
			if take < 0 || take >= len(ds) || !d.Fire && strings.TrimSpace(ds[take]) == "" {
				t.Fatalf("%+v, take %d of %q", d, take, ds)
			}
		}
	})
}

func BenchmarkStakes(b *testing.B) {
	var commands, answers []string
	for i := range 50 {
		commands, answers = append(commands, fmt.Sprintf("take mug %d from desk 1", i)), append(answers, failed)
	}
	drafts := []string{"take mug 1 from desk 1", "take mug 2 from desk 1", "take mug 3 from desk 1", "go to bed 1", "go to bed 2"}
	for b.Loop() {
		gate.Stakes{Single: true}.Decide(drafts, commands, answers)
	}
}

func ExampleStakes() {
	done := []string{"go to desk 1", "open desk 1", "take pen 2 from desk 1"}
	seen := []string{"On the desk 1, you see a pen 1.", "Nothing happens.", "Nothing happens."}
	for _, drafts := range [][]string{
		{"take pen 1 from desk 1", "take pen 1 from desk 1"},
		{"open desk 1", "take pen 2 from desk 1"},
		{"open desk 1", "take pen 1 from desk 1"},
	} {
		d, _ := gate.Stakes{}.Decide(drafts, done, seen)
		fmt.Println(d.Fire, "-", d.Reason)
	}
	// Output:
	// false - all drafts are one command
	// false - no draft can have an effect
	// true - the commands lead to different worlds
}
