package viewer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// player is the state of a game that a person plays.
type player struct {
	game   *Game
	turn   Turn
	typed  string
	choice int // of the suggestions shown, -1 for none
	err    error
}

// NewPlaying starts with a game that a person plays.
func NewPlaying(g *Game, theme Theme) *App {
	a := NewApp(g, theme)
	a.play = &player{game: g, choice: -1}
	a.left.i, a.screen = 0, ScreenPlay
	return a
}

// poll takes what the game has sent, and goes to the newest step.
func (a *App) poll() {
	p := a.play
	turn, e, fresh, err := p.game.fetch()
	if !fresh {
		return
	}
	p.turn, p.err, p.choice, a.stale = turn, err, -1, true
	if e != nil && a.loaded[0] != e {
		a.loaded[0] = e
		a.left.at = max(0, len(e.Steps)-1)
	}
}

// suggestions are those that begin with, or else contain, what was typed.
func (p *player) suggestions() []string {
	if p.typed == "" {
		return p.turn.Suggest
	}
	var begin, hold []string
	for _, s := range p.turn.Suggest {
		switch {
		case strings.HasPrefix(s, p.typed):
			begin = append(begin, s)
		case strings.Contains(s, p.typed):
			hold = append(hold, s)
		}
	}
	return append(begin, hold...)
}

// playKey handles a key of the game; false leaves it to the viewer's own controls.
func (a *App) playKey(key string) bool {
	p := a.play
	if len(p.turn.Keys) > 0 || p.turn.Over {
		k := slices.IndexFunc(p.turn.Keys, func(k PlayKey) bool { return k.Key == key || k.Also == key })
		if k >= 0 {
			a.move(p.turn.Keys[k].Key)
		}
		return k >= 0
	}
	a.stale = true
	switch {
	case key == "enter":
		list := p.suggestions()
		switch {
		case p.choice >= 0 && p.choice < len(list):
			a.move(list[p.choice])
		case strings.TrimSpace(p.typed) == "quit":
			a.quit = true
		case strings.TrimSpace(p.typed) != "":
			a.move(strings.TrimSpace(p.typed))
		}
	case key == "tab":
		if list := p.suggestions(); len(list) > 0 {
			p.typed, p.choice = list[max(0, min(p.choice, len(list)-1))], -1
		}
	case key == "down":
		p.choice = min(p.choice+1, len(p.suggestions())-1)
	case key == "up":
		p.choice = max(p.choice-1, -1)
	case key == "escape":
		p.typed, p.choice = "", -1
	case key == "backspace":
		_, n := utf8.DecodeLastRuneInString(p.typed)
		p.typed, p.choice = p.typed[:len(p.typed)-n], -1
	case key == "?" && p.typed == "": // help; no command begins with it
		return false
	case key == "space":
		p.typed, p.choice = p.typed+" ", -1
	case utf8.RuneCountInString(key) == 1 && len(p.typed)+len(key) <= maxQuery:
		p.typed, p.choice = p.typed+key, -1
	default:
		return false
	}
	return true
}

// move sends a command, unless one is under way.
func (a *App) move(command string) {
	p := a.play
	a.stale = true
	if p.turn.Busy != "" || p.turn.Over {
		return
	}
	p.typed, p.choice, p.turn.Busy = "", -1, "…"
	if err := p.game.send(command); err != nil {
		p.err = err
	}
}

const playBar = 58 // height of the line where a person plays

// drawPlay draws the episode so far, and below it where the person plays.
func (a *App) drawPlay(w, h float64, t Theme) *Scene {
	var s *Scene
	if e := a.loaded[0]; e != nil {
		v := &View{Episode: e, At: a.left.at}
		s = NewScene(w, h, t.Back)
		v.draw(s, &t, Box{0, 0, w, h - playBar}.Inset(gap))
	} else {
		s = NewScene(w, h, t.Back)
		s.Text(gap+2, gap, styleTitle, t.Ink, "You play")
	}
	a.drawPlayBar(s, &t, Box{0, h - playBar, w, playBar})
	return s
}

func (a *App) drawPlayBar(s *Scene, t *Theme, b Box) {
	p := a.play
	s.Rect(b, mix(t.Back, t.Line, .5))
	in := Box{b.X + 10, b.Y + 6, b.W - 20, b.H - 8}
	st := Style{Mono, 13}
	note, ink := p.turn.Note, t.Soft
	switch {
	case p.err != nil:
		note, ink = strings.TrimPrefix(p.err.Error(), "viewer: "), t.Bad
	case p.turn.Busy != "":
		note = p.turn.Busy
	}
	nw := min(Measure(styleSmall, Clean(note)), in.W*.45)
	s.TextRight(in.X+in.W, in.Y+3, styleSmall, ink, Ellipsis(styleSmall, note, nw+1))
	keys := "pgup pgdn look back    ? all keys    q quit"
	switch {
	case p.turn.Over:
		s.Text(in.X, in.Y+2, styleHead, t.Ink, "The game is over.")
		s.Text(in.X, in.Y+27, styleSmall, t.Soft, "pgup pgdn look back    s next surprise    l lowest confidence    ? all keys    q quit")
	case len(p.turn.Keys) > 0:
		s.Text(in.X, in.Y+2, styleHead, t.Ink, "Your move:")
		x := in.X
		for i, k := range p.turn.Keys {
			label := k.Key
			if k.Also != "" {
				label += " " + map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→"}[k.Also]
			}
			x = a.chip(s, t, x, in.Y+24, in, label+" "+k.What, false, Action{Do: "suggest", Index: i})
		}
		s.Text(min(x+8, in.X+in.W), in.Y+27, styleSmall, t.Soft, Ellipsis(styleSmall, keys, max(0, in.X+in.W-x-8)))
	default:
		cursor := "▏"
		if p.turn.Busy != "" {
			cursor = ""
		}
		s.Text(in.X, in.Y+1, st, t.Choice, "> ")
		s.Text(in.X+18, in.Y+1, st, t.Ink, Ellipsis(st, p.typed+cursor, in.W-nw-40))
		list := p.suggestions()
		x := in.X
		from := max(0, p.choice-3) // the chosen one stays in sight
		for i := from; i < len(list) && x < in.X+in.W-60; i++ {
			x = a.chip(s, t, x, in.Y+24, in, list[i], i == p.choice, Action{Do: "suggest", Index: i})
		}
		if p.typed == "" && p.choice < 0 {
			s.Text(in.X+30, in.Y+3, styleSmall, t.Soft, "type a command, or ↓ ↑ choose one below; enter sends, tab completes; pgup pgdn look back; ? all keys; quit ends")
		}
	}
}

// chip draws a button and returns where the next one goes.
func (a *App) chip(s *Scene, t *Theme, x, y float64, in Box, label string, on bool, act Action) float64 {
	label = Ellipsis(styleSmall, label, max(20, in.X+in.W-x-18))
	w := Measure(styleSmall, label) + 14
	fill, ink, edge := t.Panel, t.Ink, t.Line
	if on {
		fill, ink, edge = t.Choice, t.Panel, t.Choice
	}
	box := Box{x, y, w, 20}
	s.Round(box, 6, fill, edge, 1)
	s.Text(x+7, y+3, styleSmall, ink, label)
	s.Hit(box, act)
	return x + w + 5
}

// suggest is a click on a suggestion or on a key of the game.
func (a *App) suggest(i int) {
	p := a.play
	if p == nil {
		return
	}
	if len(p.turn.Keys) > 0 {
		if i >= 0 && i < len(p.turn.Keys) {
			a.move(p.turn.Keys[i].Key)
		}
		return
	}
	if list := p.suggestions(); i >= 0 && i < len(list) {
		a.move(list[i])
	}
}

// soFar says in a few lines how a game that is being played goes.
func soFar(e *Episode) []string {
	n, nothing := 0, 0
	for i := range e.Steps {
		st := &e.Steps[i]
		if st.pending() {
			continue
		}
		n++
		if st.Nothing() {
			nothing++
		}
	}
	out := []string{plural(n, e.unit()) + " so far."}
	if limit := e.Agent.Config.Limit; limit > 0 {
		out[0] = fmt.Sprintf("%d of at most %s so far.", n, plural(limit, e.unit()))
	}
	if nothing > 0 {
		out = append(out, fmt.Sprintf("%d had no effect.", nothing))
	}
	return append(out, confidence(e)...)
}

// open says that the episode is not finished: its last step is the coming one.
func (e *Episode) open() bool { return len(e.Steps) > 0 && e.Steps[len(e.Steps)-1].pending() }

// pending says that the step has no action yet: it is the coming one of a game.
func (s *Step) pending() bool { return s.Action.Text == "" && len(s.Action.Numbers) == 0 }
