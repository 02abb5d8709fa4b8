package viewer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/viewer"
)

// A walk as a newcomer does it: list, filter, watch, play, scrub, compare, back, quit.
func TestWalkByKeys(t *testing.T) {
	r := openRun(t)
	a := app(r, viewer.Light)
	a.Scene()
	at := func() int { _, c, _ := a.At(); return c }
	a.Key("4") // failed but confident
	a.Key("enter")
	i, _, ok := a.At()
	if e := r.Entries()[i]; !ok || e.Success || e.Arm != "muse-best" {
		t.Fatalf("failed but confident opens %+v", r.Entries()[i])
	}
	a.Key("right")
	a.Key("right")
	a.Key("left")
	if at() != 1 {
		t.Errorf("two on, one back: at %d", at())
	}
	a.Key("space")
	a.Tick(.3)
	a.Tick(.3)
	if !a.Playing() || at() != 2 {
		t.Errorf("playing at 2 commands a second for .6 s: at %d", at())
	}
	a.Tick(3600) // asleep for an hour: one command, not all
	if at() != 3 {
		t.Errorf("after sleeping: at %d", at())
	}
	a.Key("]")
	a.Tick(.25)
	if at() != 4 {
		t.Errorf("faster: at %d", at())
	}
	a.Key("end")
	a.Tick(1)
	if a.Playing() {
		t.Error("plays on after the end")
	}
	a.Key("l")
	e, _ := r.Episode(i)
	if at() != viewer.Lowest(e) {
		t.Errorf("lowest: at %d, want %d", at(), viewer.Lowest(e))
	}
	a.Key("home")
	a.Key("s")
	if at() != viewer.NextSurprise(e, 0) || at() == 0 {
		t.Errorf("surprise: at %d, want %d", at(), viewer.NextSurprise(e, 0))
	}
	a.Key("c")
	if a.Screen() != viewer.ScreenCompare {
		t.Fatal("no comparison")
	}
	a.Scene()
	a.Key("escape")
	a.Key("r")
	if a.Screen() != viewer.ScreenRun {
		t.Error("no picture of the run")
	}
	a.Key("?")
	if a.Key("q"); !a.Done() {
		t.Error("q closes nothing")
	}
}

// The search narrows the list, takes any sign, and is left by enter and cleared by escape.
func TestSearch(t *testing.T) {
	r := openRun(t)
	a := app(r, viewer.Light)
	a.Key("/")
	for _, k := range strings.Split("k e y c h a i n", " ") {
		a.Key(k)
	}
	a.Key("q") // a letter now
	a.Key("backspace")
	if a.Done() {
		t.Fatal("a letter of the search quits")
	}
	a.Key("enter")
	a.Key("enter")
	if i, _, _ := a.At(); !strings.Contains(r.Entries()[i].Goal, "keychain") {
		t.Errorf("found %q", r.Entries()[i].Goal)
	}
}

// Clicks and drags do what the picture shows at that place.
func TestMouse(t *testing.T) {
	r := openRun(t)
	a := app(r, viewer.Light)
	s := a.Scene()
	row := hit(t, s, "row", 2)
	a.Click(row.X+5, row.Y+5, false)
	a.Scene()
	a.Click(row.X+5, row.Y+5, false) // again: opens
	if i, _, ok := a.At(); !ok || i != 2 {
		t.Fatalf("two clicks on row 2 open %d", i)
	}
	a.Open(find(t, r, lost))
	line := hit(t, a.Scene(), "scrub", 0)
	a.Click(line.X+line.W*.5, line.Y+5, false)
	if _, c, _ := a.At(); c != 25 {
		t.Errorf("the middle of 50 commands is %d", c)
	}
	a.Click(line.X+line.W-1, line.Y+5, true)
	if _, c, _ := a.At(); c != 49 {
		t.Errorf("dragged to the end: %d", c)
	}
	a.Key("+") // larger: places move
	line = hit(t, a.Scene(), "scrub", 0)
	a.Click((line.X+.5)*a.Zoom(), (line.Y+5)*a.Zoom(), false)
	if _, c, _ := a.At(); c != 0 {
		t.Errorf("zoomed, the beginning is %d", c)
	}
	a.Wheel(-1)
	if _, c, _ := a.At(); c != 1 {
		t.Errorf("the wheel goes to %d", c)
	}
}

func hit(t *testing.T, s *viewer.Scene, do string, index int) viewer.Box {
	t.Helper()
	for _, h := range s.Hits {
		if h.Action.Do == do && h.Action.Index == index {
			return h.Box
		}
	}
	t.Fatalf("nothing in the picture does %q %d", do, index)
	return viewer.Box{}
}

// The help names every key, and no control does harm on any screen.
func TestControls(t *testing.T) {
	r := openRun(t)
	words := map[string]bool{}
	help := app(r, viewer.Light)
	help.Key("?")
	for _, it := range help.Scene().Items {
		for w := range strings.FieldsSeq(it.Text) {
			words[w] = true
		}
	}
	for _, c := range viewer.Controls {
		for _, k := range c.Keys {
			if !words[k] {
				t.Errorf("the help doesn't name the key %q", k)
			}
		}
		for _, screen := range []viewer.Screen{viewer.ScreenList, viewer.ScreenEpisode, viewer.ScreenCompare, viewer.ScreenRun} {
			a := app(r, viewer.Light)
			switch screen {
			case viewer.ScreenEpisode, viewer.ScreenCompare:
				a.Open(find(t, r, lost))
				if screen == viewer.ScreenCompare {
					a.Key("c")
				}
			case viewer.ScreenRun:
				a.Key("r")
			}
			a.Key(c.Keys[0])
			a.Tick(.1)
			a.Scene() // no panic anywhere
		}
	}
}

// slow is a source that answers late or never.
type slow struct {
	viewer.Source
	gate chan struct{}
}

func (s slow) Episode(i int) (*viewer.Episode, error) {
	<-s.gate
	if i == 1 {
		return nil, errors.New("viewer: the wire \x1b[31mbroke")
	}
	return s.Source.Episode(i)
}

// Reading in the background: the picture says so, then shows the episode, or why not.
func TestAsync(t *testing.T) {
	s := slow{openRun(t), make(chan struct{})}
	a := viewer.NewApp(s, viewer.Light)
	a.Async = true
	a.Open(0)
	if !has(a.Scene(), "loading") {
		t.Error("nothing says that it loads")
	}
	close(s.gate)
	until(t, a, "Task:")
	a.Open(1)
	until(t, a, "the wire")
}

func has(s *viewer.Scene, text string) bool {
	for _, it := range s.Items {
		if strings.Contains(it.Text, "\x1b") {
			return false
		}
		if strings.Contains(it.Text, text) {
			return true
		}
	}
	return false
}

func until(t *testing.T, a *viewer.App, text string) {
	t.Helper()
	for range 500 {
		a.Tick(.01)
		if has(a.Scene(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q never appears", text)
}

// A reflection that sends the agent to a place where the thing is not is named among the
// reasons; one that was right, or was never followed, is not.
func TestMisled(t *testing.T) {
	episode := func(reflection string) *viewer.Episode {
		e, err := viewer.Decode([]byte(`{"format":"muse/episode@1","id":"a","goal":"put a mug in desk.","init_obs":"you see a desk 1, a bed 1, and a shelf 1.","reflections":["` + reflection + `"],` +
			`"steps":[{"action":"go to bed 1","observation":"You arrive at bed 1. On the bed 1, you see a pen 1."},{"action":"go to desk 1","observation":"You arrive at desk 1. On the desk 1, you see a mug 1."}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for reflection, want := range map[string]bool{
		"the mug was in bed 1, go there first.":    true,
		"the mug was in desk 1.":                   false,
		"the mug was in shelf 1.":                  false,
		"a pen was in bed 1. the mug was in bed 1": true,
		" was in ": false,
	} {
		got := strings.Contains(strings.Join(viewer.Explain(episode(reflection)), "\n"), "Its memory says that mug was in bed 1: it was not there.")
		if got != want {
			t.Errorf("%q: misled %v, want %v", reflection, got, want)
		}
	}
}
