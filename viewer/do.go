package viewer

// Do carries out an action; unknown ones do nothing.
func (a *App) Do(act Action) {
	a.stale, a.told = true, ""
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
	case "suggest":
		a.suggest(act.Index)
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
			} else if act.Do == "surprise" {
				a.told = "No surprise in this episode: P never jumps, and no command failed that was imagined to work."
			} else {
				a.told = "This agent gives no probabilities, so there is no lowest one."
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
