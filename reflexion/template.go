package reflexion

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Template is all that differs between models: how the prompt reads and how an
// answer is parsed. The agent's code path is the same for all.
// Implementations are stateless and safe for concurrent use.
type Template interface {
	Name() string
	// Prompt is the text before the plan; it does not end in a newline.
	// reflections are oldest first.
	Prompt(t Task, reflections []string) string
	// Pair renders one real pair, beginning with a newline.
	Pair(p llm.Pair) string
	// Parse reads a continuation; see llm.ParseRollout.
	Parse(text string) (pairs []llm.Pair, claim string, ok bool)
	// Line cleans a sampled plan or reflection: one line, without tag.
	Line(text string) string
}

// TemplateFor returns the template that suits a model: [ChatTemplate] for served
// models ("openai/…"), [EmbeddedTemplate] for all others.
func TemplateFor(m llm.Info) Template {
	if strings.HasPrefix(m.Name, "openai/") {
		return ChatTemplate{}
	}
	return EmbeddedTemplate{}
}

// EmbeddedTemplate is the bare text of internal/llm: task, room, reflections.
// The embedded model was trained on exactly these lines.
type EmbeddedTemplate struct{}

// Name is "embedded".
func (EmbeddedTemplate) Name() string { return "embedded" }

// Prompt writes the task line, the room line and a line for each reflection.
func (EmbeddedTemplate) Prompt(t Task, reflections []string) string {
	var b strings.Builder
	b.WriteString(llm.RenderTask(t.Goal, t.Room))
	for _, r := range reflections {
		b.WriteString(llm.RenderReflection(r))
	}
	return b.String()
}

// Pair writes thoughts, action and observation, each on a line of its own.
func (EmbeddedTemplate) Pair(p llm.Pair) string { return llm.RenderPair(p) }

// Parse is llm.ParseRollout with actions in canonical form.
func (EmbeddedTemplate) Parse(text string) ([]llm.Pair, string, bool) {
	pairs, claim, ok := llm.ParseRollout(text)
	for i := range pairs {
		pairs[i].Action = CanonicalAction(pairs[i].Action)
		pairs[i].Observation = CanonicalObservation(pairs[i].Observation)
	}
	return pairs, claim, ok
}

// Line takes the first line that is not empty and drops a repeated tag.
func (EmbeddedTemplate) Line(text string) string {
	for _, l := range llm.Lines(text) {
		switch l.Kind {
		case llm.KindObservation, llm.KindPlan, llm.KindReflection, llm.KindThink:
			if l.Text != "" {
				return l.Text
			}
		default:
			return ""
		}
	}
	return ""
}

// ChatTemplate is for general models behind a server: the same lines, after an
// instruction that explains them and one episode that was played.
type ChatTemplate struct{ EmbeddedTemplate }

// Name is "chat".
func (ChatTemplate) Name() string { return "chat" }

// Prompt is instruction, example, then the lines of [EmbeddedTemplate].
func (t ChatTemplate) Prompt(task Task, reflections []string) string {
	return fmt.Sprintf(chatInstruction, fewShot(task.Goal)) + "\n\n" + t.EmbeddedTemplate.Prompt(task, reflections)
}

// Parse also forgives a code fence around the answer.
func (t ChatTemplate) Parse(text string) ([]llm.Pair, string, bool) {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "```") {
			kept = append(kept, line)
		}
	}
	return t.EmbeddedTemplate.Parse(strings.Join(kept, "\n"))
}

// chatInstruction describes the line format of internal/llm and the commands of
// the game. The example is an episode of the same kind of task; see fewshot.go.
const chatInstruction = `You act in a household that is simulated as text. Continue the transcript below, line by line, in exactly this format:

plan: one line, the steps you intend
think: one short line, your reasoning (optional, before a command)
> one command

After each command comes one line without a tag: what the household answers. If you write further than one command, predict that line as well as you can. If you think the task is done write [end: won], if it can't be done any more [end: lost].
A line "reflection: …" before the plan is a lesson from an earlier attempt at the same task: use it.

Commands, with names exactly as displayed, such as mug 1 or drawer 2:
go to PLACE, open PLACE, close PLACE, take THING from PLACE, move THING to PLACE, clean THING with PLACE, heat THING with PLACE, cool THING with PLACE, use LAMP, examine PLACE, look, inventory.
You must be at a place to use it, a closed place must be opened, and you can hold one thing. A command that can't be done is answered by "Nothing happens.": then do something else.

Example, a game that was really played:
%s

Now the real transcript. Write only its continuation.`
