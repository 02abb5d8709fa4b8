package main

import (
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

// checkModelCmd measures a language model itself, beside its success at play.
func checkModelCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "check-model", Short: "How well a language model knows its world", Args: cobra.ArbitraryArgs, RunE: group,
	}
	c.AddCommand(checkWorldCmd(a))
	return c
}

// episodesOf reads the episodes of runs, of one arm where a name is given, at most
// limit of them (0 = all).
func episodesOf(runs []string, arm string, limit int) ([]*train.Episode, error) {
	es, err := train.ReadEpisodes(runs...)
	if err != nil {
		return nil, err
	}
	var out []*train.Episode
	arms := map[string]bool{}
	for _, e := range es {
		arms[e.Arm] = true
		if (arm == "" || e.Arm == arm) && (limit == 0 || len(out) < limit) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, usagef("no episode of arm %q in %s; there are %s", arm, strings.Join(runs, ", "), strings.Join(keys(arms), ", "))
	}
	return out, nil
}

func checkWorldCmd(a *app) *cobra.Command {
	var (
		f       agentFlags
		runs    []string
		arm     string
		limit   int
		workers int
		asJSON  bool
	)
	c := &cobra.Command{
		Use: "world", Short: "Foretell the answers to the commands of recorded episodes", Args: noArgs,
		Long: `Gives the model the true text of recorded episodes and has it foretell, greedily, the
answer to each command: is a failure foreseen, is the answer right to the letter. "alone"
is the model; "recall" is the model with the memory of seen text, as futures are imagined.
Play the episodes with the same model, so that the commands are its own.`,
		Example: "  muse eval --agent react --model weak --split unseen --out runs/weak\n  muse check-model world --model weak --run runs/weak --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(runs) == 0 {
				return usagef("no episodes to check on: --run FOLDER names a run of `muse eval` or `muse collect`")
			}
			if limit < 0 || workers < 1 {
				return usagef("--limit is %d and --workers is %d; at least 0 and 1 are needed", limit, workers)
			}
			es, err := episodesOf(runs, arm, limit)
			if err != nil {
				return err
			}
			m, err := f.openModel(c.Context(), a)
			if err != nil {
				return err
			}
			defer m.Close()
			w, tty := a.progressWriter()
			r, err := train.CheckWorld(c.Context(), m, es, workers, w, tty)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			return a.printWorld(r)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.model, "model", "base", "language model: weak, base or strong (embedded), a model folder, or openai:NAME with --url")
	fs.StringVar(&f.url, "url", "", "base URL of an OpenAI-compatible server")
	list(fs, &runs, "run", "run folders or episode files")
	fs.StringVar(&arm, "arm", "", "only the episodes of this agent")
	fs.IntVar(&limit, "limit", 0, "at most so many episodes, 0 = all")
	fs.IntVar(&workers, "workers", runtime.NumCPU(), "episodes read at the same time; changes no result")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printWorld is the report for people.
func (a *app) printWorld(r *train.WorldCheck) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s on commands of %s: %d games, %d episodes, %d commands (%d beyond the context)\n\n",
		r.Model, r.Actor, r.Games, r.Episodes, r.Commands, r.Unread)
	for _, x := range []struct {
		name string
		e    selfassess.Estimate
	}{
		{"commands without effect", r.NothingShare}, {"AUROC of P(Nothing happens.)", r.NothingAUROC},
		{"mean of it, nothing happened", r.PWhenNothing}, {"mean of it, something did", r.PWhenEffect},
		{"exact: actions that work", r.Works}, {"exact: failures that text and rules decide", r.MustFail},
		{"exact: place as displayed, alone", r.Unchanged.Alone}, {"exact: place as displayed, with recall", r.Unchanged.Recall},
		{"exact: place that follows, alone", r.Known.Alone}, {"exact: place that follows, with recall", r.Known.Recall},
		{"exact: all that is decided, alone", r.Decided.Alone}, {"exact: all that is decided, with recall", r.Decided.Recall},
		{"exact: all answers, alone", r.All.Alone}, {"exact: all answers, with recall", r.All.Recall},
		{"win noticed", r.WonRecall}, {"win claims that hold", r.WonPrecision},
	} {
		fmt.Fprintf(w, "%s\t%s\n", x.name, x.e)
	}
	fmt.Fprintf(w, "\nanswer\tn\tdecided\talone\trecall\n")
	for _, k := range r.Rows {
		mark := ""
		if k.Decided {
			mark = "yes"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%.3f\t%.3f\n", k.Kind, k.N, mark, k.Exact, k.Recall)
	}
	return w.Flush()
}
