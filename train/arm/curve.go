package arm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// CurveFormat is the format tag of a point of the learning curve.
const CurveFormat = "muse/armcurve@1"

// Point is one line of curve.jsonl: how well the agent plays after so much training.
type Point struct {
	Format    string             `json:"format"`
	Round     int                `json:"round"`     // own episodes a task so far
	Decisions int                `json:"decisions"` // of own play; those that seed the replay are not counted
	Updates   int                `json:"updates"`
	Success   float64            `json:"success"` // mean over the tasks, any step
	Last      float64            `json:"success_last"`
	AUROC     float64            `json:"psi_auroc"` // of Σψ over all steps, macro over the tasks that have both outcomes; 0 if none has
	Tasks     []TaskPoint        `json:"tasks"`
	Losses    worldmodel.Metrics `json:"losses"` // mean over the updates since the last point
}

// TaskPoint is one task of a [Point].
type TaskPoint struct {
	Task    string  `json:"task"`
	Success float64 `json:"success"`      // solved at any step
	Last    float64 `json:"success_last"` // the goal holds at the last step
	Time    float64 `json:"time"`         // mean decisions to the first success; a failure counts the limit
	Return  float64 `json:"return"`       // mean sum of rewards
}

// measure adds a point to the curve.
func (l *Learner) measure() error {
	p := Point{Format: CurveFormat, Round: l.round, Decisions: l.round * limit * len(l.cfg.Tasks), Updates: l.trainer.Updates(), Losses: l.sums}
	divideMetrics(&p.Losses, l.n)
	l.sums, l.n = worldmodel.Metrics{}, 0
	l.shown = nil
	l.player.mean = true
	var scores []taskScore
	for _, t := range l.cfg.Tasks {
		w, err := gridarm.NewWorld(t, envOptions(false))
		if err != nil {
			return err
		}
		s := taskScore{}
		for k := range l.cfg.EvalGames {
			l.player.record = k == 0
			w.ResetInto(rng.Seed(l.seed, "measure", "worlds"), k, l.player.obs)
			e, err := s.play(l.player, w, rng.Seed(l.seed, "measure", t.String(), k))
			if err != nil {
				return err
			}
			if k == 0 {
				e.ID, e.Phase, e.Arm, e.Trial, e.Seed = fmt.Sprintf("%s#train/%d", e.Task, l.round), "train", "off", l.round, l.seed
				e.Agent = Agent{Config: AgentConfig{Name: "world model", Limit: limit, Mean: true}, Model: AgentModel{Name: "worldmodel"}, Selector: "off", Assessor: assessor(l.Model())}
				l.shown = append(l.shown, e)
			}
		}
		l.player.record = false
		scores = append(scores, s)
		tp := s.point(t.String())
		p.Tasks = append(p.Tasks, tp)
		p.Success += tp.Success / float64(len(l.cfg.Tasks))
		p.Last += tp.Last / float64(len(l.cfg.Tasks))
	}
	p.AUROC = macroAUROC(scores)
	l.curve = append(l.curve, p)
	return nil
}

// export writes what can be read of a checkpoint without this program.
func (l *Learner) export(run *train.Run) error {
	if err := writeLines(run.Path(FileCurve), l.curve); err != nil {
		return err
	}
	return writeLines(run.Path(train.FileEpisodes), l.shown)
}

func writeLines[T any](path string, v []T) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, x := range v {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("arm: %s: %w", path, err)
		}
	}
	if err := atomicfile.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("arm: %w", err)
	}
	return nil
}
