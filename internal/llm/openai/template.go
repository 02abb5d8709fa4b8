package openai

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// defaultStops are the openings of ALFWorld's observations. Servers take four.
var defaultStops = []string{"\nYou ", "\nOn the ", "\nThe ", "\nNothing "}

const maxStops = 4

const defaultSystem = `You continue transcripts of a household text game. Every line has one of these forms:
think: a short thought
> a command, for example: go to desk 1, open drawer 2, take mug 1 from desk 1, move mug 1 to shelf 1, clean mug 1 with sinkbasin 1, heat mug 1 with microwave 1, cool mug 1 with fridge 1, use desklamp 1
plan: how to reach the goal, one line
reflection: what to do differently next time, one line
a line without such a beginning is what the game answers; "Nothing happens." means that a command had no effect
[end: won] or [end: lost] ends a game
Write only lines of the transcript, no comments.`

// instruction tells a chat model where to stop.
func instruction(r llm.Request, prefix string) string {
	switch r.Until {
	case llm.UntilAction:
		return "Write the next lines: at most one line that begins with \"think:\", then exactly one line that begins with \"> \". Do not write the game's answer."
	case llm.UntilPairs:
		s := fmt.Sprintf("Imagine how the game goes on for the next %d commands: write the commands (each may have a think: line before it) and after each the game's answer.", max(r.Pairs, 1))
		if !r.ForbidEnd {
			s += " If the goal is reached, or can't be, write [end: won] or [end: lost] and stop."
		}
		return s
	}
	return fmt.Sprintf("Write the rest of the last line (%q), one line only.", lastLine(prefix))
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// stops are the strings at which the server shall end.
func (o Options) stopsFor(r llm.Request) []string {
	switch r.Until {
	case llm.UntilLine:
		if o.Mode == Chat { // an answer may begin with a newline
			return nil
		}
		return []string{"\n"}
	case llm.UntilAction:
		return o.Stops[:min(len(o.Stops), maxStops)]
	}
	if r.ForbidEnd {
		return []string{"\n[end:"}
	}
	return nil
}

// prompt is the text sent to /completions.
func prompt(prefix string, r llm.Request) string {
	if prefix == "" {
		return " " // an empty prompt is refused, or left out of the body
	}
	if r.Until == llm.UntilLine || openTag(prefix) {
		return prefix
	}
	return prefix + "\n"
}

// openTag says whether the last line is a tag without text, to be continued.
func openTag(prefix string) bool {
	l := llm.ParseLine(lastLine(prefix))
	return l.Kind != llm.KindObservation && l.Kind != llm.KindEnd && l.Text == ""
}

// tidy takes off what models put around a transcript: a thinking block, code
// fences, and the repetition of a tag that was already there.
func tidy(s, prefix string, r llm.Request) string {
	if i := strings.LastIndex(s, "</think>"); i >= 0 {
		s = s[i+len("</think>"):]
	} else if strings.HasPrefix(strings.TrimSpace(s), "<think>") {
		s = "" // all of it was thinking, cut off by the token limit
	}
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(l), "```") {
			lines = append(lines, l)
		}
	}
	s = strings.Join(lines, "\n")
	if r.Until == llm.UntilLine || openTag(prefix) {
		tag := strings.TrimSpace(lastLine(prefix))
		t := strings.TrimSpace(s)
		if tag != "" && len(t) >= len(tag) && strings.EqualFold(t[:len(tag)], tag) {
			s = t[len(tag):]
		}
	}
	return s
}

// cut applies the request's rule. Where the prefix ends in an open tag ("…\n>")
// the tag belongs to the first line when its kind is judged.
func cut(s, prefix string, r llm.Request) llm.CutResult {
	if r.Until == llm.UntilLine || !openTag(prefix) {
		return llm.Cut(s, r)
	}
	tag := strings.TrimSpace(lastLine(prefix))
	c := llm.Cut(tag+" "+strings.TrimSpace(s), r)
	c.Text = strings.TrimPrefix(c.Text, "\n"+tag)
	return c
}
