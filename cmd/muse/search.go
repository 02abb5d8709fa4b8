package main

import (
	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate/search"
	"github.com/muse-agent/muse/train"
)

// mctsArm is the agent that regulates by tree search.
const mctsArm = "muse-mcts"

// searchFlags are the settings of tree search.
type searchFlags struct {
	search.Config
	rule, backup, final string
}

func (f *searchFlags) add(c *cobra.Command) {
	f.Config = search.Default()
	f.rule, f.backup, f.final = string(f.Rule), string(f.Backup), string(f.Final)
	fs := c.Flags()
	fs.StringVar(&f.rule, "tree-rule", f.rule, "how tree search (muse-mcts) spreads its visits: puct or uct")
	fs.StringVar(&f.backup, "tree-backup", f.backup, "value of a node: mean of what is under it, or max (its best command)")
	fs.StringVar(&f.final, "tree-final", f.final, "command taken in the end: highest value, or most visits")
	fs.Float64Var(&f.C, "tree-c", f.C, "weight of exploration, in units of a probability")
	fs.IntVar(&f.Depth, "tree-depth", f.Depth, "imagined commands in a row that the search chooses, 1 = the root's alone")
	fs.IntVar(&f.Root, "tree-root", f.Root, "futures drawn at the root first")
	fs.IntVar(&f.Draw, "tree-draw", f.Draw, "futures of each later expansion")
	fs.Float64Var(&f.Width, "tree-width", f.Width, "progressive widening: a node of N visits draws while it has fewer than width·N^alpha futures")
	fs.Float64Var(&f.Alpha, "tree-alpha", f.Alpha, "exponent of the widening, 0 to 1")
	fs.IntVar(&f.Tokens, "tree-tokens", f.Tokens, "tokens that one decision may imagine and read again, 0 = no bound")
	fs.IntVar(&f.Least, "tree-least", f.Least, "tokens below which no future is begun")
	fs.IntVar(&f.Millis, "tree-ms", f.Millis, "milliseconds that one decision may take, 0 = no bound; not reproducible")
}

// config are the settings as they were given.
func (f *searchFlags) config() (search.Config, error) {
	c := f.Config
	c.Rule, c.Backup, c.Final = search.Rule(f.rule), search.Backup(f.backup), search.Final(f.final)
	if err := c.Validate(); err != nil {
		return c, usageError{err}
	}
	if c.Tokens == 0 && c.Millis == 0 {
		return c, usagef("--tree-tokens and --tree-ms are both 0; a search needs a bound")
	}
	return c, nil
}

// searchPlayer wires the agent of the arm muse-mcts.
func (p *playFlags) searchPlayer(f *searchFlags, m llm.Model, as selfassess.Assessor) (train.Player, error) {
	c, err := p.agent.config("muse", &p.games)
	if err != nil {
		return train.Player{}, err
	}
	if c.Search, err = f.config(); err != nil {
		return train.Player{}, err
	}
	ag, err := reflexion.NewSearch(c, m, as)
	if err != nil {
		return train.Player{}, err
	}
	return train.Player{Agent: ag, Info: train.AgentInfo{
		Config: c, Model: m.Info(), Selector: reflexion.ReasonSearch, Assessor: as.Name(),
		ThinkCost: p.games.thinkCost, EarlyStop: p.agent.earlyStop, Dialect: p.games.dialect,
	}}, nil
}
