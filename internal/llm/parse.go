package llm

import "strings"

// Parsed is the structure of a continuation.
type Parsed struct {
	Plan       string   // of a "plan:" line, the last one
	Reflection string   // of a "reflection:" line, the last one
	Pairs      []Pair   // actions with their thoughts and observations, in order
	Claim      string   // "won", "lost" or "" where no end was claimed
	Tail       []string // thoughts after the last pair
	Stray      int      // observation lines before the first action: only an environment may write them
}

// Parse reads a continuation line by line. It never fails: whatever fits no rule
// is an observation. Text after an end claim is ignored.
func Parse(text string) Parsed {
	var p Parsed
	open := false // the last pair may still get observation lines
	think := false
	for _, l := range Lines(text) {
		switch l.Kind {
		case KindThink:
			open, think = false, true
			if l.Text != "" {
				p.Tail = append(p.Tail, l.Text)
			}
			continue
		case KindAct:
			if l.Text == "" { // a bare ">" is no command
				open = false
				break
			}
			p.Pairs = append(p.Pairs, Pair{Thoughts: p.Tail, Action: l.Text})
			p.Tail, open = nil, true
		case KindPlan:
			p.Plan, open = l.Text, false
		case KindReflection:
			p.Reflection, open = l.Text, false
		case KindEnd:
			p.Claim = l.Text
			return p
		case KindObservation:
			switch {
			case think && strings.EqualFold(l.Text, "OK."):
				// ReAct's harness answers a thought by "OK."; models imitate it.
			case open:
				last := &p.Pairs[len(p.Pairs)-1]
				if last.Observation != "" {
					last.Observation += "\n"
				}
				last.Observation += l.Text
			default:
				p.Stray++
			}
		}
		think = false
	}
	return p
}

// ParseRollout reads an imagined future (or one action with its thoughts): its
// pairs, the model's own claim of the end ("won", "lost" or ""), and whether it
// is valid, that is, has an action and doesn't begin with an observation. A pair
// that was cut off, or ends in an action, has an empty Observation.
func ParseRollout(text string) (pairs []Pair, claim string, ok bool) {
	p := Parse(text)
	return p.Pairs, p.Claim, len(p.Pairs) > 0 && !beginsWithObservation(text)
}

func beginsWithObservation(text string) bool {
	for s := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(s) != "" {
			return ParseLine(s).Kind == KindObservation
		}
	}
	return false
}

// CutResult is the part of a generated text that a request asked for.
type CutResult struct {
	Text string // as Completion.Text
	// Finish is FinishStop or FinishEnd where the rule was met within the text, else "".
	Finish Finish
	// Cut is true when something else followed and was dropped.
	Cut bool
	// Foreign is true when the dropped text began with a line that only the
	// environment may write (an observation where none was asked for, or an end).
	Foreign bool
}

// Cut applies the Until rule of r to a whole generated text. Backends that can't
// stop by themselves (servers) use it on every answer, so that an agent never
// acts on an observation that a model made up.
func Cut(text string, r Request) CutResult {
	if r.Until == UntilLine {
		return cutLine(text)
	}
	var (
		out   []string
		res   CutResult
		pairs int
		open  = false // inside an observation
		acted = false
	)
	done := func(f Finish, rest Kind, more bool) CutResult {
		res.Finish, res.Cut = f, more
		res.Foreign = more && (rest == KindObservation || rest == KindEnd)
		if len(out) > 0 {
			res.Text = "\n" + strings.Join(out, "\n")
		}
		return res
	}
	for _, l := range Lines(text) {
		if l.Kind == KindEnd && r.ForbidEnd {
			f := Finish("")
			if acted && r.Until == UntilAction {
				f = FinishStop
			}
			return done(f, l.Kind, true)
		}
		if acted && r.Until == UntilAction {
			return done(FinishStop, l.Kind, true)
		}
		if open && l.Kind != KindObservation { // the pair is complete
			open = false
			if pairs++; pairs >= max(r.Pairs, 1) && r.Until == UntilPairs {
				if l.Kind == KindEnd { // the claim belongs to the last observation
					out = append(out, l.Render())
					return done(FinishEnd, l.Kind, false)
				}
				return done(FinishStop, l.Kind, true)
			}
		}
		switch l.Kind {
		case KindEnd:
			out = append(out, l.Render())
			return done(FinishEnd, l.Kind, false)
		case KindAct:
			if l.Text == "" {
				continue
			}
			acted = true
		case KindObservation:
			if !acted { // before the first action only thoughts are the model's to write
				if r.Until == UntilAction && !strings.EqualFold(l.Text, "OK.") {
					return done("", l.Kind, true)
				}
				if strings.EqualFold(l.Text, "OK.") {
					continue
				}
			}
			open = acted
		}
		out = append(out, l.Render())
	}
	switch {
	case acted && r.Until == UntilAction:
		return done(FinishStop, KindAct, false)
	case open && pairs+1 >= max(r.Pairs, 1):
		return done(FinishStop, KindObservation, false)
	}
	return done("", KindAct, false)
}

// cutLine keeps the first line that isn't empty, with one space before it: the
// text continues a line whose tag ("plan:") ends without one.
func cutLine(text string) CutResult {
	text = strings.TrimLeft(text, " \t\r\n")
	line, rest, found := strings.Cut(text, "\n")
	rest = strings.TrimSpace(rest)
	res := CutResult{Text: strings.TrimRight(line, " \t\r"), Cut: rest != ""}
	if found && res.Text != "" {
		res.Finish = FinishStop
	}
	if res.Text != "" {
		res.Text = " " + res.Text
	}
	if res.Cut {
		k := ParseLine(strings.SplitN(rest, "\n", 2)[0]).Kind
		res.Foreign = k == KindObservation || k == KindEnd
	}
	return res
}
