package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/viewer"
)

// watchFlags are the settings of `muse watch`.
type watchFlags struct {
	http, live bool
	addr, web  string
	theme      string
	episode    int
}

func watchCmd(a *app) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use: "watch RUN", Short: "Watch an agent think, in a window or in the browser",
		Long: `Shows a run: the list of episodes, and of each the room, the imagined futures with their
probability of success, the choice, what happened, and how the confidence moved. RUN is a
run folder, or a folder with some of them, such as runs/demo-x. Press ? for all keys.

The window is a program of its own, muse-viewer (make viewer). --http shows the same in a
browser, and needs no display on this machine. --live follows a run in progress.`,
		Example: "  muse watch runs/demo-x\n  muse watch --http runs/demo-x\n  muse watch --live runs/eval-base",
		Args:    exactArgs(1, "one run folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := viewer.ThemeByName(f.theme); err != nil {
				return usagef("--theme %q: want light or dark", f.theme)
			}
			if f.episode < 0 {
				return usagef("--episode %d: want a number of the list, from 1", f.episode)
			}
			if f.http {
				return a.watchHTTP(c.Context(), args[0], f)
			}
			return a.watchWindow(c, args[0], f)
		},
	}
	fl := c.Flags()
	fl.BoolVar(&f.http, "http", false, "serve the viewer to a browser instead of opening a window")
	fl.StringVar(&f.addr, "addr", "127.0.0.1:8090", "address of --http; anything but this machine's own shows the run to the network; port 0 takes a free one")
	fl.StringVar(&f.web, "web", "", "folder with the browser's viewer, default viewer-web beside the program (make viewer)")
	fl.BoolVar(&f.live, "live", false, "follow a run that is still being written")
	fl.IntVar(&f.episode, "episode", 0, "episode to open, from 1; 0 = the list")
	fl.StringVar(&f.theme, "theme", "light", "light or dark")
	return c
}

// watchWindow starts muse-viewer.
func (a *app) watchWindow(c *cobra.Command, path string, f watchFlags) error {
	if err := openable(path); err != nil { // told here, whatever else is missing
		return err
	}
	if err := a.display("use muse watch --http for the browser, muse render for pictures, or install a virtual display (apt-get install xvfb; xvfb-run muse watch …)"); err != nil {
		return err
	}
	prog, err := findViewer()
	if err != nil {
		return err
	}
	args := []string{"--theme", f.theme, "--episode", fmt.Sprint(f.episode)}
	if f.live {
		args = append(args, "--live")
	}
	v := exec.CommandContext(c.Context(), prog, append(args, "--", path)...)
	v.Stdout, v.Stderr = a.stdout, a.stderr
	if err := v.Run(); err != nil {
		if c.Context().Err() != nil {
			return c.Context().Err()
		}
		return fmt.Errorf("%s: %w (muse watch --http shows the run in a browser)", prog, err)
	}
	return nil
}

// openable says what is wrong with a run before a viewer is started.
func openable(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w (name a run folder, such as runs/demo-x; `ls runs`)", err)
	}
	return nil
}

// findViewer looks for the window's program beside this one, then on the PATH.
func findViewer() (string, error) {
	name := "muse-viewer"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if p := filepath.Join(filepath.Dir(self), name); isExecutable(p) {
			return p, nil
		}
	}
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	return "", fmt.Errorf("the window's program %s is neither beside muse nor on the PATH: run `make viewer`, or use muse watch --http", name)
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && (runtime.GOOS == "windows" || st.Mode()&0o111 != 0)
}
