package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/viewer"
)

// playTextWindow plays a text game in the window, with an agent that watches where a
// self-assessment is given.
func (a *app) playTextWindow(ctx context.Context, env *textworld.Env, w *windowFlags, g *gameFlags) error {
	defer env.Close()
	return a.playWindow(ctx, w.theme, func(ctx context.Context, out *windowGame) error {
		if w.msa != "" {
			if err := out.send(viewer.Turn{Busy: "the agent is loaded …"}, nil); err != nil {
				return err
			}
		}
		p, done, err := a.watcher(ctx, w, g)
		if err != nil {
			return err
		}
		defer done()
		t := &textTable{env: env, out: out, agent: p.Agent, note: "you play alone; --msa lets an agent watch and say P"}
		if p.Agent != nil {
			t.note = ""
		}
		return t.play(ctx, p.Info)
	})
}

// watcher is the agent that watches; none without --msa.
func (a *app) watcher(ctx context.Context, w *windowFlags, g *gameFlags) (p train.Player, done func(), err error) {
	if w.msa == "" {
		return p, func() {}, nil
	}
	d, err := reflexion.Default("muse")
	if err != nil {
		return p, nil, err
	}
	f := agentFlags{model: w.model, temperature: d.Temperature, rollouts: w.futures, horizon: d.Horizon, reflections: d.Reflections,
		contextPairs: d.ContextPairs, plan: d.Plan, recall: d.Recall, rethink: d.Rethink, doubt: d.Doubt, forget: string(d.Forget), foresee: d.Foresee}
	m, err := f.openModel(ctx, a)
	if err != nil {
		return p, nil, err
	}
	emb := &lazyEmbedder{a: a}
	done = func() { _ = errors.Join(m.Close(), emb.Close()) } // nothing was written
	as, err := a.openMSA(w.msa, emb)
	if err == nil {
		p, err = f.player("muse", selfregulate.Best, m, as, g)
	}
	if err != nil {
		done()
		return p, nil, err
	}
	return p, done, nil
}

// textTable is one text game in the window.
type textTable struct {
	env   *textworld.Env
	out   *windowGame
	agent reflexion.Agent // nil: nobody watches
	carry *reflexion.Carry
	e     train.Episode
	note  string
}

func (t *textTable) play(ctx context.Context, info train.AgentInfo) error {
	obs, _, err := t.env.Reset(ctx, envs.ResetOptions{})
	if err != nil {
		return err
	}
	task, err := reflexion.ParseIntro(fmt.Sprint(obs))
	if err != nil {
		return err
	}
	id := t.env.Game().ID()
	info.Config.Limit = t.env.Options().MaxSteps
	if t.agent == nil {
		info.Config.Name = "you"
	}
	t.e = train.Episode{Format: train.EpisodeFormat, ID: id + "#play", Env: t.env.Spec().ID, Split: t.env.Game().Split(), Task: id, Goal: task.Goal, Room: task.Room,
		Phase: "play", Arm: "you", Seed: 1, Agent: info, Reflections: []string{}, Steps: []train.Step{}}
	if t.agent != nil {
		if err := t.out.send(viewer.Turn{Busy: "the agent plans …"}, t.record(reflexion.Trace{})); err != nil {
			return err
		}
		c, use, err := t.agent.Begin(ctx, task, nil, t.e.Seed)
		if err != nil {
			return err
		}
		defer t.agent.Close(c) //nolint:errcheck // the game is over
		t.carry, t.e.Plan, t.e.Usage = c, c.Plan, use
	}
	for {
		tr, err := t.think(ctx)
		if err != nil {
			return err
		}
		if err := t.out.send(viewer.Turn{Suggest: t.env.Admissible(), Note: t.note}, t.record(tr)); err != nil {
			return err
		}
		cmd, err := t.out.move(ctx)
		if err != nil {
			return err
		}
		st, err := t.env.Step(ctx, cmd)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(fmt.Sprint(st.Obs))
		if t.agent != nil {
			if err := t.agent.Observe(ctx, t.carry, cmd, tr, text); err != nil {
				return err
			}
		}
		t.e.Steps = append(t.e.Steps, train.Step{Action: cmd, Observation: text, Reward: st.Reward, Terminated: st.Terminated, Truncated: st.Truncated, Success: st.Info.Success(), Trace: tr})
		if st.Done() {
			t.e.Success, t.e.Terminated, t.e.Truncated, t.e.Reason = st.Info.Success(), st.Terminated, st.Truncated, "step limit"
			note := fmt.Sprintf("The limit of %d commands is reached: lost.", t.env.Options().MaxSteps)
			if t.e.Success {
				t.e.Reason, note = "goal reached", fmt.Sprintf("You won in %d commands.", t.env.Steps())
			}
			return t.out.end(ctx, note, t.e)
		}
	}
}

// think asks the agent what it would do now.
func (t *textTable) think(ctx context.Context) (reflexion.Trace, error) {
	none := reflexion.Trace{Choice: selfregulate.Choice{Index: -1}}
	if t.agent == nil {
		return none, nil
	}
	if err := t.out.send(viewer.Turn{Busy: "the agent imagines …"}, t.record(none)); err != nil {
		return none, err
	}
	_, tr, err := t.agent.Act(ctx, t.carry)
	t.e.Usage = t.e.Usage.Add(tr.Usage)
	if errors.Is(err, llm.ErrContext) { // a long game: the agent has seen enough
		t.agent, t.note = nil, words("the agent's context is full", t.note)
		return none, nil
	}
	return tr, err
}

// record is the episode with the coming step behind it.
func (t *textTable) record(tr reflexion.Trace) train.Episode {
	e := t.e
	e.Steps = append(append([]train.Step{}, e.Steps...), train.Step{Trace: tr})
	return e
}
