package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// armNames are the agents of the table.
var armNames = []string{"react", "reflexion", "repeat", "muse-off", "muse-random", "muse-lowest", "muse-best", mctsArm, armGated, armFirst, armPlanned, "expert"}

// armSpec says which agent and selector an arm is.
func armSpec(name string) (agent, selector string, err error) {
	switch name {
	case "react", "reflexion":
		return name, "off", nil
	case "repeat":
		return "reflexion", "off", nil
	case "expert":
		return "react", "off", nil
	}
	if isMeta(name) {
		return "muse", name, nil
	}
	if name == mctsArm {
		return "muse", reflexion.ReasonSearch, nil
	}
	if s, ok := strings.CutPrefix(name, "muse-"); ok && slices.Contains(armNames, name) {
		return "muse", s, nil
	}
	return "", "", usagef("unknown agent %q%s; known: %s", name, didYouMean(name, armNames), strings.Join(armNames, ", "))
}

// checkArms refuses unknown agents, and those to be played twice.
func checkArms(names, against []string) error {
	for _, n := range slices.Concat(names, against) {
		n, _, _ = strings.Cut(n, "@")
		if _, _, err := armSpec(n); err != nil {
			return err
		}
	}
	return once("arms", names)
}

func needsMSA(arm string) bool {
	return arm == "muse-best" || arm == "muse-lowest" || arm == mctsArm || isMeta(arm)
}

// namedMSA is one self-assessment of the command line: NAME=PATH or PATH.
type namedMSA struct {
	name  string
	model *selfassess.Model
}

// openMSAs opens the checkpoints; with several, arms are called "muse-best@NAME".
func (a *app) openMSAs(specs []string, emb *lazyEmbedder) ([]namedMSA, error) {
	var out []namedMSA
	for _, s := range specs {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			path = s
			name = strings.TrimSuffix(filepath.Base(filepath.Clean(s)), ".safetensors")
		}
		if name == "" || path == "" {
			return nil, usagef("--msa %q: want PATH, or NAME=PATH", s)
		}
		for _, x := range out {
			if x.name == name {
				return nil, usagef("two self-assessments are called %q; name them: --msa NAME=PATH", name)
			}
		}
		m, err := a.openMSA(path, emb)
		if err != nil {
			return nil, err
		}
		out = append(out, namedMSA{name, m})
	}
	return out, nil
}

// arms builds the arms of an evaluation.
func (a *app) arms(names []string, pf *playFlags, tree *searchFlags, meta *metaFlags, m llm.Model, msas []namedMSA, trials int) ([]train.Arm, error) {
	var out []train.Arm
	for _, n := range names {
		agent, sel, err := armSpec(n)
		if err != nil {
			return nil, err
		}
		if n == "expert" {
			out = append(out, train.Arm{Name: n, Expert: true, Trials: 1, Player: train.Player{Info: train.AgentInfo{
				Model: llm.Info{Name: "expert"}, Selector: "expert", Dialect: pf.games.dialect}}})
			continue
		}
		var s selfregulate.Selector // none: a search chooses by itself
		if n != mctsArm && !isMeta(n) {
			if s, err = selfregulate.ByName(sel); err != nil {
				return nil, usageError{err}
			}
		}
		add := func(name string, as selfassess.Assessor) error {
			p, err := train.Player{}, error(nil)
			switch {
			case n == mctsArm:
				p, err = pf.searchPlayer(tree, m, as)
			case isMeta(n):
				p, err = meta.player(n, pf, m, as)
			default:
				p, err = pf.player(agent, s, m, as)
			}
			if err != nil {
				return err
			}
			out = append(out, train.Arm{Name: name, Player: p, Trials: trials, Reflect: trials > 1 && n != "react" && n != "repeat"})
			return nil
		}
		if !needsMSA(n) {
			if err := add(n, nil); err != nil {
				return nil, err
			}
			continue
		}
		if len(msas) == 0 {
			return nil, usagef("agent %s needs a self-assessment: --msa FILE (make one with `muse train selfassess`)", n)
		}
		for _, x := range msas {
			name := n
			if len(msas) > 1 {
				name += "@" + x.name
			}
			if err := add(name, x.model); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func evalCmd(a *app) *cobra.Command {
	var (
		p       playFlags
		tree    searchFlags
		meta    metaFlags
		names   []string
		msa     []string
		against []string
		seeds   int
		trials  int
		parts   string
	)
	c := &cobra.Command{
		Use: "eval", Short: "Play agents on games and print the table with intervals", Args: noArgs,
		Long: `Plays every agent on every selected game, all of them with the same seeds. The table
has success and mean steps (a lost episode counts 100) with 95 % intervals by bootstrap
over games, and paired differences to the agents of --against.

Agents: react, reflexion, repeat (reflexion that never reflects), muse-best,
muse-lowest, muse-random, muse-off, muse-mcts (tree search over imagined futures, see
--tree-tokens and docs/search.md), muse-gated (best, but futures are imagined only where
a gate fires), muse-first (best at the first commands, plain later), muse-planned (plain,
by the plan that the self-assessment likes best), expert. With --trials N each row is N
episodes in a row, of which lost ones are reflected on.`,
		Example: "  muse eval --agent react,muse-random,muse-best,muse-lowest --msa runs/selfassess-x --against muse-random\n" +
			"  muse eval --agent reflexion,repeat --model weak --trials 2 --against repeat\n" +
			"  muse eval --agent expert --games my-games.jsonl.gz --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkArms(names, against); err != nil {
				return err
			}
			if err := meta.check(); err != nil {
				return err
			}
			if most := 100_000; min(seeds, trials) < 1 || max(seeds, trials) > most { // all rows are planned at once
				return usagef("--seeds is %d and --trials is %d; each must lie between 1 and %d", seeds, trials, most)
			}
			b, err := a.bench(&p.games, &p.run)
			if err != nil {
				return err
			}
			hashes := map[string]string{}
			var m llm.Model
			if slices.ContainsFunc(names, func(n string) bool { return n != "expert" }) {
				if m, err = p.agent.openModel(c.Context(), a); err != nil {
					return err
				}
				defer m.Close()
				hashes["llm"] = m.Info().Hash
			}
			var msas []namedMSA
			if slices.ContainsFunc(names, needsMSA) && len(msa) > 0 {
				emb := &lazyEmbedder{a: a}
				defer emb.Close()
				if msas, err = a.openMSAs(msa, emb); err != nil {
					return err
				}
				for _, x := range msas {
					hashes["msa "+x.name] = x.model.Hash()
				}
			}
			arms, err := a.arms(names, &p, &tree, &meta, m, msas, trials)
			if err != nil {
				return err
			}
			infos := map[string]any{}
			for _, x := range arms {
				infos[x.Name] = x.Player.Info
			}
			run, err := a.open(&p.run, "eval", map[string]any{"arms": infos, "seeds": seeds, "trials": trials, "env": b.Env},
				map[string]string{"games": train.GameSetHash(b.Games)}, hashes)
			if err != nil {
				return err
			}
			return finish(run, func() error {
				ps, err := train.Eval(c.Context(), run, b, arms, train.EvalConfig{Seeds: seeds, Parts: parts})
				if err != nil {
					return err
				}
				t := train.Tabulate(ps, against...)
				if err := run.WriteJSON("selection.json", t); err != nil {
					return err
				}
				if p.run.json {
					return a.printJSON(t)
				}
				fmt.Fprint(a.stdout, t)
				return nil
			})
		},
	}
	p.add(c, "unseen", 0)
	tree.add(c)
	fs := c.Flags()
	meta.add(fs)
	names = []string{"react", "muse-random", "muse-lowest", "muse-best"}
	list(fs, &names, "agent", "agents to compare: "+strings.Join(armNames, ", "))
	list(fs, &msa, "msa", "self-assessment: checkpoint or run folder of muse train selfassess; several as NAME=PATH")
	against = []string{"muse-random", "muse-lowest"}
	listOrNone(fs, &against, "against", "print paired differences to these agents")
	fs.IntVar(&seeds, "seeds", 1, "evaluation seeds a game")
	fs.IntVar(&trials, "trials", 1, "episodes of a row, in sequence")
	fs.StringVar(&parts, "parts", "", "folder with finished rows: they are not played again, new ones are added")
	return c
}
