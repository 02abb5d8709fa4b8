package viewer_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/viewer"
)

// table is a game at the other end of two pipes.
type table struct {
	t     *testing.T
	turns io.WriteCloser
	moves *bufio.Scanner
	game  *viewer.Game
	app   *viewer.App
	said  int
}

func newTable(t *testing.T) *table {
	r, w := io.Pipe()
	mr, mw := io.Pipe()
	t.Cleanup(func() { w.Close(); mr.Close() })
	g := viewer.NewGame(r, mw)
	return &table{t: t, turns: w, moves: bufio.NewScanner(mr), game: g, app: viewer.NewPlaying(g, viewer.Light)}
}

// say sends a turn, and waits until the game has taken it and the window shows text:
// the text alone may have been there before.
func (x *table) say(turn viewer.Turn, text string) {
	x.t.Helper()
	b, err := json.Marshal(turn)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := x.turns.Write(append(b, '\n')); err != nil {
		x.t.Fatal(err)
	}
	x.said++
	for range 5000 {
		if x.game.Turns() >= x.said {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if n := x.game.Turns(); n < x.said {
		x.t.Fatalf("the game has read %d of %d turns", n, x.said)
	}
	x.see(text)
}

func (x *table) see(text string) {
	x.t.Helper()
	for range 300 {
		x.app.Tick(.01)
		if has(x.app.Scene(), text) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	x.t.Fatalf("the window never shows %q", text)
}

// move is what the window sends while keys are pressed.
func (x *table) move(keys ...string) string {
	x.t.Helper()
	got := make(chan string, 1)
	go func() {
		x.moves.Scan()
		var m viewer.Move
		_ = json.Unmarshal(x.moves.Bytes(), &m)
		got <- m.Command
	}()
	for _, k := range keys {
		x.app.Key(k)
		x.app.Scene()
	}
	select {
	case m := <-got:
		return m
	case <-time.After(10 * time.Second):
		x.t.Fatalf("%q sends nothing", keys)
		return ""
	}
}

const intro = `{"format":"muse/episode@1","id":"g","goal":"put a mug in desk.","init_obs":"You are in the middle of a room. Looking quickly around you, you see a bed 1, and a desk 1.","agent":{"config":{"limit":50}},"steps":[`

// A text game: what is typed, completed or clicked is sent, futures and P of the coming
// command are shown, and the end is told.
func TestPlayText(t *testing.T) {
	x := newTable(t)
	x.see("the game begins")
	next := `{"action":"","observation":"","trace":{"candidates":[{"pairs":[{"action":"go to bed 1","observation":"On the bed 1, you see nothing."}],"valid":true,"assessment":{"p":0.625},"same":-1}],"choice":{"index":0,"reason":"best"}}}`
	x.say(viewer.Turn{Episode: json.RawMessage(intro + next + `]}`), Suggest: []string{"go to bed 1", "go to desk 1", "look"}}, "P 0.625")
	for _, text := range []string{"Your move", "in progress", "go to desk 1", "0 of at most 50 commands so far", "You are in the middle of a room"} {
		x.see(text)
	}
	if got := x.move("d", "e", "s", "tab", "enter"); got != "go to desk 1" {
		t.Errorf("tab and enter send %q", got)
	}
	x.app.Key("enter") // nothing to send, and not while the game is busy
	x.say(viewer.Turn{Busy: "the agent imagines …"}, "the agent imagines")
	first := `{"action":"go to desk 1","observation":"You arrive at desk 1. On the desk 1, you see a mug 1."},`
	x.say(viewer.Turn{Episode: json.RawMessage(intro + first + next + `]}`), Suggest: []string{"go to bed 1", "take mug 1 from desk 1"}}, "1 of at most 50 commands so far")
	x.see("mug 1")
	if got := x.move("l", "o", "x", "backspace", "o", "k", "space", "enter"); got != "look" {
		t.Errorf("typing sends %q", got)
	}
	x.say(viewer.Turn{Suggest: []string{"go to bed 1", "take mug 1 from desk 1"}}, "take mug 1 from desk 1")
	if got := x.move("down", "down", "enter"); got != "take mug 1 from desk 1" {
		t.Errorf("the second suggestion sends %q", got)
	}
	x.app.Key("pageup")
	if _, at, ok := x.app.At(); at != 0 || !ok {
		t.Errorf("looking back: at %d", at)
	}
	x.say(viewer.Turn{Suggest: []string{"look"}}, "look")
	s := x.app.Scene()
	box := hit(t, s, "suggest", 0)
	done := make(chan string, 1)
	go func() { done <- x.move() }()
	x.app.Click(box.X+2, box.Y+2, false)
	if got := <-done; got != "look" {
		t.Errorf("a click sends %q", got)
	}
	x.say(viewer.Turn{Episode: json.RawMessage(intro + strings.TrimSuffix(first, ",") + `],"success":true,"terminated":true}`), Over: true, Note: "You won in 1 command."}, "You won")
	x.see("solved")
	if x.app.Key("?"); !has(x.app.Scene(), "Keys") {
		t.Error("no help after the end")
	}
	x.app.Key("escape")
	if x.app.Key("q"); !x.app.Done() {
		t.Error("q doesn't end a game that is over")
	}
}

// The arm is moved by single keys, and by clicks on them; q ends it.
func TestPlayArm(t *testing.T) {
	r := openArm(t)
	line, err := r.Line(1)
	if err != nil {
		t.Fatal(err)
	}
	x := newTable(t)
	keys := []viewer.PlayKey{{Key: "w", Also: "up", What: "away"}, {Key: "x", What: "as the script"}}
	x.say(viewer.Turn{Episode: line, Keys: keys, Note: "reward 1.00"}, "From above")
	x.see("as the script")
	if got := x.move("up"); got != "w" {
		t.Errorf("up sends %q", got)
	}
	x.app.Key("x") // too early: nothing
	x.say(viewer.Turn{Keys: keys, Note: "reward 2.00"}, "reward 2.00")
	if got := x.move("x"); got != "x" {
		t.Errorf("x sends %q", got)
	}
	if x.app.Key("q"); !x.app.Done() {
		t.Error("q doesn't end it")
	}
}

// A game that ends, or sends nonsense, is told in a line; what it sends is bounded and
// never interpreted.
func TestPlayHostile(t *testing.T) {
	x := newTable(t)
	x.say(viewer.Turn{Suggest: append([]string{"\x1b[31mred\n" + strings.Repeat("x", 5000)}, make([]string, 1000)...), Note: "\x00note"}, "note")
	s := x.app.Scene()
	for _, it := range s.Items {
		if strings.ContainsAny(it.Text, "\x00\x1b\n") {
			t.Errorf("on the screen: %q", it.Text)
		}
	}
	if _, err := io.WriteString(x.turns, "{]\n"); err != nil {
		t.Fatal(err)
	}
	x.see("no turn")
	y := newTable(t)
	y.turns.Close()
	y.see("the game has ended")
}
