package viewer

import (
	"fmt"
	"image/color"
	"strings"
)

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
	case ScreenPlay:
		s = a.drawPlay(w, h, t)
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
		drawHints(s, &t, Box{0, h - 24, w, 24}, a.hints())
	}
	a.hitHints(s, Box{0, h - 24, w, 24})
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
	v := &View{Episode: e, At: x.at, Run: a.src.Title(), Hints: a.hints()}
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

// hints is the last line: what the last key could not do, or what can be done.
func (a *App) hints() string {
	if a.told != "" {
		return a.told
	}
	return hints[a.screen]
}

// hitHints makes the words of the last line do what their first key does.
func (a *App) hitHints(s *Scene, b Box) {
	if a.told != "" {
		return
	}
	x := b.X + 10
	for _, part := range strings.SplitAfter(hints[a.screen], "    ") {
		word := strings.TrimSpace(part)
		key, _, _ := strings.Cut(word, " ")
		if name, ok := hintKeys[key]; ok {
			key = name
		}
		if act, ok := byKey(key, a.screen); ok {
			s.Hit(Box{x, b.Y, Measure(styleSmall, word), b.H}, act)
		}
		x += Measure(styleSmall, part)
	}
}

// hintKeys are keys that the last line writes otherwise than [Controls].
var hintKeys = map[string]string{"←": "right", "↑": "down", "esc": "escape", "1–7": "1"}
