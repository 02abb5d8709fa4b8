//go:build viewer || js

package window

import (
	"errors"
	"image"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"github.com/muse-agent/muse/viewer"
)

// Run opens the window and returns when it is closed. It must be called from the main
// goroutine.
func Run(app *viewer.App, o Options) error {
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 1280, 800
	}
	ebiten.SetWindowTitle(o.Title)
	ebiten.SetWindowSize(o.Width, o.Height)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	ebiten.SetScreenClearedEveryFrame(false)
	g := &game{app: app, o: o, before: time.Now(), scale: 1}
	if err := ebiten.RunGame(g); err != nil && !errors.Is(err, ebiten.Termination) {
		return err
	}
	return nil
}

type game struct {
	app    *viewer.App
	o      Options
	before time.Time
	scale  float64 // physical pixels a logical one

	pix   *image.RGBA
	tex   *ebiten.Image
	size  image.Rectangle // of the screen that was drawn last
	drawn bool
	title string
	chars []rune
	keys  []ebiten.Key
	down  bool // mouse button
}

// Update takes input and lets the time pass that really passed: a tab in the background
// stands still and doesn't jump afterwards.
func (g *game) Update() error {
	now := time.Now()
	g.app.Tick(now.Sub(g.before).Seconds())
	g.before = now
	g.keyboard()
	g.mouse()
	if t := g.app.Title(); g.drawn && t != g.title { // not before there is a picture
		g.title = t
		ebiten.SetWindowTitle(t)
	}
	if g.app.Done() {
		return ebiten.Termination
	}
	return nil
}

// names of the keys that print nothing.
var names = map[ebiten.Key]string{
	ebiten.KeyEnter: "enter", ebiten.KeyNumpadEnter: "enter", ebiten.KeyEscape: "escape", ebiten.KeyBackspace: "backspace",
	ebiten.KeyTab: "tab", ebiten.KeyArrowUp: "up", ebiten.KeyArrowDown: "down", ebiten.KeyArrowLeft: "left", ebiten.KeyArrowRight: "right",
	ebiten.KeyHome: "home", ebiten.KeyEnd: "end", ebiten.KeyPageUp: "pageup", ebiten.KeyPageDown: "pagedown",
}

// A held key repeats after delay ticks, every interval ticks.
const (
	delay    = 24
	interval = 4
)

func (g *game) keyboard() {
	// Signs first: on a slow machine a word and the enter behind it come in one frame.
	g.chars = ebiten.AppendInputChars(g.chars[:0])
	for _, c := range g.chars {
		if c == ' ' {
			g.app.Key("space")
		} else {
			g.app.Key(string(c))
		}
	}
	// Asked for apart from the keys that are down: a short tap can be over between frames.
	g.keys = inpututil.AppendJustPressedKeys(g.keys[:0])
	for _, k := range g.keys {
		if name, ok := names[k]; ok {
			g.app.Key(name)
		}
	}
	g.keys = inpututil.AppendPressedKeys(g.keys[:0])
	for _, k := range g.keys {
		name, ok := names[k]
		if d := inpututil.KeyPressDuration(k); ok && d >= delay && (d-delay)%interval == 0 {
			g.app.Key(name)
		}
	}
}

func (g *game) mouse() {
	x, y := ebiten.CursorPosition()
	lx, ly := float64(x)/g.scale, float64(y)/g.scale
	pressed := ebiten.IsMouseButtonPressed(ebiten.MouseButtonLeft)
	if inpututil.IsMouseButtonJustPressed(ebiten.MouseButtonLeft) {
		g.app.Click(lx, ly, false)
	} else if pressed && g.down {
		g.app.Click(lx, ly, true)
	}
	g.down = pressed
	if ids := inpututil.AppendJustPressedTouchIDs(nil); len(ids) > 0 {
		tx, ty := ebiten.TouchPosition(ids[0])
		g.app.Click(float64(tx)/g.scale, float64(ty)/g.scale, false)
	}
	if _, dy := ebiten.Wheel(); dy != 0 {
		g.app.Wheel(dy)
	}
}

// Draw shows the picture; it is drawn anew only when something changed.
func (g *game) Draw(screen *ebiten.Image) {
	b := screen.Bounds()
	if g.tex == nil || b != g.size || g.app.Stale() {
		g.size = b
		g.pix = viewer.RasterInto(g.pix, g.app.Scene(), g.scale*g.app.Zoom())
		if g.tex == nil || g.tex.Bounds() != g.pix.Rect {
			if g.tex != nil {
				g.tex.Deallocate()
			}
			g.tex = ebiten.NewImage(g.pix.Rect.Dx(), g.pix.Rect.Dy())
		}
		g.tex.WritePixels(g.pix.Pix)
	}
	screen.DrawImage(g.tex, nil)
	if !g.drawn {
		g.drawn = true
		if g.o.Ready != nil {
			g.o.Ready()
		}
	}
	if g.o.Frame != nil {
		g.o.Frame(g.app)
	}
}

// Layout is not used: LayoutF is.
func (g *game) Layout(w, h int) (int, int) { return w, h }

// LayoutF makes the picture as many pixels as the display has.
func (g *game) LayoutF(w, h float64) (float64, float64) {
	g.scale = ebiten.Monitor().DeviceScaleFactor()
	if !(g.scale > 0) {
		g.scale = 1
	}
	g.app.Resize(w, h)
	return float64(int(w*g.scale + .999)), float64(int(h*g.scale + .999))
}
