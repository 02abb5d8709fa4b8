package reflexion_test

import (
	"go/parser"
	"go/token"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
)

func TestParseIntro(t *testing.T) {
	room := "You are in the middle of a room. Looking quickly around you, you see a bed 1, and a desk 1."
	want := reflexion.Task{Goal: "put some watch on safe.", Room: room}
	for name, text := range map[string]string{
		"game":    "-= Welcome to TextWorld, ALFRED! =-\n\n" + room + "\n\nYour task is to: put some watch on safe.",
		"newline": "-= Welcome to TextWorld, ALFRED! =-\n\n" + room + "\n\nYour task is to: put some watch on safe.\n",
		"harness": room + "\nYour task is to: put some watch on safe.",
		"glued":   room + "Your task is to: put some watch on safe.",
		"prompt":  "Your task is to: put some watch on safe.\n" + room,
	} {
		if got, err := reflexion.ParseIntro(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", room, "Your task is to: x", "Your task is to: \n" + room, strings.Repeat("é", 500)} {
		if _, err := reflexion.ParseIntro(text); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

func FuzzParseIntro(f *testing.F) {
	f.Add("You are in the middle of a room. x\n\nYour task is to: y")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := reflexion.ParseIntro(s); err == nil && (got.Goal == "" || got.Room == "" || strings.ContainsAny(got.Goal+got.Room, "\n")) {
			t.Errorf("%q gives %+v", s, got)
		}
	})
}

func TestDialectTexts(t *testing.T) {
	for _, c := range [][2]string{
		{"put mug 1 in/on shelf 1", "move mug 1 to shelf 1"},
		{"move mug 1 to shelf 1", "move mug 1 to shelf 1"},
		{"put mug 1 in shelf 1", "put mug 1 in shelf 1"}, // no command of either dialect: not repaired
		{" go to desk 1\n", "go to desk 1"},
	} {
		if got := reflexion.CanonicalAction(c[0]); got != c[1] {
			t.Errorf("CanonicalAction(%q) = %q", c[0], got)
		}
	}
	for _, c := range [][2]string{
		{"You arrive at loc 12. On the desk 1, you see nothing.", "On the desk 1, you see nothing."},
		{"You arrive at desk 1. The desk 1 is closed.", "The desk 1 is closed."},
		{"You put the mug 1 in/on the shelf 1.", "You move the mug 1 to the shelf 1."},
		{"Nothing happens.", "Nothing happens."},
		{"Available commands:\n  look: look\n", "Available commands:\n  look: look"},
	} {
		if got := reflexion.CanonicalObservation(c[0]); got != c[1] {
			t.Errorf("CanonicalObservation(%q) = %q", c[0], got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,9} [0-9]{1,2}`)
		a := "move " + name.Draw(t, "x") + " to " + name.Draw(t, "r")
		if got := reflexion.CanonicalAction(reflexion.EnvAction(a, reflexion.DialectPut)); got != a {
			t.Fatalf("%q comes back as %q", a, got)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, name := range []string{"react", "reflexion", "muse"} {
		c, err := reflexion.Default(name)
		if err != nil || c.Validate() != nil || c.Name != name {
			t.Errorf("%s: %+v, %v, %v", name, c, err, c.Validate())
		}
		if c.Rollouts != 5 || c.Horizon != 4 || c.Temperature != .5 || c.Limit != 50 {
			t.Errorf("%s: not the paper's numbers: %+v", name, c)
		}
	}
	if _, err := reflexion.Default("mues"); err == nil {
		t.Error("an unknown agent has no default")
	}
	err := reflexion.Config{Name: "x", Temperature: math.NaN(), Reflections: -1, ContextPairs: -1, Dialect: "say"}.Validate()
	for _, key := range []string{"name", "rollouts", "horizon", "temperature", "reflections", "context_pairs", "limit", "dialect"} {
		if err == nil || !strings.Contains(err.Error(), key+" is") {
			t.Errorf("%q is not reported: %v", key, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	for name, want := range map[string]string{"embedded/base": "embedded", "scripted/toy": "embedded", "openai/llama-3-8b": "chat"} {
		if got := reflexion.TemplateFor(llm.Info{Name: name}).Name(); got != want {
			t.Errorf("%s gets %q", name, got)
		}
	}
	// The chat prompt is the bare text after an instruction; the example in it is
	// in the format that the parser reads.
	p := reflexion.ChatTemplate{}.Prompt(task, []string{"r"})
	bare := reflexion.EmbeddedTemplate{}.Prompt(task, []string{"r"})
	if !strings.HasSuffix(p, "\n"+bare) || p == bare {
		t.Errorf("chat prompt: %q", p)
	}
	_, example, _ := strings.Cut(p, "\nplan: find book")
	example, _, _ = strings.Cut(example, "\n\n")
	pairs, claim, ok := llm.ParseRollout("plan: find book" + example)
	if !ok || claim != "won" || len(pairs) != 4 {
		t.Errorf("the example reads as %d pairs, claim %q", len(pairs), claim)
	}
	pairs, _, ok = reflexion.ChatTemplate{}.Parse("```\n>think: hm\nOK.\n>put mug 1 in/on shelf 1\nYou put the mug 1 in/on the shelf 1.\n```")
	if !ok || len(pairs) != 1 || pairs[0].Action != "move mug 1 to shelf 1" || pairs[0].Thoughts[0] != "hm" || pairs[0].Observation != "You move the mug 1 to the shelf 1." {
		t.Errorf("chat answer reads as %+v", pairs)
	}
	for in, want := range map[string]string{" find it.": "find it.", "\nplan: find it.\n> x": "find it.", "> go": "", "": "", "[end: won]": ""} {
		if got := (reflexion.EmbeddedTemplate{}).Line(in); got != want {
			t.Errorf("Line(%q) = %q", in, got)
		}
	}
}

// TestSeesTextsOnly: what an agent can't import, it can't read. Privileged values
// live in envs.Info; records with outcomes in train.
func TestSeesTextsOnly(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range tree.Imports {
			if p := strings.Trim(i.Path.Value, `"`); strings.Contains(p, "muse/envs") || strings.HasSuffix(p, "muse/train") {
				t.Errorf("%s imports %s", f.Name(), p)
			}
		}
	}
}
