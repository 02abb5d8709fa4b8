package llm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRollout(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		pairs []Pair
		claim string
		ok    bool
	}{
		"pairs and claim": {"\nthink: find mug: not here. next desk 1.\n> go to desk 1\nOn the desk 1, you see nothing.\n> open drawer 1\nNothing happens.\n[end: lost]\n> ignored",
			[]Pair{{[]string{"find mug: not here. next desk 1."}, "go to desk 1", "On the desk 1, you see nothing."}, {nil, "open drawer 1", "Nothing happens."}}, "lost", true},
		"action only":             {"\n> go to desk 1", []Pair{{Action: "go to desk 1"}}, "", true},
		"think only":              {"\nthink: hm", nil, "", false},
		"empty":                   {"", nil, "", false},
		"begins with observation": {"You are at desk 1.\n> open drawer 1", []Pair{{Action: "open drawer 1"}}, "", false},
		"ReAct's own form":        {"\n> think: where?\nOK.\n>Go to bed 1\nOn the bed 1, you see nothing.", []Pair{{[]string{"where?"}, "Go to bed 1", "On the bed 1, you see nothing."}}, "", true},
		"tags in capitals":        {"\nThink: a\n> b\n[END: WON]", []Pair{{[]string{"a"}, "b", ""}}, "won", true},
		"two lines of text":       {"\n> look\nYou are here.\nNext to it, you see nothing.", []Pair{{nil, "look", "You are here.\nNext to it, you see nothing."}}, "", true},
		"bare prompt sign":        {"\n>\n> look\nx", []Pair{{nil, "look", "x"}}, "", true},
		"carriage returns":        {"\r\n> look\r\nx\r\n", []Pair{{nil, "look", "x"}}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			pairs, claim, ok := ParseRollout(c.text)
			if !reflect.DeepEqual(pairs, c.pairs) || claim != c.claim || ok != c.ok {
				t.Errorf("got %q %q %v, want %q %q %v", pairs, claim, ok, c.pairs, c.claim, c.ok)
			}
		})
	}
}

func TestParsePlanAndTail(t *testing.T) {
	p := Parse("\nplan: find a mug.\nreflection: not in desk 1.\n> look\nx\nthink: and now?")
	if p.Plan != "find a mug." || p.Reflection != "not in desk 1." || !reflect.DeepEqual(p.Tail, []string{"and now?"}) || len(p.Pairs) != 1 {
		t.Errorf("got %+v", p)
	}
}

// word draws texts that an observation, thought or action may hold.
func word() *rapid.Generator[string] {
	return rapid.Map(rapid.StringMatching(`[a-z][a-z0-9 ,.']{0,20}`), func(s string) string {
		if s = strings.TrimSpace(s); s == "ok." { // an answer to a thought, dropped by design
			return "ok"
		}
		return s
	})
}

func TestRenderParseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pair {
			p := Pair{Action: word().Draw(t, "action"), Observation: word().Draw(t, "observation")}
			for range rapid.IntRange(0, 2).Draw(t, "thoughts") {
				p.Thoughts = append(p.Thoughts, word().Draw(t, "thought"))
			}
			return p
		}), 1, 6).Draw(t, "pairs")
		text := RenderPairs(pairs)
		claim := rapid.SampledFrom([]string{"", "won", "lost"}).Draw(t, "claim")
		if claim != "" {
			text += RenderEnd(claim == "won")
		}
		got, c, ok := ParseRollout(text)
		if !ok || c != claim || !reflect.DeepEqual(got, pairs) {
			t.Fatalf("%q: got %q %q %v, want %q %q", text, got, c, ok, pairs, claim)
		}
		// A cut after k pairs gives exactly the first k, and says whether more followed.
		k := rapid.IntRange(1, len(pairs)).Draw(t, "k")
		cut := Cut(text, Request{Until: UntilPairs, Pairs: k})
		want := RenderPairs(pairs[:k])
		if k == len(pairs) && claim != "" {
			want += "\n[end: " + claim + "]"
		}
		if cut.Text != want || cut.Cut != (k < len(pairs)) {
			t.Fatalf("cut at %d of %q: %+v, want %q", k, text, cut, want)
		}
		// An action never carries an observation.
		cut = Cut(text, Request{Until: UntilAction, ForbidEnd: true})
		if want := RenderPair(Pair{Thoughts: pairs[0].Thoughts, Action: pairs[0].Action}); cut.Text != want || !cut.Foreign || cut.Finish != FinishStop {
			t.Fatalf("action of %q: %+v, want %q", text, cut, want)
		}
	})
}

func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		r    Request
		want CutResult
	}{
		"line":                    {" find a mug.\nYou are in", Request{Until: UntilLine}, CutResult{" find a mug.", FinishStop, true, true}},
		"line without an end":     {"find", Request{Until: UntilLine}, CutResult{" find", "", false, false}},
		"no action yet":           {"\nthink: x", Request{Until: UntilAction}, CutResult{"\nthink: x", "", false, false}},
		"observation before":      {"On the desk 1", Request{Until: UntilAction}, CutResult{"", "", true, true}},
		"end forbidden":           {"\nthink: x\n[end: won]", Request{Until: UntilAction, ForbidEnd: true}, CutResult{"\nthink: x", "", true, true}},
		"second action":           {"> a\n> b", Request{Until: UntilAction}, CutResult{"\n> a", FinishStop, true, false}},
		"claim":                   {"> a\nx\n[end: won]\nmore", Request{Until: UntilPairs, Pairs: 4}, CutResult{"\n> a\nx\n[end: won]", FinishEnd, false, false}},
		"too few pairs":           {"> a\nx\n> b", Request{Until: UntilPairs, Pairs: 2}, CutResult{"\n> a\nx\n> b", "", false, false}},
		"last pair without a cut": {"> a\nx\n> b\ny", Request{Until: UntilPairs, Pairs: 2}, CutResult{"\n> a\nx\n> b\ny", FinishStop, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Cut(c.in, c.r); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRenderKeepsLinesApart(t *testing.T) {
	if got := RenderAction("go\n[end: won]"); got != "\n> go [end: won]" {
		t.Errorf("a newline in an action forged a line: %q", got)
	}
	if got := RenderObservation("a\n\n b \n"); got != "\na\nb" {
		t.Errorf("got %q", got)
	}
}

// FuzzParse: no input panics, and what Parse understood survives rendering.
func FuzzParse(f *testing.F) {
	f.Add("\nthink: a\n> b\nc\n[end: won]")
	f.Add("> think: a\nOK.\n>\n>x\r\n\x00")
	f.Fuzz(func(t *testing.T, s string) {
		p := Parse(s)
		again := Parse(RenderPairs(p.Pairs))
		if len(again.Pairs) != len(p.Pairs) {
			t.Fatalf("%q: %d pairs, %d after rendering %q", s, len(p.Pairs), len(again.Pairs), RenderPairs(p.Pairs))
		}
		for i := range p.Pairs {
			if p.Pairs[i].Action != again.Pairs[i].Action {
				t.Fatalf("%q: action %q became %q", s, p.Pairs[i].Action, again.Pairs[i].Action)
			}
		}
		for _, r := range []Request{{Until: UntilLine}, {Until: UntilAction}, {Until: UntilPairs, Pairs: 2}} {
			c := Cut(s, r)
			if r.Until == UntilAction && len(Parse(c.Text).Pairs) > 1 {
				t.Fatalf("%q: more than one action in %q", s, c.Text)
			}
			for _, q := range Parse(c.Text).Pairs {
				if r.Until == UntilAction && q.Observation != "" {
					t.Fatalf("%q: an observation slipped through: %q", s, c.Text)
				}
			}
		}
	})
}

func ExampleParseRollout() {
	pairs, claim, ok := ParseRollout("\nthink: next desk 1.\n> go to desk 1\nOn the desk 1, you see nothing.\n[end: lost]")
	fmt.Println(pairs[0].Action, "|", pairs[0].Observation, "|", claim, ok)
	// Output: go to desk 1 | On the desk 1, you see nothing. | lost true
}
