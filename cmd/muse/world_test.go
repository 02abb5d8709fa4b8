package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muse-agent/muse/internal/safetensors"
)

// little are the flags of a training that takes a second.
func little(out string, more ...string) []string {
	return append([]string{"train", "worldmodel", "--preset", "debug", "--tasks", "reach", "--scripted", "2", "--corrupted", "2",
		"--pretrain", "5", "--rounds", "1", "--eval-games", "1", "-q", "--out", out}, more...)
}

// edit changes a checkpoint in place.
func edit(t *testing.T, from, to string, change func(*safetensors.File)) {
	t.Helper()
	f, err := safetensors.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	change(f)
	if err := safetensors.Save(to, f); err != nil {
		t.Fatal(err)
	}
}

// The world-model agent's commands on real files: train, play, adapt, check, tabulate;
// and what is refused, with which words.
func TestWorldCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models for seconds; leave -short away")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, little(at("m"))...)
	must(t, little(at("q"), "--quantiles", "0")...)
	must(t, little(at("m2"), "--lr", "1e-3")...)
	arm := []string{"--env", "gridarm", "-q"}
	play := func(cmd string, more ...string) []string { return append(append([]string{cmd}, arm...), more...) }

	out := must(t, play("eval", "--tasks", "reach", "--episodes", "1", "--checkpoint", "m="+at("m")+",q="+at("q"), "--agent", "off,psi/in-place+beta=0.1+keep,rollouts/best+spread=0.3,script", "--out", at("e"))...)
	for _, want := range []string{"off@m ", "off@q ", "psi/in-place+beta=0.1+keep@m ", "script "} {
		if !strings.Contains(out, want) {
			t.Errorf("eval lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "rollouts/best+spread=0.3@q") {
		t.Error("a model without ψ chose by ψ")
	}
	must(t, play("adapt", "--task", "handle-press", "--updates", "1", "--episodes", "1", "--tests", "1", "--lr", "1e-3", "--agent", "off,psi/literal", "--checkpoint", at("m"), "--out", at("a"))...)
	must(t, "results", "arm", "--out", at("res"), "--from", at("a"), "--phase", "test", "--table", "test-x.json")
	must(t, "results", "arm", "--out", at("res"), "--check")
	if page, err := os.ReadFile(filepath.Join(at("res"), "README.md")); err != nil || !strings.Contains(string(page), "## After adaptation") {
		t.Errorf("%v\n%s", err, page)
	}
	var tables []any
	if err := json.Unmarshal([]byte(must(t, play("demo", "--episodes", "1", "--updates", "1", "--checkpoint", at("m"), "--json", "--out", at("d"))...)), &tables); err != nil || len(tables) != 2 {
		t.Errorf("demo prints %d tables: %v", len(tables), err)
	}

	// The viewer reads every agent's episodes.
	must(t, "render", at("d"), "--episode", "rollouts/best", "-o", at("best.png"))
	must(t, "render", at("e"), "--episode", "psi/in-place", "-o", at("psi.png"))

	ck := func(name string) string { return filepath.Join(at(name), "checkpoint.safetensors") }
	swap := func(name, from string, more ...string) []string { // a training's folder with another's checkpoint
		must(t, little(at(name), more...)...)
		b, err := os.ReadFile(ck(from))
		if err == nil {
			err = os.WriteFile(ck(name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return little(at(name), more...)
	}
	edit(t, ck("m"), at("noopt.safetensors"), func(f *safetensors.File) {
		for i := range f.Tensors {
			if f.Tensors[i].Name == "optimizer.momentum" {
				f.Tensors[i].Name = "elsewhere"
			}
		}
	})
	edit(t, ck("m"), at("negative.safetensors"), func(f *safetensors.File) { f.Metadata["updates"] = "-3" })
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	adapt := func(model string) []string {
		return play("adapt", "--task", "handle-press", "--updates", "1", "--episodes", "1", "--tests", "1", "--agent", "off", "--checkpoint", model, "--out", at("never"))
	}
	eval := func(more ...string) []string {
		return play("eval", append([]string{"--tasks", "reach", "--episodes", "1", "--out", at("never")}, more...)...)
	}
	for _, x := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"another training's checkpoint", swap("s1", "m2"), 1, "other settings"},
		{"another seed's checkpoint", swap("s2", "m", "--seed", "9"), 1, "another seed"},
		{"no model has psi", eval("--checkpoint", at("q"), "--agent", "off,psi/in-place"), 2, "needs ψ"},
		{"demo without psi", play("demo", "--checkpoint", at("q"), "--out", at("never")), 2, "needs ψ"},
		{"demo with two", play("demo", "--checkpoint", at("m")+",q="+at("q"), "--out", at("never")), 2, "names 2 models"},
		{"no optimiser", adapt(at("noopt.safetensors")), 1, "optimizer.momentum"},
		{"negative updates", adapt(at("negative.safetensors")), 1, `updates is "-3"`},
		{"a pipe", adapt(at("fifo")), 1, "not a regular file"},
		{"an empty folder", adapt(at("empty")), 1, "holds no checkpoint.safetensors"},
		{"no name", eval("--checkpoint", "="+at("m")), 2, "NAME=PATH"},
		{"one row", eval("--agent", "off", "--checkpoint", "a="+at("m")+",a-s1="+at("m2")), 2, "make one row"},
		{"against nobody", eval("--agent", "off", "--checkpoint", at("m"), "--against", "zzz"), 2, "zzz"},
		{"beta", eval("--agent", "psi/in-place+beta=1e300", "--checkpoint", at("m")), 2, "beta is 1e+300"},
		{"half a name", eval("--agent", "psi", "--checkpoint", at("m")), 2, `"psi/literal"`},
		{"capacity", little(at("never"), "--capacity", "100000000000000"), 2, "capacity"},
		{"time", little(at("never"), "--for", "-1s"), 2, "--for"},
		{"a page for a table", []string{"results", "arm", "--out", at("res"), "--from", at("a"), "--table", "README.md"}, 2, "test-NAME.json"},
		{"check and write", []string{"results", "arm", "--check", "--out", at("res"), "--from", at("a"), "--table", "test-x.json"}, 2, "--check"},
		{"the same run twice", []string{"results", "arm", "--out", at("res"), "--from", at("a") + "," + at("a"), "--table", "test-x.json"}, 2, "two runs"},
		{"no episodes", []string{"results", "arm", "--out", at("res"), "--from", at("a"), "--phase", "eval", "--table", "eval-x.json"}, 2, "no episode"},
	} {
		if code, _, errs := muse(t, x.args...); code != x.code || !strings.Contains(errs, x.says) || strings.Count(errs, "panic") > 0 {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", x.name, code, x.code, x.says, errs)
		}
		if _, err := os.Stat(at("never")); err == nil {
			t.Errorf("%s left a run folder", x.name)
			os.RemoveAll(at("never"))
		}
	}
}
