package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// fickle is a served model that never answers twice alike, and now and then not at all.
// after is called with the number of each request.
func fickle(t *testing.T, after func(n int64)) *httptest.Server {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := n.Add(1)
		defer after(k)
		if k%17 == 5 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		text := fmt.Sprintf("think: %d.\n> go to cabinet %d\nOn the cabinet %d, you see a mug %d.\n> look\nYou are here.", k, k%4, k%4, k)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text},
		}}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// A run with a server is repeated without it, to the byte, although its episodes were
// played side by side, ask equal things and were interrupted once.
func TestRecordedServerIsReplayed(t *testing.T) {
	dir := t.TempDir()
	path := func(s string) string { return filepath.Join(dir, s) }
	collect := []string{"-q", "collect", "--sample", "4", "--episodes", "2", "--max-steps", "3"}
	eval := []string{"-q", "eval", "--sample", "2", "--max-steps", "3", "--agent", "react,muse-off,muse-random", "--rollouts", "2", "--horizon", "1"}
	served := func(args []string, workers, out string, more ...string) []string {
		return append(append(append([]string{}, args...), "--model", "openai:m", "--workers", workers, "--out", path(out)), more...)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := fickle(t, func(n int64) {
		if n == 20 {
			cancel() // as an interrupt does
		}
	})
	var errs bytes.Buffer
	first := served(collect, "2", "c", "--url", s.URL+"/v1", "--record", path("rec-c"))
	if code := run(ctx, first, bytes.NewReader(nil), &bytes.Buffer{}, &errs); code != exitInterrupted {
		t.Fatalf("exit %d, want an interrupt: %s", code, errs.String())
	}
	must(t, first...)
	must(t, served(eval, "2", "e", "--url", s.URL+"/v1", "--record", path("rec-e"))...)
	if files, err := filepath.Glob(path("rec-c/*")); err != nil || len(files) != 2 {
		t.Errorf("recorded in %v, %v; want a file of each process", files, err)
	}
	url := s.URL
	s.Close()
	must(t, served(collect, "1", "c2", "--replay", path("rec-c"))...)
	must(t, served(eval, "1", "e2", "--url", url+"/v1", "--replay", path("rec-e"))...)
	same(t, path("c"), path("c2"), "episodes.jsonl", "metrics.jsonl")
	same(t, path("e"), path("e2"), "episodes.jsonl", "selection.json")

	code, _, text := muse(t, served(collect, "1", "c3", "--replay", path("rec-c"), "--temperature", "0.1")...)
	if code != exitFailure || !strings.Contains(text, "was not recorded: POST "+url+"/v1/chat/completions") || !strings.Contains(text, `"temperature":0.1`) {
		t.Errorf("another temperature: exit %d, %s", code, text)
	}
}

func TestRecordAndReplayFlags(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"exclude each other", exitUsage, []string{"--model", "openai:m", "--url", "http://x/v1", "--record", "a", "--replay", "b"}},
		{"holds no recording", exitFailure, []string{"--model", "openai:m", "--replay", empty}},
		{"for served models", exitUsage, []string{"--model", "toy", "--record", empty}},
		{"--replay-rows", exitUsage, []string{"--replay", "256"}},
		{"needs --url", exitUsage, []string{"--model", "openai:m", "--record", empty}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		code, _, errs := muse(t, append([]string{"collect", "--limit", "1", "--out", out}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.args, code, errs, c.code, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v: a run folder was made", c.args)
		}
	}
}
