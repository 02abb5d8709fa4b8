package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
)

// Format and file of preferences.
const (
	PreferenceFormat = "muse/preferences@1"
	FilePreferences  = "preferences.jsonl"
)

// PreferenceConfig are the settings of [CollectPreferences].
type PreferenceConfig struct {
	Texts     int `json:"texts"`      // reflections sampled on each lost trial
	Plays     int `json:"plays"`      // trials after each of them
	PerGame   int `json:"per_game"`   // lost trials of a game, at most
	EarlyStop int `json:"early_stop"` // of the trials after
}

// DefaultPreferences are 4 reflections, 2 plays each, 2 lost trials a game.
func DefaultPreferences() PreferenceConfig {
	return PreferenceConfig{Texts: 4, Plays: 2, PerGame: 2, EarlyStop: 8}
}

// Validate reports all problems at once, or nil.
func (c PreferenceConfig) Validate() error {
	var errs []error
	for _, x := range []struct {
		name     string
		n, least int
	}{{"texts", c.Texts, 2}, {"plays", c.Plays, 1}, {"per-game", c.PerGame, 1}, {"early-stop", c.EarlyStop, 0}} {
		if x.n < x.least || x.n > 1000 {
			errs = append(errs, fmt.Errorf("train: %s is %d; it must lie between %d and 1000", x.name, x.n, x.least))
		}
	}
	return errors.Join(errs...)
}

// LostTrial is a lost episode, several reflections on it, and how the task went
// after each: one line of preferences.jsonl.
type LostTrial struct {
	Format      string        `json:"format"`
	Unit        string        `json:"unit"`
	Final       bool          `json:"final"`
	Task        string        `json:"task_id"`
	TaskType    string        `json:"task_type"`
	Goal        string        `json:"goal"`
	Room        string        `json:"init_obs"`
	Model       llm.Info      `json:"model"`
	Given       []string      `json:"reflections"` // that the lost trial had read
	Plan        string        `json:"plan,omitempty"`
	Pairs       []llm.Pair    `json:"pairs"`
	Reflections []TriedAdvice `json:"tried"`
}

// TriedAdvice is one reflection and the outcomes of the trials that read it.
type TriedAdvice struct {
	Text  string `json:"text"`
	Plays int    `json:"plays"`
	Wins  int    `json:"wins"`
}

func (l *LostTrial) check() error {
	if l.Task == "" {
		return errors.New("the trial has no task_id")
	}
	for i, a := range l.Reflections {
		if a.Plays < 1 || a.Wins < 0 || a.Wins > a.Plays {
			return fmt.Errorf("reflection %d has %d wins in %d plays", i, a.Wins, a.Plays)
		}
	}
	return nil
}

// ReadPreferences reads run folders of `muse preferences` or their files.
func ReadPreferences(paths ...string) ([]*LostTrial, error) {
	return readWhole(paths, FilePreferences, PreferenceFormat, func(l *LostTrial) bool { return !l.Final })
}

// CollectPreferences samples several reflections on each lost trial of es and plays
// the task after each of them. Reflections on the same trial differ in nothing but
// the text; trials after them share seeds. Equal texts are played once.
func CollectPreferences(ctx context.Context, r *Run, b *Bench, p Player, es []*Episode, c PreferenceConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	games := map[string]*textworld.Game{}
	for _, g := range b.Games {
		games[g.ID()] = g
	}
	var lost []*Episode
	var plan []string
	have := map[string]int{}
	for _, e := range es {
		if e.Success || games[e.Task] == nil || have[e.Task] >= c.PerGame {
			continue
		}
		have[e.Task]++
		lost = append(lost, e)
		plan = append(plan, e.ID)
	}
	if len(lost) == 0 {
		return errors.New("train: no lost trial of the selected games among the episodes")
	}
	log, err := r.OpenLog(FilePreferences, PreferenceFormat)
	if err != nil {
		return err
	}
	from, err := log.Expect(plan)
	if err != nil {
		return err
	}
	bar := NewProgress(b.Progress, b.TTY, "preferences", from, len(lost))
	defer bar.Close()
	plays, wins, mixed := 0, 0, 0
	return Ordered(ctx, b.Workers, from, len(lost), func(ctx context.Context, i int) (*LostTrial, error) {
		return b.tryReflections(llm.InUnit(ctx, plan[i]), games[lost[i].Task], p, lost[i], c)
	}, func(i int, l *LostTrial) error {
		l.Unit = plan[i]
		least, most := 1.0, 0.0
		for _, a := range l.Reflections {
			plays, wins = plays+a.Plays, wins+a.Wins
			least, most = min(least, a.rate()), max(most, a.rate())
		}
		if most > least {
			mixed++
		}
		bar.Add(1, fmt.Sprintf("won %d of %d, %d with preferences", wins, plays, mixed))
		return log.Append(plan[i], l)
	})
}

func (a TriedAdvice) rate() float64 { return float64(a.Wins) / float64(a.Plays) }

func (b *Bench) tryReflections(ctx context.Context, g *textworld.Game, p Player, e *Episode, c PreferenceConfig) (*LostTrial, error) {
	l := &LostTrial{
		Format: PreferenceFormat, Final: true, Task: e.Task, TaskType: e.TaskType, Goal: e.Goal, Room: e.Room,
		Model: p.Info.Model, Given: e.Reflections, Plan: e.Plan, Pairs: e.Pairs(),
	}
	env := textworld.New(g, b.Env)
	defer env.Close()
	info := p.Info
	info.EarlyStop = c.EarlyStop
	for k := range c.Texts {
		carry := &reflexion.Carry{Task: reflexion.Task{Goal: e.Goal, Room: e.Room}, Reflections: e.Reflections, Plan: e.Plan,
			Pairs: e.Pairs(), Seed: rng.Seed(b.Seed, "reflection", e.ID, k)}
		text, _, err := p.Agent.Reflect(ctx, carry)
		if err := errors.Join(err, p.Agent.Close(carry)); err != nil {
			return nil, fmt.Errorf("train: episode %s: reflection %d: %w", e.ID, k+1, err)
		}
		if text == "" || slices.ContainsFunc(l.Reflections, func(a TriedAdvice) bool { return a.Text == text }) {
			continue
		}
		a := TriedAdvice{Text: text}
		for play := range c.Plays {
			next, _, err := PlayEpisode(ctx, env, p.Agent, EpisodeSpec{
				Game: GameInfo{ID: e.Task, Split: e.Split, TaskType: e.TaskType, Goal: e.Goal}, Phase: "preferences", Trial: play,
				Seed:        rng.Seed(b.Seed, "preferences", e.ID, play),
				Reflections: newest(append(slices.Clone(e.Reflections), text), info.Config.Reflections), Agent: info,
			})
			if err != nil {
				return nil, err
			}
			a.Plays++
			if next.Success {
				a.Wins++
			}
		}
		l.Reflections = append(l.Reflections, a)
	}
	return l, nil
}
