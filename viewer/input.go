package viewer

import "unicode/utf8"

// Key presses a key: a printed sign, or space, enter, escape, backspace, tab, up, down,
// left, right, home, end, pageup, pagedown.
func (a *App) Key(key string) {
	if a.list.typing && a.screen == ScreenList && !a.help {
		a.typeKey(key)
		return
	}
	if a.help {
		if key == "q" {
			a.quit = true
		}
		a.help, a.stale = false, true
		return
	}
	if a.play != nil && a.playKey(key) {
		return
	}
	if act, ok := byKey(key, a.screen); ok {
		a.Do(act)
	}
}

// maxQuery bounds a search, in bytes.
const maxQuery = 100

func (a *App) typeKey(key string) {
	l := &a.list
	switch {
	case key == "enter":
		l.typing, a.stale = false, true
		return
	case key == "escape":
		l.typing, l.query = false, ""
	case key == "backspace":
		_, n := utf8.DecodeLastRuneInString(l.query)
		l.query = l.query[:len(l.query)-n]
	case key == "space":
		l.query += " "
	case utf8.RuneCountInString(key) == 1 && len(l.query)+len(key) <= maxQuery:
		l.query += key
	default:
		return
	}
	a.refilter()
}

// Click presses the mouse at a point in window coordinates; drag: the button was already
// down when the mouse came there.
func (a *App) Click(x, y float64, drag bool) {
	x, y = x/a.zoom, y/a.zoom
	if a.help {
		if !drag {
			a.help, a.stale = false, true
		}
		return
	}
	if a.last == nil {
		return
	}
	h, ok := a.last.At(x, y)
	if !ok || drag && !h.Drag {
		return
	}
	act := h.Action
	if h.Drag && h.Box.W > 0 {
		act.Value = (x - h.Box.X) / h.Box.W
	}
	if act.Do == "row" && act.Index == a.list.at { // a second click opens
		act = Action{Do: "open"}
	}
	a.Do(act)
}

// Wheel turns the mouse wheel by notches, up being positive.
func (a *App) Wheel(notches float64) {
	n := int(notches)
	if n == 0 && notches != 0 {
		n = 1
		if notches < 0 {
			n = -1
		}
	}
	switch a.screen {
	case ScreenList:
		a.selectRow(a.list.at - 3*n)
	case ScreenEpisode, ScreenCompare, ScreenPlay:
		a.goTo(a.left.at - n)
	}
}
