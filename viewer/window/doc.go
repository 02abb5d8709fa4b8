// Package window shows the viewer in a window, on a desktop or in a browser.
//
// It is the only package that imports Ebiten, and only with the build tag "viewer" or for
// the browser: a program that links Ebiten ends before main where there is no display.
// Without the tag [Run] returns [ErrNotBuilt].
//
// The window draws nothing itself. It hands keys, mouse and time to a [viewer.App], and
// shows the pixels of the same rasteriser that makes PNG and GIF, drawn anew when the
// state has changed.
package window

import (
	"errors"

	"github.com/muse-agent/muse/viewer"
)

// ErrNotBuilt is returned by Run of a program without a window.
var ErrNotBuilt = errors.New("window: this program was built without a window: run `make viewer` (or go build -tags viewer ./cmd/muse-viewer)")

// Options of a window.
type Options struct {
	Title         string
	Width, Height int // logical pixels, default 1280×800
	// Ready is called when the first picture has been shown. It may be nil.
	Ready func()
	// Frame is called after each frame of the display. It may be nil.
	Frame func(app *viewer.App)
}
