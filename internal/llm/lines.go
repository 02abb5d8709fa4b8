package llm

import "strings"

// Kind is the role of one line of a text.
type Kind int

const (
	KindObservation Kind = iota // no tag: what only the environment may write
	KindThink                   // "think: …"
	KindAct                     // "> …"
	KindPlan                    // "plan: …"
	KindReflection              // "reflection: …"
	KindEnd                     // "[end: won]" or "[end: lost]"
)

// Tags of the line format, as written by the Render functions and the embedded model.
const (
	TagThink      = "think:"
	TagAct        = ">"
	TagPlan       = "plan:"
	TagReflection = "reflection:"
	EndWon        = "[end: won]"
	EndLost       = "[end: lost]"
)

// NothingHappens is the environment's answer to a command without effect.
const NothingHappens = "Nothing happens."

// Line is one line without its tag.
type Line struct {
	Kind Kind
	// Text is trimmed; for KindEnd it is "won" or "lost".
	Text string
}

// Render writes the line with its tag, without a newline.
func (l Line) Render() string {
	switch l.Kind {
	case KindThink:
		return tagged(TagThink, l.Text)
	case KindAct:
		return tagged(TagAct, l.Text)
	case KindPlan:
		return tagged(TagPlan, l.Text)
	case KindReflection:
		return tagged(TagReflection, l.Text)
	case KindEnd:
		return "[end: " + l.Text + "]"
	}
	return l.Text
}

func tagged(tag, text string) string {
	if text == "" {
		return tag
	}
	return tag + " " + text
}

// ParseLine reads one line. It is tolerant towards served models: tags in any
// case, ">" without a space, and ReAct's original "> think: …" are understood.
func ParseLine(s string) Line {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch r {
		case 0: // tokenizers cut texts there
			return -1
		case '\r', '\n':
			return ' '
		}
		return r
	}, s))
	if rest, ok := strings.CutPrefix(s, TagAct); ok {
		rest = strings.TrimSpace(rest)
		if t, ok := cutFold(rest, TagThink); ok {
			return Line{KindThink, t}
		}
		return Line{KindAct, rest}
	}
	for _, t := range [...]struct {
		tag  string
		kind Kind
	}{{TagThink, KindThink}, {TagPlan, KindPlan}, {TagReflection, KindReflection}} {
		if rest, ok := cutFold(s, t.tag); ok {
			return Line{t.kind, rest}
		}
	}
	switch strings.ToLower(s) {
	case EndWon:
		return Line{KindEnd, "won"}
	case EndLost:
		return Line{KindEnd, "lost"}
	}
	return Line{KindObservation, s}
}

// cutFold is strings.CutPrefix for ASCII tags in any case; the rest is trimmed.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return strings.TrimSpace(s[len(prefix):]), true
}

// Lines splits a text into its lines; empty lines are left out.
func Lines(text string) []Line {
	var out []Line
	for s := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		out = append(out, ParseLine(s))
	}
	return out
}

// RenderThought, RenderAction, RenderPlan, RenderReflection and RenderEnd write
// one line with the newline before it, ready for Session.Append.
func RenderThought(text string) string    { return "\n" + tagged(TagThink, oneLine(text)) }
func RenderAction(text string) string     { return "\n" + tagged(TagAct, oneLine(text)) }
func RenderPlan(text string) string       { return "\n" + tagged(TagPlan, oneLine(text)) }
func RenderReflection(text string) string { return "\n" + tagged(TagReflection, oneLine(text)) }

// RenderEnd writes the line that tells how an episode ended.
func RenderEnd(won bool) string {
	if won {
		return "\n" + EndWon
	}
	return "\n" + EndLost
}

// RenderObservation writes what the environment answered. Each line of text
// stays a line; empty lines are left out.
func RenderObservation(text string) string {
	var b strings.Builder
	for s := range strings.SplitSeq(text, "\n") {
		if s = strings.TrimSpace(s); s != "" {
			b.WriteString("\n" + s)
		}
	}
	return b.String()
}

// RenderPair writes thoughts, action and observation of one pair.
func RenderPair(p Pair) string {
	var b strings.Builder
	for _, t := range p.Thoughts {
		b.WriteString(RenderThought(t))
	}
	b.WriteString(RenderAction(p.Action))
	b.WriteString(RenderObservation(p.Observation))
	return b.String()
}

// RenderPairs writes pairs one after the other; ParseRollout reads them back.
func RenderPairs(pairs []Pair) string {
	var b strings.Builder
	for _, p := range pairs {
		b.WriteString(RenderPair(p))
	}
	return b.String()
}

// RenderTask writes the first two lines of an episode: task and room.
func RenderTask(goal, room string) string {
	return "Your task is to: " + oneLine(goal) + "\n" + oneLine(room)
}

// oneLine joins the lines of a text by spaces, so that it can't forge a tag.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}
