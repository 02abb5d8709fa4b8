package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/reflexion/gated"
	"github.com/muse-agent/muse/reflexion/planned"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/gate"
	"github.com/muse-agent/muse/train"
)

// Agents that decide when futures or plans are worth their price.
const (
	armGated   = "muse-gated"   // best of the futures, imagined only where the gate fires
	armFirst   = "muse-first"   // best of the futures at the first commands, plain later
	armPlanned = "muse-planned" // plain, by a plan that was deliberated on
)

// gates are the values of --gate.
var gates = []string{"stakes", "single", "changes"}

// metaFlags are the settings of these agents.
type metaFlags struct {
	gate  string
	first int
	plan  deliberate.Config
}

func (f *metaFlags) add(fs *pflag.FlagSet) {
	f.plan = deliberate.Default()
	fs.StringVar(&f.gate, "gate", "single", "when muse-gated imagines futures: stakes (its drafts lead to different worlds), single (and more than one of them can have an effect), changes (the plain command changes the world)")
	fs.IntVar(&f.first, "first", 2, "commands of muse-first that get futures")
	fs.IntVar(&f.plan.MinPaths, "min-plans", f.plan.MinPaths, "muse-planned: further plans of a sure first one")
	fs.IntVar(&f.plan.MaxPaths, "max-plans", f.plan.MaxPaths, "muse-planned: further plans of a hopeless first one")
}

// check refuses settings that no agent can have.
func (f *metaFlags) check() error {
	if !slices.Contains(gates, f.gate) {
		return usagef("--gate is %q%s; known: stakes, single, changes", f.gate, didYouMean(f.gate, gates))
	}
	if f.first < 0 {
		return usagef("--first is %d; it must not be negative", f.first)
	}
	if err := f.plan.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// isMeta says whether an arm is one of these.
func isMeta(arm string) bool { return arm == armGated || arm == armFirst || arm == armPlanned }

// player wires the agent called arm around the text agent of p. The selector's name
// in the record holds what decides beside the usual settings.
func (f *metaFlags) player(arm string, p *playFlags, m llm.Model, as selfassess.Assessor) (train.Player, error) {
	if arm == armPlanned {
		return f.planned(p, m, as)
	}
	full, err := p.player("muse", selfregulate.Best, m, as)
	if err != nil {
		return train.Player{}, err
	}
	plain, err := p.player("muse", selfregulate.Off, m, nil)
	if err != nil {
		return train.Player{}, err
	}
	out := train.Player{Info: full.Info}
	if arm == armFirst {
		out.Info.Selector = fmt.Sprintf("first/%d", f.first)
		out.Agent, err = gated.First(plain.Agent, full.Agent, f.first)
		return out, err
	}
	out.Info.Selector = "gated/" + f.gate
	if f.gate == "changes" {
		out.Agent, err = gated.New(plain.Agent, full.Agent, gate.Steps{})
		return out, err
	}
	d, ok := full.Agent.(reflexion.Drafter)
	if !ok {
		return out, usagef("--gate %s needs an agent that drafts commands; use --gate changes", f.gate)
	}
	out.Agent, err = gated.NewStakes(d, gate.Stakes{Single: f.gate == "single", Stuck: full.Info.Config.Rethink > 0})
	return out, err
}

func (f *metaFlags) planned(p *playFlags, m llm.Model, as selfassess.Assessor) (train.Player, error) {
	q := *p
	q.agent.plan = false // the deliberation writes it
	out, err := q.player("muse", selfregulate.Off, m, nil)
	if err != nil {
		return out, err
	}
	cfg := f.plan
	cfg.Temperature = out.Info.Config.Temperature
	out.Info.Assessor = as.Name()
	out.Info.Selector = fmt.Sprintf("planned/%s/%d-%d", cfg.Mode, cfg.MinPaths, cfg.MaxPaths)
	out.Agent, err = planned.New(out.Agent, m, as, cfg)
	return out, err
}
