package gate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/selfregulate/gate"
)

type draft struct{ lang, kind, text string }

func drafts(t testing.TB) []draft {
	t.Helper()
	b, err := os.ReadFile("testdata/drafts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []draft
	for i, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if strings.HasPrefix(l, "#") {
			continue
		}
		f := strings.Split(l, "\t")
		if len(f) != 3 {
			t.Fatalf("drafts.tsv:%d: %q", i+1, l)
		}
		out = append(out, draft{f[0], f[1], f[2]})
	}
	return out
}

// TestDrafts: on the set of drafts no claim is ever skipped, nothing in an
// unsupported language is, and nearly all known acknowledgements are.
func TestDrafts(t *testing.T) {
	g := gate.New(gate.Config{Selective: true})
	set := drafts(t)
	calls, langs := 0, map[string][2]int{}
	for _, d := range set {
		// The coldest conversation: the legacy rule would fire on each of them.
		got := g.Decide(gate.Context{Draft: d.text, Confidence: .5, Intent: gate.IntentChat})
		if got.Fire {
			calls++
		}
		if d.kind != "ack" && !got.Fire {
			t.Errorf("false skip (%s, %s): %q", d.lang, d.kind, d.text)
		}
		if d.kind == "ack" {
			n := langs[d.lang]
			n[1]++
			if !got.Fire {
				n[0]++
			} else {
				t.Logf("fires on %q: %s", d.text, got.Reason)
			}
			langs[d.lang] = n
		}
	}
	if len(set) < 300 || len(langs) != 5 {
		t.Errorf("%d drafts, acknowledgements in %d languages", len(set), len(langs))
	}
	for _, l := range gate.Languages {
		if n := langs[l]; float64(n[0]) < .9*float64(n[1]) {
			t.Errorf("%s: %d of %d acknowledgements are skipped", l, n[0], n[1])
		}
	}
	t.Logf("%d drafts: %d critic calls, %d saved", len(set), calls, len(set)-calls)
}

// TestTruthTable goes through every combination of the predicate's terms.
func TestTruthTable(t *testing.T) {
	const ack, claim, other = "Got it, will do.", "Got it, that is 7.", "It was a pity."
	topic := "health"
	for code := range 1 << 9 {
		bit := func(i int) bool { return code>>i&1 == 1 }
		for _, intent := range []gate.Intent{"", gate.IntentChat, gate.IntentAction, gate.IntentAmbiguous} {
			c := gate.Context{Draft: other, Intent: intent, Confidence: .9}
			cfg := gate.Config{Selective: bit(0)}
			if bit(1) {
				c.Sensitive = &topic
			}
			if bit(2) {
				c.Findings = []string{"invented quote"}
			}
			reads, writes := bit(3), bit(4)
			if reads {
				c.ToolCalls = append(c.ToolCalls, "search")
			}
			if writes {
				c.ToolCalls = append(c.ToolCalls, "send_mail")
			}
			if bit(5) {
				cfg.ReadOnlyTools = []string{"search"}
			}
			claims := bit(6)
			trivial := bit(7) && !claims
			switch {
			case claims:
				c.Draft = claim
			case trivial:
				c.Draft = ack
			}
			if bit(8) {
				c.Confidence = .3
			}

			acted := writes || reads && !bit(5)
			hard := bit(1) || bit(2) || acted || intent == gate.IntentAction || intent == gate.IntentAmbiguous || claims
			want := !(!hard && trivial)
			if !cfg.Selective {
				want = bit(8) || bit(1)
			}
			if got := gate.New(cfg).Decide(c); got.Fire != want || got.Reason == "" {
				t.Fatalf("code %b, intent %q: %+v, want %v", code, intent, got, want)
			}
		}
	}
}

// TestFlagOffIsTheOldRule: byte for byte, whatever else is configured or known.
func TestFlagOffIsTheOldRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := gate.Context{
			Draft:      rapid.String().Draw(t, "draft"),
			ToolCalls:  rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tools"),
			Findings:   rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "findings"),
			Intent:     gate.Intent(rapid.SampledFrom([]string{"", "chat", "action", "ambiguous"}).Draw(t, "intent")),
			Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"),
		}
		if rapid.Bool().Draw(t, "hit") {
			s := "topic"
			c.Sensitive = &s
		}
		off := gate.New(gate.Config{ReadOnlyTools: []string{"search"}, Patterns: []string{"ok"}})
		a, _ := json.Marshal(off.Decide(c))
		b, _ := json.Marshal(gate.Legacy(c))
		if !bytes.Equal(a, b) {
			t.Fatalf("%s and %s", a, b)
		}
		if want := c.Confidence < .6 || c.Sensitive != nil; gate.Legacy(c).Fire != want {
			t.Fatalf("the old rule: %v, want %v", !want, want)
		}
	})
	if !gate.Legacy(gate.Context{Confidence: math.NaN()}).Fire {
		t.Error("an unknown confidence passes")
	}
}

func TestOwnGate(t *testing.T) {
	for name, c := range map[string]struct {
		own  any
		fire bool
		warn bool
	}{
		"skips":         {func(c gate.Context) bool { return !c.Selective }, false, false},
		"fires":         {gate.Func(func(gate.Context) (bool, error) { return true, nil }), true, false},
		"fails":         {func(gate.Context) (bool, error) { return false, errors.New("broken") }, true, false},
		"panics":        {func(gate.Context) bool { panic("oh") }, true, false},
		"nil":           {nil, false, false},
		"nil function":  {(func(gate.Context) bool)(nil), false, true},
		"no function":   {42, false, true},
		"wrong returns": {func(gate.Context) string { return "fire" }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var warned []string
			g := gate.New(gate.Config{Own: c.own, Warn: func(s string) { warned = append(warned, s) }})
			if d := g.Decide(gate.Context{Draft: "x", Confidence: .9}); d.Fire != c.fire {
				t.Errorf("got %+v", d)
			}
			if (len(warned) > 0) != c.warn {
				t.Errorf("warned %q", warned)
			}
		})
	}
	// What an own gate does to its context stays there.
	tools := []string{"search"}
	g := gate.New(gate.Config{Own: func(c gate.Context) bool { c.ToolCalls[0] = "x"; return false }})
	g.Decide(gate.Context{ToolCalls: tools})
	if tools[0] != "search" {
		t.Error("an own gate changed the caller's list")
	}
}

func TestPatternsReplaceThePhrases(t *testing.T) {
	var warned int
	g := gate.New(gate.Config{Selective: true, Patterns: []string{"va bene.*", "(", ".*seven.*|.*rome.*"}, Warn: func(string) { warned++ }})
	for text, fire := range map[string]bool{
		"Va bene, ci penso io": false, "Got it": true, "va bene, sono 3": true, "It is seven": true, "In Rome": true,
		"va bene " + strings.Repeat("molto ", 20): true,
	} {
		if d := g.Decide(gate.Context{Draft: text}); d.Fire != fire {
			t.Errorf("%q: %+v", text, d)
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings about a bad pattern", warned)
	}
}

func TestSteps(t *testing.T) {
	s := gate.Steps{}
	for _, c := range []struct {
		action, last, answer string
		fire                 bool
	}{
		{"go to desk 1", "", "", false}, {"look", "", "", false}, {"inventory", "", "", false}, {"examine mug 1", "", "", false},
		{"take mug 1 from desk 1", "", "", true}, {"move mug 1 to shelf 1", "", "", true}, {"open fridge 1", "", "", true},
		{"clean mug 1 with sinkbasin 1", "", "", true}, {"lookup", "", "", true}, {"", "", "", true}, {"go", "", "", true},
		{"go to desk 1", "open drawer 1", "Nothing happens.", true},
		{"go to desk 1", "Go to desk 1", "On the desk 1, you see nothing.", true},
		{"go to desk 2", "go to desk 1", "On the desk 1, you see nothing.", false},
	} {
		var cs, as []string
		if c.last != "" {
			cs, as = []string{c.last}, []string{c.answer}
		}
		if d := s.Decide(c.action, cs, as); d.Fire != c.fire {
			t.Errorf("%q after %q: %+v", c.action, c.last, d)
		}
	}
}

// FuzzGate: no draft panics; one with a digit, a question or over the limits is
// never skipped; adding a claim to a draft never turns firing into skipping.
func FuzzGate(f *testing.F) {
	for _, d := range drafts(f) {
		f.Add(d.text)
	}
	f.Add("\xff\x00ok")
	g := gate.New(gate.Config{Selective: true})
	f.Fuzz(func(t *testing.T, s string) {
		d := g.Decide(gate.Context{Draft: s})
		if !d.Fire && (strings.ContainsAny(s, "0123456789?") || len([]rune(s)) > 80 || len(strings.Fields(s)) > 12) {
			t.Fatalf("skipped %q", s)
		}
		for _, claim := range []string{"It costs 7.", "See Paris", "two"} {
			if d := g.Decide(gate.Context{Draft: s + " " + claim}); !d.Fire {
				t.Fatalf("skipped %q with %q", s, claim)
			}
		}
		if gate.IsTrivial(s) && gate.HasClaims(s) {
			t.Fatalf("%q is trivial and claims something", s)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	set := drafts(b)
	set = append(set, draft{"en", "claim", strings.Repeat("a long draft without any claim in it ", 100)})
	g := gate.New(gate.Config{Selective: true})
	for i := 0; b.Loop(); i++ {
		g.Decide(gate.Context{Draft: set[i%len(set)].text, ToolCalls: nil})
	}
}

func Example() {
	g := gate.New(gate.Config{Selective: true, ReadOnlyTools: []string{"search"}})
	for _, c := range []gate.Context{
		{Draft: "Got it, scheduling that."},
		{Draft: "Got it, scheduling that.", ToolCalls: []string{"search"}},
		{Draft: "Got it, scheduling that.", ToolCalls: []string{"create_event"}},
		{Draft: "Got it, the total is 42."},
	} {
		d := g.Decide(c)
		fmt.Println(d.Fire, "-", d.Reason)
	}
	// Output:
	// false - trivial acknowledgement
	// false - trivial acknowledgement
	// true - a tool that acts was used
	// true - the draft has claims
}
