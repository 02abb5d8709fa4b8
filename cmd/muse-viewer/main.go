//go:build !js

// Command muse-viewer shows a run in a window: the room, the imagined futures with their
// probability of success, the choice, and how the confidence moves.
//
//	muse-viewer [flags] RUN
//
// It is a program of its own because one that can open windows doesn't start where there
// is no display; `muse watch` starts it, and `muse watch --http` shows the same in a
// browser. Build it with `make viewer`. Exit status: 0 closed, 1 failure, 2 usage.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/muse-agent/muse/viewer"
	"github.com/muse-agent/muse/viewer/window"
)

func main() {
	start := time.Now()
	if err := run(os.Args[1:], start); err != nil {
		fmt.Fprintln(os.Stderr, "muse-viewer:", viewer.Clean(strings.TrimPrefix(err.Error(), "viewer: ")))
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

// report is what --report writes: how fast the window was.
type report struct {
	FirstMS float64 `json:"first_frame_ms"` // from the start of the program to the first picture
	Frames  int     `json:"frames"`         // shown since then
	Seconds float64 `json:"seconds"`
	FPS     float64 `json:"fps"`
	PlayFPS float64 `json:"playing_fps"` // while commands follow each other by themselves
	SlowMS  float64 `json:"slowest_frame_ms"`
	PeakMB  int     `json:"peak_mb,omitempty"` // most memory held at any time, where the system tells
}

// peakMB is the most memory that this program has held, 0 where the system doesn't tell.
func peakMB() int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	kb := 0
	if _, err := fmt.Sscan(rest, &kb); !ok || err != nil {
		return 0
	}
	return kb >> 10
}

func run(args []string, start time.Time) error {
	fs := flag.NewFlagSet("muse-viewer", flag.ContinueOnError)
	theme := fs.String("theme", "light", "light or dark")
	live := fs.Bool("live", false, "follow a run that is still being written")
	episode := fs.Int("episode", 0, "episode to open, from 1; 0 shows the list")
	size := fs.String("size", "1280x800", "of the window, in logical pixels")
	play := fs.Bool("play", false, "play the game that another program sends on standard input (muse play --window starts it)")
	file := fs.String("report", "", "write the speed of the window to this JSON file at the end")
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: muse-viewer [flags] RUN\n\nShows a run folder in a window; press ? there for all keys.")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	th, err := viewer.ThemeByName(*theme)
	if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	o := window.Options{Title: "muse"}
	if n, err := fmt.Sscanf(*size, "%dx%d", &o.Width, &o.Height); n != 2 || err != nil || o.Width < 320 || o.Height < 240 {
		return fmt.Errorf("%w: --size %q: want WIDTHxHEIGHT, at least 320x240", errUsage, *size)
	}
	if *play && fs.NArg() == 0 {
		return show(viewer.NewPlaying(viewer.NewGame(os.Stdin, os.Stdout), th), o, *file, start)
	}
	if fs.NArg() != 1 {
		return fmt.Errorf("%w: want one run folder, got %d; muse-viewer --help", errUsage, fs.NArg())
	}
	o.Title += ": " + fs.Arg(0)
	r, err := viewer.Open(fs.Arg(0), viewer.OpenOptions{})
	if err != nil {
		return err
	}
	app := viewer.NewApp(r, th)
	app.Follow = *live
	if *episode != 0 {
		if *episode < 1 || *episode > len(r.Entries()) {
			return errors.Join(fmt.Errorf("--episode %d: the run has %d episodes", *episode, len(r.Entries())), r.Close())
		}
		app.Open(*episode - 1)
	}
	return errors.Join(show(app, o, *file, start), r.Close())
}

// show opens the window, and writes how fast it was to file unless that is "".
func show(app *viewer.App, o window.Options, file string, start time.Time) error {
	var rep report
	var first, last time.Time
	var played time.Duration
	playing := 0
	o.Ready = func() {
		first = time.Now()
		last = first
		rep.FirstMS = float64(first.Sub(start).Microseconds()) / 1000
	}
	o.Frame = func(app *viewer.App) {
		now := time.Now()
		if app.Playing() {
			playing++
			played += now.Sub(last)
		}
		rep.Frames++
		rep.SlowMS = max(rep.SlowMS, float64(now.Sub(last).Microseconds())/1000)
		last = now
	}
	err := window.Run(app, o)
	if err == nil && file != "" {
		rep.PeakMB = peakMB()
		rep.Seconds = last.Sub(first).Seconds()
		if rep.Seconds > 0 {
			rep.FPS = float64(rep.Frames-1) / rep.Seconds
		}
		if played > 0 {
			rep.PlayFPS = float64(playing) / played.Seconds()
		}
		b, err := json.MarshalIndent(rep, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(file, append(b, '\n'), 0o644)
	}
	return err
}
