package viewer_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/viewer"
)

// FuzzRun opens whatever bytes as a run, with whatever index, and shows every screen: it
// is shown or refused in one line, and never panics.
func FuzzRun(f *testing.F) {
	for _, name := range []string{"testdata/run/episodes.jsonl", "testdata/hostile.jsonl", armFile} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		if len(line) > 8<<10 {
			line = line[:8<<10]
		}
		f.Add([]byte(line+"\n"), []byte(nil))
	}
	const small = `{"format":"muse/episode@1","id":"a","goal":"put a mug in desk.","init_obs":"you see a desk 1, and a bed 1.",` +
		`"steps":[{"action":"go to desk 1","observation":"You arrive at desk 1. On the desk 1, you see a mug 1.","trace":{"candidates":[` +
		`{"pairs":[{"action":"go to desk 1","observation":"On the desk 1, you see nothing."}],"valid":true,"assessment":{"p":0.7},"same":-1}],"choice":{"index":0,"reason":"best"}}}],"success":true}` + "\n"
	f.Add([]byte(small), []byte(`{"format":"muse/index@1","size":3,"entries":[{"id":"a","offset":0,"length":2,"phase":"x"}]}`))
	f.Add([]byte(small+small[:100]), []byte(`{"format":"muse/index@1","size":-1,"entries":null}`))
	f.Add([]byte(strings.ReplaceAll(small, "0.7", "1e999")), []byte(`{}`))
	f.Add([]byte(`{"format":"muse/episode@1","id":"b","env":"gridarm/push-v1","task_type":"push","init_state":[`+strings.Repeat("0.1,", 38)+`0.6],"steps":[{"action":[1,0,0,-1],"observation":[`+
		strings.Repeat("0.2,", 38)+`0.6],"touch":true,"trace":{"candidates":[{"assessment":{"p":0.7},"psi":[0.1,0.7],"path":[[0,0.5,0.1,1,0,0.5,0]]}],"choice":{"index":0},"state":{"regulator":"psi","moved":1}}}]}`+"\n"), []byte(nil))
	f.Add([]byte("\x1f\x8b\x08"), []byte("["))
	f.Fuzz(func(t *testing.T, episodes, index []byte) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "episodes.jsonl"), episodes)
		if len(index) > 0 {
			put(t, filepath.Join(dir, "index"), index)
		}
		r, err := viewer.Open(dir, viewer.OpenOptions{ReadOnly: true})
		if err != nil {
			if strings.ContainsAny(strings.ReplaceAll(err.Error(), dir, ""), "\n\x1b\x00") {
				t.Fatalf("refused in more than a clear line: %q", err)
			}
			return
		}
		defer r.Close()
		a := viewer.NewApp(r, viewer.Light)
		a.Resize(640, 400)
		for _, key := range []string{"end", "enter", "end", "s", "l", "c", "right", "escape", "r", "?"} {
			a.Key(key)
			s := a.Scene()
			for _, it := range s.Items {
				if strings.ContainsAny(it.Text, "\x00\x07\x1b\n\r\u202e") {
					t.Fatalf("on the screen: %q", it.Text)
				}
			}
			if key == "l" {
				viewer.Raster(s, 1)
			}
		}
		if _, err := r.Refresh(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzTurn lets whatever bytes be a game's turns: they are shown, or end the game with a
// line about it, and never panic.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(`{"episode":` + intro + `{"action":"","observation":""}]},"suggest":["look"],"note":"x"}` + "\n"))
	f.Add([]byte(`{"keys":[{"key":"w","also":"up","what":"away"}],"busy":"wait"}` + "\n" + `{"over":true}` + "\n"))
	f.Add([]byte("{\n"))
	f.Fuzz(func(t *testing.T, turns []byte) {
		a := viewer.NewPlaying(viewer.NewGame(bytes.NewReader(turns), io.Discard), viewer.Dark)
		a.Resize(640, 400)
		for _, key := range []string{"l", "tab", "down", "enter", "w", "pageup", "?", "escape", "x", "end"} {
			a.Tick(.1)
			a.Key(key)
			for _, it := range a.Scene().Items {
				if strings.ContainsAny(it.Text, "\x00\x07\x1b\n\r\u202e") {
					t.Fatalf("on the screen: %q", it.Text)
				}
			}
		}
	})
}
