package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/testpython"
)

func games(t testing.TB, n int) []*textworld.Game {
	t.Helper()
	g, err := textworld.Select(textworld.Selection{Splits: []string{"unseen"}, Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ask(t testing.TB, s *Server, format string, a ...any) *Answer {
	t.Helper()
	return s.Do(context.Background(), fmt.Appendf(nil, format, a...))
}

func TestPlayingTheSolutionWins(t *testing.T) {
	gs := games(t, 3)
	s := New(Textworld(gs))
	defer s.Close()
	m := ask(t, s, `{"op":"make","n":3,"id":7}`)
	if m.Error != "" || m.Version != Version || m.Spec.ID != textworld.SpecID || m.Games[2] != gs[2].ID() || string(m.ID) != "7" {
		t.Fatalf("%+v", m)
	}
	if a := ask(t, s, `{"op":"step","session":%q,"actions":["look","look","look"]}`, m.Session); !strings.Contains(a.Error, "Reset is needed") {
		t.Errorf("step before reset: %+v", a)
	}
	r := ask(t, s, `{"op":"reset","session":%q,"seed":3}`, m.Session)
	if r.Error != "" || len(r.Obs) != 3 || !strings.Contains(r.Obs[1].(string), gs[1].Goal()) {
		t.Fatalf("%+v", r)
	}
	// Game 1 alone is played to its end; success is told there and not before.
	plan := gs[1].Walkthrough()
	for k, c := range plan {
		b, _ := json.Marshal(c)
		a := ask(t, s, `{"op":"step","session":%q,"index":[1],"actions":[%s]}`, m.Session, b)
		end := k == len(plan)-1
		if a.Error != "" || a.Terminated[0] != end || (a.Reward[0] == 1) != end || (len(a.Infos) > 0) != end {
			t.Fatalf("command %d %q: %+v", k, c, a)
		}
		if end && (!*a.Infos["0"].Success || a.Infos["0"].Steps != len(plan)) {
			t.Errorf("end: %+v", a.Infos["0"])
		}
		if b, _ := json.Marshal(a); bytes.Contains(b, []byte("reason")) || bytes.Contains(b, []byte("privileged")) {
			t.Errorf("the answer tells what no agent may see: %s", b)
		}
	}
	if a := ask(t, s, `{"op":"step","session":%q,"index":[1],"actions":["look"]}`, m.Session); a.Error == "" {
		t.Error("a step after the end was taken")
	}
	if a := ask(t, s, `{"op":"close","session":%q}`, m.Session); a.Error != "" {
		t.Error(a.Error)
	}
	if a := ask(t, s, `{"op":"reset","session":%q}`, m.Session); !strings.Contains(a.Error, "no session") {
		t.Errorf("closed: %+v", a)
	}
}

func TestAutoreset(t *testing.T) {
	s := New(Textworld(games(t, 1)))
	defer s.Close()
	m := ask(t, s, `{"op":"make","n":2,"autoreset":true,"options":{"max_steps":2,"admissible":true}}`)
	first := ask(t, s, `{"op":"reset","session":%q}`, m.Session)
	if l, ok := first.Infos["0"].Extra[textworld.ExtraAdmissible].([]string); !ok || len(l) == 0 {
		t.Fatalf("no list of commands: %+v", first.Infos)
	}
	ask(t, s, `{"op":"step","session":%q,"actions":["look","look"]}`, m.Session)
	a := ask(t, s, `{"op":"step","session":%q,"actions":["inventory","look"]}`, m.Session)
	i := a.Infos["0"]
	if !a.Truncated[0] || a.Terminated[0] || a.Obs[0] != first.Obs[0] || i.FinalObs != "You are not carrying anything." || *i.Success || i.Steps != 2 {
		t.Errorf("%+v", a)
	}
}

func TestBadRequests(t *testing.T) {
	s := New(Textworld(games(t, 1)))
	defer s.Close()
	m := ask(t, s, `{"op":"make"}`)
	ask(t, s, `{"op":"reset","session":%q}`, m.Session)
	for req, want := range map[string]string{
		`nonsense`:                                                      "bad request",
		`{"op":"fly"}`:                                                  "no session",
		`{"op":"fly","session":"1"}`:                                    "known are",
		`{"op":"make","n":5000}`:                                        "4096",
		`{"op":"make","n":-1}`:                                          "environments",
		`{"op":"make","colour":"red"}`:                                  "colour",
		`{"op":"make","options":{"env":"x/y"}}`:                         "unknown env",
		`{"op":"make","options":{"split":"no"}}`:                        "unknown split",
		`{"op":"make","options":{"dialect":"latin"}}`:                   "dialect",
		`{"op":"step","session":"1","actions":[]}`:                      "0 actions for 1",
		`{"op":"step","session":"1","index":[4],"actions":["look"]}`:    "index",
		`{"op":"step","session":"1","index":[0,0],"actions":["a","b"]}`: "once",
		`{"op":"step","session":"1","actions":[5]}`:                     "must be a string",
		`{"op":"reset","session":"1","reset_options":{"level":3}}`:      "unknown reset option",
	} {
		if a := ask(t, s, "%s", req); !strings.Contains(a.Error, want) {
			t.Errorf("%s: %q, want %q in it", req, a.Error, want)
		}
	}
}

func TestPipe(t *testing.T) {
	s := New(Textworld(games(t, 2)))
	defer s.Close()
	in := "{\"op\":\"make\",\"n\":2}\n\nrubbish\n{\"op\":\"reset\"}\n{\"op\":\"step\",\"actions\":[\"look\",\"inventory\"]}"
	var out bytes.Buffer
	if err := s.Pipe(context.Background(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], "error") || !strings.Contains(lines[3], "not carrying") {
		t.Errorf("%d answers:\n%s", len(lines), out.String())
	}
}

func TestHTTPServesThisMachineAlone(t *testing.T) {
	s := New(Textworld(games(t, 1)))
	defer s.Close()
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	post := func(host, origin, kind, body string) (int, string) {
		r, err := http.NewRequest(http.MethodPost, h.URL+"/v1", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	if code, b := post("", "", "application/json", `{"op":"make"}`); code != 200 || !strings.Contains(b, Version) {
		t.Errorf("%d %s", code, b)
	}
	for _, c := range []struct {
		host, origin, kind, body string
		want                     int
	}{
		{"evil.example", "", "application/json", `{"op":"make"}`, 403},
		{"", "http://evil.example", "application/json", `{"op":"make"}`, 403},
		{"", "", "text/plain", `{"op":"make"}`, 415},
		{"", "", "application/json", `{"op":"nothing"}`, 400},
	} {
		if code, b := post(c.host, c.origin, c.kind, c.body); code != c.want {
			t.Errorf("%+v: %d %s", c, code, b)
		}
	}
}

// Gymnasium's own checker judges the client, over a pipe to this test's own server.
func TestGymnasiumChecker(t *testing.T) {
	python := testpython.Find(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "test_muse_env.py", "-v")
	cmd.Dir = "../../clients/python"
	cmd.Env = append(os.Environ(), "MUSE_SERVER="+self, "MUSE_SERVE_PIPE=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// With MUSE_SERVE_PIPE this program is a server on its standard streams.
func TestMain(m *testing.M) {
	if os.Getenv("MUSE_SERVE_PIPE") != "" {
		s := New(Textworld(nil))
		if err := s.Pipe(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func BenchmarkStep256(b *testing.B) {
	s := New(Textworld(nil))
	defer s.Close()
	m := ask(b, s, `{"op":"make","n":256,"autoreset":true}`)
	ask(b, s, `{"op":"reset","session":%q}`, m.Session)
	acts, _ := json.Marshal(map[string]any{"op": "step", "session": m.Session, "actions": strings.Split(strings.Repeat("look,", 255)+"look", ",")})
	for b.Loop() {
		if a := s.Do(context.Background(), acts); a.Error != "" {
			b.Fatal(a.Error)
		}
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
