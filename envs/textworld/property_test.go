package textworld

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same compares the states of two worlds of one game.
func same(a, b *World) bool {
	return a.loc == b.loc && a.held == b.held && a.won == b.won && slices.Equal(a.bits, b.bits)
}

// language is every command that could be meant in a room, in both dialects, and
// some that never are.
func language(s State) []string {
	var recs, objs []string
	for _, r := range s.Receptacles {
		recs = append(recs, r.Name)
	}
	for _, o := range s.Objects {
		objs = append(objs, o.Name)
	}
	cmds := []string{"look", "inventory", "help", "", "look ", "go to", "take", "wait", "examine"}
	for _, n := range slices.Concat(recs, objs) {
		for _, v := range []string{"go to ", "open ", "close ", "examine ", "use ", "toggle ", "take "} {
			cmds = append(cmds, v+n)
		}
	}
	for _, o := range objs {
		for _, r := range recs {
			cmds = append(cmds, "take "+o+" from "+r, "move "+o+" to "+r, "put "+o+" in/on "+r,
				"clean "+o+" with "+r, "heat "+o+" with "+r, "cool "+o+" with "+r)
		}
		for _, k := range objs {
			cmds = append(cmds, "slice "+o+" with "+k)
		}
	}
	return cmds
}

// Do and the admissible list agree on every command of the language, in states
// that random play reaches; a command without effect changes nothing, and Reason
// is empty exactly for those with one.
func TestDoAgreesWithAdmissible(t *testing.T) {
	games, err := LoadFile("../../testdata/alfworld/games-sample.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(games).Draw(t, "game")
		d := rapid.SampledFrom([]Dialect{DialectMove, DialectPut}).Draw(t, "dialect")
		w := NewWorld(g, d)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			adm := w.AppendAdmissible(nil)
			// Half of the choices avoid going somewhere, so that things happen.
			if i := slices.IndexFunc(adm, func(c string) bool { return strings.HasPrefix(c, "take") || strings.HasPrefix(c, "open") }); i >= 0 && rapid.Bool().Draw(t, "act") {
				w.Do(adm[i])
				continue
			}
			w.Do(rapid.SampledFrom(adm).Draw(t, "cmd"))
		}
		adm := w.AppendAdmissible(nil)
		if !sort.StringsAreSorted(adm) {
			t.Fatalf("not sorted: %q", adm)
		}
		if len(slices.Compact(slices.Clone(adm))) != len(adm) {
			t.Fatalf("a command twice: %q", adm)
		}
		possible := map[string]bool{}
		for _, c := range adm {
			possible[c] = true
		}
		before := w.Clone()
		try, found := w.Clone(), 0
		for _, c := range language(w.Describe()) {
			obs, effect := try.Do(c)
			if effect != possible[strings.TrimSpace(c)] {
				t.Fatalf("%q: effect %v, admissible %v", c, effect, possible[c])
			}
			if effect {
				found++
				try.CopyFrom(w)
				continue
			}
			if obs != noEffect || !same(try, before) {
				t.Fatalf("%q has no effect but answers %q or changes the state", c, obs)
			}
			if len(c)%16 == 0 && w.Reason(c) == "" { // a sample: reasons are slow
				t.Fatalf("%q has no effect and no reason", c)
			}
		}
		if found < len(adm) {
			t.Fatalf("%d commands of the language have an effect, %d are listed", found, len(adm))
		}
		for _, c := range adm {
			if r := w.Reason(c); r != "" {
				t.Fatalf("%q is admissible, but Reason says %q", c, r)
			}
		}
		if !same(w, before) {
			t.Fatal("a clone's commands changed the original")
		}
	})
}
