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

// NamedModel is one model of a comparison. Name may be empty where there is one.
type NamedModel struct {
	Name  string
	Hash  string
	Model *worldmodel.Model
}

// EvalConfig are the settings of an evaluation; they stand in run.json.
type EvalConfig struct {
	Tasks    []gridarm.Task `json:"tasks"`
	Agents   []AgentSpec    `json:"agents"`
	Episodes int            `json:"episodes"` // a task and agent
	HideTask bool           `json:"hide_task"`
	// Futures is the number of imagined moments that each candidate's record holds.
	Futures int `json:"futures"`
}

// Validate reports all problems at once.
func (c EvalConfig) Validate() error {
	var errs []error
	if len(c.Tasks) == 0 || len(c.Agents) == 0 {
		errs = append(errs, errors.New("arm: an evaluation needs a task and an agent"))
	}
	if c.Episodes < 1 || c.Episodes > 1<<20 {
		errs = append(errs, fmt.Errorf("arm: episodes is %d, must lie between 1 and %d", c.Episodes, 1<<20))
	}
	if c.Futures < 0 || c.Futures > 16 {
		errs = append(errs, fmt.Errorf("arm: futures is %d, must lie between 0 and 16", c.Futures))
	}
	return errors.Join(errs...)
}

// Eval plays every agent with every model on the same episodes of every task and
// appends them to the run's episodes.jsonl; what is there already is not played
// again. The agent's draws are the same for all agents of a task and episode.
func Eval(ctx context.Context, run *train.Run, models []NamedModel, c EvalConfig, workers int, p *train.Progress) error {
	if err := c.Validate(); err != nil {
		return err
	}
	type job struct {
		unit  string
		agent AgentSpec
		model NamedModel
		task  gridarm.Task
		k     int
	}
	var jobs []job
	for _, t := range c.Tasks {
		for k := range c.Episodes {
			for _, a := range c.Agents {
				for i, m := range models {
					if a.Bar() {
						if i > 0 {
							continue
						}
						m = NamedModel{}
					} else if a.NeedsPsi() && m.Model.Config().Quantiles == 0 {
						continue
					}
					jobs = append(jobs, job{fmt.Sprintf("%s/%d/%s", t, k, armName(a, m, len(models))), a, m, t, k})
				}
			}
		}
	}
	plan := make([]string, len(jobs))
	for i, j := range jobs {
		plan[i] = j.unit
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
	won := 0
	seed := run.Manifest.Seed
	return train.Ordered(ctx, workers, from, len(jobs), func(_ context.Context, i int) (Episode, error) {
		j := jobs[i]
		w, err := gridarm.NewWorld(j.task, envOptions(c.HideTask))
		if err != nil {
			return Episode{}, err
		}
		e, err := playOne(j.agent, j.model, w, rng.Seed(seed, "eval", "worlds"), j.k, rng.Seed(seed, "eval", j.task.String(), j.k), c.Futures)
		if err != nil {
			return e, fmt.Errorf("arm: %s: %w", j.unit, err)
		}
		e.Unit, e.Final, e.Phase, e.Trial, e.Rep = j.unit, true, "eval", j.k, uint64(j.k)
		e.Arm = armName(j.agent, j.model, len(models))
		e.ID = fmt.Sprintf("%s#%s/eval/%d", e.Task, e.Arm, j.k)
		return e, nil
	}, func(i int, e Episode) error {
		if e.Success {
			won++
		}
		p.Add(1, fmt.Sprintf("won %d", won))
		return log.Append(jobs[i].unit, &e)
	})
}

// armName names the rows of an agent with a model.
func armName(a AgentSpec, m NamedModel, models int) string {
	if a.Bar() || models < 2 {
		return a.Name
	}
	return a.Name + "@" + m.Name
}

// playOne plays one recorded episode.
func playOne(a AgentSpec, m NamedModel, w *gridarm.World, worlds uint64, episode int, seed uint64, futures int) (Episode, error) {
	if a.Bar() {
		obs := make([]float32, w.ObsSize())
		w.ResetInto(worlds, episode, obs)
		e := a.bar(w, obs, seed)
		e.Seed, e.Agent = seed, a.info(AgentModel{}, nil)
		return e, nil
	}
	p := newPlayer(m.Model)
	p.record, p.futures, p.mean = true, futures, a.Mean
	var err error
	if p.reg, err = a.regulator(p.sim); err != nil {
		return Episode{}, err
	}
	w.ResetInto(worlds, episode, p.obs)
	e, err := p.play(w, seed, nil)
	e.Seed, e.Agent = seed, a.info(AgentModel{Name: orDefault(m.Name, "worldmodel"), Hash: m.Hash}, m.Model)
	return e, err
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
