package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/lora"
	"github.com/muse-agent/muse/reflexion"
)

// The held-out games don't depend on the order, on repeats, or (but for their number)
// on the share.
func TestHeldOut(t *testing.T) {
	var games []string
	for i := range 50 {
		games = append(games, fmt.Sprintf("g%02d", i), fmt.Sprintf("g%02d", i))
	}
	a := HeldOut(games, .2)
	slices.Reverse(games)
	b, more := HeldOut(games, .2), HeldOut(games, .4)
	if len(a) != 10 || !slices.Equal(a, b) || len(more) != 20 {
		t.Fatalf("%v, %v, %v", a, b, more)
	}
	for _, g := range a {
		if !slices.Contains(more, g) {
			t.Errorf("%s is held out of a share of .2, not of .4", g)
		}
	}
	if len(HeldOut(games, 0)) != 0 || len(HeldOut([]string{"a"}, .5)) != 0 || len(HeldOut([]string{"a", "b"}, .01)) != 1 || len(HeldOut([]string{"a", "b"}, .99)) != 1 {
		t.Error("edges")
	}
}

func TestLearnSettings(t *testing.T) {
	if err := DefaultSFT().Validate(); err != nil {
		t.Error(err)
	}
	if err := DefaultDPO().Validate(); err != nil {
		t.Error(err)
	}
	c := DefaultSFT()
	c.Adapter.Rank, c.Steps, c.Rate, c.Held, c.Batch = 0, 0, -1, 1, 0
	err := c.Validate()
	for _, want := range []string{"rank is 0", "steps is 0", "rate is -1", "held is 1", "batch is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	d := DefaultSFT().LearnConfig
	if d.rate(0) >= d.rate(5) || d.rate(d.Steps-1) > .2*d.Rate || d.rate(9) != d.Rate {
		t.Errorf("rates %g %g %g %g", d.rate(0), d.rate(5), d.rate(9), d.rate(d.Steps-1))
	}
}

// Every pass has every sequence once, batches keep their size, and the order is the seed's.
func TestBatches(t *testing.T) {
	var ss []lora.Sequence
	for i := range 7 {
		ss = append(ss, lora.Sequence{IDs: make([]int32, 10+i)})
	}
	draw := func(seed uint64) []int {
		next := batches(ss, 30, seed)
		var lens []int
		for len(lens) < 14 {
			b := next()
			n := 0
			for _, s := range b {
				n += len(s.IDs)
				lens = append(lens, len(s.IDs))
			}
			if n > 30 && len(b) > 1 {
				t.Errorf("a batch of %d tokens", n)
			}
		}
		return lens[:14]
	}
	a := draw(1)
	first := slices.Sorted(slices.Values(a[:7]))
	if !slices.Equal(first, []int{10, 11, 12, 13, 14, 15, 16}) {
		t.Errorf("first pass %v", a[:7])
	}
	if !slices.Equal(a, draw(1)) || slices.Equal(a, draw(2)) {
		t.Error("the order is not the seed's")
	}
}

func wonEpisode() *Episode {
	step := func(thought, action, obs string) Step {
		s := Step{Action: action, Observation: obs, Trace: reflexion.Trace{}}
		if thought != "" {
			s.Trace.Thoughts = []string{thought}
		}
		return s
	}
	return &Episode{Format: EpisodeFormat, ID: "g#collect/0", Task: "g", Goal: "put a mug in shelf.", Room: "You are in the middle of a room.", Success: true,
		Plan: "find a mug.", Reflections: []string{"look in desk 1."}, Steps: []Step{
			step("find mug.", "go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1."),
			step("", "take pen 1 from desk 1", llm.NothingHappens),
			step("i see mug 1.", "take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
			step("", "move mug 1 to shelf 1", "You move the mug 1 to the shelf 1."),
		}}
}

func TestConversation(t *testing.T) {
	got := Conversation(wonEpisode(), true)
	zero := 0
	want := []ChatMessage{
		{Role: "system", Content: exportSystem},
		{Role: "user", Content: "Your task is to: put a mug in shelf.\nYou are in the middle of a room.\nreflection: look in desk 1."},
		{Role: "assistant", Content: "plan: find a mug.\nthink: find mug.\n> go to desk 1"},
		{Role: "user", Content: "On the desk 1, you see a mug 1."},
		{Role: "assistant", Content: "> take pen 1 from desk 1", Weight: &zero},
		{Role: "user", Content: llm.NothingHappens},
		{Role: "assistant", Content: "think: i see mug 1.\n> take mug 1 from desk 1"},
		{Role: "user", Content: "You pick up the mug 1 from the desk 1."},
		{Role: "assistant", Content: "> move mug 1 to shelf 1"},
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

func lostTrial() *LostTrial {
	e := wonEpisode()
	return &LostTrial{Format: PreferenceFormat, Unit: "g#collect/0", Final: true, Task: "g", Goal: e.Goal, Room: e.Room, Plan: e.Plan, Pairs: e.Pairs()[:2],
		Reflections: []TriedAdvice{{"a.", 2, 2}, {"b.", 2, 1}, {"c.", 2, 1}, {"d.", 2, 0}}}
}

func TestPreferencePairs(t *testing.T) {
	var got []string
	for _, p := range PreferencePairs([]*LostTrial{lostTrial()}) {
		got = append(got, p.Better+p.Worse)
	}
	if want := []string{"a.b.", "a.c.", "a.d.", "b.d.", "c.d."}; !slices.Equal(got, want) { // no pair of equals
		t.Errorf("pairs %v, want %v", got, want)
	}
	if s := DescribePreferences([]*LostTrial{lostTrial()}); s.Pairs != 5 || s.Plays != 8 || s.Won != .5 || s.Mixed != 1 {
		t.Errorf("%+v", s)
	}
	// Of runs: a reflection that helped is set against one that didn't, of the same game
	// first, else of the same type; never against another type's.
	trial := func(id, game, kind string, success bool, trial int, read ...string) *Episode {
		e := wonEpisode()
		e.ID, e.Unit, e.Task, e.TaskType, e.Success, e.Trial, e.Reflections = id, game, game, kind, success, trial, read
		if !success {
			e.Reflection = "after " + id
		}
		return e
	}
	es := []*Episode{
		trial("a0", "a", "pick", false, 0), trial("a1", "a", "pick", false, 1, "after a0"), trial("a2", "a", "pick", true, 2, "after a0", "after a1"),
		trial("b0", "b", "pick", false, 0), trial("b1", "b", "pick", false, 1, "after b0"),
		trial("c0", "c", "heat", false, 0), trial("c1", "c", "heat", false, 1, "after c0"),
	}
	es[2].Final, es[4].Final, es[6].Final = true, true, true
	got = nil
	for _, p := range PairsOfTrials(ReflectedTrials(es)) {
		got = append(got, p.Better+"/"+p.Worse)
	}
	if want := []string{"after a1/after a0", "after a1/after b0"}; !slices.Equal(got, want) {
		t.Errorf("pairs of trials %v, want %v", got, want)
	}
	l := lostTrial()
	l.Reflections[0].Wins = 3
	if l.check() == nil {
		t.Error("3 wins in 2 plays are accepted")
	}
}

// Every data set that is written passes the check of its own kind and format, and of no other.
func TestExports(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, k := range []ExportKind{ExportSFT, ExportDPO} {
		for _, f := range []ExportFormat{FormatOpenAI, FormatTRL} {
			var b bytes.Buffer
			var n int
			var err error
			if k == ExportSFT {
				lost := wonEpisode()
				lost.Success = false
				n, err = ExportEpisodes(&b, []*Episode{wonEpisode(), lost}, f, true)
			} else {
				n, err = ExportPreferences(&b, []*LostTrial{lostTrial()}, f)
			}
			if want := map[ExportKind]int{ExportSFT: 1, ExportDPO: 5}[k]; err != nil || n != want {
				t.Fatalf("%s %s: %d lines, %v", k, f, n, err)
			}
			path := filepath.Join(dir, string(k)+string(f))
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
			if m, err := CheckExport(path, k, f); err != nil || m != n {
				t.Errorf("%s: %d of %d lines, %v", path, m, n, err)
			}
			if f == FormatTRL && strings.Contains(b.String(), "weight") {
				t.Error("TRL's data has OpenAI's weights")
			}
		}
	}
	if _, err := CheckExport(files[3], ExportDPO, FormatOpenAI); err == nil || !strings.Contains(err.Error(), ":1: the keys are chosen, prompt, rejected") {
		t.Errorf("TRL's pairs taken for OpenAI's: %v", err)
	}
}

func TestCheckExportRefuses(t *testing.T) {
	good := `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`
	pair := func(a, b string) string {
		return fmt.Sprintf(`{"prompt":[{"role":"user","content":"a"}],"chosen":[{"role":"assistant","content":%q}],"rejected":[{"role":"assistant","content":%q}]}`, a, b)
	}
	for name, c := range map[string]struct {
		text string
		kind ExportKind
		want string
	}{
		"empty file":       {"", ExportSFT, "is empty"},
		"not JSON":         {good + "\n{", ExportSFT, ":2:"},
		"second line":      {good + "\n" + `{"messages":[]}` + "\n", ExportSFT, ":2: messages: no message"},
		"no answer":        {`{"messages":[{"role":"user","content":"a"}]}` + "\n", ExportSFT, "the user ends it"},
		"order":            {`{"messages":[{"role":"assistant","content":"a"}]}` + "\n", ExportSFT, "message 1 is the assistant's"},
		"empty message":    {`{"messages":[{"role":"user","content":" "},{"role":"assistant","content":"b"}]}` + "\n", ExportSFT, "message 1 is empty"},
		"nothing to learn": {`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":0}]}` + "\n", ExportSFT, "weight"},
		"unknown field":    {`{"messages":[{"role":"user","content":"a","x":1},{"role":"assistant","content":"b"}]}` + "\n", ExportSFT, "unknown field"},
		"equal answers":    {pair("a", "a") + "\n", ExportDPO, "both answers"},
		"empty answer":     {pair("a", "") + "\n", ExportDPO, "the other answer"},
		"no end":           {good + "\n" + good[:40], ExportSFT, "has no end"},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := CheckExport(path, c.kind, FormatTRL); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.jsonl") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
