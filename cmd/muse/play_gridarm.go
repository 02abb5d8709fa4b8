package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/train/arm"
	"github.com/muse-agent/muse/viewer"
	"github.com/muse-agent/muse/worldmodel"
)

// modelFile is the world model in the run folder of muse train worldmodel.
const modelFile = "model.safetensors"

// playArmWindow plays the arm in the window; with a world model it shows ψ and where the
// model would go.
func (a *app) playArmWindow(ctx context.Context, t gridarm.Task, o gridarm.Options, seed uint64, episode int, w *windowFlags) error {
	var m *worldmodel.Model
	name, note := "", "you play alone; --worldmodel lets a model watch and say ψ"
	if w.model != "" {
		path := w.model
		if isDir(path) {
			path = filepath.Join(path, modelFile)
		}
		var err error
		if m, err = worldmodel.Load(path); err != nil {
			return fmt.Errorf("--worldmodel: %w (make one with `muse train worldmodel --env gridarm`)", err)
		}
		name, note = filepath.Base(filepath.Dir(path)), ""
	}
	g, err := arm.NewGame(t, o, seed, episode, m, name, w.futures)
	if err != nil {
		return err
	}
	return a.playWindow(ctx, w.theme, func(ctx context.Context, out *windowGame) error {
		effort, total, said := float32(-1), 0.0, note
		script := gridarm.Scripted(t)
		for {
			if err := out.send(viewer.Turn{Keys: playKeys, Note: said}, g.Record()); err != nil {
				return err
			}
			key, err := out.move(ctx)
			if err != nil {
				return err
			}
			act := make([]float32, gridarm.ActionSize)
			switch k := []rune(key + " ")[0]; k {
			case 'x':
				script(g.Obs(), act)
				effort = act[3]
			case 'o':
				effort = -1
			case 'c':
				effort = 1
			default:
				if way, ok := armWays[k]; ok {
					act[way.axis] = way.sign
				}
			}
			act[3] = effort
			res := g.Step(act)
			total += res.Reward
			said = words(fmt.Sprintf("reward %.2f, sum %.1f", res.Reward, total), map[bool]string{true: "SUCCESS"}[res.Success], note)
			if g.Over() {
				e := g.Record()
				end := fmt.Sprintf("Not solved in %d decisions; return %.1f.", len(e.Steps), total)
				if e.Success {
					end = fmt.Sprintf("Solved at decision %d; return %.1f.", e.SolvedAt, total)
				}
				return out.end(ctx, end, e)
			}
		}
	})
}

// armWays are the keys that move the hand.
var armWays = map[rune]struct {
	axis int
	sign float32
}{'d': {0, 1}, 'a': {0, -1}, 'w': {1, 1}, 's': {1, -1}, 'r': {2, 1}, 'f': {2, -1}}
