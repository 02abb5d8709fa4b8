package viewer

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
	if a.play != nil {
		a.poll()
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
	es := a.src.Entries()
	l.rows = visible(es, l.filter, l.query)
	l.counts = countFilters(es)
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
