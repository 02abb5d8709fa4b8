package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/muse-agent/muse/envs/textworld"
)

// Arm is one row of the table: an agent under one set of settings.
type Arm struct {
	Name    string
	Player  Player
	Trials  int  // episodes of a game in sequence, at least 1
	Reflect bool // lost trials are reflected on; without it they are just repeated
	Expert  bool // the hand-coded player that knows the state; Player is not used
}

// EvalConfig are the settings of an evaluation.
type EvalConfig struct {
	Seeds int    `json:"seeds"` // evaluation seeds (reps) a game
	Parts string `json:"-"`     // folder with finished rows, "" = none
}

// spec is what decides an arm's rows.
func (b *Bench) spec(a Arm) PartSpec {
	return PartSpec{
		Agent: a.Player.Info, Adaptation: AdaptNone, Trials: max(1, a.Trials), Reflect: a.Reflect,
		Seed: b.Seed, Engine: engine(b), MaxSteps: b.Env.MaxSteps,
	}
}

// distinct refuses arms of one name: their episodes could not be told apart.
func distinct(what string, names []string) error {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return fmt.Errorf("train: %s: two arms are called %q; name each agent once, and give each self-assessment a name of its own (--msa NAME=PATH)", what, n)
		}
		seen[n] = true
	}
	return nil
}

// engine is the version of the rules that the bench plays.
func engine(b *Bench) string {
	if len(b.Games) == 0 {
		return ""
	}
	e := textworld.New(b.Games[0], b.Env)
	defer e.Close()
	return e.Spec().Version
}

// Eval plays every arm on every game of the bench under c.Seeds seeds. Arms share
// seeds: the same game and rep has the same draws for all of them. Rows found in
// c.Parts are not played again; finished rows are merged into it at the end and
// on interrupts. It returns one part an arm with the rows of this selection.
func Eval(ctx context.Context, r *Run, b *Bench, arms []Arm, c EvalConfig) (parts []*Part, err error) {
	if len(b.Games) == 0 || len(arms) == 0 || c.Seeds < 1 {
		return nil, errors.New("train: eval: at least one game, one arm and one seed are needed")
	}
	names := make([]string, len(arms))
	for i, a := range arms {
		names[i] = a.Name
	}
	if err := distinct("eval", names); err != nil {
		return nil, err
	}
	type unit struct {
		arm, game int
		rep       uint64
	}
	var units []unit
	var plan []string
	for rep := range c.Seeds {
		for g := range b.Games {
			for a := range arms {
				units = append(units, unit{a, g, uint64(rep)})
				plan = append(plan, fmt.Sprintf("%s#%s/%d", b.Games[g].ID(), arms[a].Name, rep))
			}
		}
	}
	wanted := map[string]bool{}
	for _, g := range b.Games {
		for rep := range c.Seeds {
			wanted[PartRow{Game: g.ID(), Rep: uint64(rep)}.id()] = true
		}
	}
	have := map[string]bool{} // arm name + row id
	if c.Parts != "" {        // better before the hours of play than after them
		if err := os.MkdirAll(c.Parts, 0o755); err != nil {
			return nil, fmt.Errorf("train: parts: %w (choose another folder with --parts)", err)
		}
	}
	for _, a := range arms {
		p := NewPart(a.Name, b.spec(a))
		p.Games = b.Set
		if c.Parts != "" {
			path := filepath.Join(c.Parts, p.File())
			old, err := ReadPart(path)
			if err == nil {
				err = old.sameSet(path, b.Set)
			}
			if err == nil {
				p.Rows = slices.DeleteFunc(old.Rows, func(r PartRow) bool { return !wanted[r.id()] })
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		for _, r := range p.Rows {
			have[a.Name+" "+r.id()] = true
		}
		parts = append(parts, p)
	}
	// What the folder's own episodes hold counts like a part.
	rest := make([]unit, 0, len(units))
	restPlan := make([]string, 0, len(plan))
	done, err := r.finishedUnits()
	if err != nil {
		return nil, err
	}
	for i, u := range units {
		id := PartRow{Game: b.Games[u.game].ID(), Rep: u.rep}.id()
		if done[plan[i]] || !have[arms[u.arm].Name+" "+id] {
			rest = append(rest, u)
			restPlan = append(restPlan, plan[i])
		}
	}
	if n := len(units) - len(rest); n > 0 && b.Progress != nil {
		fmt.Fprintf(b.Progress, "eval: %d of %d rows are in %s\n", n, len(units), c.Parts)
	}
	err = b.runUnits(ctx, r, "eval", restPlan, func(ctx context.Context, i int) (unitResult, error) {
		u := rest[i]
		a := arms[u.arm]
		if a.Expert {
			e, tm, err := b.playExpert(ctx, b.Games[u.game], a, u.rep)
			return unitResult{[]Episode{e}, []Timing{tm}}, err
		}
		es, ts, _, err := b.play(ctx, b.Games[u.game], a.Player, trials{
			phase: "eval", arm: a.Name, rep: u.rep, n: max(1, a.Trials), reflect: a.Reflect, seedPath: "eval",
		})
		return unitResult{es, ts}, err
	})
	// Also after an interrupt: what is finished goes into the parts.
	if e := collectRows(r, arms, parts); e != nil {
		return nil, errors.Join(err, e)
	}
	if c.Parts != "" {
		for _, p := range parts {
			if len(p.Rows) == 0 {
				continue
			}
			// Save merges rows of other selections into the file, not into ours.
			q := *p
			q.Rows = slices.Clone(p.Rows)
			if e := q.Save(c.Parts); e != nil {
				return nil, errors.Join(err, e)
			}
		}
	}
	return parts, err
}

// collectRows adds the rows of the finished units of the run folder to the parts.
func collectRows(r *Run, arms []Arm, parts []*Part) error {
	index := map[string]int{}
	for i, a := range arms {
		index[a.Name] = i
	}
	var unit []Episode
	return EachEpisode(r.Dir, func(e *Episode) error {
		unit = append(unit, *e)
		if !e.Final {
			return nil
		}
		es := unit
		unit = nil
		i, ok := index[e.Arm]
		if !ok {
			return nil
		}
		return parts[i].Add(row(es))
	})
}
