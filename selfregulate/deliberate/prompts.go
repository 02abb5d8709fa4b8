package deliberate

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm/chat"
)

const defaultSystem = "You solve problems carefully. Think step by step, check your result, and end with one line of the form\nFinal answer: X"

const sketchSystem = "You plan how to solve problems. Write a short outline of the solution: the key steps and the expected result, no details."

// hints name a different approach to each sampled path.
var hints = []string{
	"Work forwards from what is given.",
	"Work backwards from what is asked.",
	"Try small or extreme cases first, then generalise.",
	"Look for a short argument: symmetry, an invariant, or a known result.",
	"Do it by careful enumeration or direct calculation.",
	"Assume the obvious answer is wrong and find out why.",
}

// messages are the conversation that asks for a path.
func (c *Config) messages(p Problem, system, addition string) []chat.Message {
	if c.System != "" && system == defaultSystem {
		system = c.System
	}
	var out []chat.Message
	own := false
	for _, m := range p.History {
		own = own || m.Role == chat.System
	}
	if !own {
		out = append(out, chat.Message{Role: chat.System, Content: system})
	}
	out = append(out, p.History...)
	text := p.Text
	if addition != "" {
		text += "\n\n" + addition
	}
	return append(out, chat.Message{Role: chat.User, Content: text})
}

func fromSketch(sketch string) string {
	return "Follow this outline, and correct it where it is wrong:\n" + sketch
}

func fromBest(path string) string {
	return "Here is an earlier attempt. It may be wrong: find its weakest step and solve the problem anew.\n---\n" + path + "\n---"
}

// judged is the problem as a judge sees it: with the turns that came before.
func (p Problem) judged() string {
	var b strings.Builder
	for _, m := range p.History {
		if m.Role != chat.System {
			fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content)
		}
	}
	if b.Len() > 0 {
		b.WriteString(chat.User + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}
