package chat

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// SplitThinking takes the think block off a text: models without a side channel
// put their reasoning before the answer. A block that was never closed is all
// reasoning; a text that only has the closing tag began inside the block (the
// template had opened it).
func SplitThinking(s string) (text, reasoning string) {
	t := strings.TrimLeft(s, " \t\r\n")
	if rest, ok := strings.CutPrefix(t, thinkOpen); ok {
		reasoning, text, _ = strings.Cut(rest, thinkClose)
		return strings.TrimLeft(text, " \t\r\n"), strings.TrimSpace(reasoning)
	}
	if before, after, ok := strings.Cut(s, thinkClose); ok {
		return strings.TrimLeft(after, " \t\r\n"), strings.TrimSpace(before)
	}
	return s, ""
}

// JoinThinking puts reasoning before a text, inside a think block.
func JoinThinking(text, reasoning string) string {
	if reasoning == "" {
		return text
	}
	return thinkOpen + "\n" + reasoning + "\n" + thinkClose + "\n" + text
}

// Visible returns the part of a growing raw text that can be shown already: what
// SplitThinking leaves, less an ending that may turn out to be the start of a tag.
func Visible(raw string) string {
	t := strings.TrimLeft(raw, " \t\r\n")
	if len(t) < len(thinkOpen) && strings.HasPrefix(thinkOpen, t) {
		return ""
	}
	text, _ := SplitThinking(raw)
	for n := min(len(text), len(thinkClose)-1); n > 0; n-- {
		if strings.HasPrefix(thinkClose, text[len(text)-n:]) {
			return text[:len(text)-n]
		}
	}
	return text
}
