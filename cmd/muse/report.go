package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/viewer"
)

func reportCmd(a *app) *cobra.Command {
	var (
		out, title, tb string
		asJSON         bool
	)
	c := &cobra.Command{
		Use: "report RUN…", Short: "Success, learning curves, reliability and cost of runs as one web page", Args: someRuns,
		Long: `Reads the episodes of run folders (or episodes.jsonl files) and writes report.html into the
first: one file without scripts, that opens offline. --tensorboard DIR also writes the
curves as TensorBoard events.`,
		Example: "  muse report runs/eval-x\n  muse report runs/eval-x runs/adapt-y -o both.html --tensorboard tb && tensorboard --logdir tb",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := playReport(title, args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			if out == "" {
				if st, err := os.Stat(args[0]); err != nil || !st.IsDir() {
					return usagef("%s is no run folder, so --out FILE is needed", args[0])
				}
				out = filepath.Join(args[0], "report.html")
			}
			if err := atomicfile.WriteFile(out, []byte(r.HTML()), 0o644); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			a.say("wrote %s", out)
			if tb != "" {
				if err := r.WriteEvents(tb); err != nil {
					return err
				}
				a.say("wrote TensorBoard events below %s", tb)
			}
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVarP(&out, "out", "o", "", "file to write (default report.html in the first run folder)")
	fs.StringVar(&title, "title", "", "title of the page (default: the names of the runs)")
	fs.StringVar(&tb, "tensorboard", "", "also write TensorBoard events below this folder")
	fs.BoolVar(&asJSON, "json", false, "print the figures as JSON and write nothing")
	return c
}

func plotCmd(a *app) *cobra.Command {
	var out, what string
	var scale float64
	c := &cobra.Command{
		Use: "plot RUN…", Short: "One plot of runs as SVG or PNG: success, steps, curve, reliability, roc", Args: someRuns,
		Example: "  muse plot runs/adapt-x --what curve -o curve.svg\n  muse plot runs/adapt-x --what curve -o curve.png --scale 2",
		RunE: func(_ *cobra.Command, args []string) error {
			if !(scale >= 0.1 && scale <= 10) {
				return usagef("--scale is %g; it must lie between 0.1 and 10", scale)
			}
			r, err := playReport("", args)
			if err != nil {
				return err
			}
			svg, err := r.Plot(what)
			if err != nil {
				return usageError{err}
			}
			if svg == "" {
				return fmt.Errorf("plot: the records of %s have nothing for the plot %q (a curve needs several trials of a game, reliability and roc need assessed futures)", strings.Join(args, ", "), what)
			}
			if out == "" {
				_, err := fmt.Fprint(a.stdout, svg)
				return err
			}
			err = atomicfile.Write(out, 0o644, func(w io.Writer) error {
				if !strings.HasSuffix(out, ".png") {
					_, err := io.WriteString(w, svg)
					return err
				}
				scene, err := viewer.FromSVG(svg)
				if err != nil {
					return err
				}
				return viewer.PNG(w, scene, scale)
			})
			if err != nil {
				return fmt.Errorf("plot: %w", err)
			}
			a.say("wrote %s", out)
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVarP(&out, "out", "o", "", "file to write instead of standard output, .svg or .png")
	fs.Float64Var(&scale, "scale", 2, "pixels of a PNG for each of the plot's 640 × 360")
	fs.StringVar(&what, "what", train.PlotSuccess, strings.Join(train.Plots, ", "))
	return c
}

func someRuns(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%q needs run folders or episodes files; see %s --help", c.CommandPath(), c.CommandPath())
	}
	return nil
}

func playReport(title string, args []string) (*train.PlayReport, error) {
	es, err := train.ReadEpisodes(args...)
	if err != nil {
		return nil, err
	}
	if title == "" {
		names := make([]string, len(args))
		for i, p := range args {
			names[i] = filepath.Base(filepath.Clean(p))
		}
		title = strings.Join(names, ", ")
	}
	return train.NewPlayReport(title, es)
}
