package train

import "strings"

// Agents that decide when futures or plans are worth their price have their setting in
// the selector of the record: "gated/single", "first/2", "planned/adaptive/2-6".

// variant is that setting in words, "" for other agents.
func variant(selector string) string {
	kind, rest, ok := strings.Cut(selector, "/")
	if !ok {
		return ""
	}
	switch kind {
	case "gated":
		return "gate: " + rest
	case "first":
		return rest + " commands"
	case "planned":
		return strings.Replace(rest, "/", ", ", 1) + " more plans"
	}
	return ""
}

// shownStyle is the style of a row, with that setting.
func shownStyle(s PartSpec) string {
	return strings.Trim(styleOf(s)+", "+variant(s.Agent.Selector), ", ")
}

// variantFlags are the flags of muse eval that choose it.
func variantFlags(selector string) []string {
	kind, rest, _ := strings.Cut(selector, "/")
	switch kind {
	case "gated":
		return []string{"--gate", rest}
	case "first":
		return []string{"--first", rest}
	case "planned":
		_, plans, _ := strings.Cut(rest, "/")
		least, most, _ := strings.Cut(plans, "-")
		return []string{"--min-plans", least, "--max-plans", most}
	}
	return nil
}

// variantPair says which differences of these agents are reported: a gate against
// firing always, a deliberated plan against one plan with and without as many tokens.
func variantPair(x, y string) bool {
	kind := func(s string) string { k, _, _ := strings.Cut(s, "/"); return k }
	switch kind(x) {
	case "gated":
		return y == "best" || y == "off"
	case "planned":
		return y == "off" || kind(y) == "first"
	case "first":
		return y == "off"
	}
	return false
}

// plans says whether the agent's plans are made outside of its text agent.
func plans(selector string) bool { return strings.HasPrefix(selector, "planned/") }
