package msv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/selfassess/msv"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestFormulas: table 1 of the source, computed by hand.
func TestFormulas(t *testing.T) {
	p := func(x float64) msv.Part { return msv.Part{Self: x} }
	v := msv.Vector{
		Emotions: []msv.Emotion{{"joy", .5, .9, .6}, {"doubt", .3, .4, .5}, {"anxiety", .2, .1, .8}},
		Logic:    p(.9), Facts: p(.6), Fit: p(.3),
		Knowledge: p(.5), History: p(.2), Cues: p(.8),
		Internal: p(.1), Sources: p(.4), Time: p(.7),
		Consequences: p(1), Urgency: p(0), Scope: p(.5),
	}
	w := msv.Weights{Alpha: [3]float64{.5, .3, .2}, Omega: [3]float64{.2, .5, .3}, Delta: [3]float64{.6, .2, .2}, Beta: [3]float64{.7, .1, .2}}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	near(t, "valence", v.Valence(), .45+.12+.02)                               // .59
	near(t, "arousal", v.Arousal(), .3+.15+.16)                                // .61
	near(t, "spread", v.Spread(), math.Sqrt(.5*.31*.31+.3*.19*.19+.2*.49*.49)) // σ
	got := v.Values(w)
	for d, want := range map[msv.Dimension]float64{msv.ER: .59, msv.CE: .45 + .18 + .06, msv.EM: .1 + .1 + .24, msv.CI: .06 + .08 + .14, msv.PI: .7 + 0 + .1} {
		near(t, d.String(), got[d], want)
	}
	near(t, "uncertainty", got.Uncertainty(), .31)
	near(t, "unfamiliarity", got.Unfamiliarity(), .56)
	v.Facts.Measure(1.7, "judge") // clamped; replaces the report, which stays
	near(t, "CE with a measured part", v.Values(w)[msv.CE], .45+.3+.06)
	if v.Facts.Self != .6 || v.Facts.By != "judge" {
		t.Errorf("the report is gone: %+v", v.Facts)
	}
	v.Facts.Measure(math.NaN(), "nobody")
	near(t, "CE after a failed measurement", v.Values(w)[msv.CE], .81)
	w.Alpha = [3]float64{.5, .5, .5}
	if err := w.Validate(); err == nil || !strings.Contains(err.Error(), "alpha") {
		t.Errorf("weights that sum to 1.5: %v", err)
	}
	var none msv.Vector
	near(t, "valence of nothing", none.Valence(), .5)
	near(t, "spread of nothing", none.Spread(), 0)
}

func TestAggregates(t *testing.T) {
	vs := []msv.Values{{.2, .9, .4, .1, .5}, {.4, .6, .6, .3, .7}, {.6, .3, .8, .8, .3}}
	for d, want := range (msv.Values{.4, .6, .6, .4, .5}) {
		near(t, "mean", msv.Mean(vs)[d], want)
	}
	// Σ CE = 1.8; ER: (.18 + .24 + .18)/1.8, CE: (.81 + .36 + .09)/1.8, EM: (.36 + .36 + .24)/1.8,
	// CI: (.09 + .18 + .24)/1.8, PI: (.45 + .42 + .09)/1.8
	for d, want := range (msv.Values{.6 / 1.8, 1.26 / 1.8, .96 / 1.8, .51 / 1.8, .96 / 1.8}) {
		near(t, "mean by CE", msv.MeanByCE(vs)[d], want)
	}
	near(t, "75th percentile of three", msv.Conflict(vs), .55) // between .3 and .8
	near(t, "of two", msv.Conflict(vs[:2]), .25)
	near(t, "of one", msv.Conflict(vs[:1]), .1)
	four := []msv.Values{{3: .4}, {3: .1}, {3: .3}, {3: .2}} // numpy.percentile([.1,.2,.3,.4], 75) = .325
	near(t, "of four", msv.Conflict(four), .325)
	near(t, "the largest", msv.Percentile(four, msv.CI, 1), .4)
	if !math.IsNaN(msv.Conflict(nil)) || msv.Mean(nil) != (msv.Values{}) {
		t.Error("aggregates of none")
	}
	doubting := []msv.Values{{.2, 0}, {.4, 0}}
	near(t, "mean by CE without any confidence", msv.MeanByCE(doubting)[0], .3)
}

func report(change func(map[string]any)) string {
	m := map[string]any{}
	for _, k := range strings.Fields("logic facts fit knowledge history cues internal sources time consequences urgency scope") {
		m[k] = 40
	}
	m["joy"], m["anxiety"], m["quick_answer"] = 30, 10, "Sacramento"
	if change != nil {
		change(m)
	}
	b, _ := json.Marshal(m)
	return string(b)
}

func TestParse(t *testing.T) {
	for name, s := range map[string]string{
		"plain": report(nil), "in words": "Sure! Here it is:\n```json\n" + report(nil) + "\n```\nHope it helps {really}.",
		"strings": report(func(m map[string]any) { m["logic"] = "40%" }), "braces first": "{not json} " + report(nil),
		"nested": `{"msv": ` + report(nil) + `}`,
	} {
		r, err := msv.Parse(s)
		if err != nil || r.Vector.Logic.Self != .4 || r.Quick != "Sacramento" || len(r.Vector.Emotions) != 2 || math.Abs(r.Vector.Valence()-(.75*.9+.25*.15)) > 1e-12 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	var lines []string
	for _, p := range (&msv.Vector{}).Parts() {
		lines = append(lines, p.Key+": 70")
	}
	if r, err := msv.Parse(strings.Join(lines, "\n")); err != nil || r.Vector.Scope.Self != .7 || r.Vector.Emotions != nil {
		t.Errorf("lines: %+v %v", r, err)
	}
	for name, c := range map[string][2]string{
		"nothing":       {"I can't do that.", "no JSON"},
		"a missing key": {report(func(m map[string]any) { delete(m, "urgency") }), "urgency"},
		"out of range":  {report(func(m map[string]any) { m["scope"] = 170 }), "scope is 170"},
	} {
		if _, err := msv.Parse(c[0]); !errors.Is(err, msv.ErrFormat) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := msv.Prompt("2+2?")
	for _, k := range (&msv.Vector{}).Parts() {
		if !strings.Contains(p, `"`+k.Key+`"`) {
			t.Errorf("the prompt doesn't ask for %s", k.Key)
		}
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		vs := make([]msv.Values, n)
		lo, hi := 1., 0.
		for i := range vs {
			for d := range vs[i] {
				vs[i][d] = rapid.Float64Range(0, 1).Draw(t, "v")
			}
			lo, hi = min(lo, vs[i][msv.CI]), max(hi, vs[i][msv.CI])
		}
		for _, x := range []float64{msv.Mean(vs)[msv.CI], msv.MeanByCE(vs)[msv.CI], msv.Conflict(vs)} {
			if x < lo-1e-9 || x > hi+1e-9 {
				t.Fatalf("%v is outside [%v, %v]", x, lo, hi)
			}
		}
		b, err := json.Marshal(vs[0])
		var back msv.Values
		if err != nil || json.Unmarshal(b, &back) != nil || back != vs[0] {
			t.Fatalf("%s became %v", b, back)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(report(nil))
	f.Add("{{{")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := msv.Parse(s)
		if err != nil {
			return
		}
		for _, x := range r.Vector.Values(msv.DefaultWeights()) {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("%q: %+v", s, r.Vector)
			}
		}
	})
}

func Example() {
	var v msv.Vector
	v.Logic.Self, v.Facts.Self, v.Fit.Self = .9, .6, .9
	v.Facts.Measure(.3, "judge")
	x := v.Values(msv.DefaultWeights())
	fmt.Printf("%s %.0f, uncertainty %.0f\n", msv.CE, 100*x[msv.CE], 100*x.Uncertainty())
	// Output: CE 70, uncertainty 30
}

// TestSchema: what keeps to the schema can be read, and it has every key of the prompt.
func TestSchema(t *testing.T) {
	var s struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(msv.Schema(), &s); err != nil || len(s.Required) != len(s.Properties) || len(s.Required) != 20 {
		t.Fatalf("%d of %d keys, %v", len(s.Required), len(s.Properties), err)
	}
	reply, prompt := map[string]any{}, msv.Prompt("why?")
	for _, k := range s.Required {
		if !strings.Contains(prompt, `"`+k+`":`) {
			t.Errorf("%s is not asked for", k)
		}
		reply[k] = 40
		if s.Properties[k].Type == "string" {
			reply[k] = "because"
		}
	}
	raw, _ := json.Marshal(reply)
	if r, err := msv.Parse(string(raw)); err != nil || r.Quick != "because" || len(r.Vector.Emotions) != 7 {
		t.Errorf("%+v, %v", r, err)
	}
}
