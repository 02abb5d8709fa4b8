package train

import (
	"context"
	"fmt"
	"time"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
)

// GameInfo is what a record says about the game of an episode.
type GameInfo struct {
	ID, Split, TaskType, Goal string
}

// EpisodeSpec names one episode: what is played, by whom, from which seed.
type EpisodeSpec struct {
	Game        GameInfo
	Unit        string // see Episode.Unit
	Phase       string
	Arm         string
	Rep         uint64
	Trial       int
	Seed        uint64       // of the agent's draws; derive it by rng.Seed from root, phase, game, trial
	Reflections []string     // given to the agent, oldest first
	Known       [][]llm.Pair // earlier episodes of the game, for the world model
	Reflect     bool         // ask for a reflection after a lost episode
	Agent       AgentInfo
}

// nothing is the engine's answer to a command without effect.
const nothing = llm.NothingHappens

// PlayEpisode plays one episode: reset, plan, act and observe until the
// environment ends it, then, when asked and lost, a reflection. Success is read
// from the privileged info only here, for the record; the agent is handed texts.
//
// With Agent.ThinkCost > 0 every thought is sent to the environment as a command
// of its own before the action, as ALFWorld's own harnesses do, so that it uses up
// the limit; otherwise thoughts are free. With Agent.EarlyStop > 0 so many
// "Nothing happens." in a row end the episode as truncated ("early stop").
//
// A cancelled context or a failing model returns an error and no episode; env may
// be reset and used again. The caller owns env and agent.
func PlayEpisode(ctx context.Context, env envs.Env, agent reflexion.Agent, s EpisodeSpec) (Episode, Timing, error) {
	id := episodeID(s)
	fail := func(what string, err error) (Episode, Timing, error) {
		return Episode{}, Timing{}, fmt.Errorf("episode %s: %s: %w", id, what, err)
	}
	start := time.Now()
	tm := Timing{ID: id}
	intro, err := resetText(ctx, env)
	if err != nil {
		return fail("reset", err)
	}
	task, err := reflexion.ParseIntro(intro)
	if err != nil {
		return fail("intro", err)
	}
	task.Known = s.Known
	e := Episode{
		Known: len(s.Known), Format: EpisodeFormat, ID: id, Unit: s.Unit, Env: env.Spec().ID,
		Split: s.Game.Split, Task: s.Game.ID, TaskType: s.Game.TaskType, Goal: task.Goal, Room: task.Room,
		Phase: s.Phase, Arm: s.Arm, Rep: s.Rep, Trial: s.Trial, Seed: s.Seed, Agent: s.Agent,
		Reflections: append([]string{}, s.Reflections...), Steps: []Step{},
	}
	c, use, err := agent.Begin(ctx, task, s.Reflections, s.Seed)
	e.Usage = e.Usage.Add(use)
	if err != nil {
		return fail("plan", err)
	}
	defer agent.Close(c)
	e.Plan = c.Plan
	if err := playOn(ctx, env, agent, c, &e, &tm); err != nil {
		return fail(fmt.Sprintf("step %d", len(e.Steps)+1), err)
	}
	if s.Reflect && !e.Success {
		r, use, err := agent.Reflect(ctx, c)
		e.Usage = e.Usage.Add(use)
		if err != nil {
			return fail("reflection", err)
		}
		e.Reflection = r
	}
	tm.Steps, tm.Millis = len(e.Steps), ms(start)
	return e, tm, nil
}

// playOn continues the episode of e from carry c until the environment ends it.
func playOn(ctx context.Context, env envs.Env, agent reflexion.Agent, c *reflexion.Carry, e *Episode, tm *Timing) error {
	failed := trailingNothing(c.Pairs)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		action, tr, err := agent.Act(ctx, c)
		e.Usage = e.Usage.Add(tr.Usage)
		if err != nil {
			return err
		}
		tm.RolloutMillis += tr.RolloutMillis
		tm.AssessMillis += tr.AssessMillis
		t0 := time.Now()
		st, err := send(ctx, env, e.Agent.ThinkCost, tr.Thoughts, action)
		tm.EnvMillis += ms(t0)
		if err != nil {
			return err
		}
		text, _ := st.Obs.(string)
		if err := agent.Observe(ctx, c, action, tr, text); err != nil {
			return err
		}
		if text == nothing {
			failed++
		} else {
			failed = 0
		}
		if limit := e.Agent.EarlyStop; limit > 0 && failed >= limit && !st.Done() {
			st.Truncated = true
			e.Reason = "early stop"
		}
		step := Step{
			Action: action, Observation: text, Reward: st.Reward,
			Terminated: st.Terminated, Truncated: st.Truncated, Success: st.Info.Success(), Trace: tr,
		}
		e.Steps = append(e.Steps, step)
		if step.Terminated || step.Truncated {
			e.Success, e.Terminated, e.Truncated = step.Success, step.Terminated, step.Truncated
			switch {
			case e.Success:
				e.Reason = "goal reached"
			case e.Reason == "" && e.Truncated:
				e.Reason = "step limit"
			case e.Reason == "":
				e.Reason = "terminated"
			}
			return nil
		}
	}
}

// send charges the thoughts when they cost commands, then sends the action. An
// episode that a charged thought ends does not execute the action.
func send(ctx context.Context, env envs.Env, cost int, thoughts []string, action string) (envs.Step, error) {
	if cost > 0 {
		for _, t := range thoughts {
			st, err := env.Step(ctx, "think: "+t)
			if err != nil || st.Done() {
				return st, err
			}
		}
	}
	return env.Step(ctx, action)
}

// trailingNothing counts the failed commands at the end of a history.
func trailingNothing(p []llm.Pair) int {
	n := 0
	for i := len(p) - 1; i >= 0 && p[i].Observation == nothing; i-- {
		n++
	}
	return n
}

// episodeID builds the unique id of an episode in its run.
func episodeID(s EpisodeSpec) string {
	id := s.Game.ID + "#"
	if s.Arm != "" {
		id += s.Arm + "/"
	}
	id += s.Phase + "/"
	if s.Rep > 0 {
		id += fmt.Sprintf("%d/", s.Rep)
	}
	return id + fmt.Sprint(s.Trial)
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }
