package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
)

// ExportKind is what an exported data set teaches.
type ExportKind string

// The kinds.
const (
	ExportSFT ExportKind = "sft" // successful episodes, for the actor
	ExportDPO ExportKind = "dpo" // pairs of reflections
)

// ExportFormat is whose fine-tuning reads a data set.
type ExportFormat string

// The formats.
const (
	// FormatOpenAI: supervised {"messages"}, preferences {"input", "preferred_output", "non_preferred_output"}.
	FormatOpenAI ExportFormat = "openai"
	// FormatTRL: supervised {"messages"}, preferences {"prompt", "chosen", "rejected"}, all conversational.
	FormatTRL ExportFormat = "trl"
)

// ParseExport reads a kind and a format as written on the command line.
func ParseExport(kind, format string) (ExportKind, ExportFormat, error) {
	k, f := ExportKind(kind), ExportFormat(format)
	if k != ExportSFT && k != ExportDPO {
		return "", "", fmt.Errorf("train: export of %q; known: sft, dpo", kind)
	}
	if f != FormatOpenAI && f != FormatTRL {
		return "", "", fmt.Errorf("train: export format %q; known: openai, trl", format)
	}
	return k, f, nil
}

// ChatMessage is one message of an exported conversation.
type ChatMessage struct {
	Role    string `json:"role"` // "system", "user" or "assistant"
	Content string `json:"content"`
	// Weight of an assistant's message in OpenAI's supervised format, 0 or 1.
	Weight *int `json:"weight,omitempty"`
}

// chatLine is one line of any of the four data sets.
type chatLine struct {
	Messages []ChatMessage `json:"messages,omitempty"`

	Input        *chatInput    `json:"input,omitempty"`
	Preferred    []ChatMessage `json:"preferred_output,omitempty"`
	NonPreferred []ChatMessage `json:"non_preferred_output,omitempty"`

	Prompt   []ChatMessage `json:"prompt,omitempty"`
	Chosen   []ChatMessage `json:"chosen,omitempty"`
	Rejected []ChatMessage `json:"rejected,omitempty"`
}

type chatInput struct {
	Messages []ChatMessage `json:"messages"`
}

// exportSystem opens every exported conversation.
const exportSystem = `You act in a household that is simulated as text. Answer each message of the household with at most one line "think: …" (your reasoning) and exactly one line "> …" (one command). Before the first command you may write one line "plan: …". A line "reflection: …" is a lesson from an earlier attempt at the same task.`

// reflectionRequest asks for a reflection, in exported preferences.
const reflectionRequest = `The task was not solved. Write one line that begins with "reflection: ": what should be done differently in the next attempt?`

// Conversation is an episode as a chat: the household speaks as the user. It ends in
// the last command, whose answer ended the episode. With skipFailed (OpenAI's format
// only) messages whose command had no effect get weight 0.
func Conversation(e *Episode, skipFailed bool) []ChatMessage {
	t := reflexion.EmbeddedTemplate{}
	out := []ChatMessage{
		{Role: "system", Content: exportSystem},
		{Role: "user", Content: t.Prompt(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections)},
	}
	for i, p := range e.Pairs() {
		var own strings.Builder
		if i == 0 && e.Plan != "" {
			own.WriteString(llm.RenderPlan(e.Plan))
		}
		for _, th := range p.Thoughts {
			own.WriteString(llm.RenderThought(th))
		}
		own.WriteString(llm.RenderAction(p.Action))
		m := ChatMessage{Role: "assistant", Content: own.String()[1:]}
		if skipFailed && p.Observation == nothing {
			m.Weight = new(int)
		}
		out = append(out, m)
		if i < len(e.Steps)-1 {
			out = append(out, ChatMessage{Role: "user", Content: p.Observation})
		}
	}
	return out
}

// ExportEpisodes writes the successful episodes as a supervised data set and returns
// how many lines it has.
func ExportEpisodes(w io.Writer, es []*Episode, f ExportFormat, skipFailed bool) (int, error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	n := 0
	for _, e := range es {
		if !e.Success || len(e.Steps) == 0 {
			continue
		}
		if err := enc.Encode(chatLine{Messages: Conversation(e, skipFailed && f == FormatOpenAI)}); err != nil {
			return n, fmt.Errorf("train: export: %w", err)
		}
		n++
	}
	return n, nil
}

// ExportPreferences writes pairs of reflections as a preference data set and returns
// how many lines it has.
func ExportPreferences(w io.Writer, ls []*LostTrial, f ExportFormat) (int, error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	n := 0
	for _, p := range PreferencePairs(ls) {
		prompt := trialPrompt(p.Trial)
		say := func(text string) []ChatMessage {
			return []ChatMessage{{Role: "assistant", Content: llm.RenderReflection(text)[1:]}}
		}
		line := chatLine{Prompt: prompt, Chosen: say(p.Better), Rejected: say(p.Worse)}
		if f == FormatOpenAI {
			line = chatLine{Input: &chatInput{prompt}, Preferred: say(p.Better), NonPreferred: say(p.Worse)}
		}
		if err := enc.Encode(line); err != nil {
			return n, fmt.Errorf("train: export: %w", err)
		}
		n++
	}
	return n, nil
}

// trialPrompt shows a whole lost trial in one message and asks for a reflection.
func trialPrompt(l *LostTrial) []ChatMessage {
	var b strings.Builder
	b.WriteString(reflexion.EmbeddedTemplate{}.Prompt(reflexion.Task{Goal: l.Goal, Room: l.Room}, l.Given))
	if l.Plan != "" {
		b.WriteString(llm.RenderPlan(l.Plan))
	}
	b.WriteString(llm.RenderPairs(l.Pairs))
	b.WriteString(llm.RenderEnd(false))
	b.WriteString("\n" + reflectionRequest)
	return []ChatMessage{{Role: "system", Content: exportSystem}, {Role: "user", Content: b.String()}}
}

// CheckExport validates a data set line by line and returns how many lines it has.
// Errors name file and line.
func CheckExport(path string, k ExportKind, f ExportFormat) (int, error) {
	lines := 0
	cut, err := scanLines(path, func(n int, _ int64, line []byte) error {
		lines++
		if err := checkLine(line, k, f); err != nil {
			return fmt.Errorf("train: %s:%d: %w", path, n, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return lines, err
	case cut > 0:
		return lines, fmt.Errorf("train: %s:%d: the last line has no end: export again", path, lines+1)
	case lines == 0:
		return 0, fmt.Errorf("train: %s is empty: a data set needs at least one line", path)
	}
	return lines, nil
}

func checkLine(line []byte, k ExportKind, f ExportFormat) error {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &keys); err != nil {
		return err
	}
	want := map[ExportKind]map[ExportFormat][]string{
		ExportSFT: {FormatOpenAI: {"messages"}, FormatTRL: {"messages"}},
		ExportDPO: {FormatOpenAI: {"input", "non_preferred_output", "preferred_output"}, FormatTRL: {"chosen", "prompt", "rejected"}},
	}[k][f]
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		return fmt.Errorf("the keys are %s, want %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	var l chatLine
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return err
	}
	if k == ExportSFT {
		return checkChat("messages", l.Messages, "assistant", f == FormatOpenAI)
	}
	prompt, chosen, rejected := l.Prompt, l.Chosen, l.Rejected
	if f == FormatOpenAI {
		if l.Input == nil {
			return errors.New("input is null")
		}
		prompt, chosen, rejected = l.Input.Messages, l.Preferred, l.NonPreferred
	}
	if err := checkChat("the prompt", prompt, "user", false); err != nil {
		return err
	}
	for i, out := range [][]ChatMessage{chosen, rejected} {
		name := []string{"the preferred answer", "the other answer"}[i]
		if len(out) != 1 || out[0].Role != "assistant" || strings.TrimSpace(out[0].Content) == "" || out[0].Weight != nil {
			return fmt.Errorf("%s is not one message of the assistant with text", name)
		}
	}
	if chosen[0].Content == rejected[0].Content {
		return fmt.Errorf("both answers are %q", shorten(chosen[0].Content))
	}
	return nil
}

// checkChat wants a conversation: a system message at most at the start, then user and
// assistant in turn, none of them empty, and last who must end it.
func checkChat(what string, ms []ChatMessage, last string, weights bool) error {
	turns := ms
	if len(turns) > 0 && turns[0].Role == "system" {
		turns = turns[1:]
	}
	if len(turns) == 0 {
		return fmt.Errorf("%s: no message of the user", what)
	}
	learnt := last != "assistant"
	for i, m := range turns {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("%s: message %d is the %s's, want the %s's", what, i+1, m.Role, want)
		}
		if strings.TrimSpace(m.Content) == "" {
			return fmt.Errorf("%s: message %d is empty", what, i+1)
		}
		if m.Weight != nil && (!weights || m.Role != "assistant" || *m.Weight != 0 && *m.Weight != 1) {
			return fmt.Errorf("%s: message %d has a weight that is not allowed here", what, i+1)
		}
		learnt = learnt || m.Role == "assistant" && (m.Weight == nil || *m.Weight == 1)
	}
	if got := turns[len(turns)-1].Role; got != last {
		return fmt.Errorf("%s: the %s ends it, want the %s", what, got, last)
	}
	if !learnt {
		return fmt.Errorf("%s: every answer has weight 0, nothing would be learnt", what)
	}
	return nil
}
