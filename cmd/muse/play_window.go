package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/viewer"
)

// windowFlags are the settings of a game in the window.
type windowFlags struct {
	window bool
	theme  string
	model  string
	msa    string
	// futures are what an agent imagines beside the person.
	futures int
}

func (w *windowFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&w.window, "window", false, "play in a window (make viewer)")
	c.Flags().StringVar(&w.theme, "theme", "light", "of the window: light or dark")
}

// addAgent adds what a text agent that watches needs.
func (w *windowFlags) addAgent(c *cobra.Command) {
	d, _ := reflexion.Default("muse") // a known name
	c.Flags().StringVar(&w.model, "model", "base", "with --msa: the language model that imagines; it must be the one of the checkpoint")
	c.Flags().StringVar(&w.msa, "msa", "", "self-assessment that scores its futures: checkpoint or run folder of muse train selfassess")
	c.Flags().IntVar(&w.futures, "rollouts", d.Rollouts, "with --msa: futures imagined at each turn")
}

// check refuses settings of the window without a window.
func (w *windowFlags) check(c *cobra.Command, others ...string) error {
	if _, err := viewer.ThemeByName(w.theme); err != nil {
		return usagef("--theme %q: want light or dark", w.theme)
	}
	if w.window {
		return nil
	}
	for _, f := range append([]string{"theme"}, others...) {
		if c.Flags().Changed(f) {
			return usagef("--%s is for the window: add --window", f)
		}
	}
	return nil
}

// display says what to do where no window can be opened.
func (a *app) display(else_ string) error {
	if runtime.GOOS != "linux" && runtime.GOOS != "freebsd" {
		return nil
	}
	x, _ := a.getenv("DISPLAY")
	w, _ := a.getenv("WAYLAND_DISPLAY")
	if x == "" && w == "" {
		return errors.New("there is no display here (DISPLAY is not set): " + else_)
	}
	return nil
}

// windowGame is a game in the window: turns go there, moves come back.
type windowGame struct {
	turns io.Writer
	moves <-chan string // closed when the window is
}

// send shows a turn; episode is a record, or nil for the one shown before.
func (w *windowGame) send(t viewer.Turn, episode any) error {
	if episode != nil {
		b, err := json.Marshal(episode)
		if err != nil {
			return fmt.Errorf("the episode can't be written: %w", err)
		}
		t.Episode = b
	}
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if _, err := w.turns.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%w: %v", errWindowClosed, err)
	}
	return nil
}

var errWindowClosed = errors.New("the window was closed")

// move waits for the person.
func (w *windowGame) move(ctx context.Context) (string, error) {
	select {
	case m, ok := <-w.moves:
		if !ok {
			return "", errWindowClosed
		}
		return m, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// end shows the last turn, and waits until the window is closed.
func (w *windowGame) end(ctx context.Context, note string, episode any) error {
	if err := w.send(viewer.Turn{Note: note, Over: true}, episode); err != nil {
		return err
	}
	for {
		if _, err := w.move(ctx); err != nil {
			return err
		}
	}
}

// playWindow starts the window's program and plays in it until one of both ends. A closed
// window is no error.
func (a *app) playWindow(ctx context.Context, theme string, play func(context.Context, *windowGame) error) error {
	if err := a.display("leave --window out to play in the terminal, or install a virtual display (apt-get install xvfb; xvfb-run muse play …)"); err != nil {
		return err
	}
	prog, err := findViewer()
	if err != nil {
		return fmt.Errorf("%w; without --window the game is played in the terminal", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := exec.CommandContext(ctx, prog, "--play", "--theme", theme)
	v.Stderr = a.stderr
	in, err := v.StdinPipe()
	if err != nil {
		return err
	}
	out, err := v.StdoutPipe()
	if err != nil {
		return err
	}
	if err := v.Start(); err != nil {
		return fmt.Errorf("%s: %w", prog, err)
	}
	moves := make(chan string)
	go func() {
		defer close(moves)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var m viewer.Move
			if json.Unmarshal(lines.Bytes(), &m) != nil {
				continue // not the window's
			}
			select {
			case moves <- m.Command:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = play(ctx, &windowGame{turns: in, moves: moves})
	closed := errors.Is(err, errWindowClosed)
	if !closed {
		cancel() // the game has failed, or was interrupted
	}
	for range moves { // until the window's output ends
	}
	_ = in.Close() // the window is gone
	if werr := v.Wait(); closed {
		if werr != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", prog, werr)
		}
		return nil
	}
	return err
}

// playKeys are the moves of the arm.
var playKeys = []viewer.PlayKey{
	{Key: "a", Also: "left", What: "left"}, {Key: "d", Also: "right", What: "right"}, {Key: "w", Also: "up", What: "away"}, {Key: "s", Also: "down", What: "near"},
	{Key: "r", What: "up"}, {Key: "f", What: "down"}, {Key: "o", What: "open"}, {Key: "c", What: "close"}, {Key: ".", What: "wait"}, {Key: "x", What: "as the script"},
}

// words joins what is not empty.
func words(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
