package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

func post(t *testing.T, c *http.Client, url, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer top-secret")
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), nil
}

func TestRecordAndReplay(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		if n == 3 {
			w.WriteHeader(503)
			w.Write([]byte{0xff, 0xfe})
			return
		}
		fmt.Fprintf(w, `{"answer":%d}`, n)
	}))
	defer srv.Close()
	var file bytes.Buffer
	rec := &http.Client{Transport: New(&file, http.DefaultTransport)}
	withUser := strings.Replace(srv.URL, "http://", "http://me:password@", 1) + "/v1/chat?key=hidden"
	for range 3 {
		if _, _, err := post(t, rec, withUser, `{ "a" : 1 }`); err != nil {
			t.Fatal(err)
		}
	}
	for _, secret := range []string{"top-secret", "password", "hidden", "me:"} {
		if strings.Contains(file.String(), secret) {
			t.Errorf("the recording holds %q:\n%s", secret, file.String())
		}
	}
	p, err := Replay(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	play := &http.Client{Transport: p}
	for _, want := range []string{`200 {"answer":1}`, `200 {"answer":2}`, "503 \xff\xfe"} {
		code, body, err := post(t, play, "http://elsewhere/v1/chat", `{"a":1}`)
		if err != nil || fmt.Sprint(code, " ", body) != want {
			t.Errorf("got %d %q %v, want %q", code, body, err, want)
		}
	}
	if p.Left() != 0 {
		t.Errorf("%d left", p.Left())
	}
	if _, _, err := post(t, play, "http://elsewhere/v1/chat", `{"a":1}`); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "used up") {
		t.Errorf("a fourth time: %v", err)
	}
	if _, _, err := post(t, play, "http://elsewhere/v1/chat", `{"a":2}`); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `{"a":2}`) {
		t.Errorf("another body: %v", err)
	}
}

// Two episodes ask the same; a third is interrupted and begun anew by another process.
func TestFolderKeepsUnitsApart(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprint(w, n)
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "rec")
	ask := func(rt http.RoundTripper, unit, body string) string {
		t.Helper()
		ctx := llm.OutsideUnits(context.Background())
		if unit != "" {
			ctx = llm.InUnit(llm.InUnit(ctx, unit), "0")
		}
		req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/x", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: rt}).Do(req)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	process := func(units ...string) {
		rec, err := Create(dir, http.DefaultTransport)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			ask(rec, u, `"q"`)
		}
		if err := errors.Join(rec.Close(), rec.Close()); err != nil {
			t.Fatal(err)
		}
	}
	process()                       // asks nothing, leaves nothing
	process("", "a", "b", "c", "b") // 1 … 5
	process("c", "c", "d")          // 6 … 8
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Fatalf("files %v, %v; want two", names, err)
	}
	f, err := os.OpenFile(names[1], os.O_APPEND|os.O_WRONLY, 0) // the second process is killed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"format":"muse/h`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	srv.Close()
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := srv.URL + "/v1/x"; p.URL() != want || p.Left() != 7 {
		t.Errorf("from %s, %d left; want %s and 7", p.URL(), p.Left(), want)
	}
	for _, c := range []struct{ unit, want string }{{"b", "3"}, {"c", "6"}, {"b", "5"}, {"a", "2"}, {"d", "8"}, {"", "1"}, {"c", "7"}} {
		if got := ask(p, c.unit, `"q"`); got != c.want {
			t.Errorf("unit %q gets %s, want %s", c.unit, got, c.want)
		}
	}
	for _, w := range []string{"for d|0", "used up", "settings of the recorded run"} {
		if got := ask(p, "d", `"q"`); !strings.Contains(got, w) {
			t.Errorf("%q lacks %q", got, w)
		}
	}
	if got := ask(p, "d", `"`+strings.Repeat("long ", 100)+`end"`); !strings.Contains(got, `… `) || !strings.Contains(got, `end"`) {
		t.Errorf("a long body: %q", got)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "--record") {
		t.Errorf("a folder without recording: %v", err)
	}
	if err := os.WriteFile(names[0], []byte("{\"format\":\"muse/http@1\"}\n{\"format\":\"x\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), names[0]+":2") {
		t.Errorf("another format: %v", err)
	}
}

// A try without an answer happens again in a replay, one that its caller gave up doesn't.
func TestFaults(t *testing.T) {
	var file bytes.Buffer
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := &http.Client{Transport: New(&file, http.DefaultTransport)}
	if _, _, err := post(t, c, strings.Replace(gone.URL, "http://", "http://me:password@", 1)+"/x?key=hidden", "1"); err == nil {
		t.Fatal("a closed server answers")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", gone.URL+"/x", strings.NewReader("2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(req); err == nil {
		t.Fatal("a cancelled request is answered")
	}
	if n := strings.Count(file.String(), "\n"); n != 1 || strings.Contains(file.String(), "password") || strings.Contains(file.String(), "hidden") {
		t.Errorf("%d lines recorded, want 1: %s", n, file.String())
	}
	p, err := Replay(&file)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := post(t, &http.Client{Transport: p}, gone.URL+"/x", "1"); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "as recorded") {
		t.Errorf("the fault is replayed as %v", err)
	}
}

func TestReplayNamesTheLine(t *testing.T) {
	_, err := Replay(strings.NewReader("{\"format\":\"muse/http@1\"}\n{\"format\":\"other\"}\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}
