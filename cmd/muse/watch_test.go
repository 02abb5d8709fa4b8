package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/viewer"
)

// watchServer serves the viewer's test run with a stand-in for the program.
func watchServer(t *testing.T, f watchFlags) (*watchHandler, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile("../../viewer/testdata/run/episodes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "run", "episodes.jsonl")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("\x00asm"))
	w.Close()
	for name, data := range map[string][]byte{file: b, filepath.Join(dir, webWasm): z.Bytes(), filepath.Join(dir, webExec): []byte("// js")} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run, err := viewer.Open(filepath.Dir(file), viewer.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return newWatchHandler(run, dir, f, true), file
}

func ask(h http.Handler, method, target, host string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestWatchServes(t *testing.T) {
	h, _ := watchServer(t, watchFlags{theme: "light"})
	for path, typ := range map[string]string{
		"/": "text/html", "/start.js": "text/javascript", "/wasm_exec.js": "text/javascript", "/viewer.wasm": "application/wasm",
		"/api/settings": "application/json", "/api/list": "application/json", "/api/episode/0": "application/json",
	} {
		r := ask(h, "GET", path, "127.0.0.1:8090", "Accept-Encoding", "gzip")
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), typ) {
			t.Errorf("%s: %d, %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if csp := r.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "http") {
			t.Errorf("%s may load from elsewhere: %s", path, csp)
		}
	}
	// The page names nothing outside this machine, and the line is the file's own.
	page, _ := io.ReadAll(ask(h, "GET", "/", "localhost").Body)
	if bytes.Contains(page, []byte("://")) {
		t.Error("the page names another address")
	}
	line, _ := io.ReadAll(ask(h, "GET", "/api/episode/1", "[::1]:80").Body)
	if e, err := viewer.Decode(line); err != nil || len(e.Steps) == 0 {
		t.Errorf("episode 1: %v", err)
	}
}

// Only this machine's names, only reading, only what is there.
func TestWatchRefuses(t *testing.T) {
	h, _ := watchServer(t, watchFlags{})
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", "/", "evil.example", 403}, {"GET", "/api/list", "evil.example:8090", 403}, {"GET", "/", "", 403},
		{"POST", "/api/list", "localhost", 405}, {"GET", "/../watch.go", "localhost", 307}, {"GET", "/run/episodes.jsonl", "localhost", 404},
		{"GET", "/api/episode/99", "localhost", 404}, {"GET", "/api/episode/-1", "localhost", 404}, {"GET", "/api/episode/x", "localhost", 400},
		{"GET", "/viewer.wasm", "localhost", 406},
	} {
		if r := ask(h, c.method, c.path, c.host); r.StatusCode != c.status && !(c.status == 307 && r.StatusCode/100 == 3) {
			t.Errorf("%s %s of %q: %d, want %d", c.method, c.path, c.host, r.StatusCode, c.status)
		}
	}
}

// A live run's new episodes come; otherwise the answer says that nothing changed.
func TestWatchFollows(t *testing.T) {
	h, file := watchServer(t, watchFlags{live: true})
	list := func(target string) runList {
		t.Helper()
		var l runList
		if err := json.NewDecoder(ask(h, "GET", target, "localhost").Body).Decode(&l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	n := len(list("/api/list").Entries)
	if n == 0 || !list("/api/list?have=7").Same {
		t.Fatalf("%d episodes; have=7 same: %v", n, list("/api/list?have=7").Same)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(b, []byte("\n"))
	if _, err := f.Write(append(first, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if l := list("/api/list?have=7"); l.Same || len(l.Entries) != n+1 {
		t.Errorf("after one more: same %v, %d episodes", l.Same, len(l.Entries))
	}
}
