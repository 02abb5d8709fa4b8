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
