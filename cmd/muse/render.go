package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/viewer"
)

// renderFlags are the settings of `muse render`.
type renderFlags struct {
	episode, out, size, theme, screen, compare string
	at                                         int
	scale, speed                               float64
	asJSON                                     bool
}

// renderDone is what `render --json` prints.
type renderDone struct {
	File    string `json:"file"`
	Screen  string `json:"screen"`
	Episode int    `json:"episode,omitempty"` // number in the list, from 1
	ID      string `json:"id,omitempty"`
	Frames  int    `json:"frames"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
}

func renderCmd(a *app) *cobra.Command {
	var f renderFlags
	c := &cobra.Command{
		Use: "render RUN", Short: "Draw an episode of a run as GIF, PNG or MP4, without a display",
		Long: `Draws what the viewer shows: the room, the imagined futures with their probability of
success, the choice and what happened, command by command.

--episode takes a number of the list, a part of an id, or one of the viewer's filters:
solved, failed, "failed but confident", "solved but doubtful", stuck, also with a part of an
id behind it, such as "failed muse-best" (the first that fits).
The ending of --out decides: .gif and .mp4 (needs ffmpeg) play the episode, .png is the
picture of one command.`,
		Example: "  muse render runs/demo-x --episode failed -o why.gif\n" +
			"  muse render runs/demo-x --episode muse-best -o decision.png --at 5\n" +
			"  muse render runs/demo-x --screen run -o reliability.png",
		Args: exactArgs(1, "one run folder"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.render(c.Context(), args[0], f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.episode, "episode", "1", "number, part of an id, filter, or filter and part of an id")
	fl.StringVarP(&f.out, "out", "o", "", "file to write: .gif, .png or .mp4")
	fl.StringVar(&f.screen, "screen", "episode", "episode, compare, list, run or help")
	fl.StringVar(&f.compare, "compare", "", "second episode for --screen compare, default another of the same task")
	fl.IntVar(&f.at, "at", 0, "command to show in a PNG, from 1; 0 = the one with the widest spread of P")
	fl.StringVar(&f.size, "size", "1280x800", "logical pixels")
	fl.Float64Var(&f.scale, "scale", 1, "physical pixels a logical one")
	fl.Float64Var(&f.speed, "speed", 1.5, "commands a second")
	fl.StringVar(&f.theme, "theme", "light", "light or dark")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

// check reads the settings that need no run.
func (f *renderFlags) check() (theme viewer.Theme, w, h float64, err error) {
	ext := strings.ToLower(filepath.Ext(f.out))
	switch {
	case f.out == "":
		return theme, 0, 0, usagef("nothing to write: --out FILE names a .gif, .png or .mp4")
	case ext != ".gif" && ext != ".png" && ext != ".mp4":
		return theme, 0, 0, usagef("--out %s: want a file that ends in .gif, .png or .mp4", f.out)
	case !(f.scale >= .25 && f.scale <= 8):
		return theme, 0, 0, usagef("--scale is %v; it must be from 0.25 to 8", f.scale)
	case !(f.speed >= .05 && f.speed <= 50):
		return theme, 0, 0, usagef("--speed is %v; it must be from 0.05 to 50 commands a second", f.speed)
	}
	if theme, err = viewer.ThemeByName(f.theme); err != nil {
		return theme, 0, 0, usagef("--theme %q: want light or dark", f.theme)
	}
	ws, hs, ok := strings.Cut(f.size, "x")
	wi, err1 := strconv.Atoi(ws)
	hi, err2 := strconv.Atoi(hs)
	if !ok || err1 != nil || err2 != nil || wi < 320 || hi < 240 || wi > 8192 || hi > 8192 ||
		float64(wi)*float64(hi)*f.scale*f.scale > viewer.MaxPixels {
		return theme, 0, 0, usagef("--size %q: want WIDTHxHEIGHT from 320x240 to 8192x8192, at most %d pixels with --scale", f.size, viewer.MaxPixels)
	}
	return theme, float64(wi), float64(hi), nil
}

func (a *app) render(ctx context.Context, path string, f renderFlags) error {
	theme, w, h, err := f.check()
	if err != nil {
		return err
	}
	screens := []string{"episode", "compare", "list", "run", "help"}
	if !slices.Contains(screens, f.screen) {
		return usagef("--screen %q%s; there are %s", f.screen, didYouMean(f.screen, screens), strings.Join(screens, ", "))
	}
	run, err := viewer.Open(path, viewer.OpenOptions{Progress: a.indexProgress(path)})
	if err != nil {
		return err
	}
	defer run.Close()
	if n := run.Notice(); n != "" {
		a.say("%s", n)
	}
	v := viewer.NewApp(run, theme)
	v.Resize(w, h)
	done := renderDone{File: f.out, Screen: f.screen, Frames: 1, Width: int(w*f.scale + .5), Height: int(h*f.scale + .5)}
	frames := 1
	if f.screen == "episode" || f.screen == "compare" {
		if frames, err = f.choose(run, v, &done); err != nil {
			return err
		}
	} else if strings.ToLower(filepath.Ext(f.out)) != ".png" {
		return usagef("--screen %s is one picture: --out must end in .png", f.screen)
	}
	switch f.screen {
	case "run":
		v.Do(viewer.Action{Do: "run"})
	case "help":
		v.Do(viewer.Action{Do: "help"})
	}
	if err := f.write(ctx, v, frames, &done); err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(done)
	}
	fmt.Fprintf(a.stdout, "%s: %dx%d, %s\n", done.File, done.Width, done.Height, map[bool]string{true: "1 picture", false: fmt.Sprintf("%d pictures", done.Frames)}[done.Frames == 1])
	return nil
}

// choose opens the asked-for episodes and returns how many pictures an animation has.
func (f *renderFlags) choose(run *viewer.Run, v *viewer.App, done *renderDone) (int, error) {
	i, err := findEpisode(run.Entries(), f.episode)
	if err != nil {
		return 0, err
	}
	e, err := run.Episode(i)
	if err != nil {
		return 0, err
	}
	done.Episode, done.ID = i+1, e.ID
	v.Open(i)
	n := len(e.Steps)
	if f.screen == "compare" {
		v.Do(viewer.Action{Do: "compare"})
		if f.compare != "" {
			j, err := findEpisode(run.Entries(), f.compare)
			if err != nil {
				return 0, err
			}
			o, err := run.Episode(j)
			if err != nil {
				return 0, err
			}
			n = max(n, len(o.Steps))
			v.Compare(j)
		}
		if v.Screen() != viewer.ScreenCompare {
			return 0, errors.New("there is no other episode to compare with: name one with --compare")
		}
	}
	at := f.at - 1
	switch {
	case f.at < 0 || f.at > max(1, n):
		return 0, usagef("--at %d: the episode has %d commands", f.at, n)
	case f.at == 0:
		at = viewer.Widest(e)
	}
	v.Show(at)
	return max(1, n), nil
}

// findEpisode reads what --episode says.
func findEpisode(es []viewer.Entry, want string) (int, error) {
	if n, err := strconv.Atoi(want); err == nil {
		if n < 1 || n > len(es) {
			return 0, usagef("--episode %d: the run has %d episodes", n, len(es))
		}
		return n - 1, nil
	}
	keep := func(e *viewer.Entry) bool { return e.Problem == "" && strings.Contains(e.ID, want) }
	for _, f := range viewer.Filters {
		if rest, ok := strings.CutPrefix(want+" ", f.Name+" "); ok { // perhaps with a part of an id behind
			rest = strings.TrimSpace(rest)
			keep = func(e *viewer.Entry) bool { return f.Keep(e) && strings.Contains(e.ID, rest) }
		}
	}
	for i := range es {
		if keep(&es[i]) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no episode of the run is %q: want a number from 1 to %d, a part of an id (such as muse-best), or a filter (such as failed)", want, len(es))
}

// write draws into the file, which is there afterwards wholly or not at all.
func (f *renderFlags) write(ctx context.Context, v *viewer.App, frames int, done *renderDone) error {
	stay := time.Duration(float64(time.Second) / f.speed)
	frame := func(i int) viewer.Frame {
		v.Show(i)
		d := stay
		if i == frames-1 {
			d += 2 * time.Second // the end can be read before it begins again
		}
		return viewer.Frame{Scene: v.Scene(), For: d}
	}
	switch strings.ToLower(filepath.Ext(f.out)) {
	case ".png":
		return atomicfile.Write(f.out, 0o644, func(w io.Writer) error { return viewer.PNG(w, v.Scene(), f.scale) })
	case ".gif":
		done.Frames = frames
		return atomicfile.Write(f.out, 0o644, func(w io.Writer) error { return viewer.GIF(ctx, w, frames, f.scale, frame) })
	}
	done.Frames = frames
	tmp := f.out + ".part"
	if err := viewer.MP4(ctx, tmp, frames, f.scale, frame); err != nil {
		if rm := os.Remove(tmp); rm != nil && !errors.Is(rm, os.ErrNotExist) {
			err = errors.Join(err, rm)
		}
		return err
	}
	return os.Rename(tmp, f.out)
}

// indexProgress says how far a missing index is rebuilt.
func (a *app) indexProgress(path string) func(done, total int64) {
	told := time.Time{}
	return func(done, total int64) {
		if time.Since(told) > time.Second {
			told = time.Now()
			a.say("%s: indexing, %d of %d MB", path, done>>20, total>>20)
		}
	}
}
