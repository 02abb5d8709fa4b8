package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// DemoConfig are the settings of the demo.
type DemoConfig struct {
	Episodes int                    `json:"episodes"` // adaptation episodes a game
	Tests    int                    `json:"tests"`    // test episodes a game and agent
	Agent    reflexion.Config       `json:"agent"`    // of MUSE; the others differ by name and memory
	MSA      selfassess.Config      `json:"msa"`
	Adapt    selfassess.AdaptConfig `json:"adapt"`
	// Windows trains on a window at every step of an episode, as `muse train
	// selfassess` does; without it on every fourth, a quarter of the sentences.
	Windows bool `json:"windows"`
}

// DefaultDemo: five adaptation episodes and one test a game, M_sa by its default
// setting.
func DefaultDemo() DemoConfig {
	a, err := reflexion.Default("muse")
	if err != nil {
		panic(err) // a known name
	}
	a.Temperature = ActingTemperature
	c := DemoConfig{Episodes: 5, Tests: 1, Agent: a, MSA: selfassess.DefaultFor(true), Adapt: selfassess.DefaultAdapt()}
	c.MSA.Folds = 3 // calibration from fewer folds saves a third of the training
	return c
}

// Validate reports all problems at once.
func (c DemoConfig) Validate() error {
	var errs []error
	if c.Episodes < 1 {
		errs = append(errs, errors.New("train: demo: at least 1 adaptation episode is needed"))
	}
	if c.Tests < 1 {
		errs = append(errs, errors.New("train: demo: at least 1 test episode is needed"))
	}
	return errors.Join(append(errs, c.Agent.Validate(), c.MSA.Validate(), c.Adapt.Validate())...)
}

// DemoArms are the agents of the demo's table, in its order.
var DemoArms = []string{"react", "reflexion", "muse-lowest", "muse-random", "muse-best", DemoSecond}

// DemoSecond is muse-best with second thoughts, at the temperature that val prefers for
// them, and with a memory of the rooms from the adaptation episodes.
const DemoSecond = "muse-second"

// Demo is the whole loop on a few games: training of M_sa, adaptation, test.
type Demo struct {
	Config   DemoConfig
	Bench    *Bench
	Model    llm.Model
	Embedder selfassess.Embedder // nil for inputs without embeddings
	Set      *DemoSet
	// Say gets one line a stage for people; nil = none.
	Say func(format string, a ...any)
}

// DemoResult is demo.json.
type DemoResult struct {
	Format     string         `json:"format"` // muse/demo@1
	Model      string         `json:"model"`
	MSA        string         `json:"m_sa"`
	Games      []string       `json:"games"`
	Training   []string       `json:"training"` // lines of the training report
	Selection  Selection      `json:"selection"`
	Assessment *AssessReport  `json:"assessment"`
	Decision   *DecisionShown `json:"decision,omitempty"`
}

// DemoFormat is the format tag of demo.json.
const DemoFormat = "muse/demo@1"

// DemoGames chooses n games: of each task type in turn the next one by id, each
// task (goal and room) once before any repeats. Results play no part in it.
func DemoGames(games []*textworld.Game, n int) []*textworld.Game {
	sorted := slices.Clone(games)
	slices.SortFunc(sorted, func(a, b *textworld.Game) int { return strings.Compare(a.ID(), b.ID()) })
	var types []string
	queue := map[string][]*textworld.Game{} // by type, repeats of a task last
	var again []*textworld.Game
	seen := map[string]bool{}
	push := func(g *textworld.Game) {
		t := g.TaskType()
		if queue[t] == nil {
			types = append(types, t)
		}
		queue[t] = append(queue[t], g)
	}
	for _, g := range sorted {
		task, _, _ := strings.Cut(g.ID(), "/")
		if seen[task] {
			again = append(again, g)
			continue
		}
		seen[task] = true
		push(g)
	}
	for _, g := range again {
		push(g)
	}
	slices.Sort(types)
	var out []*textworld.Game
	for len(out) < min(n, len(games)) {
		for _, t := range types {
			if q := queue[t]; len(q) > 0 && len(out) < n {
				out = append(out, q[0])
				queue[t] = q[1:]
			}
		}
	}
	return out
}

// Run does all stages in folders below dir (msa, adapt, test) and writes demo.json.
// Finished work is kept: the same call continues after an interrupt, and equal
// settings give equal bytes.
func (d *Demo) Run(ctx context.Context, run *Run) (*DemoResult, error) {
	if err := d.Config.Validate(); err != nil {
		return nil, err
	}
	if len(d.Bench.Games) == 0 {
		return nil, errors.New("train: demo: no games")
	}
	if err := d.read(ctx, "recorded episodes", d.Set.Episodes); err != nil {
		return nil, err
	}
	msa, lines, err := d.train(ctx, run.Manifest, run.Path("msa"))
	if err != nil {
		return nil, err
	}
	d.say("2/3 %d adaptation episodes on each of %d unseen games, played without self-assessment", d.Config.Episodes, len(d.Bench.Games))
	adapt, err := d.adapt(ctx, run.Manifest, run.Path("adapt"))
	if err != nil {
		return nil, err
	}
	if err := d.read(ctx, "adaptation episodes", adapt); err != nil {
		return nil, err
	}
	d.say("3/3 tests: %d agents on the same games and seeds; MUSE with M_sa adapted to each game", len(DemoArms))
	test, err := d.test(ctx, run.Manifest, run.Path("test"), msa, adapt)
	if err != nil {
		return nil, err
	}
	res := &DemoResult{Format: DemoFormat, Model: d.Model.Info().Name, MSA: msa.Name(), Training: lines}
	for _, g := range d.Bench.Games {
		res.Games = append(res.Games, g.ID())
	}
	res.Selection = Tabulate(TestParts(d.Bench, test, nil), "react", "muse-random", "muse-lowest")
	// Judged on episodes of agents that do not act on it: acting on a score makes
	// it easier to be right (the lowest choice loses nearly always).
	free := slices.Clone(adapt)
	for _, e := range test {
		if !needsAdapted(e.Arm) {
			free = append(free, e)
		}
	}
	if err := d.read(ctx, "test episodes", free); err != nil {
		return nil, err
	}
	replay, err := selfassess.NewReplay(ctx, msa, Chunks(d.Set.Episodes))
	if err != nil {
		return nil, fmt.Errorf("train: demo: %w", err)
	}
	if res.Assessment, err = AssessAdaptation(ctx, free, "", msa, replay, d.Config.Adapt); err != nil {
		return nil, err
	}
	res.Decision = ExampleDecision(test)
	return res, run.WriteJSON("demo.json", res)
}

func (d *Demo) say(format string, a ...any) {
	if d.Say != nil {
		d.Say(format, a...)
	}
}

// read reads the hidden states of real episodes where M_sa needs them.
func (d *Demo) read(ctx context.Context, label string, es []*Episode) error {
	if !d.Config.MSA.Input.Uses("hidden") {
		return nil
	}
	p := NewProgress(d.Bench.Progress, d.Bench.TTY, label, 0, len(es))
	defer p.Close()
	return ReadStates(ctx, d.Model, es, d.Bench.Workers, p)
}

// sub opens the folder of a stage.
func (d *Demo) sub(m Manifest, dir, stage string) (*Run, error) {
	m.Command = stage
	return OpenRun(dir, m)
}

// train fits M_sa, or loads it where an earlier call has finished.
func (d *Demo) train(ctx context.Context, m Manifest, dir string) (model *selfassess.Model, lines []string, err error) {
	r, err := d.sub(m, dir, "demo msa")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, e := os.Stat(r.Path(FileMSAReport)); e == nil {
		var rep MSAReport
		if err := readJSON(r.Path(FileMSAReport), &rep); err != nil {
			return nil, nil, fmt.Errorf("%w; remove it and it is made again", err)
		}
		d.say("1/3 self-assessment: trained before, %s", r.Path(FileMSA))
		model, err = selfassess.Load(r.Path(FileMSA), d.embedder("sentences"))
		return model, rep.Lines(), err
	} else if !errors.Is(e, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("train: %w", e)
	}
	d.say("1/3 training the self-assessment %s on %d recorded episodes of seen games", d.Config.MSA, len(d.Set.Episodes))
	data, err := MSAData(d.Set.Episodes, d.Set.Siblings)
	if err != nil {
		return nil, nil, err
	}
	if !d.Config.Windows {
		data.Windows = nil
	}
	cfg := d.Config.MSA
	cfg.Workers = d.Bench.Workers
	m2, rep, err := trainMSA(ctx, r, d.Set.Episodes, d.Set.Siblings, data, d.embedder("sentences"), []selfassess.Config{cfg}, nil)
	if err != nil {
		return nil, nil, err
	}
	return m2, rep.Lines(), nil
}

// adapt plays the adaptation episodes: a Reflexion agent without self-assessment.
func (d *Demo) adapt(ctx context.Context, m Manifest, dir string) (es []*Episode, err error) {
	r, err := d.sub(m, dir, "demo adapt")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	by, err := d.player("reflexion", nil)
	if err != nil {
		return nil, err
	}
	plain := AdaptArm{Name: "plain", By: by, Reflect: true, Test: func(*selfassess.Model) (Player, error) { return by, nil }}
	c := AdaptConfig{Episodes: d.Config.Episodes, Reflect: true, MSA: d.Config.Adapt}
	if err := Adapt(ctx, r, d.Bench, []AdaptArm{plain}, nil, c); err != nil {
		return nil, err
	}
	return ReadEpisodes(r.Dir)
}

// test plays every agent on every game: Reflexion and MUSE read the reflections of
// the adaptation episodes, MUSE asks the M_sa that was adapted to the game.
func (d *Demo) test(ctx context.Context, m Manifest, dir string, msa *selfassess.Model, adapt []*Episode) (es []*Episode, err error) {
	r, err := d.sub(m, dir, "demo test")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	byGame, given := map[string][]*Episode{}, map[string][]string{}
	for _, e := range adapt {
		byGame[e.Task] = append(byGame[e.Task], e)
		if e.Reflection != "" {
			given[e.Task] = append(given[e.Task], e.Reflection)
		}
	}
	replay := sync.OnceValues(func() (*selfassess.Replay, error) {
		return selfassess.NewReplay(ctx, msa, Chunks(d.Set.Episodes))
	})
	adapted := make([]func() (*selfassess.Model, error), len(d.Bench.Games))
	for i, g := range d.Bench.Games {
		adapted[i] = sync.OnceValues(func() (*selfassess.Model, error) {
			rp, err := replay()
			if err != nil {
				return nil, err
			}
			return adaptTo(ctx, msa, rp, g.ID(), byGame[g.ID()], d.Config.Adapt)
		})
	}
	type unit struct {
		game, rep int
		arm       string
	}
	var units []unit
	var plan []string
	for rep := range d.Config.Tests {
		for i, g := range d.Bench.Games {
			for _, a := range DemoArms {
				units = append(units, unit{i, rep, a})
				plan = append(plan, fmt.Sprintf("%s#%s/%d", g.ID(), a, rep))
			}
		}
	}
	err = d.Bench.runUnits(ctx, r, "test", plan, func(ctx context.Context, i int) (unitResult, error) {
		u := units[i]
		g := d.Bench.Games[u.game]
		var as *selfassess.Model
		if needsAdapted(u.arm) {
			var err error
			if as, err = adapted[u.game](); err != nil {
				return unitResult{}, err
			}
		}
		p, err := d.player(u.arm, as)
		if err != nil {
			return unitResult{}, err
		}
		t := trials{phase: "test", arm: u.arm, rep: uint64(u.rep), n: 1, past: past{reflections: given[g.ID()]}, seedPath: "eval"}
		if u.arm == DemoSecond {
			t.notes, t.rooms = true, true
			for _, e := range byGame[g.ID()] {
				t.past.pairs = append(t.past.pairs, e.Pairs())
			}
		}
		es, ts, _, err := d.Bench.play(ctx, g, p, t)
		return unitResult{es, ts}, err
	})
	if err != nil {
		return nil, err
	}
	return ReadEpisodes(r.Dir)
}

// needsAdapted reports whether an arm acts on M_sa.
func needsAdapted(arm string) bool {
	return arm == "muse-best" || arm == "muse-lowest" || arm == DemoSecond
}

// player wires the agent of an arm.
func (d *Demo) player(arm string, as *selfassess.Model) (Player, error) {
	name, selector, _ := strings.Cut(arm, "-")
	switch {
	case selector == "":
		selector = "off"
	case arm == DemoSecond:
		selector = "best"
	}
	sel, err := selfregulate.ByName(selector)
	if err != nil {
		return Player{}, err
	}
	c := d.Config.Agent
	if c.Name = name; name == "react" {
		c.Reflections = 0
	}
	if arm == DemoSecond {
		c = reflexion.SecondThoughts(c)
		c.Temperature = .5
	}
	info := AgentInfo{Config: c, Model: d.Model.Info(), Selector: sel.Name(), ThinkCost: d.Bench.Env.ThinkCost, Dialect: string(d.Bench.Env.Dialect)}
	var assessor selfassess.Assessor // stays a nil interface without a model
	if as != nil {
		assessor, info.Assessor = as, as.Name()
	}
	ag, err := reflexion.New(c, d.Model, assessor, sel)
	return Player{Agent: ag, Info: info}, err
}

// embedder spreads the texts of one call over the workers, with progress.
func (d *Demo) embedder(label string) selfassess.Embedder {
	if d.Embedder == nil {
		return nil
	}
	return spread{d.Embedder, d.Bench, label}
}

// spread is an embedder that cuts long lists of texts into parts.
type spread struct {
	selfassess.Embedder
	b     *Bench
	label string
}

// spreadPart texts are one part: enough to sort by length, few enough for progress.
const spreadPart = 256

// Embed implements selfassess.Embedder.
func (s spread) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	parts := (len(texts) + spreadPart - 1) / spreadPart
	if parts < 2 {
		return s.Embedder.Embed(ctx, texts)
	}
	out := make([][]float32, len(texts))
	p := NewProgress(s.b.Progress, s.b.TTY, s.label, 0, len(texts))
	defer p.Close()
	err := Ordered(ctx, s.b.Workers, 0, parts, func(ctx context.Context, i int) ([][]float32, error) {
		return s.Embedder.Embed(ctx, texts[i*spreadPart:min(len(texts), (i+1)*spreadPart)])
	}, func(i int, v [][]float32) error {
		copy(out[i*spreadPart:], v)
		p.Add(len(v), "")
		return nil
	})
	return out, err
}

// OpenDemo opens the folder of a demo.
func (d *Demo) OpenDemo(dir string, m Manifest) (*Run, error) {
	m.Command, m.Seed = "demo", d.Bench.Seed
	m.Config = map[string]any{"demo": d.Config, "env": d.Bench.Env}
	m.Data = map[string]string{"games": GameSetHash(d.Bench.Games), "set": d.Set.Hash}
	m.Models = map[string]string{"llm": d.Model.Info().Hash}
	if d.Embedder != nil {
		m.Models["embedder"] = d.Embedder.Hash()
	}
	if dir == "" {
		dir = filepath.Join("runs", "demo-"+m.Hash())
	}
	return OpenRun(dir, m)
}
