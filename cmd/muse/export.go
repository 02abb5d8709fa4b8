package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
)

func exportCmd(a *app) *cobra.Command {
	var (
		format, out    string
		collect, prefs []string
		check          string
		skip           bool
	)
	c := &cobra.Command{
		Use: "export sft|dpo", Short: "Write runs as data sets for fine-tuning a served model", Args: exactArgs(1, "what to export: sft or dpo"),
		Long: `Writes the successful episodes of collect runs (sft), or pairs of reflections of muse
preferences (dpo), as JSON lines for OpenAI's fine-tuning or for TRL. What is written
is checked; --check FILE checks a file that is there already.`,
		Example: "  muse export sft --collect runs/collect-x --format openai --out sft.jsonl\n" +
			"  muse export dpo --preferences runs/preferences --format trl --out dpo.jsonl\n" +
			"  muse export sft --format trl --check sft.jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			kind, f, err := train.ParseExport(args[0], format)
			if err != nil {
				return usageError{err}
			}
			report := func(path string) error {
				n, err := train.CheckExport(path, kind, f)
				if err == nil {
					fmt.Fprintf(a.stdout, "%s: %d lines, valid %s data for %s\n", path, n, kind, f)
				}
				return err
			}
			if check != "" {
				if out != "" || len(collect)+len(prefs) > 0 {
					return usagef("--check reads a file that is there; leave --out, --collect and --preferences away")
				}
				return report(check)
			}
			var write func(w io.Writer) (int, error)
			switch {
			case kind == train.ExportSFT && len(collect) > 0:
				es, err := train.ReadEpisodes(collect...)
				if err != nil {
					return err
				}
				write = func(w io.Writer) (int, error) { return train.ExportEpisodes(w, es, f, skip) }
			case kind == train.ExportDPO && len(prefs) > 0:
				ls, err := train.ReadPreferences(prefs...)
				if err != nil {
					return err
				}
				write = func(w io.Writer) (int, error) { return train.ExportPreferences(w, ls, f) }
			case kind == train.ExportSFT:
				return usagef("nothing to export: --collect RUN names a folder of `muse collect`")
			default:
				return usagef("nothing to export: --preferences RUN names a folder of `muse preferences`")
			}
			if out == "" {
				return usagef("--out FILE is needed: where the data set goes")
			}
			n := 0
			err = atomicfile.Write(out, 0o644, func(w io.Writer) (err error) { n, err = write(w); return err })
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%s has no line: %s", out, map[train.ExportKind]string{
					train.ExportSFT: "no episode of the runs was won", train.ExportDPO: "no lost trial has reflections with different outcomes"}[kind])
			}
			return report(out)
		},
	}
	fs := c.Flags()
	fs.StringVar(&format, "format", "openai", "openai or trl")
	fs.StringVarP(&out, "out", "o", "", "file to write")
	fs.StringVar(&check, "check", "", "only check this file")
	fs.BoolVar(&skip, "skip-failed", false, "commands without effect get weight 0 (openai, sft)")
	list(fs, &collect, "collect", "run folders (or episodes.jsonl files) with successful episodes")
	list(fs, &prefs, "preferences", "run folders (or preferences.jsonl files) of muse preferences")
	return c
}
