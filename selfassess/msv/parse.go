package msv

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrFormat is matched by errors about a self-report that can't be read. Its message
// says what is missing, so that it can be shown to the model.
var ErrFormat = errors.New("msv: unreadable self-report")

// emotions that a node rates, with their place in the plane of valence and arousal
// (Russell's circumplex, rescaled to 0 … 1).
var emotions = []Emotion{
	{"joy", 0, .9, .6}, {"curiosity", 0, .75, .6}, {"calm", 0, .7, .15}, {"surprise", 0, .5, .85},
	{"doubt", 0, .35, .45}, {"anxiety", 0, .15, .8}, {"frustration", 0, .1, .7},
}

// part names a component in reports.
type part struct {
	key, asks string
	of        func(*Vector) *Part
}

var parts = []part{
	{"logic", "how logically consistent your answer will be", func(v *Vector) *Part { return &v.Logic }},
	{"facts", "how factually accurate it will be", func(v *Vector) *Part { return &v.Facts }},
	{"fit", "how well it will fit what is asked", func(v *Vector) *Part { return &v.Fit }},
	{"knowledge", "how well your knowledge covers the subject", func(v *Vector) *Part { return &v.Knowledge }},
	{"history", "how similar it is to questions you have answered", func(v *Vector) *Part { return &v.History }},
	{"cues", "how familiar its wording is", func(v *Vector) *Part { return &v.Cues }},
	{"internal", "how much your own thoughts about it contradict each other", func(v *Vector) *Part { return &v.Internal }},
	{"sources", "how much sources disagree about it", func(v *Vector) *Part { return &v.Sources }},
	{"time", "how much the answer changes over time", func(v *Vector) *Part { return &v.Time }},
	{"consequences", "how grave a wrong answer would be", func(v *Vector) *Part { return &v.Consequences }},
	{"urgency", "how urgent it is", func(v *Vector) *Part { return &v.Urgency }},
	{"scope", "how many people or things it touches", func(v *Vector) *Part { return &v.Scope }},
}

// Named is a component by its key: for tables and charts.
type Named struct {
	Key       string
	Dimension Dimension
	Part      Part
}

// Parts lists the twelve components of CE, EM, CI and PI, three each.
func (v *Vector) Parts() []Named {
	out := make([]Named, len(parts))
	for i, p := range parts {
		out[i] = Named{p.key, CE + Dimension(i/3), *p.of(v)}
	}
	return out
}

// Prompt asks a node to rate a query. The answer is read by Parse.
func Prompt(query string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Before answering a question, rate your own state about it. Question:\n%s\n\n", query)
	b.WriteString("Reply with one flat JSON object and nothing else. Every value is a number from 0 to 100, but for quick_answer. Keys:\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%q: %s\n", p.key, p.asks)
	}
	for _, e := range emotions {
		fmt.Fprintf(&b, "%q: how much of it you feel\n", e.Name)
	}
	b.WriteString("\"quick_answer\": your answer in at most ten words\n")
	return b.String()
}

// Schema is the JSON schema of the answer to [Prompt], for servers that can hold a model
// to one: small models often fail without.
func Schema() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var keys []string
	for _, p := range parts {
		keys = append(keys, p.key)
	}
	for _, e := range emotions {
		keys = append(keys, e.Name)
	}
	for _, k := range keys {
		fmt.Fprintf(&b, `%q:{"type":"integer","minimum":0,"maximum":100},`, k)
	}
	b.WriteString(`"quick_answer":{"type":"string","maxLength":80}},"required":["` + strings.Join(append(keys, "quick_answer"), `","`) + `"],"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

// Report is a self-report as it was read.
type Report struct {
	Vector Vector
	Quick  string // the quick answer, "" where none was given
}

var loose = regexp.MustCompile(`(?i)["']?\b([a-z_]+)\b["']?\s*[:=]\s*["']?(-?\d+(?:\.\d+)?)\s*%?["']?`)
var quick = regexp.MustCompile(`(?i)"quick_answer"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// Parse reads a self-report. It takes JSON inside of other text, numbers as strings,
// and a few lines of "key: number"; what is missing or out of range is named in an
// error that matches ErrFormat. Emotions may be missing (neutral then).
func Parse(reply string) (Report, error) {
	values := map[string]float64{}
	var r Report
	if m := object(reply); m != nil {
		flatten(m, values, &r.Quick)
	}
	if len(values) == 0 {
		for _, m := range loose.FindAllStringSubmatch(reply, -1) {
			if x, err := strconv.ParseFloat(m[2], 64); err == nil {
				values[strings.ToLower(m[1])] = x
			}
		}
		if m := quick.FindStringSubmatch(reply); m != nil {
			r.Quick = m[1]
		}
	}
	var missing, wrong []string
	for _, p := range parts {
		x, ok := values[p.key]
		switch {
		case !ok:
			missing = append(missing, p.key)
		case !(x >= 0 && x <= 100):
			wrong = append(wrong, fmt.Sprintf("%s is %v", p.key, x))
		}
		p.of(&r.Vector).Self = x / 100
	}
	sum := 0.
	for _, e := range emotions {
		if x := values[e.Name]; x > 0 && x <= 100 {
			e.Share = x
			sum += x
			r.Vector.Emotions = append(r.Vector.Emotions, e)
		}
	}
	for i := range r.Vector.Emotions {
		r.Vector.Emotions[i].Share /= sum
	}
	switch {
	case len(missing) == len(parts):
		return Report{Quick: r.Quick}, fmt.Errorf("%w: no JSON object with numbers was found", ErrFormat)
	case len(missing) > 0:
		return Report{Quick: r.Quick}, fmt.Errorf("%w: these keys are missing: %s", ErrFormat, strings.Join(missing, ", "))
	case len(wrong) > 0:
		slices.Sort(wrong)
		return Report{Quick: r.Quick}, fmt.Errorf("%w: values must lie between 0 and 100: %s", ErrFormat, strings.Join(wrong, ", "))
	}
	return r, nil
}

// object returns the first JSON object in a text, nil where there is none.
func object(s string) map[string]any {
	for i := strings.IndexByte(s, '{'); i >= 0; {
		var m map[string]any
		if json.NewDecoder(strings.NewReader(s[i:])).Decode(&m) == nil && m != nil {
			return m
		}
		j := strings.IndexByte(s[i+1:], '{')
		if j < 0 {
			return nil
		}
		i += 1 + j
	}
	return nil
}

// flatten collects numbers, also from nested objects, by their last key.
func flatten(m map[string]any, into map[string]float64, quick *string) {
	for k, v := range m {
		k = strings.ToLower(strings.TrimSpace(k))
		switch v := v.(type) {
		case float64:
			into[k] = v
		case map[string]any:
			flatten(v, into, quick)
		case string:
			if k == "quick_answer" {
				*quick = strings.TrimSpace(v)
			} else if x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(v), "%"), 64); err == nil && !math.IsNaN(x) {
				into[k] = x
			}
		}
	}
}
