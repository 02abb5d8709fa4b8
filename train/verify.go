package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/reflexion"
)

// Verification is what playing recorded episodes again came to.
type Verification struct {
	Episodes int      `json:"episodes"`
	Equal    int      `json:"equal"` // every answer, flag and outcome is that of the game
	Steps    int      `json:"steps"`
	Won      int      `json:"won"` // by the game, not by the record
	First    []string `json:"first_differences"`
}

// VerifyEpisodes sends the commands of recorded episodes to their games again, by the
// rules that the records name, and compares answers, flags and outcomes: a published
// figure is then that of the game and not of a log. path is a run folder or an episodes
// file, open finds a game (textworld.Open). At most show differences are described, one
// an episode. The error is about reading, or a game that isn't there.
func VerifyEpisodes(ctx context.Context, path string, open func(id string) (*textworld.Game, error), show int) (*Verification, error) {
	limit, err := limitOf(path)
	if err != nil {
		return nil, err
	}
	v := &Verification{First: []string{}}
	err = EachEpisode(path, func(e *Episode) error {
		g, err := open(e.Task)
		if err != nil {
			return fmt.Errorf("train: episode %s: %w", e.ID, err)
		}
		v.Episodes++
		v.Steps += len(e.Steps)
		won, diff, err := e.verify(ctx, g, limit)
		if err != nil {
			return fmt.Errorf("train: episode %s: %w", e.ID, err)
		}
		if won {
			v.Won++
		}
		if diff == "" {
			v.Equal++
		} else if len(v.First) < show {
			v.First = append(v.First, e.ID+": "+diff)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v.Episodes == 0 {
		return nil, fmt.Errorf("train: %s holds no episodes", inFolder(path, FileEpisodes))
	}
	return v, nil
}

// limitOf is the command limit that run.json beside the episodes names, for players
// whose records have none; 0 where there is no run.json.
func limitOf(path string) (int, error) {
	name := filepath.Join(filepath.Dir(inFolder(path, FileEpisodes)), FileRun)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	var m struct {
		Config struct {
			Env textworld.Options `json:"env"`
		} `json:"config"`
	}
	if json.Unmarshal(b, &m) != nil {
		return 0, nil // of another kind of run; the records say enough
	}
	return m.Config.Env.MaxSteps, nil
}

// verify plays the episode again. diff describes the first difference, "" for none.
func (e *Episode) verify(ctx context.Context, g *textworld.Game, limit int) (won bool, diff string, err error) {
	o := textworld.Options{Dialect: textworld.Dialect(e.Agent.Dialect), MaxSteps: e.Agent.Config.Limit, ThinkCost: e.Agent.ThinkCost}
	if o.MaxSteps == 0 {
		o.MaxSteps = limit
	}
	env := textworld.New(g, o)
	defer env.Close()
	intro, err := resetText(ctx, env)
	if err != nil {
		return false, "", err
	}
	task, err := reflexion.ParseIntro(intro)
	if err != nil {
		return false, "", err
	}
	note := func(step int, what string, have, want any) {
		if diff == "" && have != want {
			diff = fmt.Sprintf("command %d: %s is %.120q, the game gives %.120q", step, what, fmt.Sprint(have), fmt.Sprint(want))
		}
	}
	note(0, "the goal", e.Goal, task.Goal)
	note(0, "the room", e.Room, task.Room)
	over := false
	for i, s := range e.Steps {
		if over {
			return won, fmt.Sprintf("command %d: the game was over before it", i+1), nil
		}
		st, err := send(ctx, env, e.Agent.ThinkCost, s.Trace.Thoughts, s.Action)
		if err != nil {
			return won, "", err
		}
		won, over = won || st.Info.Success(), st.Done()
		// An early stop is the runner's rule: the game would have gone on.
		truncated := st.Truncated || i == len(e.Steps)-1 && !st.Done() && e.Reason == "early stop"
		note(i+1, "the answer to "+s.Action, s.Observation, fmt.Sprint(st.Obs))
		note(i+1, "reward", s.Reward, st.Reward)
		note(i+1, "terminated", s.Terminated, st.Terminated)
		note(i+1, "truncated", s.Truncated, truncated)
		note(i+1, "success", s.Success, st.Info.Success())
	}
	note(len(e.Steps), "the episode's success", e.Success, won)
	if diff == "" && !over && e.Reason != "early stop" && !strings.HasPrefix(e.Reason, "expert: ") {
		diff = fmt.Sprintf("the record ends after %d commands, the game does not", len(e.Steps))
	}
	return won, diff, nil
}
