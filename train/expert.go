package train

import (
	"context"
	"fmt"
	"time"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/reflexion"
)

// playExpert plays an episode by the game's expert, which knows the state: an
// upper bound and a test of the games, never an agent's advice.
func (b *Bench) playExpert(ctx context.Context, game *textworld.Game, a Arm, rep uint64) (Episode, Timing, error) {
	start := time.Now()
	env, g := textworld.New(game, b.Env), info(game)
	defer env.Close()
	intro, err := resetText(ctx, env)
	if err != nil {
		return Episode{}, Timing{}, err
	}
	task, err := reflexion.ParseIntro(intro)
	if err != nil {
		return Episode{}, Timing{}, err
	}
	e := Episode{
		Format: EpisodeFormat, ID: episodeID(EpisodeSpec{Game: g, Arm: a.Name, Phase: "eval", Rep: rep}),
		Env: env.Spec().ID, Split: g.Split, Task: g.ID, TaskType: g.TaskType, Goal: task.Goal, Room: task.Room,
		Phase: "eval", Arm: a.Name, Rep: rep, Agent: a.Player.Info, Reflections: []string{}, Steps: []Step{},
	}
	var x envs.Expert = env.World()
	for {
		action, ok, why := x.ExpertAction()
		if !ok {
			e.Truncated, e.Reason = true, "expert: "+why
			break
		}
		st, err := env.Step(ctx, action)
		if err != nil {
			return Episode{}, Timing{}, err
		}
		text, _ := st.Obs.(string)
		e.Steps = append(e.Steps, Step{Action: action, Observation: text, Reward: st.Reward,
			Terminated: st.Terminated, Truncated: st.Truncated, Success: st.Info.Success()})
		if st.Done() {
			e.Success, e.Terminated, e.Truncated = st.Info.Success(), st.Terminated, st.Truncated
			e.Reason = "goal reached"
			if !e.Success {
				e.Reason = "step limit"
			}
			break
		}
	}
	return e, Timing{ID: e.ID, Millis: ms(start), Steps: len(e.Steps)}, nil
}

// resetText resets a text environment and returns its first observation.
func resetText(ctx context.Context, env envs.Env) (string, error) {
	obs, _, err := env.Reset(ctx, envs.ResetOptions{})
	if err != nil {
		return "", err
	}
	s, ok := obs.(string)
	if !ok {
		return "", fmt.Errorf("train: the observation is %T, a text agent needs a string", obs)
	}
	return s, nil
}
