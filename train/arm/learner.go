package arm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/worldmodel"
)

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
	if err := l.same(user); err != nil {
		return nil, bad("settings", err)
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

// same compares a checkpoint with the settings that l was opened with.
func (l *Learner) same(user map[string]string) error {
	want, err := l.settings()
	if err != nil {
		return err
	}
	if got, ok := user["settings"]; ok && got != want {
		return errors.New("it was made with other settings or another seed")
	}
	if l.Model().Config() != l.cfg.Model {
		return errors.New("its model is another one")
	}
	if n, _ := lanes(l.cfg); l.replay.Lanes() != n {
		return fmt.Errorf("its replay is of %d tasks, the training has %d", l.replay.Lanes()/2, len(l.cfg.Tasks))
	}
	return nil
}

// settings are what a checkpoint is only good for.
func (l *Learner) settings() (string, error) {
	b, err := json.Marshal(map[string]any{"config": l.cfg, "seed": l.seed})
	if err != nil {
		return "", fmt.Errorf("arm: settings: %w", err)
	}
	return string(b), nil
}

// Save writes the checkpoint, atomically.
func (l *Learner) Save(path string) error {
	b, err := json.Marshal(map[string]any{"curve": l.curve, "shown": l.shown, "sums": l.sums, "n": l.n})
	if err != nil {
		return fmt.Errorf("arm: checkpoint: %w", err)
	}
	set, err := l.settings()
	if err != nil {
		return err
	}
	return l.trainer.Save(path, l.replay, map[string]string{"round": strconv.Itoa(l.round), "progress": string(b), "settings": set})
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
