package arm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// Names of the files of a training's folder, beside run.json and episodes.jsonl.
const (
	FileCheckpoint = "checkpoint.safetensors" // everything to go on with, replay included
	FileModel      = "model.safetensors"      // the model alone
	FileCurve      = "curve.jsonl"
	FileCurvePlot  = "curve.svg"
	FileReport     = "report.json"
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

// Learner trains a model on tasks of the arm. Not safe for concurrent use.
type Learner struct {
	cfg     Config
	seed    uint64
	trainer *worldmodel.Trainer
	replay  *worldmodel.Replay
	player  *player
	round   int
	curve   []Point
	shown   []Episode // of the last point, one a task
	sums    worldmodel.Metrics
	n       int
}

// NewLearner begins a training; the replay is seeded, nothing is learnt yet.
func NewLearner(cfg Config, seed uint64) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := worldmodel.New(cfg.Model, rng.Seed(seed, "weights"))
	if err != nil {
		return nil, err
	}
	tr, err := worldmodel.NewTrainer(m, rng.Seed(seed, "training"))
	if err != nil {
		return nil, err
	}
	n, capacity := lanes(cfg)
	rp, err := worldmodel.NewReplay(cfg.Model, n, capacity)
	if err != nil {
		return nil, err
	}
	l := &Learner{cfg: cfg, seed: seed, trainer: tr, replay: rp, player: newPlayer(m)}
	return l, seedReplay(cfg, seed, rp)
}

// OpenLearner goes on from a checkpoint of a training with the same settings.
func OpenLearner(path string, cfg Config, seed uint64) (*Learner, error) {
	tr, rp, user, err := worldmodel.LoadTrainer(path)
	if err != nil {
		return nil, err
	}
	l := &Learner{cfg: cfg, seed: seed, trainer: tr, replay: rp, player: newPlayer(tr.Model())}
	bad := func(what string, err error) error {
		return fmt.Errorf("arm: %s is not a checkpoint of this training: %s: %w; remove it to begin anew", path, what, err)
	}
	if rp == nil {
		return nil, bad("replay", errors.New("there is none"))
	}
	if l.round, err = strconv.Atoi(user["round"]); err != nil {
		return nil, bad("round", err)
	}
	var s struct {
		Curve []Point            `json:"curve"`
		Shown []Episode          `json:"shown"`
		Sums  worldmodel.Metrics `json:"sums"`
		N     int                `json:"n"`
	}
	if err := json.Unmarshal([]byte(user["progress"]), &s); err != nil {
		return nil, bad("progress", err)
	}
	l.curve, l.shown, l.sums, l.n = s.Curve, s.Shown, s.Sums, s.N
	return l, nil
}

// Save writes the checkpoint, atomically.
func (l *Learner) Save(path string) error {
	b, err := json.Marshal(map[string]any{"curve": l.curve, "shown": l.shown, "sums": l.sums, "n": l.n})
	if err != nil {
		return fmt.Errorf("arm: checkpoint: %w", err)
	}
	return l.trainer.Save(path, l.replay, map[string]string{"round": strconv.Itoa(l.round), "progress": string(b)})
}

// Model is the model that learns.
func (l *Learner) Model() *worldmodel.Model { return l.trainer.Model() }

// Round is the number of rounds done.
func (l *Learner) Round() int { return l.round }

// Curve are the points so far.
func (l *Learner) Curve() []Point { return l.curve }

// done reports whether nothing is left to do.
func (l *Learner) done() bool {
	return l.round >= l.cfg.Rounds && l.trainer.Updates() >= l.cfg.Pretrain
}

// update trains n times.
func (l *Learner) update(n int) error {
	for range n {
		m, err := l.trainer.Update(l.replay)
		if err != nil {
			return err
		}
		addMetrics(&l.sums, m)
		l.n++
	}
	return nil
}

// pretrainPiece is how many of the updates before the first own episode are done in one
// step, so that they can be interrupted too.
const pretrainPiece = 100

// Step does one round: an episode of each task, the updates that belong to it, and
// where it is due a point of the curve. Before the first round come the updates on the
// seeded episodes, some in each step. An error that matches worldmodel.ErrDiverged leaves the learner unusable;
// its last checkpoint is good.
func (l *Learner) Step() error {
	if l.trainer.Updates() < l.cfg.Pretrain {
		n := min(pretrainPiece, l.cfg.Pretrain-l.trainer.Updates())
		if err := l.update(n); err != nil || l.trainer.Updates() < l.cfg.Pretrain {
			return err
		}
		return l.measure()
	}
	steps := 0
	for i, t := range l.cfg.Tasks {
		rnd := rng.New(l.seed, "play", l.round, t.String())
		w, err := gridarm.NewWorld(t, envOptions(rnd.Float64() < l.cfg.HideTask))
		if err != nil {
			return err
		}
		l.player.mean = rnd.Float64() < l.cfg.Deterministic
		w.ResetInto(rng.Seed(l.seed, "play", "worlds"), l.round, l.player.obs)
		draws := rnd.Uint64()
		if _, err := playInto(l.player, w, draws, l.replay, ownLane(i)); err != nil {
			return err
		}
		steps += limit
		if err := l.branches(i, w, draws, rnd); err != nil {
			return err
		}
	}
	l.round++
	if err := l.update(updates(l.cfg.Model, steps)); err != nil {
		return err
	}
	if l.round%l.cfg.EvalEvery == 0 || l.round == l.cfg.Rounds {
		return l.measure()
	}
	return nil
}

// branches adds continuations of states of the episode that w has just ended to the lane of
// task i: the way to the state (again with the same draws, so that state and latent state
// are those of the episode), another action, and the actor from there on. Only what
// follows the state is labelled.
func (l *Learner) branches(i int, w *gridarm.World, draws uint64, rnd *rand.Rand) error {
	if l.cfg.Siblings == 0 {
		return nil
	}
	p := l.player
	s := w.State()
	for range l.cfg.Siblings {
		at := rnd.IntN(limit - 1)
		p.detour = func(t int, act []float32) {
			if t == at {
				for k := range act {
					act[k] = 2*rnd.Float32() - 1
				}
			}
		}
		w.ResetInto(s.Seed, s.Episode, p.obs)
		e, err := p.play(w, draws, func(st worldmodel.Step, _ float64) error { return l.replay.Add(ownLane(i), st) })
		p.detour = nil
		if err != nil {
			return err
		}
		solved := e.SolvedAt
		if solved == 0 {
			solved = -1
		}
		if err := l.replay.Label(ownLane(i), at+1, worldmodel.QuantileLabels(len(p.psi), solved, limit)); err != nil {
			return err
		}
	}
	return nil
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

func assessor(m *worldmodel.Model) string {
	if m.Config().Quantiles == 0 {
		return ""
	}
	return "psi"
}

// playInto plays an episode into a lane and labels it.
func playInto(p *player, w *gridarm.World, draws uint64, rp *worldmodel.Replay, lane int) (Episode, error) {
	e, err := p.play(w, draws, func(s worldmodel.Step, _ float64) error { return rp.Add(lane, s) })
	if err != nil {
		return e, err
	}
	solved := e.SolvedAt
	if solved == 0 {
		solved = -1
	}
	return e, rp.Label(lane, 0, worldmodel.QuantileLabels(len(p.psi), solved, limit))
}

// Control is what a caller may do while a training runs.
type Control struct {
	// Stop is asked after each round; true saves a checkpoint and ends with ErrStopped.
	Stop func() bool
	// Point is told each new point of the curve.
	Point    func(Point)
	Progress *train.Progress
}

// ErrStopped: the caller wanted to stop; the same command goes on.
var ErrStopped = errors.New("arm: stopped before the end")

// Train runs a training in a folder, from its last checkpoint if there is one. An
// interrupt saves before it returns. Training that diverges ends with an error that
// matches worldmodel.ErrDiverged and names the last good checkpoint.
func Train(ctx context.Context, run *train.Run, cfg Config, c Control) (*Learner, error) {
	path := run.Path(FileCheckpoint)
	var l *Learner
	_, err := os.Stat(path)
	switch {
	case err == nil:
		l, err = OpenLearner(path, cfg, run.Manifest.Seed)
	case errors.Is(err, fs.ErrNotExist):
		l, err = NewLearner(cfg, run.Manifest.Seed)
	}
	if err != nil {
		return nil, err
	}
	defer l.trainer.Close()
	c.Progress.Add(l.round, "")
	saved := l.round
	save := func() error {
		if err := l.Save(path); err != nil {
			return err
		}
		saved = l.round
		return l.export(run)
	}
	for !l.done() {
		points, round := len(l.curve), l.round
		if err := l.Step(); err != nil {
			if errors.Is(err, worldmodel.ErrDiverged) {
				return nil, fmt.Errorf("round %d: %w; %s holds round %d", l.round, err, path, saved)
			}
			return nil, err
		}
		note := fmt.Sprintf("%d updates", l.trainer.Updates())
		for _, p := range l.curve[points:] {
			note = fmt.Sprintf("success %.2f", p.Success)
			if c.Point != nil {
				c.Point(p)
			}
		}
		c.Progress.Add(l.round-round, note)
		stop := ctx.Err() != nil || c.Stop != nil && c.Stop()
		if stop || l.round == round || l.round%cfg.SaveEvery == 0 || l.done() {
			if err := save(); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return l, err
		}
		if stop && !l.done() {
			return l, ErrStopped
		}
	}
	svg := atomicfile.WriteFile(run.Path(FileCurvePlot), []byte(PlotCurve(l.curve)), 0o644)
	return l, errors.Join(l.export(run), svg, l.Model().Save(run.Path(FileModel)))
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
