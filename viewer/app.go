package viewer

import "fmt"

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
	told        string // what the last key could not do, until the next one

	loaded  map[int]*Episode
	order   []int // of loaded, oldest first
	failed  map[int]string
	waiting map[int]bool
	results chan result
	stale   bool
	last    *Scene // what a click refers to

	play *player // nil unless a person plays
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
	return a.left.i, a.left.at, a.screen == ScreenEpisode || a.screen == ScreenCompare || a.screen == ScreenPlay
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
		l := &a.list
		words := ""
		switch {
		case l.typing:
			words = fmt.Sprintf(", searching %q", l.query)
		case l.query != "":
			words = fmt.Sprintf(", search %q", l.query)
		}
		return fmt.Sprintf("muse: %s: list, %s%s, row %d of %d", name, Filters[l.filter].Name, words, min(l.at+1, len(l.rows)), len(l.rows))
	case a.screen == ScreenPlay:
		return fmt.Sprintf("muse: you play, step %d", a.left.at+1)
	case a.screen == ScreenRun:
		return "muse: " + name + ": the run as a whole"
	case a.screen == ScreenCompare:
		return fmt.Sprintf("muse: %s: episodes %d and %d, command %d", name, a.left.i+1, a.right.i+1, a.left.at+1)
	}
	return fmt.Sprintf("muse: %s: episode %d, command %d", name, a.left.i+1, a.left.at+1)
}
