package viewer_test

import (
	"testing"

	"github.com/muse-agent/muse/viewer"
)

// TestHintsCanBeClicked: the words of the last line do what their keys do, inside the picture.
func TestHintsCanBeClicked(t *testing.T) {
	r := openRun(t)
	a := press(app(r, viewer.Dark), find(t, r, best))
	s := a.Scene()
	for _, do := range []string{"play", "right", "lowest", "surprise", "compare", "nextepisode", "list", "help"} {
		found := false
		for _, h := range s.Hits {
			if h.Box.Y >= 700-24 && (h.Action.Do == do || do == "right" && h.Action.Do == "next") {
				found = true
				if h.Box.W < 8 || h.Box.X+h.Box.W > 1120 {
					t.Errorf("%s: box %+v", do, h.Box)
				}
			}
		}
		if !found {
			t.Errorf("no word of the last line does %q", do)
		}
	}
	b := hit(t, s, "list", 0)
	if a.Click(b.X+b.W/2, b.Y+b.H/2, false); a.Screen() != viewer.ScreenList {
		t.Error("a click on the way back stays on the episode")
	}
}

// TestNothingToShowIsSaid: keys that lead nowhere say why, until the next key.
func TestNothingToShowIsSaid(t *testing.T) {
	r := openRun(t)
	plain := find(t, r, func(e *viewer.Entry) bool { return e.Arm == "react" || e.Arm == "reflexion" || e.Arm == "plain" })
	a := press(app(r, viewer.Dark), plain, "l")
	if !has(a.Scene(), "gives no probabilities") {
		t.Error("l on an agent without P says nothing")
	}
	if a.Key("home"); has(a.Scene(), "gives no probabilities") {
		t.Error("it stays after the next key")
	}
}
