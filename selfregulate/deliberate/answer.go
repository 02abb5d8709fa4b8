package deliberate

import (
	"regexp"
	"strings"
)

var (
	marker  = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+)?(?:final\s+)?answer\s*(?:is\b)?\s*[:=]?[*_]*\s*[:=]?\s*(.+?)\s*$`)
	hashes  = regexp.MustCompile(`(?m)^####\s*(.+?)\s*$`)
	midline = regexp.MustCompile(`(?i)final answer\s*(?:is\b)?\s*[*_]*\s*[:=]?\s*[*_]*\s*(.+?)\s*$`)
)

// FinalAnswer reads the answer of a path: behind the last "Final answer:", inside
// the last \boxed{}, behind "####", else the last line that isn't empty.
func FinalAnswer(text string) string {
	if a, ok := marked(text); ok {
		return a
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return tidyAnswer(lines[len(lines)-1])
}

// marked reads an answer that is named as such.
func marked(text string) (string, bool) {
	if a, ok := boxed(text); ok {
		return tidyAnswer(a), true
	}
	named := strings.Contains(strings.ToLower(text), "answer")
	for _, re := range []*regexp.Regexp{marker, hashes} {
		if re == hashes && !strings.Contains(text, "####") || re == marker && !named {
			continue
		}
		if m := re.FindAllStringSubmatch(text, -1); m != nil {
			if a := tidyAnswer(m[len(m)-1][1]); a != "" {
				return a, true
			}
		}
	}
	if !named {
		return "", false
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if m := midline.FindStringSubmatch(lines[len(lines)-1]); m != nil {
		if a := tidyAnswer(m[1]); a != "" {
			return a, true
		}
	}
	return "", false
}

// boxed returns the contents of the last \boxed{…}, with braces inside.
func boxed(text string) (string, bool) {
	const open = `\boxed{`
	i := strings.LastIndex(text, open)
	if i < 0 {
		return "", false
	}
	depth := 1
	for k, r := range text[i+len(open):] {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[i+len(open):][:k], true
			}
		}
	}
	return "", false
}

func tidyAnswer(s string) string {
	s = strings.TrimSpace(s)
	s = strings.Trim(s, "*_`$ ")
	return strings.TrimSpace(strings.TrimSuffix(s, "."))
}

// Same says whether two answers are one: equal but for case, spaces, a dollar sign
// and the commas of large numbers.
func Same(a, b string) bool { return normal(a) == normal(b) }

var thousands = regexp.MustCompile(`(\d),(\d{3})\b`)

func normal(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(tidyAnswer(s)), " "))
	for thousands.MatchString(s) {
		s = thousands.ReplaceAllString(s, "$1$2")
	}
	s = strings.Trim(s, " .,;:!\"'")
	if strings.Contains(s, ".") && strings.Trim(s, "-0123456789.") == "" {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
