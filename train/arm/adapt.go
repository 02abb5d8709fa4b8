package arm

import (
	"context"
	"errors"
	"fmt"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// AdaptConfig are the settings of adaptation to one new task at a time (paper, section
// 3.2: 20 episodes, replay kept, task id 0). They stand in run.json.
type AdaptConfig struct {
	Tasks    []gridarm.Task `json:"tasks"`
	Agents   []AgentSpec    `json:"agents"`
	Seeds    int            `json:"seeds"`    // adaptations of each model to each task
	Episodes int            `json:"episodes"` // of an adaptation
	Tests    int            `json:"tests"`    // episodes afterwards, without updates, by the policy's mean
	Updates  int            `json:"updates"`  // after each episode; 0 = by the model's train ratio
	LR       float64        `json:"lr"`       // learning rate, constant
	// Share is the part of each batch that comes from the new task; the rest is replay of
	// the training tasks.
	Share   float64 `json:"share"`
	Futures int     `json:"futures"`
}

// DefaultAdapt are the paper's numbers, with a batch half of the new task.
func DefaultAdapt() AdaptConfig {
	return AdaptConfig{Seeds: 1, Episodes: 20, Tests: 5, Updates: 20, LR: 3e-4, Share: 0.5}
}

// Validate reports all problems at once.
func (c AdaptConfig) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("arm: "+format, a...))
		}
	}
	bad(len(c.Tasks) > 0 && len(c.Agents) > 0, "adaptation needs a task and an agent")
	bad(c.Seeds >= 1 && c.Seeds <= 1000, "seeds is %d, must lie between 1 and 1000", c.Seeds)
	bad(c.Episodes >= 1 && c.Episodes <= 10_000, "episodes is %d, must lie between 1 and 10000", c.Episodes)
	bad(c.Tests >= 0 && c.Tests <= 10_000, "tests is %d, must lie between 0 and 10000", c.Tests)
	bad(c.Updates >= 0 && c.Updates <= 1_000_000, "updates is %d, must lie between 0 and 1000000", c.Updates)
	bad(c.LR > 0 && c.LR <= 1, "lr is %g, must lie in (0,1]", c.LR)
	bad(c.Share > 0 && c.Share <= 1, "share is %g, must lie in (0,1]", c.Share)
	bad(c.Futures >= 0 && c.Futures <= 16, "futures is %d, must lie between 0 and 16", c.Futures)
	for _, a := range c.Agents {
		bad(!a.Bar(), "agent %s doesn't learn; leave it to eval", a.Name)
	}
	return errors.Join(errs...)
}

// Units is the number of adaptations of the models.
func (c AdaptConfig) Units(models []NamedCheckpoint) int {
	n := 0
	for _, m := range models {
		for _, a := range c.Agents {
			if !m.NoPsi || !a.NeedsPsi() {
				n++
			}
		}
	}
	return n * len(c.Tasks) * c.Seeds
}

// NamedCheckpoint is one pre-trained model of a comparison.
type NamedCheckpoint struct {
	Name, Path, Hash string
	// NoPsi: it was trained without ψ, so only agents that do without adapt it.
	NoPsi bool
	// Replay makes the replay of the training tasks where the file holds none.
	Replay func(worldmodel.Config) (*worldmodel.Replay, error)
}

// Adapt adapts every checkpoint to every task with every agent, each time from the
// trained weights, and appends the episodes (phases "adapt" and "test") to the run. One
// adaptation is a unit of work: what is finished is not done again.
func Adapt(ctx context.Context, run *train.Run, models []NamedCheckpoint, c AdaptConfig, workers int, p *train.Progress) error {
	if err := c.Validate(); err != nil {
		return err
	}
	type job struct {
		unit  string
		agent AgentSpec
		model NamedCheckpoint
		task  gridarm.Task
		seed  int
	}
	var jobs []job
	var plan []string
	for s := range c.Seeds {
		for _, t := range c.Tasks {
			for _, m := range models {
				for _, a := range c.Agents {
					if m.NoPsi && a.NeedsPsi() {
						continue
					}
					j := job{agent: a, model: m, task: t, seed: s}
					j.unit = fmt.Sprintf("%s/%d/%s", t, s, armName(a, NamedModel{Name: m.Name}, len(models)))
					jobs, plan = append(jobs, j), append(plan, j.unit)
				}
			}
		}
	}
	log, err := run.OpenLog(train.FileEpisodes, train.EpisodeFormat)
	if err != nil {
		return err
	}
	from, err := log.Expect(plan)
	if err != nil {
		return err
	}
	p.Add(from, "")
	return train.Ordered(ctx, workers, from, len(jobs), func(ctx context.Context, i int) ([]any, error) {
		j := jobs[i]
		es, err := adaptOne(ctx, j.agent, j.model, j.task, c, rng.Seed(run.Manifest.Seed, "adapt", j.task.String(), j.seed))
		if err != nil {
			return nil, fmt.Errorf("arm: adapting to %s: %w", j.unit, err)
		}
		lines := make([]any, len(es))
		name := armName(j.agent, NamedModel{Name: j.model.Name}, len(models))
		for k := range es {
			e := &es[k]
			e.Unit, e.Arm, e.Rep, e.Final = j.unit, name, uint64(j.seed), k == len(es)-1
			e.ID = fmt.Sprintf("%s#%s/%d/%s/%d", e.Task, name, j.seed, e.Phase, e.Trial)
			lines[k] = e
		}
		return lines, nil
	}, func(i int, lines []any) error {
		p.Add(1, jobs[i].unit)
		return log.Append(jobs[i].unit, lines...)
	})
}

// openTrainer opens a checkpoint, or a model alone, whose optimiser then begins anew.
func openTrainer(path string) (*worldmodel.Trainer, *worldmodel.Replay, error) {
	tr, old, _, err := worldmodel.LoadTrainer(path)
	if !errors.Is(err, worldmodel.ErrModelOnly) {
		return tr, old, err
	}
	m, err := worldmodel.Load(path)
	if err != nil {
		return nil, nil, err
	}
	tr, err = worldmodel.NewTrainer(m, 0)
	return tr, nil, err
}

// Adaptable reads a checkpoint, or a model alone, as [Adapt] will, and returns its settings.
func Adaptable(path string) (worldmodel.Config, error) {
	tr, _, err := openTrainer(path)
	if err != nil {
		return worldmodel.Config{}, err
	}
	return tr.Model().Config(), tr.Close()
}

// adaptOne is one adaptation. The draws of play are the same for all agents of a seed,
// as long as they act alike.
func adaptOne(ctx context.Context, a AgentSpec, m NamedCheckpoint, t gridarm.Task, c AdaptConfig, seed uint64) ([]Episode, error) {
	tr, old, err := openTrainer(m.Path)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	tr.SetRate(c.LR)
	cfg := tr.Model().Config()
	if a.NeedsPsi() && cfg.Quantiles == 0 {
		return nil, fmt.Errorf("agent %s needs ψ, but %s was trained without", a.Name, m.Path)
	}
	if old == nil && m.Replay != nil {
		if old, err = m.Replay(cfg); err != nil {
			return nil, err
		}
	}
	share := c.Share
	if old == nil {
		share = 1
	}
	own, err := worldmodel.NewReplay(cfg, 1, (c.Episodes+1)*(limit+1))
	if err != nil {
		return nil, err
	}
	p := newPlayer(tr.Model())
	p.record, p.futures, p.mean = true, c.Futures, a.Mean
	if p.reg, err = a.regulator(p.sim); err != nil {
		return nil, err
	}
	w, err := gridarm.NewWorld(t, envOptions(true))
	if err != nil {
		return nil, err
	}
	n := c.Updates
	if n == 0 {
		n = updates(cfg, limit)
	}
	info := a.info(AgentModel{Name: orDefault(m.Name, "worldmodel"), Hash: m.Hash}, tr.Model())
	var es []Episode
	for k := range c.Episodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.ResetInto(seed, k, p.obs)
		e, err := playInto(p, w, rng.Seed(seed, "episode", k), own, 0)
		if err != nil {
			return nil, err
		}
		e.Phase, e.Trial, e.Seed, e.Agent = "adapt", k, seed, info
		es = append(es, e)
		for range n {
			if _, err := tr.UpdateMixed(own, old, share); err != nil {
				return nil, err
			}
		}
	}
	p.mean = true
	for k := range c.Tests {
		w.ResetInto(rng.Seed(seed, "test"), k, p.obs)
		e, err := p.play(w, rng.Seed(seed, "test", k), nil)
		if err != nil {
			return nil, err
		}
		e.Phase, e.Trial, e.Seed, e.Agent = "test", k, seed, info
		e.Agent.Config.Mean = true
		es = append(es, e)
	}
	return es, nil
}
