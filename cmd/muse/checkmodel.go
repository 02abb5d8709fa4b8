package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// checkModelCmd measures a language model itself, beside its success at play.
func checkModelCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "check-model", Short: "How well a language model knows its world", Args: cobra.ArbitraryArgs, RunE: group,
	}
	c.AddCommand(checkWorldCmd(a), checkReflectionsCmd(a))
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
	f.addAdapter(fs)
	fs.StringVar(&f.url, "url", "", "base URL of an OpenAI-compatible server")
	list(fs, &runs, "run", "run folders or episode files")
	fs.StringVar(&arm, "arm", "", "only the episodes of this agent")
	fs.IntVar(&limit, "limit", 0, "at most so many episodes, 0 = all")
	fs.IntVar(&workers, "workers", runtime.NumCPU(), "episodes read at the same time; changes no result")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkReflectionsCmd(a *app) *cobra.Command {
	var (
		g       gameFlags
		r       runFlags
		f       agentFlags
		runs    []string
		arm     string
		sources = []string{train.AdviceRepeat, train.AdviceOwn, train.AdviceExpert}
		limit   int
	)
	c := &cobra.Command{
		Use: "reflections", Short: "Are the reflections on lost games true, and are they obeyed", Args: noArgs,
		Long: `Takes the first lost episode of each game of recorded runs and plays the game once more
with a reflection of each source: repeat (none at all), own (what the model wrote), cut
(its own up to the first malformed sentence), expert (the teacher's, from the same trace),
next (where the teacher would look next), and, as tests of obedience that read the game's hidden state, true, wrong (a place) and
empty (a list of places). Seeds are those of the second trial of ` + "`muse eval`" + `, so that
"repeat" and "own" are its second trials. Without sources only the texts are judged.`,
		Example: "  muse eval --agent reflexion --trials 2 --model weak --out runs/trials\n" +
			"  muse check-model reflections --model weak --run runs/trials --arm reflexion --sources repeat,own,expert,true",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(runs) == 0 {
				return usagef("no lost episodes to reflect on: --run FOLDER names a run of `muse eval`")
			}
			for _, s := range sources {
				if !slices.Contains(train.AdviceSources(), s) {
					return usagef("unknown source %q%s; known: %s", s, didYouMean(s, train.AdviceSources()), strings.Join(train.AdviceSources(), ", "))
				}
			}
			if err := errors.Join(once("sources", sources), r.validate()); err != nil {
				return err
			}
			es, err := episodesOf(runs, arm, 0)
			if err != nil {
				return err
			}
			o, err := g.options()
			if err != nil {
				return err
			}
			b := &train.Bench{Env: o, Seed: r.seed, Workers: r.workers}
			b.Progress, b.TTY = a.progressWriter()
			if b.Games, es, err = gamesOf(es, limit); err != nil {
				return err
			}
			m, err := f.openModel(c.Context(), a)
			if err != nil {
				return err
			}
			defer m.Close()
			p, err := f.player("reflexion", selfregulate.Off, m, nil, &g)
			if err != nil {
				return err
			}
			res, err := train.CheckReflections(c.Context(), b, p, es, sources)
			if err != nil {
				return err
			}
			if r.json {
				return a.printJSON(res)
			}
			return a.printReflections(res)
		},
	}
	g.flags = c.Flags()
	g.addRules(c)
	f.add(c)
	fs := c.Flags()
	fs.Uint64Var(&r.seed, "seed", 1, "root seed of every random draw")
	fs.IntVar(&r.workers, "workers", runtime.NumCPU(), "games played at the same time; changes no result")
	fs.BoolVar(&r.json, "json", false, "print JSON")
	list(fs, &runs, "run", "run folders or episode files")
	fs.StringVar(&arm, "arm", "", "only the episodes of this agent")
	listOrNone(fs, &sources, "sources", "whose reflections the games are played again with: "+strings.Join(train.AdviceSources(), ", "))
	fs.IntVar(&limit, "limit", 0, "at most so many lost games, 0 = all")
	return c
}

// gamesOf opens the games of the lost first trials among es, at most limit of them
// (0 = all), and keeps only these episodes.
func gamesOf(es []*train.Episode, limit int) ([]*textworld.Game, []*train.Episode, error) {
	var ids []string
	var kept []*train.Episode
	for _, e := range es {
		if !e.Success && e.Trial == 0 && !slices.Contains(ids, e.Task) && (limit == 0 || len(ids) < limit) {
			ids = append(ids, e.Task)
			kept = append(kept, e)
		}
	}
	if len(ids) == 0 {
		return nil, nil, errors.New("no lost first trial in the runs: there is nothing to reflect on")
	}
	games, err := textworld.Select(textworld.Selection{IDs: ids})
	return games, kept, err
}

// printReflections is the report for people.
func (a *app) printReflections(r *train.ReflectCheck) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %d lost games\n\n", r.Model, r.Lost)
	fmt.Fprintf(w, "reflections of\twell formed\tfirst sentence is\tname a place\tshown there\tis there\tlist places\tseen empty\tare empty\ttrace showed it\n")
	for _, t := range r.Texts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Author, t.Whole, t.Lead, t.Names, t.Shown, t.Holds, t.Lists, t.Looked, t.Free, t.CouldName)
	}
	if len(r.Trials) == 0 {
		return w.Flush()
	}
	fmt.Fprintf(w, "\nplayed again with\tsuccess\tagainst repeat\tnaming\tgoes there first\t… unasked\tlisting\tgoes there too\t… unasked\tplan names the thing\n")
	for _, t := range r.Trials {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", t.Source, t.Success, t.Against, t.Named, t.FirstGo, t.FirstGoRepeat, t.Lists, t.Listed, t.ListedRepeat, t.PlanNames)
	}
	return w.Flush()
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
		{"… commands not given before only", r.NothingFresh}, {"their share", r.FreshShare},
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
