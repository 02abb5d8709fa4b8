package corpus

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

func write(t testing.TB, o Options) ([]byte, Stats) {
	t.Helper()
	var b bytes.Buffer
	st, err := Write(context.Background(), &b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), st
}

func episodes(t testing.TB, text []byte) []Episode {
	t.Helper()
	var out []Episode
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	for {
		var e Episode
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("episode %d: %v", len(out), err)
		}
		out = append(out, e)
	}
}

// parse splits a text into segments by the rules of the line format alone.
func parse(text string) (kinds, texts []string) {
	for i, l := range strings.Split(text, "\n") {
		k := "obs"
		switch {
		case i == 0:
			k = "task"
		case i == 1:
			k = "room"
		case strings.HasPrefix(l, "think: "):
			k = "think"
		case strings.HasPrefix(l, "> "):
			k = "act"
		case strings.HasPrefix(l, "plan: "):
			k = "plan"
		case strings.HasPrefix(l, "reflection: "):
			k = "reflection"
		case l == "[end: won]" || l == "[end: lost]":
			k = "end"
		}
		if i > 0 {
			l = "\n" + l
		}
		kinds, texts = append(kinds, k), append(texts, l)
	}
	return kinds, texts
}

// obsForms are how the engine's answers begin.
var obsForms = []string{"On the ", "The ", "You ", "Nothing happens.", "This ", "There's "}

func TestEpisodesParseBack(t *testing.T) {
	text, st := write(t, Options{Seed: 3, Episodes: 400, Mixture: "weak"})
	es := episodes(t, text)
	if len(es) != 400 || st.Episodes() != 400 {
		t.Fatalf("asked for 400 episodes, got %d lines and %d in the stats", len(es), st.Episodes())
	}
	wins, lines := 0, 0
	for _, e := range es {
		kinds, texts := parse(e.Text())
		if len(kinds) != len(e.Segments) {
			t.Fatalf("%s: %d segments, but the text parses into %d:\n%s", e.ID, len(e.Segments), len(kinds), e.Text())
		}
		ended, acts := false, 0
		for i, s := range e.Segments {
			lines++
			if s.K != kinds[i] || s.T != texts[i] {
				t.Fatalf("%s: segment %d is %q %q, the text says %q %q", e.ID, i, s.K, s.T, kinds[i], texts[i])
			}
			want := map[string]float64{"task": 0, "room": 0, "reflection": 0, "plan": 1, "think": 1, "act": 1, "obs": obsWeight, "end": 1}[s.K]
			if s.K == "reflection" && ended {
				want = 1 // its own reflection, not a given one
			}
			if s.W != want {
				t.Errorf("%s: %s segment has weight %g, want %g", e.ID, s.K, s.W, want)
			}
			ended = ended || s.K == "end"
			switch s.K {
			case "act":
				acts++
				if e.Segments[i-1].K != "think" || e.Segments[i+1].K != "obs" {
					t.Errorf("%s: action %q has no thought before or no answer after it", e.ID, s.T)
				}
			case "obs":
				if strings.Contains(s.T, "You arrive at") {
					t.Errorf("%s: arrival sentence not cut off: %q", e.ID, s.T)
				}
				ok := false
				for _, f := range obsForms {
					ok = ok || strings.HasPrefix(s.T, "\n"+f)
				}
				if !ok {
					t.Errorf("%s: not an answer of the game: %q", e.ID, s.T)
				}
			}
		}
		last := e.Segments[len(e.Segments)-1]
		if e.Won {
			wins++
			if last.T != "\n[end: won]" {
				t.Errorf("%s: won, but ends in %q", e.ID, last.T)
			}
		} else if last.K != "reflection" || acts != Limit || e.Segments[len(e.Segments)-2].T != "\n[end: lost]" {
			t.Errorf("%s: lost after %d commands, ends in %q", e.ID, acts, last.T)
		}
	}
	if wins != st.Wins() || wins == 0 || wins == len(es) {
		t.Errorf("%d of %d episodes won, stats say %d", wins, len(es), st.Wins())
	}
	t.Logf("%d lines", lines)
}

func TestWriteIsDeterministic(t *testing.T) {
	o := Options{Seed: 9, Episodes: 150, Mixture: "base"}
	old := runtime.GOMAXPROCS(1)
	one, st1 := write(t, o)
	runtime.GOMAXPROCS(3)
	three, st3 := write(t, o)
	runtime.GOMAXPROCS(old)
	if !bytes.Equal(one, three) {
		t.Error("corpora written with one and three processors differ")
	}
	var p1, p3 bytes.Buffer
	if st1.Print(&p1) != nil || st3.Print(&p3) != nil || p1.String() != p3.String() {
		t.Errorf("stats differ:\n%s%s", &p1, &p3)
	}
	o.Episodes = 40
	if short, _ := write(t, o); !bytes.HasPrefix(one, short) {
		t.Error("a longer corpus does not begin with the shorter one")
	}
	o.Seed++
	if other, _ := write(t, o); bytes.HasPrefix(one, other) {
		t.Error("another seed gave the same corpus")
	}
}

func TestMixtureBands(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi float64 // share of won episodes; these are the players, not an actor trained on them
	}{{"weak", .76, .88}, {"base", .88, .95}, {"strong", .96, 1}} {
		_, st := write(t, Options{Seed: 5, Episodes: 1200, Mixture: c.name})
		n := float64(st.Episodes())
		if won := float64(st.Wins()) / n; won < c.lo || won > c.hi {
			t.Errorf("%s: players won %.3f, want %.2f to %.2f", c.name, won, c.lo, c.hi)
		}
		if tok := float64(st.Tokens) / n; tok > 600 || st.MaxTokens > 1500 {
			t.Errorf("%s: %.0f tokens on average, %d at most", c.name, tok, st.MaxTokens)
		}
		if r := float64(st.Reflected) / n; math.Abs(r-.4) > .06 {
			t.Errorf("%s: %.2f of the episodes have reflections, want .4", c.name, r)
		}
		last := 2.0
		for _, l := range st.Levels {
			won := float64(l.Wins) / float64(l.Episodes)
			if won > last+.02 {
				t.Errorf("%s: level %+v wins %.3f, more than the clearer level before it (%.3f)", c.name, l.Level, won, last)
			}
			last = won
			if l.Level.Confuse == 0 && won < .99 {
				t.Errorf("%s: lucid players won only %.3f", c.name, won)
			}
		}
		real, ours, apart := 0, 0, 0.0
		for _, v := range RealFailures {
			real += v
		}
		for k, v := range st.Failures {
			ours += v
			if _, ok := RealFailures[k]; !ok {
				t.Errorf("%s: failure kind %q is not in the table", c.name, k)
			}
		}
		for k, v := range RealFailures {
			apart += math.Abs(float64(v)/float64(real)-float64(st.Failures[k])/float64(ours)) / 2
		}
		t.Logf("%s: total variation between kinds of failure here and of real agents %.3f", c.name, apart)
		if apart > .2 {
			t.Errorf("%s: kinds of failure are %.2f (total variation) from those of real agents, want at most .2", c.name, apart)
		}
	}
}

func TestRenumberKeepsOrderAndPlaces(t *testing.T) {
	segs := []Segment{{"room", "you see a shelf 2, and a shelf 1.", 0}, {"obs", "\nOn the shelf 2, you see a mug 12, a mug 3, and a pen 2.", 1}, {"act", "\n> take mug 3 from shelf 2", 1}}
	changed := false
	for i := range 20 {
		s := append([]Segment(nil), segs...)
		renumber(s, map[string]bool{"shelf": true}, rng.New(1, i))
		names := listAfter(s[1].T, "you see ")
		if s[0] != segs[0] || len(names) != 3 || s[2].T != "\n> take "+names[1]+" from shelf 2" {
			t.Fatalf("renumbered to %+v", s)
		}
		if typeOf(names[0]) != "mug" || names[0] == names[1] || len(names[0]) < len(names[1]) {
			t.Errorf("order not kept: %v", names)
		}
		changed = changed || names[1] != "mug 3"
	}
	if !changed {
		t.Error("no number changed in 20 draws")
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Mixture: "base"}, "at least 1"},
		{Options{Episodes: 1, Mixture: "medium"}, "base, lost, strong, weak"},
		{Options{Episodes: 1, Mixture: "base", Split: "trian"}, "trian"},
		{Options{Episodes: 1, Custom: &Mixture{Name: "mine", Levels: []Level{{2, 0, 1}}, Misled: 7}}, "Misled is 7"},
	} {
		_, err := Write(context.Background(), io.Discard, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one that says %q", c.o, err, c.want)
		}
	}
}

func TestWriteStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var b bytes.Buffer
	_, err := Write(ctx, writerFunc(func(p []byte) (int, error) { cancel(); return b.Write(p) }), Options{Seed: 1, Episodes: 100000, Mixture: "base"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if n := len(episodes(t, b.Bytes())); n == 0 || n%chunk != 0 {
		t.Errorf("%d whole episodes were written before the end", n)
	}
	full := errors.New("disk is full")
	if _, err := Write(context.Background(), writerFunc(func([]byte) (int, error) { return 0, full }), Options{Seed: 1, Episodes: 500, Mixture: "base"}); !errors.Is(err, full) {
		t.Errorf("error %v, want the writer's", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestMainWritesFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.jsonl.gz")
	if err := Main(context.Background(), []string{"-mixture", "strong", "-episodes", "50", "-seed", "4", "-out", path}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := write(t, Options{Mixture: "strong", Episodes: 50, Seed: 4}); !bytes.Equal(text, want) {
		t.Error("the file differs from what Write streams")
	}
	if l, _ := os.ReadDir(dir); len(l) != 1 {
		t.Errorf("%d files left, want the corpus only", len(l))
	}
	if err := Main(context.Background(), []string{"-episodes", "1", "-out", filepath.Join(dir, "none", "x")}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "-out") {
		t.Errorf("unwritable file: error %v, want one that names -out", err)
	}
	// What was asked for wrongly is told from what failed.
	for _, args := range [][]string{{"stray"}, {"-nosuch"}, {"-mixture", "medium"}, {"-episodes", "0"}, {"-seed", "x"}} {
		var stdout bytes.Buffer
		if err := Main(context.Background(), args, &stdout, io.Discard); !errors.Is(err, ErrUsage) || stdout.Len() > 0 {
			t.Errorf("%q: %v, %d bytes of data", args, err, stdout.Len())
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	if _, err := actorPrior(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if _, err := Write(context.Background(), io.Discard, Options{Seed: 1, Episodes: b.N, Mixture: "weak"}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "episodes/s")
}

// Watched trials are lost, stuck as small actors are, and teach nothing but the
// reflection with its end.
func TestWatchedTrialsTeachReflectionsOnly(t *testing.T) {
	text, st := write(t, Options{Seed: 11, Episodes: 100, Mixture: "lost"})
	if st.Wins() != 0 {
		t.Errorf("%d of the episodes are won", st.Wins())
	}
	lengths, named, few := map[int]int{}, 0, 0
	for _, e := range episodes(t, text) {
		n := len(e.Segments) - 1
		last, acts, places := e.Segments[n], 0, map[string]bool{}
		for _, s := range e.Segments[:n] {
			if s.W != 0 {
				t.Errorf("%s: %q has weight %g", e.ID, s.T, s.W)
			}
			if s.K == "act" {
				acts++
			}
			if s.K == "obs" && strings.Contains(s.T, "you see ") {
				places[s.T] = true
			}
		}
		body, closed := strings.CutSuffix(last.T, "\n")
		a := ReadAdvice(strings.TrimPrefix(body, "\nreflection: "))
		if !e.Watched || !closed || last.K != "reflection" || last.W != 1 || !a.Whole {
			t.Errorf("%s ends in %+v", e.ID, last)
		}
		lengths[acts]++
		if len(a.First) > 0 {
			named++
		}
		if len(places) <= 2 {
			few++
		}
	}
	if len(lengths) < 15 || lengths[Limit] > 10 {
		t.Errorf("%d different lengths, %d of %d commands", len(lengths), lengths[Limit], Limit)
	}
	// Of a small actor's own 94 lost episodes, 24 had shown the thing, 73 at most two places.
	t.Logf("%d of 100 name a place, %d saw at most two", named, few)
	if named < 12 || named > 45 || few < 60 {
		t.Errorf("%d of 100 name a place, %d saw at most two: not like an actor's own", named, few)
	}
}
