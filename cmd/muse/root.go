package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/internal/nearest"
)

// app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string
	getenv         func(string) (string, bool)
	quiet          bool
	config         string
}

const rootLong = `muse trains agents that know what they can do.

A text agent imagines several futures before each command, a small model gives each
of them the probability that the task will succeed, and the agent acts on the best.
It learns on household tasks of ALFWorld's own games and adapts to new ones online.

Settings come from flags, then MUSE_* variables (--max-steps is MUSE_MAX_STEPS), then
the JSON file of --config, then defaults. Long commands write a run folder; the same
command continues after an interrupt.

Exit status: 0 success, 1 failure, 2 usage, 130 interrupted.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "muse",
		Short:         "Agents that know how competent they are",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		RunE:          func(c *cobra.Command, args []string) error { return group(c, args) },
		Args:          cobra.ArbitraryArgs,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return a.layer(c)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "no progress on standard error")
	root.PersistentFlags().StringVar(&a.config, "config", "", "JSON file with settings: {\"seed\": 7, \"eval\": {\"workers\": 1}}")
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("muse {{.Version}}\n")
	root.AddCommand(
		demoCmd(a), envsMore(a, envsCmd(a)), playCmd(a), collectCmd(a), siblingsCmd(a), trainCmd(a), adaptCmd(a), preferencesCmd(a), assessLogs(a, assessCmd(a)),
		evalCmd(a), resultsCmd(a), replayCmd(a), benchCmd(a), checkModelCmd(a), corpusCmd(a), doctorCmd(a), versionCmd(a), reportCmd(a), exportCmd(a), plotCmd(a), renderCmd(a), watchCmd(a),
	)
	addGridarm(a, root)
	addDeliberate(a, root)
	addWorld(a, root)
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return usageError{err}
			}
			return group(c, rest)
		},
	})
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args, c.RunE = cobra.ArbitraryArgs, group
	}
	return root
}

// group is the action of a command that only has subcommands: help, or an error
// that names the nearest one.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			names = append(names, s.Name())
		}
	}
	return usagef("unknown command %q for %q%s; see %s --help", args[0], c.CommandPath(), didYouMean(args[0], names), c.CommandPath())
}

// flagError turns pflag's message into a usage error with the nearest flag name.
func flagError(c *cobra.Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		name, _, _ = strings.Cut(name, "=")
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint := didYouMean(name, names)
		if hint != "" {
			hint = strings.Replace(hint, "\"", "\"--", 1)
		}
		return usagef("unknown flag --%s for %q%s; see %s --help", name, c.CommandPath(), hint, c.CommandPath())
	}
	return usagef("%s; see %s --help", msg, c.CommandPath())
}

// noArgs refuses arguments, with exit 2.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q takes no arguments, got %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}

// exactArgs wants n arguments, described by what, with exit 2 otherwise.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%q needs %s; see %s --help", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}

// printJSON writes v, indented, to standard output.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say writes a line for people to standard error, nothing with --quiet.
func (a *app) say(format string, v ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", v...)
	}
}

// progressWriter is standard error, or nil with --quiet.
func (a *app) progressWriter() (w io.Writer, tty bool) {
	if a.quiet {
		return nil, false
	}
	f, ok := a.stderr.(*os.File)
	if !ok {
		return a.stderr, false
	}
	st, err := f.Stat()
	return a.stderr, err == nil && st.Mode()&os.ModeCharDevice != 0
}

// didYouMean returns `, did you mean "x"?` for the nearest of names, or nothing
// when none is near.
func didYouMean(s string, names []string) string {
	best, dist := "", 1<<30
	for _, n := range names {
		d := nearest.Distance(s, n, 0)
		if strings.HasPrefix(n, strings.ToLower(s)) && len(s) > 1 {
			d = 0
		}
		if d < dist {
			best, dist = n, d
		}
	}
	if best == "" || dist > 1+len(s)/2 {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}
