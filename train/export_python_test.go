package train

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// trlPython is a Python with the real datasets and trl packages: that of
// MUSE_TRL_PYTHON, else the one of scripts/python-trl.sh, which installs it where CI
// is set; elsewhere a missing one skips the test.
func trlPython(t *testing.T) string {
	t.Helper()
	if p := os.Getenv("MUSE_TRL_PYTHON"); p != "" {
		return p
	}
	ci := os.Getenv("CI") != ""
	args := []string{"../scripts/python-trl.sh"}
	if !ci {
		args = append(args, "--if-made")
	}
	cmd := exec.Command("bash", args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	p := strings.TrimSpace(out.String())
	switch {
	case err == nil && p != "":
		return p
	case ci:
		t.Fatalf("scripts/python-trl.sh: %v\n%s", err, stderr.String())
	}
	t.Skip("no Python with datasets and trl; scripts/python-trl.sh makes one (or MUSE_TRL_PYTHON names one)")
	return ""
}

// trlProgram loads a data set as TRL's trainers do and has TRL's own functions look at it.
const trlProgram = `
import os, sys
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
from datasets import load_dataset
from trl.data_utils import is_conversational, maybe_apply_chat_template

class Tokenizer:  # as TRL uses one: turns joined by role
    chat_template = "x"
    def apply_chat_template(self, messages, tokenize=False, add_generation_prompt=False, continue_final_message=False, **_):
        text = "".join("<%s>%s" % (m["role"], m["content"]) for m in messages)
        return text + ("<assistant>" if add_generation_prompt else "")

path, want, cache = sys.argv[1], set(sys.argv[2].split(",")), sys.argv[3]
ds = load_dataset("json", data_files=path, split="train", cache_dir=cache)
assert set(ds.column_names) == want, ds.column_names
first = ds[0]
if "messages" in want or "prompt" in want:
    assert is_conversational(first), first
    text = maybe_apply_chat_template(dict(first), Tokenizer())
    if "prompt" in want:
        assert text["prompt"].endswith("<assistant>") and text["chosen"] != text["rejected"], text
        assert text["chosen"].startswith("reflection:"), text
    else:
        assert "<user>Your task is to" in text["text"] and "<assistant>" in text["text"], text
print(ds.num_rows)
`

// The real loaders read what is exported: datasets all four, TRL's own functions its two.
func TestExportsInPython(t *testing.T) {
	python := trlPython(t)
	dir := t.TempDir()
	for _, c := range []struct {
		kind    ExportKind
		format  ExportFormat
		columns string
		rows    string
	}{
		{ExportSFT, FormatTRL, "messages", "1"}, {ExportDPO, FormatTRL, "prompt,chosen,rejected", "5"},
		{ExportSFT, FormatOpenAI, "messages", "1"}, {ExportDPO, FormatOpenAI, "input,preferred_output,non_preferred_output", "5"},
	} {
		path := filepath.Join(dir, string(c.kind)+"-"+string(c.format)+".jsonl")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.kind == ExportSFT {
			_, err = ExportEpisodes(f, []*Episode{wonEpisode()}, c.format, true)
		} else {
			_, err = ExportPreferences(f, []*LostTrial{lostTrial()}, c.format)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "-c", trlProgram, path, c.columns, filepath.Join(dir, "cache")).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || lines[len(lines)-1] != c.rows {
			t.Errorf("%s %s: %v\n%s", c.kind, c.format, err, out)
		}
	}
}
