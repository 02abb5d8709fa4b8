package textworld_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
)

func TestGameFilesOfBothReleases(t *testing.T) {
	want := mustOpen(t, sampleID)
	for file, dialect := range map[string]textworld.Dialect{"game.tw-pddl.gz": textworld.DialectMove, "game-2.1.1.tw-pddl.gz": textworld.DialectPut} {
		games, err := textworld.LoadFile(twFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		g := games[0]
		if g.Hash() != want.Hash() || g.ID() != sampleID || g.Split() != "valid_unseen" || g.Dialect() != dialect {
			t.Errorf("%s: id %s split %s dialect %s goal %q", file, g.ID(), g.Split(), g.Dialect(), g.Goal())
		}
		if (g.Walkthrough() == nil) != (dialect == textworld.DialectPut) {
			t.Errorf("%s: walkthrough %q", file, g.Walkthrough())
		}
	}
}

func problemText(t testing.TB) string {
	t.Helper()
	var f struct {
		Problem string `json:"pddl_problem"`
	}
	if err := json.Unmarshal(gunzipFile(t, testdata+"game.tw-pddl.gz"), &f); err != nil {
		t.Fatal(err)
	}
	return f.Problem
}

func writeTemp(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBareProblem(t *testing.T) {
	games, err := textworld.LoadFile(writeTemp(t, "initial_state.pddl", problemText(t)))
	if err != nil {
		t.Fatal(err)
	}
	g, want := games[0], mustOpen(t, sampleID)
	if g.TaskType() != want.TaskType() || !strings.Contains(g.Goal(), "saltshaker") || g.ID() != "trial_T20190909_021613_077537" {
		t.Errorf("id %s, type %s, goal %q", g.ID(), g.TaskType(), g.Goal())
	}
	w := textworld.NewWorld(g, "")
	for _, c := range want.Walkthrough() {
		w.Do(c)
	}
	if !w.Won() {
		t.Error("the walkthrough does not win the bare problem")
	}
}

// Every fault is told with file, line and reason.
func TestMalformedProblems(t *testing.T) {
	good := problemText(t)
	lineOf := func(s string) int { return strings.Count(good[:strings.Index(good, s)], "\n") + 1 }
	initLine := lineOf("(:init")
	for _, c := range []struct {
		name, text, want string
		line             int
	}{
		{"empty", "", "no PDDL here", 1},
		{"not PDDL", "hello", "expected '('", 1},
		{"domain", "(define (domain alfred))", "domain file", 1},
		{"cut off", good[:len(good)/2], "cut off", 0},
		{"extra )", good + ")", "text after the end", 0},
		{"other domain", strings.Replace(good, "(:domain alfred)", "(:domain blocks)", 1), "not alfred", lineOf("(:domain")},
		{"unknown predicate", strings.Replace(good, "(:init", "(:init (opnable agent1)", 1), `did you mean "openable"`, initLine},
		{"arity", strings.Replace(good, "(:init", "(:init (openable)", 1), "takes 1 arguments", initLine},
		{"undeclared", strings.Replace(good, "(:init", "(:init (openable nowhere)", 1), "not declared", initLine},
		{"kind", strings.Replace(good, "(:init", "(:init (openable agent1)", 1), "must be of kind receptacle", initLine},
		{"nested", strings.Replace(good, "(:init", "(:init "+strings.Repeat("(", 200), 1), "nested more than", initLine},
		{"declared twice", strings.Replace(good, "agent1 - agent", "agent1 agent1 - agent", 1), "declared twice", lineOf("agent1 - agent")},
		{"unknown section", strings.Replace(good, "(:init", "(:foo) (:init", 1), `unknown section ":foo"`, initLine},
		{"goal", strings.Replace(good, "(:goal", "(:goal (isSliced ?o)) (:metric", 1), "unsupported goal", lineOf("(:goal")},
		{"odd byte", strings.Replace(good, "(:init", "(:init \x01", 1), "byte 0x01", initLine},
		{"no agent", strings.Replace(good, "(atLocation", "(checked ) (atLocation", 1), "takes 1 arguments", lineOf("(atLocation")},
	} {
		path := writeTemp(t, "bad.pddl", c.text)
		_, err := textworld.LoadFile(path)
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		file, rest, ok := strings.Cut(err.Error(), "bad.pddl:")
		if !ok || !strings.HasPrefix(file, "textworld: ") || !strings.Contains(rest, c.want) {
			t.Errorf("%s: error %q, want file, line and %q", c.name, err, c.want)
		}
		if c.line > 0 && !strings.HasPrefix(rest, itoa(c.line)+":") {
			t.Errorf("%s: error %q, want line %d", c.name, err, c.line)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestMalformedGameFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.tw-pddl", "{", "a.tw-pddl:1: not the JSON"},
		{"b.tw-pddl", "{}", "pddl_problem and grammar are needed"},
		{"c.tw-pddl", `{"pddl_problem":"x","grammar":"y"}`, "goal sentence is unknown"},
		{"d.tw-pddl", `{"pddl_problem":"x","grammar":"\"rhs\": \"Your task is to: z.\""}`, "pddl_problem line 1: expected '('"},
		{"e.jsonl", "", "holds no game"},
		{"f.jsonl", "\n\n{]\n", "f.jsonl:3: not a JSON game"},
		{"g.jsonl", `{"game_id":"a/b","pddl_problem":"()","task":"do"}`, "g.jsonl:1: game a/b: the field task must start"},
		{"h.jsonl", `{"game_id":"a/b","pddl_problem":"()","task":"Your task is to: do."}`, "h.jsonl:1: game a/b: pddl_problem line 1: not a PDDL problem"},
		{"i.jsonl.gz", "plain", "i.jsonl.gz:1: not a JSON game"},
		{"j.txt", "", "unknown kind of game file"},
		{"k.jsonl.gz", "\x1f\x8b", "k.jsonl.gz: unexpected EOF"},
		{"l.jsonl", `{"game_id":"a\nb","pddl_problem":"()","task":"Your task is to: do."}`, "l.jsonl:1: the game_id \"a\\nb\" holds control"},
	} {
		_, err := textworld.LoadFile(writeTemp(t, c.name, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// A set of games is told apart by their ids, and is not less because its file is cut.
func TestGameFilesTwiceTheSameAndCut(t *testing.T) {
	two := strings.SplitAfterN(string(gunzipFile(t, testdata+"games-sample.jsonl.gz")), "\n", 3)[:2]
	_, err := textworld.LoadFile(writeTemp(t, "twice.jsonl", two[0]+"\n"+two[1]+two[0]))
	if err == nil || !strings.Contains(err.Error(), "twice.jsonl:4: game ") || !strings.Contains(err.Error(), "stands on line 1 already") {
		t.Errorf("the same game twice: %v", err)
	}
	packed, err := os.ReadFile(testdata + "games-sample.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	// Compression is known by the first bytes, whatever the name.
	if games, err := textworld.LoadFile(writeTemp(t, "packed.jsonl", string(packed))); err != nil || len(games) < 2 {
		t.Errorf("packed under another name: %d games, %v", len(games), err)
	}
	_, err = textworld.LoadFile(writeTemp(t, "cut.jsonl.gz", string(packed[:len(packed)*2/3])))
	if err == nil || !strings.Contains(err.Error(), "is the file cut off?") {
		t.Errorf("cut: %v", err)
	}
	g := mustOpen(t, sampleID)
	games, err := textworld.Select(textworld.Selection{IDs: []string{sampleID, sampleID}})
	if err != nil || len(games) != 1 || games[0].ID() != g.ID() {
		t.Errorf("an id twice selects %d games, %v", len(games), err)
	}
}

// Whatever the text, LoadFile returns an error or a game that can be played.
func FuzzProblem(f *testing.F) {
	// Small seeds: a real problem has 60 kB, and the fuzzer would spend its time on
	// minimising it.
	f.Add("(define (problem p) (:domain alfred) (:objects a - agent l m - location r_bar_1 r_bar_2 - receptacle o_bar_1 o_bar_2 - object t - rtype u - otype)" +
		"(:init (atLocation a l) (receptacleAtLocation r_bar_1 l) (receptacleAtLocation r_bar_2 m) (openable r_bar_2) (canContain t u) (receptacleType r_bar_1 t)" +
		"(inReceptacle o_bar_1 r_bar_1) (objectAtLocation o_bar_2 l) (inReceptacleObject o_bar_1 o_bar_2) (heatable o_bar_1) (objectType o_bar_2 u) (= (total-cost) 0))" +
		"(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (heatable ?o) (isHot ?o) (inReceptacle ?o ?r) (objectType ?o u) (receptacleType ?r t)))))) (:metric minimize))")
	f.Add("(define (problem p) (:domain alfred) (:objects a - agent l - location r_bar_1 - receptacle o_bar_1 - object t - rtype u - otype)" +
		"(:init (atLocation a l) (receptacleAtLocation r_bar_1 l) (inReceptacle o_bar_1 r_bar_1) (pickupable o_bar_1) (objectType o_bar_1 u))" +
		"(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r) (objectType ?o u) (receptacleType ?r t)))))))")
	f.Add("(define (problem p) ; comment\n(:domain alfred) (:objects) (:init) (:goal (and)))")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := textworld.ParseProblem(text, "fuzz.pddl")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "textworld: fuzz.pddl:") {
				t.Fatalf("error without file and line: %v", err)
			}
			return
		}
		env := textworld.New(g, textworld.Options{})
		_, info, err := env.Reset(context.Background(), envs.ResetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w := textworld.NewWorld(g, "")
		if info.Privileged.Dead != w.DeadEnd() {
			t.Fatalf("the reset says %q, the world %q", info.Privileged.Dead, w.DeadEnd())
		}
		for range 5 {
			adm := w.AppendAdmissible(nil)
			if _, effect := w.Do(adm[len(adm)-1]); !effect {
				t.Fatalf("admissible command %q has no effect", adm[len(adm)-1])
			}
		}
	})
}

// Whatever the bytes, ReadPack returns an error or games.
func FuzzReadPack(f *testing.F) {
	games := sampleGames(f)[:2]
	var b strings.Builder
	if err := textworld.Pack(&b, games); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b.String()))
	f.Add([]byte("MUSETW1\n\x05hello"))
	f.Fuzz(func(t *testing.T, data []byte) {
		games, err := textworld.ReadPack(data)
		if err != nil {
			return
		}
		for _, g := range games {
			textworld.NewWorld(g, "").AppendAdmissible(nil)
		}
	})
}
