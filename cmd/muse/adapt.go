package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

func adaptCmd(a *app) *cobra.Command {
	var (
		p       playFlags
		cfg     = train.DefaultAdapt()
		names   []string
		collect []string
		by      string
		against []string
	)
	c := &cobra.Command{
		Use: "adapt", Short: "Adapt to unseen games one at a time, then test (paper, Alg. 4)", Args: noArgs,
		Long: `For every game and agent: adaptation episodes, an update of the self-assessment's head
from them and a replay of the training rows, then test episodes without updates. Starts
from the trained weights for every game. Prints success of the tests and how good the
self-assessment is before and after, and adapted to another game as control.`,
		Example: "  muse adapt --msa runs/selfassess-x --collect runs/collect-y --limit 4",
		RunE: func(c *cobra.Command, _ []string) error {
			if p.agent.msa == "" {
				return usagef("nothing to adapt: --msa FILE names a checkpoint or run folder of `muse train selfassess`")
			}
			if len(collect) == 0 {
				return usagef("the update replays training rows: --collect RUN names the folder the self-assessment was trained on")
			}
			if by != "self" && by != "plain" {
				return usagef("--by is %q; use self or plain", by)
			}
			cfg.By = by
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			if err := checkArms(names, against); err != nil {
				return err
			}
			b, m, err := a.openPlay(c.Context(), &p)
			if err != nil {
				return err
			}
			defer m.Close()
			emb := &lazyEmbedder{a: a}
			defer emb.Close()
			msa, err := a.openMSA(p.agent.msa, emb)
			if err != nil {
				return err
			}
			old, err := train.ReadEpisodes(collect...)
			if err != nil {
				return err
			}
			if err := a.readStates(c.Context(), msa.Config().Input, m, old, p.run.workers); err != nil {
				return err
			}
			replay, err := selfassess.NewReplay(c.Context(), msa, train.Chunks(old))
			if err != nil {
				return err
			}
			arms := make([]train.AdaptArm, 0, len(names))
			infos := map[string]any{}
			for _, n := range names {
				agent, sel, err := armSpec(n)
				if err != nil {
					return err
				}
				if n == "expert" || n == mctsArm || isMeta(n) {
					return usagef("agent %s doesn't adapt", n)
				}
				s, err := selfregulate.ByName(sel)
				if err != nil {
					return usageError{err}
				}
				test := func(x *selfassess.Model) (train.Player, error) {
					if x == nil {
						return p.player(agent, s, m, nil)
					}
					return p.player(agent, s, m, x)
				}
				arm := train.AdaptArm{Name: n, Test: test, Reflect: n != "react" && n != "repeat", MSA: msa, Model: m}
				if !s.NeedsAssessment() {
					arm.MSA = nil
				}
				if arm.By, err = test(arm.MSA); err != nil {
					return err
				}
				if by == "plain" && n != "react" {
					if arm.By, err = p.player("reflexion", selfregulate.Off, m, nil); err != nil {
						return err
					}
				}
				infos[n] = arm.By.Info
				arms = append(arms, arm)
			}
			data, err := train.HashFiles(collect...)
			if err != nil {
				return err
			}
			data["games"] = train.GameSetHash(b.Games)
			run, err := a.open(&p.run, "adapt", map[string]any{"adapt": cfg, "arms": infos, "by": by, "env": b.Env}, data,
				map[string]string{"llm": m.Info().Hash, "msa": msa.Hash()})
			if err != nil {
				return err
			}
			return finish(run, func() error {
				if err := train.Adapt(c.Context(), run, b, arms, replay, cfg); err != nil {
					return err
				}
				es, err := train.ReadEpisodes(run.Dir)
				if err != nil {
					return err
				}
				t := train.Tabulate(train.TestParts(b, es, &cfg), against...)
				res := adaptResult{Selection: t}
				arm := names[len(names)-1]
				if i := slices.IndexFunc(names, needsMSA); i >= 0 {
					arm = names[i]
				}
				if slices.Contains(names, "muse-best") {
					arm = "muse-best"
				}
				if cfg.Tests > 0 {
					if err := a.readStates(c.Context(), msa.Config().Input, m, train.OfArm(es, arm), p.run.workers); err != nil {
						return err
					}
					if res.Assessment, err = train.AssessAdaptation(c.Context(), es, arm, msa, replay, cfg.MSA); err != nil {
						return err
					}
				}
				if err := run.WriteJSON("adapt.json", res); err != nil {
					return err
				}
				if p.run.json {
					return a.printJSON(res)
				}
				fmt.Fprint(a.stdout, t)
				if res.Assessment == nil {
					a.say("no tests were asked for, so nothing is judged")
					return nil
				}
				fmt.Fprintf(a.stdout, "\nself-assessment on the test episodes of %s:\n%s", arm, res.Assessment)
				return nil
			})
		},
	}
	p.add(c, "unseen", 0)
	p.agent.addMSA(c)
	fs := c.Flags()
	names = []string{"muse-best"}
	list(fs, &names, "agent", "agents that adapt")
	against = []string{"muse-random"}
	listOrNone(fs, &against, "against", "print paired differences to these agents")
	list(fs, &collect, "collect", "run folders whose rows are replayed")
	fs.StringVar(&by, "by", "self", "who plays the adaptation episodes: self, or plain (a Reflexion agent, cheaper)")
	fs.IntVar(&cfg.Episodes, "episodes", cfg.Episodes, "adaptation episodes a game")
	fs.IntVar(&cfg.Tests, "tests", cfg.Tests, "test episodes a game")
	fs.BoolVar(&cfg.UntilSolved, "until-solved", cfg.UntilSolved, "end the adaptation of a game at its first success")
	fs.BoolVar(&cfg.Reflect, "reflect", cfg.Reflect, "hand reflections on")
	fs.BoolVar(&cfg.Notes, "notes", cfg.Notes, "hand notes of what earlier episodes have shown on, instead of reflections")
	fs.BoolVar(&cfg.Rooms, "rooms", cfg.Rooms, "the world model remembers the room from earlier episodes")
	fs.BoolVar(&cfg.Update, "update", cfg.Update, "update the self-assessment; false is the control")
	addUpdate(fs, &cfg.MSA)
	return c
}

// adaptResult is what `adapt --json` prints.
type adaptResult struct {
	Selection  train.Selection     `json:"selection"`
	Assessment *train.AssessReport `json:"assessment,omitempty"`
}

func assessCmd(a *app) *cobra.Command {
	var (
		msa, arm string
		collect  []string
		runs     []string
		f        agentFlags
		cfg      = selfassess.DefaultAdapt()
		skip     bool
		asJSON   bool
	)
	c := &cobra.Command{
		Use: "assess", Short: "Judge a self-assessment on the episodes of a run", Args: noArgs,
		Long: `Computes the figures of ` + "`muse adapt`" + ` for any self-assessment on any finished run of
adapt or eval, without playing: as trained, adapted to each game, and to another one.`,
		Example: "  muse assess --run runs/adapt-x --msa runs/selfassess-paper --collect runs/collect-y --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if msa == "" || len(runs) == 0 || len(collect) == 0 {
				return usagef("--run, --msa and --collect are needed")
			}
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			emb := &lazyEmbedder{a: a}
			defer emb.Close()
			m, err := a.openMSA(msa, emb)
			if err != nil {
				return err
			}
			old, err := train.ReadEpisodes(collect...)
			if err != nil {
				return err
			}
			es, err := train.ReadEpisodes(runs...)
			if err != nil {
				return err
			}
			if es, err = assessed(es, arm); err != nil {
				return err
			}
			if skip {
				kept, lack := train.CompleteTasks(es)
				if len(kept) == 0 {
					return errors.New("assess: no task has both adaptation and test episodes; leave --skip-incomplete away to judge the self-assessment as trained")
				}
				for _, t := range lack {
					a.say("left out, no adaptation episodes: %s", t)
				}
				es = kept
			}
			if m.Config().Input.Uses("hidden") {
				lm, err := a.playerOf(c.Context(), &f, es)
				if err != nil {
					return err
				}
				defer lm.Close()
				for _, x := range [][]*train.Episode{old, es} {
					if err := a.readStates(c.Context(), m.Config().Input, lm, x, runtime.NumCPU()); err != nil {
						return err
					}
				}
			}
			replay, err := selfassess.NewReplay(c.Context(), m, train.Chunks(old))
			if err != nil {
				return err
			}
			rep, err := train.AssessAdaptation(c.Context(), es, arm, m, replay, cfg)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(rep)
			}
			fmt.Fprint(a.stdout, rep)
			return nil
		},
	}
	fs := c.Flags()
	list(fs, &runs, "run", "run folders of adapt or eval")
	fs.StringVar(&msa, "msa", "", "checkpoint or run folder of muse train selfassess")
	fs.StringVar(&arm, "agent", "", "only episodes of this agent")
	fs.StringVar(&f.model, "model", "", "the model that played, needed for input \"hidden\" (default: the one that the episodes name)")
	f.addAdapter(fs)
	list(fs, &collect, "collect", "run folders whose rows are replayed")
	addUpdate(fs, &cfg)
	fs.BoolVar(&skip, "skip-incomplete", false, "leave out tested tasks without adaptation episodes (otherwise they are an error)")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// addUpdate adds the settings of an update of the self-assessment.
func addUpdate(fs *pflag.FlagSet, c *selfassess.AdaptConfig) {
	fs.Float64Var(&c.LR, "lr", c.LR, "learning rate of the update")
	fs.IntVar(&c.Epochs, "epochs", c.Epochs, "epochs of the update")
	fs.IntVar(&c.Replay, "replay-rows", c.Replay, "training rows replayed in an update")
}

// assessed are the episodes of an agent; one that never played is an error.
func assessed(es []*train.Episode, arm string) ([]*train.Episode, error) {
	if out := train.OfArm(es, arm); len(out) > 0 {
		return out, nil
	}
	var names []string
	for _, e := range es {
		if e.Arm != "" && !slices.Contains(names, e.Arm) {
			names = append(names, e.Arm)
		}
	}
	return nil, usagef("no episode of agent %q in these runs%s; they have %s", arm, didYouMean(arm, names), strings.Join(names, ", "))
}
