package viewer

import "strings"

// Screen is one of the pictures that the viewer shows.
type Screen uint8

// The screens.
const (
	ScreenList Screen = iota
	ScreenEpisode
	ScreenCompare
	ScreenRun
	ScreenPlay // a person plays
)

// Control is something that can be done: with which keys, where, and what it is.
type Control struct {
	Do   string
	Keys []string // names as [App.Key] takes them
	What string
	On   []Screen // nil: everywhere
}

var (
	watching = []Screen{ScreenEpisode, ScreenCompare}
	looking  = []Screen{ScreenEpisode, ScreenCompare, ScreenPlay}
	lists    = []Screen{ScreenList, ScreenRun}
)

// Controls are all of them; the help screen is this table.
var Controls = []Control{
	{"open", []string{"enter"}, "watch the selected episode", []Screen{ScreenList}},
	{"up", []string{"up", "k"}, "one row up", lists},
	{"down", []string{"down", "j"}, "one row down", lists},
	{"pageup", []string{"pageup"}, "a page up", []Screen{ScreenList}},
	{"pagedown", []string{"pagedown"}, "a page down", []Screen{ScreenList}},
	{"top", []string{"home"}, "first row", []Screen{ScreenList}},
	{"bottom", []string{"end"}, "last row", []Screen{ScreenList}},
	{"filter", []string{"1", "2", "3", "4", "5", "6", "7"}, "show all, solved, failed, failed but confident, solved but doubtful, stuck, unreadable", []Screen{ScreenList}},
	{"search", []string{"/"}, "search in goals, agents and ids; enter ends it, escape clears it", []Screen{ScreenList}},
	{"play", []string{"space"}, "play or pause", watching},
	{"next", []string{"right", "."}, "next command", watching},
	{"back", []string{"left", ","}, "command before", watching},
	{"next", []string{"pagedown"}, "in a game: look one step on", []Screen{ScreenPlay}},
	{"back", []string{"pageup"}, "in a game: look one step back", []Screen{ScreenPlay}},
	{"skip", []string{"pagedown"}, "ten commands on", watching},
	{"skipback", []string{"pageup"}, "ten commands back", watching},
	{"first", []string{"home"}, "first command", watching},
	{"last", []string{"end"}, "last command", watching},
	{"slower", []string{"["}, "play slower", watching},
	{"faster", []string{"]"}, "play faster", watching},
	{"lowest", []string{"l"}, "to the command with the lowest P of the chosen future", looking},
	{"surprise", []string{"s"}, "to the next surprise: P jumps by 0.25, or the command had no effect though another answer was imagined", looking},
	{"nextepisode", []string{"n", "down"}, "next episode of the list", watching},
	{"prevepisode", []string{"p", "up"}, "episode before it", watching},
	{"compare", []string{"c"}, "two episodes side by side: the same task first; again for one", watching},
	{"partner", []string{"tab"}, "another episode on the right", []Screen{ScreenCompare}},
	{"swap", []string{"x"}, "left and right change places", []Screen{ScreenCompare}},
	{"list", []string{"escape", "backspace"}, "back to the list", []Screen{ScreenEpisode, ScreenCompare, ScreenRun}},
	{"run", []string{"r"}, "the run as a whole: agents, reliability, learning", []Screen{ScreenList, ScreenEpisode, ScreenCompare, ScreenRun}},
	{"zoomin", []string{"+", "="}, "larger", nil},
	{"zoomout", []string{"-"}, "smaller", nil},
	{"zoomreset", []string{"0"}, "normal size", nil},
	{"theme", []string{"t"}, "light or dark", nil},
	{"help", []string{"?"}, "this page; again to close it", nil},
	{"quit", []string{"q"}, "quit", nil},
}

// onScreen says whether a control is there on a screen.
func (c *Control) onScreen(s Screen) bool {
	if c.On == nil {
		return true
	}
	for _, x := range c.On {
		if x == s {
			return true
		}
	}
	return false
}

// byKey finds the action of a key on a screen.
func byKey(key string, s Screen) (Action, bool) {
	for i := range Controls {
		c := &Controls[i]
		if !c.onScreen(s) {
			continue
		}
		for k, name := range c.Keys {
			if name == key {
				return Action{Do: c.Do, Index: k}, true
			}
		}
	}
	return Action{}, false
}

// hints are the last line of each screen: what a newcomer needs.
var hints = map[Screen]string{
	ScreenList:    "↑ ↓ choose    enter watch    1–7 filter    / search    r the run as a whole    t theme    ? all keys    q quit",
	ScreenEpisode: "space play    ← → step    l lowest confidence    s next surprise    c compare    n p other episodes    esc list    ? all keys    q quit",
	ScreenCompare: "space play    ← → step    tab other episode on the right    x swap    c one episode    esc list    ? all keys    q quit",
	ScreenPlay:    "",
	ScreenRun:     "↑ ↓ choose an agent    esc list    ? all keys    q quit",
}

// drawHelp covers the picture with all controls.
func drawHelp(s *Scene, t *Theme, b Box) {
	shade := t.Back
	shade.A = 235
	s.Rect(Box{0, 0, s.W, s.H}, shade)
	in := panel(s, t, b.Inset(24), "Keys (the mouse does the same: click rows and buttons, drag in the P(success) diagram, turn the wheel)")
	w := in.W / 2
	left, right := Box{in.X, in.Y, w - 16, in.H}, Box{in.X + w, in.Y, w - 16, in.H}
	group := func(b *Box, title string, on func(c *Control) bool) {
		y := b.Y
		s.Text(b.X, y, styleHead, t.Choice, title)
		y += 22
		for i := range Controls {
			c := &Controls[i]
			if !on(c) {
				continue
			}
			s.Text(b.X, y, styleMonoB, t.Ink, Ellipsis(styleMonoB, strings.Join(c.Keys, " "), 118))
			y += max(styleSmall.Line(), s.TextIn(Box{b.X + 124, y, b.W - 124, 3 * styleSmall.Line()}, styleSmall, t.Ink, c.What)) + 3
		}
		b.Y = y + 10
	}
	words := func(b *Box, title string, lines ...string) {
		y := b.Y
		if title != "" {
			s.Text(b.X, y, styleHead, t.Choice, title)
			y += 22
		}
		for _, l := range lines {
			y += s.TextIn(Box{b.X, y, b.W, 3 * styleSmall.Line()}, styleSmall, t.Ink, l) + 2
		}
		b.Y = y + 10
	}
	everywhere := func(c *Control) bool { return c.On == nil || c.onScreen(ScreenList) && c.onScreen(ScreenEpisode) }
	group(&left, "List of episodes, the run as a whole", func(c *Control) bool {
		return !everywhere(c) && (c.onScreen(ScreenList) || c.onScreen(ScreenRun) && !c.onScreen(ScreenEpisode))
	})
	group(&left, "Everywhere", everywhere)
	words(&left, "Signs",
		"P: probability that the episode succeeds, as the agent's self-assessment sees it. ψ1 … ψN: that it succeeds within so many N-ths of the time; ψN is P.",
		"Thick frame and arrow: the chosen future. Tick or ≠ beside an imagined answer: it came true, or not.",
		"Ring beside a receptacle: the task names its kind. Underlined object: new in the last answer. Thick lid: closed; lifted lid: open. Dashed line: the agent's last way.",
		"Table of the arm: rings are the goal, a thick dark edge is contact; lines are named below the table.")
	group(&right, "Watching an episode, comparing two", func(c *Control) bool {
		return !everywhere(c) && (c.onScreen(ScreenEpisode) || c.onScreen(ScreenCompare))
	})
	group(&right, "Playing a game (muse play --window)", func(c *Control) bool { return c.onScreen(ScreenPlay) && !c.onScreen(ScreenEpisode) && !everywhere(c) })
	words(&right, "", "Text: type a command and press enter, or choose one with up and down; tab completes, escape clears, the word quit ends.",
		"Arm: the keys below the table, or a click on them.")
}
