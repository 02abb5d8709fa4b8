package train

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
)

// AdaptConfig are the settings of Algorithm 4's schedule.
type AdaptConfig struct {
	Episodes    int    `json:"episodes"`     // adaptation episodes a task
	Tests       int    `json:"tests"`        // test episodes a task, without updates
	UntilSolved bool   `json:"until_solved"` // end adaptation at the first success
	Reflect     bool   `json:"reflect"`      // hand reflections on, also to the tests
	By          string `json:"by,omitempty"` // who plays the adaptation episodes: "self" or "plain"
	Update      bool   `json:"update"`       // update M_sa; false is the control
	// Notes replaces reflections by plain notes of what all earlier episodes of the
	// task have shown, won ones included (see corpus.Notes).
	Notes bool `json:"notes,omitempty"`
	// Rooms lets the world model remember the room from earlier episodes of the task.
	Rooms bool                   `json:"rooms,omitempty"`
	MSA   selfassess.AdaptConfig `json:"msa"`
}

// DefaultAdapt: five adaptation episodes, then five tests, M_sa's head updated.
func DefaultAdapt() AdaptConfig {
	return AdaptConfig{Episodes: 5, Tests: 5, Reflect: true, Update: true, MSA: selfassess.DefaultAdapt()}
}

// Validate reports all problems at once.
func (c AdaptConfig) Validate() error {
	var errs []error
	if c.Episodes < 1 {
		errs = append(errs, fmt.Errorf("train: adapt: episodes is %d; at least 1 is needed", c.Episodes))
	}
	if c.Tests < 0 {
		errs = append(errs, fmt.Errorf("train: adapt: tests is %d; it must be 0 or more", c.Tests))
	}
	return errors.Join(append(errs, c.MSA.Validate())...)
}

// AdaptArm is an agent that adapts to one task at a time.
type AdaptArm struct {
	Name string
	// By plays the adaptation episodes.
	By Player
	// Test makes the player of the test episodes with the adapted M_sa, which is
	// nil for agents without one.
	Test func(m *selfassess.Model) (Player, error)
	// MSA is the trained model that adaptation starts from, for every task anew;
	// nil for agents without one.
	MSA *selfassess.Model
	// Model reads the hidden states of the adaptation episodes again; needed where
	// MSA has input "hidden".
	Model llm.Model
	// Reflect says that the agent has a memory for reflections.
	Reflect bool
}

// Adapt runs Algorithm 4 on every game of the bench, task by task: adaptation
// episodes, an update of M_sa's head from them and a replay of training rows, test
// episodes. Tests share the seeds of `eval`, test i those of rep i. It continues
// where an interrupted call ended.
func Adapt(ctx context.Context, r *Run, b *Bench, arms []AdaptArm, replay *selfassess.Replay, c AdaptConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if len(b.Games) == 0 || len(arms) == 0 {
		return errors.New("train: adapt: at least one game and one arm are needed")
	}
	names := make([]string, len(arms))
	for i, a := range arms {
		names[i] = a.Name
	}
	if err := distinct("adapt", names); err != nil {
		return err
	}
	var plan []string
	for _, g := range b.Games {
		for _, a := range arms {
			plan = append(plan, g.ID()+"#"+a.Name)
		}
	}
	return b.runUnits(ctx, r, "adapt", plan, func(ctx context.Context, i int) (unitResult, error) {
		g, a := b.Games[i/len(arms)], arms[i%len(arms)]
		reflect := c.Reflect && a.Reflect
		notes := c.Notes && a.Reflect
		es, ts, past, err := b.play(ctx, g, a.By, trials{
			phase: "adapt", arm: a.Name, n: c.Episodes, reflect: reflect && !notes, untilSolved: c.UntilSolved, seedPath: "adapt",
			notes: notes, rooms: c.Rooms,
		})
		if err != nil {
			return unitResult{}, err
		}
		m := a.MSA
		if m != nil && c.Update {
			fresh := ptrs(es)
			if err := readFor(ctx, m.Config().Input, a.Model, fresh, 1); err != nil {
				return unitResult{}, err
			}
			if m, err = adaptTo(ctx, m, replay, g.ID(), fresh, c.MSA); err != nil {
				return unitResult{}, err
			}
		}
		p, err := a.Test(m)
		if err != nil {
			return unitResult{}, err
		}
		for k := range c.Tests {
			te, tt, _, err := b.play(ctx, g, p, trials{phase: "test", arm: a.Name, rep: uint64(k), n: 1, past: past.frozen(), notes: notes, rooms: c.Rooms, seedPath: "eval"})
			if err != nil {
				return unitResult{}, err
			}
			es, ts = append(es, te...), append(ts, tt...)
		}
		return unitResult{es, ts}, nil
	})
}

// adaptTo is the update of one task, deterministic by the task's name.
func adaptTo(ctx context.Context, m *selfassess.Model, replay *selfassess.Replay, task string, es []*Episode, c selfassess.AdaptConfig) (*selfassess.Model, error) {
	c.Seed = rng.Seed(c.Seed, "adapt", task)
	n, err := selfassess.AdaptWith(ctx, m, replay, Chunks(es), c)
	if err != nil {
		return nil, fmt.Errorf("train: adapting to %s: %w", task, err)
	}
	return n, nil
}

func ptrs(es []Episode) []*Episode {
	out := make([]*Episode, len(es))
	for i := range es {
		out[i] = &es[i]
	}
	return out
}

// TestParts condenses the test episodes of an adapt run into parts, one an arm.
func TestParts(b *Bench, es []*Episode, c *AdaptConfig) []*Part {
	var parts []*Part
	byArm := map[string]*Part{}
	for _, e := range es {
		if e.Phase != "test" {
			continue
		}
		p := byArm[e.Arm]
		if p == nil {
			s := b.spec(Arm{Player: Player{Info: e.Agent}, Trials: 1})
			s.Adaptation, s.Adapt = AdaptTask, c
			s.Agent.Assessor = adaptedName(s.Agent.Assessor)
			p = NewPart(e.Arm, s)
			p.Games = b.Set
			byArm[e.Arm] = p
			parts = append(parts, p)
		}
		p.Rows = append(p.Rows, row([]Episode{*e}))
	}
	return parts
}

// adaptedName drops the hash of one task's weights from an assessor's name.
func adaptedName(s string) string {
	name, _, _ := strings.Cut(s, "@")
	if name == "" {
		return ""
	}
	return name + " adapted"
}
