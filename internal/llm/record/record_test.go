package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

func TestReplayNamesTheLine(t *testing.T) {
	_, err := Replay(strings.NewReader("{\"format\":\"muse/http@1\"}\n{\"format\":\"other\"}\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}
