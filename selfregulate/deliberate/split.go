package deliberate

import (
	"regexp"
	"strings"
)

// approach finds the openings of separate approaches in one sample.
var approach = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:(?:approach|method|solution|option|attempt)\s+(?:\d+|[a-e]|one|two|three|four)\b|alternatively\b|another\s+(?:way|approach|method)\b|a\s+different\s+(?:way|approach|method)\b)`)

// splitApproaches cuts a sample that holds several approaches into texts of their
// own, each with the preamble they share. It returns nil where there is only one,
// or where not every part comes to an answer: then they belong together.
func splitApproaches(text string) []string {
	at := approach.FindAllStringIndex(text, -1)
	if len(at) == 0 {
		return nil
	}
	starts := make([]int, 0, len(at)+1)
	pre := text[:at[0][0]]
	// "Alternatively …" after a whole solution: what stands before it is an approach, too.
	if _, ok := marked(pre); ok {
		starts = append(starts, 0)
		pre = ""
	}
	for _, a := range at {
		starts = append(starts, a[0])
	}
	if len(starts) < 2 {
		return nil
	}
	var out []string
	for i, s := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		part := strings.TrimSpace(text[s:end])
		if _, ok := marked(part); !ok {
			return nil
		}
		if p := strings.TrimSpace(pre); p != "" {
			part = p + "\n\n" + part
		}
		out = append(out, part)
	}
	return out
}
