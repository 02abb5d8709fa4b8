package viewer

import (
	"fmt"
	"image/color"
	"strings"
	"unicode/utf8"
)

// App is the viewer's state: which screen, which episode, which command. Keys, clicks and
// time change it; [App.Scene] draws it and changes nothing. It knows no window, so tests
// and the browser drive it in the same way. For one goroutine.
type App struct {
	// Async reads episodes in goroutines of their own, for sources that are far away;
	// what is missing is drawn as "loading" meanwhile.
	Async bool
	// Follow looks for new episodes every second.
	Follow bool

	src   Source
	theme Theme
	w, h  float64 // of the window, in logical pixels
	zoom  float64

	screen    Screen
	list      listState
	rowsShown int
	arm       int

	left, right shown
	playing     bool
	speed       float64 // commands a second
	waited      float64 // seconds since the last command
	polled      float64
	help        bool
	quit        bool
	problem     string

	loaded  map[int]*Episode
	order   []int // of loaded, oldest first
	failed  map[int]string
	waiting map[int]bool
	results chan result
	stale   bool
	last    *Scene // what a click refers to
}

// shown is an episode on the screen.
type shown struct {
	i, at int
}

type result struct {
	i   int
	e   *Episode
	err error
}

// NewApp starts with the list of episodes.
func NewApp(src Source, theme Theme) *App {
	a := &App{src: src, theme: theme, w: 1280, h: 800, zoom: 1, speed: 2, left: shown{i: -1}, right: shown{i: -1},
		loaded: map[int]*Episode{}, failed: map[int]string{}, waiting: map[int]bool{}, results: make(chan result, 16), stale: true}
	a.refilter()
	return a
}

// Resize sets the size of the window in logical pixels.
func (a *App) Resize(w, h float64) {
	if w != a.w || h != a.h {
		a.w, a.h, a.stale = max(w, 320), max(h, 240), true
	}
}

// Zoom is how much larger than normal everything is drawn.
func (a *App) Zoom() float64 { return a.zoom }

// Screen is what is shown.
func (a *App) Screen() Screen { return a.screen }

// At is the episode and the command that are watched; ok is false on other screens.
func (a *App) At() (episode, command int, ok bool) {
	return a.left.i, a.left.at, a.screen == ScreenEpisode || a.screen == ScreenCompare
}

// Playing says whether commands follow each other by themselves.
func (a *App) Playing() bool { return a.playing }

// Done says that the user wants to quit.
func (a *App) Done() bool { return a.quit }

// Stale says that the picture changed since the last Scene.
func (a *App) Stale() bool { return a.stale }

// size is that of the scene: the window's, less what zooming takes.
func (a *App) size() (w, h float64) { return a.w / a.zoom, a.h / a.zoom }

// note is the line about what is wrong, if anything is.
func (a *App) note() string {
	if a.problem != "" {
		return a.problem
	}
	return a.src.Notice()
}

// Open shows an episode.
func (a *App) Open(i int) {
	a.left = shown{i: i}
	a.screen, a.playing, a.stale = ScreenEpisode, false, true
	a.peek(i)
}

// Show goes to a command of the episode that is shown.
func (a *App) Show(command int) { a.goTo(command) }

// peek returns an episode if it is there, and asks for it if it isn't.
func (a *App) peek(i int) *Episode {
	if e, ok := a.loaded[i]; ok {
		return e
	}
	if a.waiting[i] || a.failed[i] != "" {
		return nil
	}
	if !a.Async {
		e, err := a.src.Episode(i)
		a.take(result{i, e, err})
		return e
	}
	if len(a.waiting) >= cap(a.results) {
		return nil
	}
	a.waiting[i] = true
	go func() {
		e, err := a.src.Episode(i)
		a.results <- result{i, e, err} // there is room for all that are waited for
	}()
	return nil
}

func (a *App) take(r result) {
	delete(a.waiting, r.i)
	a.stale = true
	if r.err != nil {
		if len(a.failed) > 1000 {
			clear(a.failed)
		}
		a.failed[r.i] = Clean(r.err.Error())
		return
	}
	a.loaded[r.i] = r.e
	a.order = append(a.order, r.i)
	if len(a.order) > 2*keep {
		delete(a.loaded, a.order[0])
		a.order = a.order[1:]
	}
}

// Tick lets seconds pass: playing goes on, what was read arrives, the run is looked at.
func (a *App) Tick(seconds float64) {
	for more := true; more; {
		select {
		case r := <-a.results:
			a.take(r)
		default:
			more = false
		}
	}
	seconds = min(max(seconds, 0), 1) // a sleeping window doesn't jump when it wakes
	if a.Follow {
		if a.polled += seconds; a.polled >= 1 {
			a.polled = 0
			a.refresh()
		}
	}
	if !a.playing {
		return
	}
	if a.waited += seconds; a.waited < 1/a.speed {
		return
	}
	a.waited = 0
	if !a.goTo(a.left.at + 1) {
		a.playing, a.stale = false, true
	}
}

func (a *App) refresh() {
	changed, err := a.src.Refresh()
	if err != nil {
		a.problem, a.stale = Clean(err.Error()), true
		return
	}
	if a.problem != "" {
		a.problem, a.stale = "", true
	}
	if changed {
		// What was read may have moved.
		clear(a.loaded)
		clear(a.failed)
		a.order = a.order[:0]
		a.refilter()
	}
}

// refilter lists the rows anew and keeps the selection where it can.
func (a *App) refilter() {
	l := &a.list
	was := -1
	if l.at < len(l.rows) {
		was = l.rows[l.at]
	}
	l.rows = visible(a.src.Entries(), l.filter, l.query)
	at := 0
	for k, i := range l.rows {
		if i == was {
			at = k
		}
	}
	a.selectRow(at)
}

func (a *App) selectRow(k int) {
	l := &a.list
	l.at = min(max(k, 0), max(0, len(l.rows)-1))
	n := max(1, a.rowsShown)
	l.top = min(l.top, l.at)
	l.top = max(l.top, l.at-n+1, 0)
	l.top = min(l.top, max(0, len(l.rows)-n))
	a.stale = true
}

// selected is the entry of the chosen row.
func (a *App) selected() (int, bool) {
	if a.list.at < len(a.list.rows) {
		return a.list.rows[a.list.at], true
	}
	return 0, false
}

// goTo shows a command; false: the episode ends before it.
func (a *App) goTo(at int) bool {
	e := a.peek(a.left.i)
	if e == nil {
		return true // still loading
	}
	n := len(e.Steps)
	if a.screen == ScreenCompare {
		if o := a.peek(a.right.i); o != nil {
			n = max(n, len(o.Steps))
		}
	}
	ok := at < n
	at = min(max(at, 0), max(0, n-1))
	if at != a.left.at {
		a.left.at, a.stale = at, true
	}
	a.right.at = at
	return ok
}

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
	case ScreenEpisode, ScreenCompare:
		a.goTo(a.left.at - n)
	}
}

// Do carries out an action; unknown ones do nothing.
func (a *App) Do(act Action) {
	a.stale = true
	l := &a.list
	switch act.Do {
	case "open":
		if i, ok := a.selected(); ok {
			a.Open(i)
		}
	case "row":
		a.selectRow(act.Index)
	case "up", "down":
		d := 1
		if act.Do == "up" {
			d = -1
		}
		if a.screen == ScreenRun {
			a.arm = max(0, a.arm+d)
		} else {
			a.selectRow(l.at + d)
		}
	case "pageup":
		a.selectRow(l.at - max(1, a.rowsShown-1))
	case "pagedown":
		a.selectRow(l.at + max(1, a.rowsShown-1))
	case "top":
		a.selectRow(0)
	case "bottom":
		a.selectRow(len(l.rows) - 1)
	case "filter":
		l.filter = min(max(act.Index, 0), len(Filters)-1)
		a.refilter()
	case "search":
		l.typing = true
	case "arm":
		a.arm = max(0, act.Index)
	case "play":
		a.togglePlay()
	case "next":
		a.goTo(a.left.at + 1)
	case "back":
		a.goTo(a.left.at - 1)
	case "skip":
		a.goTo(a.left.at + 10)
	case "skipback":
		a.goTo(a.left.at - 10)
	case "first":
		a.goTo(0)
	case "last":
		a.goTo(1 << 30)
	case "scrub":
		if e := a.peek(a.left.i); e != nil {
			a.playing = false
			a.goTo(int(min(max(act.Value, 0), .999999) * float64(len(e.Steps))))
		}
	case "slower":
		a.speed = max(a.speed/2, .25)
	case "faster":
		a.speed = min(a.speed*2, 32)
	case "lowest", "surprise":
		if e := a.peek(a.left.i); e != nil {
			to := Lowest(e)
			if act.Do == "surprise" {
				if to = NextSurprise(e, a.left.at); to < 0 {
					to = NextSurprise(e, -1) // from the beginning
				}
			}
			if to >= 0 {
				a.playing = false
				a.goTo(to)
			}
		}
	case "nextepisode":
		a.step(1)
	case "prevepisode":
		a.step(-1)
	case "compare":
		a.toggleCompare()
	case "partner":
		a.nextPartner()
	case "swap":
		a.left.i, a.right.i = a.right.i, a.left.i
	case "list":
		a.screen, a.playing = ScreenList, false
	case "run":
		a.screen, a.playing = ScreenRun, false
	case "zoomin":
		a.zoom = min(a.zoom*1.1, 3)
	case "zoomout":
		a.zoom = max(a.zoom/1.1, .5)
	case "zoomreset":
		a.zoom = 1
	case "theme":
		if a.theme.Name == Light.Name {
			a.theme = Dark
		} else {
			a.theme = Light
		}
	case "help":
		a.help = !a.help
	case "quit":
		a.quit = true
	}
}

func (a *App) togglePlay() {
	a.playing, a.waited = !a.playing, 0
	if e := a.peek(a.left.i); a.playing && e != nil && a.left.at >= len(e.Steps)-1 {
		a.goTo(0)
	}
}

// step shows the next or previous episode of the list.
func (a *App) step(d int) {
	l := &a.list
	for k, i := range l.rows {
		if i == a.left.i {
			l.at = k
			break
		}
	}
	to := l.at + d
	if to < 0 || to >= len(l.rows) {
		return
	}
	a.selectRow(to)
	screen := a.screen
	a.Open(l.rows[l.at])
	if screen == ScreenCompare {
		a.toggleCompare()
	}
}

func (a *App) toggleCompare() {
	if a.screen == ScreenCompare {
		a.screen = ScreenEpisode
		return
	}
	ps := partners(a.src.Entries(), a.left.i)
	if len(ps) == 0 {
		return
	}
	a.right = shown{i: ps[0], at: a.left.at}
	a.screen = ScreenCompare
}

func (a *App) nextPartner() {
	ps := partners(a.src.Entries(), a.left.i)
	for k, i := range ps {
		if i == a.right.i {
			a.right.i = ps[(k+1)%len(ps)]
			return
		}
	}
	if len(ps) > 0 {
		a.right.i = ps[0]
	}
}

// Scene draws the present state. Clicks refer to the scene drawn last.
func (a *App) Scene() *Scene {
	w, h := a.size()
	t := a.theme
	var s *Scene
	switch a.screen {
	case ScreenEpisode:
		if v := a.view(a.left); v != nil {
			s = v.Draw(w, h, t)
		}
	case ScreenCompare:
		if l, r := a.view(a.left), a.view(a.right); l != nil && r != nil {
			s = DrawCompare(l, r, w, h, t)
		}
	}
	if s == nil {
		s = NewScene(w, h, t.Back)
		b := Box{0, 0, w, h - 24}.Inset(gap)
		switch a.screen {
		case ScreenList:
			a.drawList(s, &t, b)
		case ScreenRun:
			a.drawRun(s, &t, b)
		default:
			a.drawMissing(s, &t, b)
		}
		drawHints(s, &t, Box{0, h - 24, w, 24}, hints[a.screen])
	}
	if a.playing {
		label := fmt.Sprintf("▶ %g commands a second", a.speed)
		s.TextRight(w-10, h-20, styleSmall, t.Choice, label)
	} else if a.Follow {
		s.Circle(w-16, h-12, 4, t.Good, color.NRGBA{}, 0)
		s.TextRight(w-26, h-20, styleSmall, t.Soft, "following")
	}
	if a.help {
		drawHelp(s, &t, Box{0, 0, w, h})
		s.Hits = nil
	}
	a.last, a.stale = s, false
	return s
}

func (a *App) view(x shown) *View {
	e := a.peek(x.i)
	if e == nil {
		return nil
	}
	v := &View{Episode: e, At: x.at, Run: a.src.Title(), Hints: hints[a.screen]}
	if p := Previous(a.src.Entries(), x.i); p >= 0 {
		v.Previous = a.peek(p)
	}
	return v
}

// drawMissing stands in for an episode that isn't there.
func (a *App) drawMissing(s *Scene, t *Theme, b Box) {
	in := panel(s, t, b, "Episode")
	for _, x := range []shown{a.left, a.right} {
		if why := a.failed[x.i]; why != "" {
			s.TextIn(in, styleBody, t.Bad, strings.TrimPrefix(why, "viewer: "))
			return
		}
	}
	s.Text(in.X, in.Y, styleBody, t.Soft, "loading …")
}

// Compare shows episode i on the right of the one that is watched.
func (a *App) Compare(i int) {
	a.right = shown{i: i, at: a.left.at}
	a.screen, a.stale = ScreenCompare, true
	a.peek(i)
}

// Settled says that nothing is being read: the picture will not change by itself.
func (a *App) Settled() bool { return len(a.waiting) == 0 && len(a.results) == 0 }

// Title says in a few words where the viewer is, for the window's frame.
func (a *App) Title() string {
	name := Ellipsis(styleHead, a.src.Title(), 300)
	switch {
	case a.help:
		return "muse: " + name + ": all keys"
	case a.screen == ScreenList:
		return fmt.Sprintf("muse: %s: list, %s, row %d of %d", name, Filters[a.list.filter].Name, min(a.list.at+1, len(a.list.rows)), len(a.list.rows))
	case a.screen == ScreenRun:
		return "muse: " + name + ": the run as a whole"
	case a.screen == ScreenCompare:
		return fmt.Sprintf("muse: %s: episodes %d and %d, command %d", name, a.left.i+1, a.right.i+1, a.left.at+1)
	}
	return fmt.Sprintf("muse: %s: episode %d, command %d", name, a.left.i+1, a.left.at+1)
}
