package viewer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is the longest text that is laid out, in runes. Records come from files that
// anybody may have written; no screen holds more.
const MaxText = 4000

// clean1 says what stands for a rune: itself, a space, a visible sign, or nothing (-1).
func clean1(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
		return ' '
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
		return '\ufffd'
	case r == 0x200b || r == 0x200c || r == 0x200d || r == 0x2060 || r == 0xfeff || r == 0xad:
		return -1 // no width
	case r == 0x200e || r == 0x200f || r == 0x61c || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return '\ufffd' // turns the direction of writing: could show what isn't there
	case r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff:
		return -1 // variation selectors, tags
	}
	return r
}

// Clean returns s as one line that can be shown: line ends and tabs are spaces, control
// characters (ANSI sequences too) and bytes that are no UTF-8 are shown as U+FFFD,
// signs without width are left out, and at most [MaxText] runes are kept.
func Clean(s string) string {
	n, plain := 0, true
	for i, r := range s {
		if n++; n > MaxText {
			s = s[:i] + "…"
			break
		}
		plain = plain && clean1(r) == r && r != utf8.RuneError
	}
	if plain {
		return s
	}
	return strings.Map(clean1, s)
}

// Wrap breaks s into at most most lines of at most width logical pixels, at spaces where
// there are any. When something is left out the last line ends in "…".
func Wrap(st Style, s string, width float64, most int) []string {
	if most < 1 || width <= 0 {
		return nil
	}
	words := strings.Fields(Clean(s))
	var lines []string
	line := ""
	for len(words) > 0 {
		w := words[0]
		try := w
		if line != "" {
			try = line + " " + w
		}
		if Measure(st, try) <= width {
			line, words = try, words[1:]
			continue
		}
		if len(lines) == most-1 { // the last line, and it is full
			return append(lines, Ellipsis(st, try+" …", width))
		}
		if line == "" { // a word longer than a line is broken anywhere
			n := fit(st, w, width)
			line, words[0] = w[:n], w[n:]
		}
		lines = append(lines, line)
		line = ""
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fit is the length in bytes of the longest prefix of s that is no wider than width, at
// least one rune.
func fit(st Style, s string, width float64) int {
	x := 0.0
	for i, r := range s {
		x += advance(st, r)
		if x > width && i > 0 {
			return i
		}
	}
	return len(s)
}

// Ellipsis returns s, or as much of it as fits into width with "…" behind.
func Ellipsis(st Style, s string, width float64) string {
	s = Clean(s)
	if Measure(st, s) <= width {
		return s
	}
	n := fit(st, s, width-Measure(st, "…"))
	return strings.TrimRightFunc(strings.TrimSuffix(s[:n], "…"), unicode.IsSpace) + "…"
}
