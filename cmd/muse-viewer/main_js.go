//go:build js

package main

import (
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/muse-agent/muse/viewer"
	"github.com/muse-agent/muse/viewer/window"
)

// In the browser the viewer reads the run from the server that sent it.
func main() {
	if err := run(); err != nil {
		js.Global().Call("museFailed", "The run can't be shown: "+viewer.Clean(err.Error()))
	}
}

func run() error {
	var set struct {
		Live    bool   `json:"live"`
		Theme   string `json:"theme"`
		Episode int    `json:"episode"`
	}
	b, err := fetch("api/settings")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	theme, err := viewer.ThemeByName(set.Theme)
	if err != nil {
		return err
	}
	src, err := newRemote()
	if err != nil {
		return err
	}
	app := viewer.NewApp(src, theme)
	app.Async, app.Follow = true, set.Live
	if n := set.Episode; n >= 1 && n <= len(src.Entries()) {
		app.Open(n - 1)
	}
	// For tests of the page: where the viewer is.
	js.Global().Set("museState", js.FuncOf(func(js.Value, []js.Value) any {
		e, c, ok := app.At()
		b, err := json.Marshal(map[string]any{"screen": app.Screen(), "episode": e, "command": c, "watching": ok, "playing": app.Playing(), "settled": app.Settled(), "title": app.Title()})
		if err != nil {
			return ""
		}
		return string(b)
	}))
	return window.Run(app, window.Options{Title: "muse", Ready: func() { js.Global().Call("museReady") }})
}
