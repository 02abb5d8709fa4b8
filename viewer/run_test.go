package viewer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muse-agent/muse/viewer"
)

// folder copies the test run into a folder that may be written.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"run.json", "episodes.jsonl"} {
		b, err := os.ReadFile(filepath.Join("testdata/run", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), b)
	}
	return dir
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *viewer.Run {
	t.Helper()
	r, err := viewer.Open(path, viewer.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A rebuilt index is kept, and opening by it gives the same list and episodes.
func TestIndexIsRebuiltAndKept(t *testing.T) {
	dir := folder(t)
	first := open(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "index")); err != nil {
		t.Fatal("the rebuilt index was not written: ", err)
	}
	second := open(t, dir)
	if !reflect.DeepEqual(first.Entries(), second.Entries()) || !reflect.DeepEqual(first.Reliability(), second.Reliability()) {
		t.Error("by its index the run has another list")
	}
	for i, e := range second.Entries() {
		x, err := second.Episode(i)
		if err != nil || x.ID != e.ID || len(x.Steps) != e.Steps {
			t.Errorf("episode %d: %v", i, err)
		}
	}
}

// An index of another file, damaged, or of the early version is not believed.
func TestForeignIndexIsNotBelieved(t *testing.T) {
	good := openRun(t)
	for name, spoil := range map[string]func(b []byte) []byte{
		"half":       func(b []byte) []byte { return b[:len(b)/2] },
		"other ids":  func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("Bowl"), []byte("Fork")) },
		"offsets":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"offset": `), []byte(`"offset": 9`), 2) },
		"early":      early,
		"empty":      func([]byte) []byte { return nil },
		"other JSON": func([]byte) []byte { return []byte(`[1,2]`) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			open(t, dir)
			file := filepath.Join(dir, "index")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, file, spoil(b))
			r := open(t, dir)
			if !reflect.DeepEqual(r.Entries(), good.Entries()) {
				t.Error("the list is not the file's")
			}
		})
	}
}

// early keeps what the first version of the index had.
func early(b []byte) []byte {
	var ix map[string]any
	if json.Unmarshal(b, &ix) != nil {
		return nil
	}
	delete(ix, "reliability")
	for _, e := range ix["entries"].([]any) {
		for k := range e.(map[string]any) {
			switch k {
			case "id", "offset", "length", "steps", "success":
			default:
				delete(e.(map[string]any), k)
			}
		}
	}
	out, _ := json.Marshal(ix)
	return out
}

// A later index stays where it is: another version of muse needs it.
func TestLaterIndexIsKept(t *testing.T) {
	dir := folder(t)
	later := []byte(`{"format":"muse/index@2"}`)
	put(t, filepath.Join(dir, "index"), later)
	if r := open(t, dir); len(r.Entries()) == 0 {
		t.Error("no episodes")
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "index")); !bytes.Equal(b, later) {
		t.Errorf("the later index was replaced by %.60q", b)
	}
}

// A run that is still written: whole lines appear, half lines wait, a continued run that
// cuts its end off and a replaced file are read anew.
func TestFollow(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "episodes.jsonl")
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(all, []byte("\n"))
	upTo := func(n, extra int) []byte {
		b := bytes.Join(lines[:n], nil)
		return append(b, lines[n][:extra]...)
	}
	put(t, file, upTo(1, 100))
	r := open(t, dir)
	expect := func(what string, n int, cut bool) {
		t.Helper()
		if len(r.Entries()) != n || (r.Notice() != "") != cut {
			t.Fatalf("%s: %d episodes, want %d; notice %q", what, len(r.Entries()), n, r.Notice())
		}
		for i := range n {
			if e, err := r.Episode(i); err != nil || !bytes.Contains(lines[i], []byte(e.ID)) {
				t.Fatalf("%s: episode %d: %v", what, i, err)
			}
		}
	}
	refresh := func(want bool) {
		t.Helper()
		if changed, err := r.Refresh(); err != nil || changed != want {
			t.Fatalf("changed %v, %v", changed, err)
		}
	}
	expect("half a line", 1, true)
	refresh(false)
	write := func(b []byte) { // in place, as an appending writer does
		t.Helper()
		f, err := os.OpenFile(file, os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(int64(len(b))), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(upTo(2, 0))
	refresh(true)
	expect("the line is whole", 2, false)
	write(upTo(4, 7))
	refresh(true)
	expect("two more", 4, true)
	write(upTo(1, 0))
	refresh(true)
	expect("cut off", 1, false)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(t, file, upTo(3, 0))
	refresh(true)
	expect("replaced", 3, false)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refresh(); err == nil {
		t.Error("a removed file: no error")
	}
}

// A last line without newline that is whole counts; bad lines in the middle are entered
// as such and the others shown.
func TestEditedFiles(t *testing.T) {
	b, err := os.ReadFile("testdata/run/episodes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	n := len(lines)
	for name, c := range map[string]struct {
		text      string
		good, bad int
	}{
		"no last newline": {strings.Join(lines, "\n"), n, 0},
		"blank lines":     {"\n\n" + strings.Join(lines, "\n \n") + "\n\n", n, 0},
		"CRLF":            {strings.Join(lines, "\r\n") + "\r\n", n, 0},
		"words":           {lines[0] + "\nhello\n" + lines[1] + "\n", 2, 1},
		"future":          {lines[0] + "\n" + strings.Replace(lines[1], "episode@1", "episode@7", 1) + "\n", 1, 1},
		"long":            {lines[0] + "\n" + strings.Repeat("a", viewer.MaxEpisode+9) + "\n" + lines[1] + "\n", 2, 1},
		"NUL":             {lines[0] + "\n\x00\x00\x00\n" + lines[1] + "\n", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "episodes.jsonl")
			put(t, file, []byte(c.text))
			for range 2 { // the second time by the index
				r := open(t, filepath.Dir(file))
				good, bad := 0, 0
				for i, e := range r.Entries() {
					if _, err := r.Episode(i); err != nil {
						bad++
						if strings.ContainsAny(err.Error(), "\n\x00") || len(err.Error()) > 600 {
							t.Errorf("no clear line: %q", err)
						}
					} else {
						good++
					}
					if (e.Problem != "") != (bad > 0 && good+bad == i+1 && e.ID == "") && e.Problem == "" && bad > c.bad {
						t.Errorf("entry %d: %q", i, e.Problem)
					}
				}
				if good != c.good || bad != c.bad {
					t.Errorf("%d shown, %d refused; want %d, %d", good, bad, c.good, c.bad)
				}
			}
		})
	}
}

// What can't be opened is refused in one line that says what to do.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "future", "episodes.jsonl"), []byte("{}\n"))
	put(t, filepath.Join(dir, "future", "run.json"), []byte(`{"format":"muse/run@9"}`))
	put(t, filepath.Join(dir, "other", "episodes.jsonl"), []byte("{\"a\":1}\n{\"b\":2}\n"))
	put(t, filepath.Join(dir, "zip", "episodes.jsonl"), []byte{0x1f, 0x8b, 8, 0})
	put(t, filepath.Join(dir, "none", "x"), nil)
	for name, want := range map[string]string{
		"future": "muse/run@9", "other": "no episode can be read", "zip": "unpack it first", "none": "is it a run folder", "absent": "name a run folder",
	} {
		_, err := viewer.Open(filepath.Join(dir, name), viewer.OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := viewer.Open(filepath.Join(dir, "future"), viewer.OpenOptions{}); !errors.Is(err, viewer.ErrVersion) {
		t.Errorf("a later run: %v", err)
	}
}

// A folder of runs is shown as one, and episodes that appear in any of them go to the end.
func TestFolderOfRuns(t *testing.T) {
	one := folder(t)
	b, err := os.ReadFile(filepath.Join(one, "episodes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	dir := t.TempDir()
	put(t, filepath.Join(dir, "adapt", "episodes.jsonl"), append(first, '\n'))
	put(t, filepath.Join(dir, "test", "episodes.jsonl"), rest)
	r := open(t, dir)
	n := bytes.Count(b, []byte("\n"))
	if len(r.Entries()) != n {
		t.Fatalf("%d episodes, want %d", len(r.Entries()), n)
	}
	f, err := os.OpenFile(filepath.Join(dir, "adapt", "episodes.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := r.Entries()
	if _, err := f.Write(append(first, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if changed, err := r.Refresh(); err != nil || !changed || len(r.Entries()) != n+1 {
		t.Fatalf("changed %v, %v, %d episodes", changed, err, len(r.Entries()))
	}
	if !reflect.DeepEqual(before, r.Entries()[:n]) || r.Entries()[n].ID != before[0].ID {
		t.Error("known episodes moved")
	}
}
