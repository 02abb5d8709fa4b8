package train

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress prints how far a run is to stderr: one rewritten line on a terminal,
// a plain line every ten seconds elsewhere. A nil *Progress prints nothing. It is
// safe for concurrent use and the only place of this package that looks at the
// clock for anything but timing.jsonl.
type Progress struct {
	mu     sync.Mutex
	w      io.Writer
	tty    bool
	label  string
	total  int
	from   int // done before this process
	done   int
	note   string
	start  time.Time
	last   time.Time
	now    func() time.Time
	broken bool
}

// NewProgress reports on w about total units, from of which are already there.
func NewProgress(w io.Writer, tty bool, label string, from, total int) *Progress {
	if w == nil {
		return nil
	}
	p := &Progress{w: w, tty: tty, label: label, total: total, from: from, done: from, now: time.Now}
	p.start = p.now()
	p.last = p.start
	if from > 0 && from < total {
		fmt.Fprintf(w, "%s: resuming after %d of %d\n", label, from, total)
	}
	return p
}

// Add counts finished units; note is shown beside them ("won 12").
func (p *Progress) Add(n int, note string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.note = note
	t := p.now()
	every := 10 * time.Second
	if p.tty {
		every = 200 * time.Millisecond
	}
	if t.Sub(p.last) < every && p.done < p.total {
		return
	}
	p.last = t
	p.print(t)
}

func (p *Progress) print(t time.Time) {
	fresh, took := p.done-p.from, t.Sub(p.start).Seconds()
	line := fmt.Sprintf("%s: %d/%d", p.label, p.done, p.total)
	if fresh > 0 && took > 0.5 {
		rate := float64(fresh) / took
		unit := "/s"
		shown := rate
		if rate < 1 {
			unit, shown = "/min", rate*60
		}
		line += fmt.Sprintf("  %.1f%s", shown, unit)
		if p.done < p.total {
			line += "  ETA " + round(time.Duration(float64(p.total-p.done)/rate*float64(time.Second)))
		} else {
			line += "  in " + round(time.Duration(took*float64(time.Second)))
		}
	}
	if p.note != "" {
		line += "  " + p.note
	}
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.broken = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// Close ends the rewritten line.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		fmt.Fprintln(p.w)
		p.broken = false
	}
}

// round shows a duration without false precision.
func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
