package textworld

import (
	"encoding/json"
	"strings"
	"testing"
)

// A wrong text, list, flag or repetition in a transcript is found and told.
func TestCheckGoldenFindsDifferences(t *testing.T) {
	const id = "look_at_obj_in_light-Pencil-None-DeskLamp-328/trial_T20190906_201130_178664"
	g, err := Open(id)
	if err != nil {
		t.Fatal(err)
	}
	intro := strings.ReplaceAll(NewWorld(g, "").Intro(), "\n", `\n`)
	line := func(kind, init, steps string) string {
		return `{"game_id":"` + id + `","data":"2.1.3","scripts":[{"kind":"` + kind + `","init":"` + init + `","won0":false,"adm0":"1b5d2c43b638","steps":[` + steps + `]}]}` + "\n"
	}
	const good = `["go to shelf 99","Nothing happens.",0,0,0,"1b5d2c43b638"]`
	for _, c := range []struct {
		name, text string
		field      string // "" = equal
	}{
		{"equal", line("walk", intro, good), ""},
		{"no final newline", strings.TrimSpace(line("walk", intro, good)), ""},
		{"intro", line("walk", "x"+intro, good), "text"},
		{"text", line("walk", intro, strings.Replace(good, "happens.", "happens", 1)), "text"},
		{"won", line("walk", intro, strings.Replace(good, "0,0,0", "1,0,0", 1)), "won"},
		{"done", line("walk", intro, strings.Replace(good, "0,0,0", "0,1,0", 1)), "done"},
		{"score", line("walk", intro, strings.Replace(good, "0,0,0", "0,0,1", 1)), "score"},
		{"hash", line("walk", intro, strings.Replace(good, "1b5d", "2b5d", 1)), "admissible"},
		{"list", line("walk", intro, strings.Replace(good, `"1b5d2c43b638"`, `["look"]`, 1)), "admissible"},
	} {
		var diffs []Diff
		st, err := CheckGolden(strings.NewReader(c.text), "t", func(d Diff) { diffs = append(diffs, d) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.field == "" && (st.Diffs != 0 || st.Equal != 1) || c.field != "" && (len(diffs) != 1 || diffs[0].Field != c.field || st.Diffs != 1) {
			t.Errorf("%s: %+v %v", c.name, st, diffs)
		}
	}
	for name, text := range map[string]string{
		"no scripts":    `{"game_id":"` + id + `","data":"2.1.3"}`,
		"empty":         "",
		"not JSON":      "walk\n",
		"unknown game":  `{"game_id":"nowhere/trial","data":"2.1.3"}`,
		"release":       `{"game_id":"` + id + `","data":"3.0"}`,
		"short step":    line("walk", intro, `["look"]`),
		"bad command":   line("walk", intro, `[1,"a",0,0,0,"x"]`),
		"bad list":      line("walk", intro, `["look","a",0,0,0,7]`),
		"no step":       line("walk", intro, ""),
		"damaged gzip":  "\x1f\x8bxxxx",
		"trailing text": line("walk", intro, good) + "}",
	} {
		if _, err := CheckGolden(strings.NewReader(text), "t.jsonl", nil); err == nil || !strings.Contains(err.Error(), "t.jsonl") {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}

// Under the limit of the gym wrapper the last answer comes again after the end.
func TestCheckGoldenAfterDone(t *testing.T) {
	g, err := Open("look_at_obj_in_light-Pencil-None-DeskLamp-328/trial_T20190906_201130_178664")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorld(g, "")
	c := goldenCheck{st: &GoldenStats{}, report: func(d Diff) { t.Error(d) }, dialect: DialectMove}
	s := goldenScript{Kind: "limit50_after_win", Init: w.Intro()}
	add := func(cmd, obs, flags string) {
		list := `"` + strings.Join(w.AppendAdmissible(nil), `","`) + `"`
		s.Steps = append(s.Steps, rawStep(`"`+cmd+`"`, `"`+obs+`"`, flags, flags, flags, "["+list+"]"))
	}
	last := ""
	for _, cmd := range g.Walkthrough() {
		last, _ = w.Do(cmd)
		flags := "0"
		if w.Won() {
			flags = "1"
		}
		add(cmd, last, flags)
	}
	add("look", last, "1")
	add("no such thing", last, "1")
	if err := c.script(g, &s); err != nil {
		t.Fatal(err)
	}
	if c.st.Equal != len(s.Steps) || c.st.Equal != len(g.Walkthrough())+2 {
		t.Errorf("%+v", *c.st)
	}
}

func rawStep(parts ...string) []json.RawMessage {
	var s []json.RawMessage
	for _, p := range parts {
		s = append(s, json.RawMessage(p))
	}
	return s
}
