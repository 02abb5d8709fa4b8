package selfassess

import "strings"

// TextOptions say how a future becomes the text that is embedded.
type TextOptions struct {
	// Plan puts the plan P^e before the pairs: M(τ, P^e) of the paper's Alg. 2.
	Plan bool `json:"plan"`
	// Thoughts keeps "think:" lines of the pairs.
	Thoughts bool `json:"thoughts"`
	// Context is the number of last real pairs put before the assessed ones; 0 = paper.
	Context int `json:"context"`
}

// emptyText stands for a future without any pair and plan: an embedder must get something.
const emptyText = "nothing"

// TrajectoryText is the text of a future in the line format of internal/llm:
// plan line, context pairs, then the assessed pairs as "> action" and observation
// lines. Without any line it is "nothing".
func TrajectoryText(in *Input, o TextOptions) string {
	var b strings.Builder
	line := func(prefix, s string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(prefix)
		b.WriteString(s)
	}
	if o.Plan && in.Plan != "" {
		line("plan: ", in.Plan)
	}
	write := func(pairs []Pair) {
		for _, p := range pairs {
			if o.Thoughts {
				for _, t := range p.Thoughts {
					line("think: ", t)
				}
			}
			line("> ", p.Action)
			line("", p.Observation)
		}
	}
	write(in.History[max(0, len(in.History)-max(0, o.Context)):])
	write(in.Pairs)
	if b.Len() == 0 {
		return emptyText
	}
	return b.String()
}
