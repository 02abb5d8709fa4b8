package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/scripted"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
)

// options are the environment's settings.
func (g *gameFlags) options() (textworld.Options, error) {
	d := textworld.Dialect(g.dialect)
	if d != textworld.DialectMove && d != textworld.DialectPut && d != textworld.DialectFriendly {
		return textworld.Options{}, usagef("--dialect is %q; use move, put or friendly", g.dialect)
	}
	if g.maxSteps < 1 {
		return textworld.Options{}, usagef("--max-steps is %d; at least 1 is needed", g.maxSteps)
	}
	if g.limit < 0 || g.sample < 0 {
		return textworld.Options{}, usagef("--limit is %d and --sample is %d; they must not be negative (0 = all)", g.limit, g.sample)
	}
	o := textworld.Options{Dialect: d, MaxSteps: g.maxSteps, ThinkCost: g.thinkCost}
	if err := o.Validate(); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// only chooses the one game that is named as argument.
func (g *gameFlags) only(id string) error {
	if g.flags.Changed("id") || g.flags.Changed("list") {
		return usagef("the game is named twice: as argument and by --id or --list")
	}
	g.ids = []string{id}
	return nil
}

// selection opens the chosen games.
func (g *gameFlags) selection() ([]*textworld.Game, error) {
	if _, err := g.options(); err != nil {
		return nil, err
	}
	if g.games != "" && (g.flags == nil || !g.flags.Changed("split")) {
		g.splits = nil // the default split is meant for the embedded games
	}
	s := textworld.Selection{Splits: g.splits, Types: g.types, IDs: g.ids, GamesFile: g.games, ListFile: g.list, Limit: g.limit}
	games, err := textworld.Select(s)
	if err != nil {
		if g.games != "" || g.list != "" {
			return nil, err // a file's fault, not the command line's
		}
		return nil, usageError{err}
	}
	games = train.SampleGames(games, g.sample)
	if len(games) == 0 {
		return nil, usagef("no game fits the selection (--split %s --type %s --id %s)", strings.Join(g.splits, ","), strings.Join(g.types, ","), strings.Join(g.ids, ","))
	}
	return games, nil
}

func (r *runFlags) validate() error {
	if r.workers < 1 {
		return usagef("--workers is %d; at least 1 is needed", r.workers)
	}
	return nil
}

// open opens the run folder for the given settings.
func (a *app) open(r *runFlags, command string, config any, data, models map[string]string) (*train.Run, error) {
	m := train.Manifest{Command: command, Args: a.args, Version: version, Seed: r.seed, Config: config, Data: data, Models: models}
	dir := r.out
	if dir == "" {
		dir = filepath.Join("runs", command+"-"+m.Hash())
	}
	run, err := train.OpenRun(dir, m)
	if err != nil {
		return nil, err
	}
	a.say("run folder: %s", dir)
	return run, nil
}

// bench makes the place where episodes are played.
func (a *app) bench(g *gameFlags, r *runFlags) (*train.Bench, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	o, err := g.options()
	if err != nil {
		return nil, err
	}
	games, err := g.selection()
	if err != nil {
		return nil, err
	}
	set, err := textworld.SetHash(g.games)
	if err != nil {
		return nil, err
	}
	b := &train.Bench{Games: games, Set: set, Env: o, Seed: r.seed, Workers: max(1, r.workers)}
	b.Progress, b.TTY = a.progressWriter()
	return b, nil
}

// config is the configuration of the agent called name.
func (f *agentFlags) config(name string, g *gameFlags) (reflexion.Config, error) {
	c, err := reflexion.Default(name)
	if err != nil {
		return c, usageError{err}
	}
	c.Rollouts, c.Horizon, c.Temperature = f.rollouts, f.horizon, f.temperature
	c.ContextPairs, c.Plan, c.Recall, c.Limit = f.contextPairs, f.plan, f.recall, g.maxSteps
	c.Forget = reflexion.Forget(f.forget)
	if name == "muse" {
		c.Rethink, c.Doubt, c.Foresee = f.rethink, f.doubt, f.foresee
		if f.second {
			c = reflexion.SecondThoughts(c)
		}
	} else if c.Forget == reflexion.ForgetDoubt {
		c.Forget = reflexion.ForgetNever // there are no second thoughts
	}
	if name != "react" {
		c.Reflections = f.reflections
	}
	if textworld.Dialect(g.dialect) == textworld.DialectPut {
		c.Dialect = g.dialect
	}
	if err := c.Validate(); err != nil {
		return c, usageError{err}
	}
	if f.earlyStop < 0 {
		return c, usagef("--early-stop is %d; it must not be negative (0 = never)", f.earlyStop)
	}
	return c, nil
}

// player wires an agent. assessor may be nil where the selector needs none.
func (f *agentFlags) player(name string, sel selfregulate.Selector, m llm.Model, as selfassess.Assessor, g *gameFlags) (train.Player, error) {
	c, err := f.config(name, g)
	if err != nil {
		return train.Player{}, err
	}
	if !sel.NeedsAssessment() {
		as = nil
	}
	ag, err := reflexion.New(c, m, as, sel)
	if err != nil {
		return train.Player{}, err
	}
	info := train.AgentInfo{
		Config: c, Model: m.Info(), Selector: sel.Name(), ThinkCost: g.thinkCost, EarlyStop: f.earlyStop, Dialect: g.dialect,
	}
	if as != nil {
		info.Assessor = as.Name()
	}
	return train.Player{Agent: ag, Info: info}, nil
}

// openPlay makes the place where the agents of p play, and opens their model; close it.
func (a *app) openPlay(ctx context.Context, p *playFlags) (*train.Bench, llm.Model, error) {
	b, err := a.bench(&p.games, &p.run)
	if err != nil {
		return nil, nil, err
	}
	m, err := p.agent.openModel(ctx, a)
	return b, m, err
}

// player is the agent called name, with the model and rules of p.
func (p *playFlags) player(name string, sel selfregulate.Selector, m llm.Model, as selfassess.Assessor) (train.Player, error) {
	return p.agent.player(name, sel, m, as, &p.games)
}

// openModel opens a language model by its name on the command line.
func (f *agentFlags) openModel(_ context.Context, a *app) (llm.Model, error) {
	if _, err := strconv.Atoi(f.replay); err == nil {
		return nil, usagef("--replay is %s, but it names a folder of --record; the number of training rows in an update is --replay-rows", f.replay)
	}
	if f.adapter+f.reflector != "" && (strings.HasPrefix(f.model, "openai:") || f.model == "toy") {
		return nil, usagef("--adapter and --reflector are for embedded models; %q has no weights here", f.model)
	}
	if name, ok := strings.CutPrefix(f.model, "openai:"); ok {
		return f.openServed(a, name)
	}
	if f.record != "" || f.replay != "" {
		return nil, usagef("--record and --replay are for served models (--model openai:NAME); %q repeats its answers by itself", f.model)
	}
	if f.url != "" {
		return nil, usagef("--url is given, but --model %q is embedded; write --model openai:NAME", f.model)
	}
	if f.model == "toy" {
		return scripted.Toy(), nil
	}
	return f.openEmbedded()
}

// openMSA opens a checkpoint, a file or the run folder that holds it. The embedder
// is opened only for a head that uses one.
func (a *app) openMSA(path string, e *lazyEmbedder) (*selfassess.Model, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, train.FileMSA)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("self-assessment: %w (make one with `muse train selfassess`)", err)
	}
	m, err := selfassess.Load(path, nil)
	if !errors.Is(err, selfassess.ErrEmbedder) {
		return m, err
	}
	emb, err := e.open()
	if err != nil {
		return nil, err
	}
	return selfassess.Load(path, emb)
}
