package worldmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/muse-agent/muse/internal/safetensors"
)

// CheckpointFormat is the format tag of saved models and trainings.
const CheckpointFormat = "muse/worldmodel@1"

// ErrCheckpoint is matched when a file is not a readable checkpoint of a world model.
var ErrCheckpoint = errors.New("worldmodel: not a usable checkpoint")

// ErrModelOnly is matched when a file holds a model, but nothing of its training.
var ErrModelOnly = errors.New("worldmodel: a model without its training")

// The keys of a checkpoint's metadata that this package writes.
const (
	keyFormat = "format"
	keyConfig = "config"
	keySeed   = "seed"
	keyUpdate = "updates"
	keyStep   = "optimizer_steps"
	keyReplay = "replay_size"
	userKeys  = "user." // before the caller's own keys
)

// Save writes the weights and the configuration to path as safetensors, atomically.
// Equal models give equal bytes. A model with a weight that is not finite is refused,
// so that path keeps the last good one.
func (m *Model) Save(path string) error {
	f, err := m.file()
	if err != nil {
		return fmt.Errorf("worldmodel: saving %s: %w", path, err)
	}
	if err := safetensors.Save(path, f); err != nil {
		return fmt.Errorf("worldmodel: saving the model: %w", err)
	}
	return nil
}

func (m *Model) file() (*safetensors.File, error) {
	cfg, err := json.Marshal(m.cfg)
	if err != nil {
		return nil, err
	}
	f := &safetensors.File{Metadata: map[string]string{keyFormat: CheckpointFormat, keyConfig: string(cfg)}}
	for _, t := range m.net.tensors {
		w := m.net.span(t)
		if i := notFinite(w); i >= 0 {
			return nil, fmt.Errorf("%w: weight %s[%d] is %g", ErrDiverged, t.name, i, w[i])
		}
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.name, Shape: t.shape, F32: w})
	}
	return f, nil
}

func notFinite(x []float32) int {
	for i, v := range x {
		if v != v || math.IsInf(float64(v), 0) {
			return i
		}
	}
	return -1
}

// reader collects the problems of one file.
type reader struct {
	path string
	f    *safetensors.File
}

func open(path string) (*reader, error) {
	f, err := safetensors.Load(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	r := &reader{path, f}
	if got := f.Metadata[keyFormat]; got != CheckpointFormat {
		return nil, r.bad("format is %q, this version reads %q", got, CheckpointFormat)
	}
	return r, nil
}

func (r *reader) bad(format string, a ...any) error {
	return fmt.Errorf("%w: %s: %s; train the model again or give another file", ErrCheckpoint, r.path, fmt.Sprintf(format, a...))
}

func (r *reader) number(key string) (int, error) {
	v, err := strconv.Atoi(r.f.Metadata[key])
	if err != nil || v < 0 {
		return 0, r.bad("%s is %q", key, r.f.Metadata[key])
	}
	return v, nil
}

func (r *reader) model() (*Model, error) {
	var cfg Config
	if err := json.Unmarshal([]byte(r.f.Metadata[keyConfig]), &cfg); err != nil {
		return nil, r.bad("config: %v", err)
	}
	if err := cfg.Validate(); err != nil {
		return nil, r.bad("config: %v", err)
	}
	m := &Model{cfg: cfg, net: newNet[float32](cfg)}
	for _, t := range m.net.tensors {
		w, err := r.f.Float32(t.name, t.shape...)
		if err != nil {
			return nil, r.bad("%v", err)
		}
		if i := notFinite(w); i >= 0 {
			return nil, r.bad("weight %s[%d] is %g", t.name, i, w[i])
		}
		copy(m.net.span(t), w)
	}
	return m, nil
}

// Load reads the model of a file that [Model.Save] or [Trainer.Save] wrote. Errors match
// [ErrCheckpoint].
func Load(path string) (*Model, error) {
	r, err := open(path)
	if err != nil {
		return nil, err
	}
	return r.model()
}

// Save writes everything that training needs to go on exactly: weights, optimiser,
// counters and the replay (nil leaves it out), in one file, atomically. user is kept
// for the caller. Since no random state is carried from one update to the next, a
// training that is killed and resumed gives the bytes of a straight run.
func (t *Trainer) Save(path string, r *Replay, user map[string]string) error {
	f, err := t.m.file()
	if err != nil {
		return fmt.Errorf("worldmodel: saving %s: %w", path, err)
	}
	for k, v := range user {
		f.Metadata[userKeys+k] = v
	}
	f.Metadata[keySeed] = strconv.FormatUint(t.seed, 10)
	f.Metadata[keyUpdate] = strconv.Itoa(t.updates)
	f.Metadata[keyStep] = strconv.Itoa(t.opt.step)
	n := len(t.opt.momentum)
	f.Tensors = append(f.Tensors,
		safetensors.Tensor{Name: "optimizer.momentum", Shape: []int{n}, F32: t.opt.momentum},
		safetensors.Tensor{Name: "optimizer.scale", Shape: []int{n}, F32: t.opt.scale},
		safetensors.Tensor{Name: "trainer.means", Shape: []int{2}, F64: []float64{t.returns, t.usual}})
	if r != nil {
		r.write(f)
	}
	if err := safetensors.Save(path, f); err != nil {
		return fmt.Errorf("worldmodel: saving the training: %w", err)
	}
	return nil
}

// LoadTrainer reads what [Trainer.Save] wrote; the replay is nil if none was saved.
// Errors match [ErrCheckpoint].
// A file that holds a model and nothing of its training is an [ErrModelOnly].
func LoadTrainer(path string) (t *Trainer, replay *Replay, user map[string]string, err error) {
	r, err := open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := r.model()
	if err != nil {
		return nil, nil, nil, err
	}
	if _, ok := r.f.Metadata[keySeed]; !ok {
		return nil, nil, nil, fmt.Errorf("%w: %w: %s; give the checkpoint of its training", ErrCheckpoint, ErrModelOnly, path)
	}
	seed, err := strconv.ParseUint(r.f.Metadata[keySeed], 10, 64)
	if err != nil {
		return nil, nil, nil, r.bad("seed is %q", r.f.Metadata[keySeed])
	}
	updates, err := r.number(keyUpdate)
	if err != nil {
		return nil, nil, nil, err
	}
	steps, err := r.number(keyStep)
	if err != nil {
		return nil, nil, nil, err
	}
	n := len(m.net.flat)
	momentum, err1 := r.f.Float32("optimizer.momentum", n)
	scale, err2 := r.f.Float32("optimizer.scale", n)
	means, err3 := r.f.Float64("trainer.means", 2)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, nil, r.bad("%v", err)
	}
	if _, ok := r.f.Metadata[keyReplay]; ok {
		if replay, err = r.replay(m.cfg); err != nil {
			return nil, nil, nil, err
		}
	}
	if t, err = NewTrainer(m, seed); err != nil {
		return nil, nil, nil, err
	}
	t.updates, t.returns, t.usual = updates, means[0], means[1]
	t.opt.step = steps
	copy(t.opt.momentum, momentum)
	copy(t.opt.scale, scale)
	user = map[string]string{}
	for k, v := range maps.All(r.f.Metadata) {
		if len(k) > len(userKeys) && k[:len(userKeys)] == userKeys {
			user[k[len(userKeys):]] = v
		}
	}
	return t, replay, user, nil
}

// write adds the replay to a file.
func (r *Replay) write(f *safetensors.File) {
	f.Metadata[keyReplay] = strconv.Itoa(r.size)
	c := r.cfg
	var counters []int64
	for i := range r.lanes {
		l := &r.lanes[i]
		counters = append(counters, int64(l.n), int64(l.start), int64(l.fresh))
		n := len(l.reward)
		if n == 0 {
			continue
		}
		name := func(s string) string { return fmt.Sprintf("replay.%d.%s", i, s) }
		f.Tensors = append(f.Tensors,
			safetensors.Tensor{Name: name("reward"), Shape: []int{n}, F32: l.reward},
			safetensors.Tensor{Name: name("action"), Shape: []int{n, c.Action}, F32: l.act},
			safetensors.Tensor{Name: name("h"), Shape: []int{n, c.Deter}, F32: l.h},
			safetensors.Tensor{Name: name("z"), Shape: []int{n, c.Stoch}, U8: l.z},
			safetensors.Tensor{Name: name("flags"), Shape: []int{n}, U8: l.flags})
		if c.Imitate > 0 {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name("target"), Shape: []int{n, c.Action}, F32: l.target})
		}
		if c.Obs > 0 {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name("obs"), Shape: []int{n, c.Obs}, F32: l.obs})
		}
		if c.Grid > 0 {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name("grid"), Shape: []int{n, c.Grid}, U8: l.grid})
		}
		if c.Quantiles > 0 {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name("labels"), Shape: []int{n, c.Quantiles}, U8: l.labels})
		}
	}
	f.Tensors = append(f.Tensors, safetensors.Tensor{Name: "replay.counters", Shape: []int{len(r.lanes), 3}, I64: counters})
}

// replay reads a replay and checks that every length and index fits.
func (r *reader) replay(c Config) (*Replay, error) {
	size, err := r.number(keyReplay)
	if err != nil {
		return nil, err
	}
	ct, err := r.f.Lookup("replay.counters")
	if err != nil || ct.I64 == nil || len(ct.Shape) != 2 || ct.Shape[1] != 3 {
		return nil, r.bad("the replay has no usable counters")
	}
	out, err := NewReplay(c, ct.Shape[0], size*ct.Shape[0])
	if err != nil {
		return nil, r.bad("%v", err)
	}
	for i := range out.lanes {
		l := &out.lanes[i]
		l.n, l.start, l.fresh = int(ct.I64[3*i]), int(ct.I64[3*i+1]), int(ct.I64[3*i+2])
		n := min(l.n, size)
		if l.n < 0 || l.start < 0 || l.start > l.n || l.fresh < 0 || l.fresh > l.n {
			return nil, r.bad("the counters of lane %d are %d, %d, %d", i, l.n, l.start, l.fresh)
		}
		if n == 0 {
			continue
		}
		var errs []error
		f32 := func(s string, width int) (x []float32) {
			if width > 0 {
				var err error
				shape := []int{n, width}
				if s == "reward" {
					shape = []int{n}
				}
				if x, err = r.f.Float32(fmt.Sprintf("replay.%d.%s", i, s), shape...); err != nil {
					errs = append(errs, err)
				} else if k := notFinite(x); k >= 0 {
					errs = append(errs, fmt.Errorf("%s[%d] of lane %d is %g", s, k, i, x[k]))
				}
			}
			return x
		}
		u8 := func(s string, width, below int) (x []uint8) {
			if width > 0 {
				t, err := r.f.Lookup(fmt.Sprintf("replay.%d.%s", i, s))
				if err == nil && len(t.U8) != n*width {
					err = fmt.Errorf("%s of lane %d has %d values, want %d", s, i, len(t.U8), n*width)
				}
				if err != nil {
					errs = append(errs, err)
				}
				for k, v := range t.U8 {
					if int(v) >= below {
						errs = append(errs, fmt.Errorf("%s[%d] of lane %d is %d, must be below %d", s, k, i, v, below))
						break
					}
				}
				x = t.U8
			}
			return x
		}
		l.reward, l.obs, l.act, l.h = f32("reward", 1), f32("obs", c.Obs), f32("action", c.Action), f32("h", c.Deter)
		if c.Imitate > 0 {
			l.target = f32("target", c.Action)
		}
		l.grid, l.labels, l.z, l.flags = u8("grid", c.Grid, 256), u8("labels", c.Quantiles, 2), u8("z", c.Stoch, c.Classes), u8("flags", 1, 256)
		if err := errors.Join(errs...); err != nil {
			return nil, r.bad("%v", err)
		}
	}
	return out, nil
}

// LoadReplay reads only the replay of a file that [Trainer.Save] wrote, for training
// another model of the same sizes on it. Errors match [ErrCheckpoint].
func LoadReplay(path string) (*Replay, error) {
	r, err := open(path)
	if err != nil {
		return nil, err
	}
	m, err := r.model()
	if err != nil {
		return nil, err
	}
	if _, ok := r.f.Metadata[keyReplay]; !ok {
		return nil, r.bad("it holds no replay")
	}
	return r.replay(m.cfg)
}
