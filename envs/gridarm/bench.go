package gridarm

import (
	"context"
	"runtime"
	"time"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/internal/rng"
)

// BenchResult are the speeds of the engine on the machine at hand. A decision is
// World.StepInto: the motion, contacts, reward, success and the observation; the load
// is scripted play with noise, all tasks in turn, resets included.
type BenchResult struct {
	DecisionsPerS     float64 `json:"decisions_per_s"`      // state observations, one core, the best window
	DecisionsPerSMean float64 `json:"decisions_per_s_mean"` // the same over all the time, whatever else the machine did
	DecisionsPerSGrid float64 `json:"decisions_per_s_grid"` // with the raster
	EnvStepsPerS      float64 `json:"env_steps_per_s"`      // Env.Step, which hands out new slices
	AllocsPerStep     float64 `json:"allocs_per_step"`      // of StepInto, without resets
	ResetUS           float64 `json:"reset_us"`             // World.Reset, µs
	SnapshotNS        float64 `json:"snapshot_ns"`          // State and SetState, ns
	Tasks             int     `json:"tasks"`
	Decisions         int     `json:"decisions"` // length of the load that is replayed
	WindowMS          float64 `json:"window_ms"`
}

// benchScript is one episode of a task with the actions to take.
type benchScript struct {
	task    Task
	episode int
	acts    [][ActionSize]float32
}

const benchSeed = 1

// benchScripts makes the fixed load of the benchmark: n episodes of each task by its
// scripted policy, with three of ten decisions random.
func benchScripts(n int) ([]benchScript, error) {
	var out []benchScript
	obs := make([]float32, Options{}.ObsSize())
	for _, t := range Tasks() {
		w, err := NewWorld(t, Options{})
		if err != nil {
			return nil, err
		}
		for e := range n {
			p := Corruption{Noise: .3}.Policy(t, rng.New(benchSeed, "bench", t.String(), e))
			s := benchScript{task: t, episode: e}
			w.ResetInto(benchSeed, e, obs)
			for !w.Over() {
				var a [ActionSize]float32
				p(obs, a[:])
				w.StepInto(a[:], obs)
				s.acts = append(s.acts, a)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// benchWindow is how long a rate is taken at a time. The best window counts: it is
// short, so that on a busy machine some windows have a core for themselves.
const benchWindow = 5 * time.Millisecond

// clockEvery is how many replayed scripts lie between two looks at the clock.
const clockEvery = 4

// Bench measures the engine for about 4×d (d is at least 20 ms) with GOMAXPROCS set to
// 1 meanwhile: run nothing else in the process.
func Bench(ctx context.Context, d time.Duration) (BenchResult, error) {
	d = max(d, 4*benchWindow)
	scripts, err := benchScripts(2)
	if err != nil {
		return BenchResult{}, err
	}
	res := BenchResult{Tasks: len(Tasks()), WindowMS: float64(benchWindow.Microseconds()) / 1e3}
	for _, s := range scripts {
		res.Decisions += len(s.acts)
	}
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)

	plain, err := newPlayer(Options{})
	if err != nil {
		return res, err
	}
	raster, err := newPlayer(Options{Grid: true})
	if err != nil {
		return res, err
	}
	if res.DecisionsPerS, res.DecisionsPerSMean, err = rate(ctx, d, scripts, plain.play); err != nil {
		return res, err
	}
	if res.DecisionsPerSGrid, _, err = rate(ctx, d, scripts, raster.play); err != nil {
		return res, err
	}
	if res.EnvStepsPerS, err = envRate(ctx, d, scripts); err != nil {
		return res, err
	}
	w := plain.worlds[Push]
	resets, _, err := rate(ctx, d/2, scripts, func(s *benchScript) int { w.Reset(benchSeed, s.episode); return 1 })
	if err != nil {
		return res, err
	}
	saves, _, err := rate(ctx, d/2, scripts, func(*benchScript) int {
		for range 100 {
			s := w.State()
			if err := w.SetState(s); err != nil {
				panic(err) // its own state
			}
		}
		return 100
	})
	res.ResetUS, res.SnapshotNS = 1e6/resets, 1e9/saves
	res.AllocsPerStep = plain.allocs(scripts)
	return res, err
}

// rate replays scripts by play, which returns how many things it did, for d: things a
// second in the best window and over all.
func rate(ctx context.Context, d time.Duration, scripts []benchScript, play func(*benchScript) int) (best, mean float64, err error) {
	begin := time.Now()
	start, n, all, k := begin, 0, 0, 0
	for {
		for range clockEvery {
			n += play(&scripts[k%len(scripts)])
			k++
		}
		now := time.Now()
		took := now.Sub(start)
		if took < benchWindow {
			continue
		}
		best, all = max(best, float64(n)/took.Seconds()), all+n
		start, n = now, 0
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if total := now.Sub(begin); total >= d {
			return best, float64(all) / total.Seconds(), nil
		}
	}
}

// player replays scripts on worlds that were made once.
type player struct {
	worlds [lastTask + 1]*World
	obs    []float32
}

func newPlayer(o Options) (*player, error) {
	p := &player{obs: make([]float32, o.ObsSize())}
	for _, t := range Tasks() {
		w, err := NewWorld(t, o)
		if err != nil {
			return nil, err
		}
		p.worlds[t] = w
	}
	return p, nil
}

func (p *player) play(s *benchScript) int {
	w := p.worlds[s.task]
	w.ResetInto(benchSeed, s.episode, p.obs)
	for i := range s.acts {
		w.StepInto(s.acts[i][:], p.obs)
	}
	return len(s.acts)
}

// allocs counts allocations a decision: the least of three passes, as others in the
// process may allocate meanwhile.
func (p *player) allocs(scripts []benchScript) float64 {
	least := -1.0
	for range 3 {
		var count uint64
		n := 0
		for i := range scripts {
			s := &scripts[i]
			w := p.worlds[s.task]
			w.ResetInto(benchSeed, s.episode, p.obs)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for k := range s.acts {
				w.StepInto(s.acts[k][:], p.obs)
			}
			runtime.ReadMemStats(&after)
			count, n = count+after.Mallocs-before.Mallocs, n+len(s.acts)
		}
		if a := float64(count) / float64(n); least < 0 || a < least {
			least = a
		}
	}
	return least
}

// envRate is the rate through the interface of package envs.
func envRate(ctx context.Context, d time.Duration, scripts []benchScript) (float64, error) {
	var list [lastTask + 1]*Env
	for _, t := range Tasks() {
		e, err := New(t, Options{})
		if err != nil {
			return 0, err
		}
		list[t] = e
	}
	var failed error
	seed := uint64(benchSeed)
	best, _, err := rate(ctx, d, scripts, func(s *benchScript) int {
		e := list[s.task]
		if _, _, err := e.Reset(ctx, envs.ResetOptions{Seed: &seed, Options: map[string]any{"episode": s.episode}}); err != nil {
			failed = err
		}
		for i := range s.acts {
			if _, err := e.Step(ctx, s.acts[i][:]); err != nil {
				failed = err
			}
		}
		return len(s.acts)
	})
	if err == nil {
		err = failed
	}
	return best, err
}
