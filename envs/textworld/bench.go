package textworld

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/internal/rng"
)

// BenchResult are the speeds of the engine on the machine at hand.
type BenchResult struct {
	StepsPerS           float64 `json:"steps_per_s"`            // Env.Step on one core
	StepsPerSAdmissible float64 `json:"steps_per_s_admissible"` // the same with the admissible commands after each step
	EngineStepsPerS     float64 `json:"engine_steps_per_s"`     // World.Do on one core
	ResetUS             float64 `json:"reset_us"`               // NewWorld of a compiled game, µs
	CloneUS             float64 `json:"clone_us"`               // World.Clone, µs
	OpenUS              float64 `json:"open_us"`                // unpack and compile one embedded game, µs
	ParallelSpeedup     float64 `json:"parallel_speedup"`       // steps/s of Workers goroutines over one
	Workers             int     `json:"workers"`
	Games               int     `json:"games"`
	Commands            int     `json:"commands"` // length of the script that is replayed
}

// benchScript is a game with the commands to send to it.
type benchScript struct {
	game *Game
	cmds []string
}

// benchScripts makes the fixed load of the benchmarks: for n games spread over the
// set, random play of 50 commands by a seeded stream, with every sixth command
// replaced by one that has no effect (real agents: 18 %).
func benchScripts(n int) []benchScript {
	lib := mustLibrary()
	out := make([]benchScript, n)
	var adm []string
	for i := range out {
		g := lib.games[i*len(lib.games)/n]
		r := rng.New(1, "bench", i)
		w := NewWorld(g, DialectMove)
		s := benchScript{game: g}
		for len(s.cmds) < DefaultMaxSteps && !w.Won() {
			adm = w.AppendAdmissible(adm[:0])
			cmd := adm[r.IntN(len(adm))]
			if len(s.cmds)%6 == 5 {
				cmd = "take " + w.c.objs[r.IntN(len(w.c.objs))].name + " from " + w.c.recs[r.IntN(len(w.c.recs))].name
			}
			w.Do(cmd)
			s.cmds = append(s.cmds, cmd)
		}
		out[i] = s
	}
	return out
}

// benchWindows is the number of times that each figure is taken; the best counts,
// as other programs on the machine can only make it worse.
const benchWindows = 5

// Bench measures the engine for about 8×d (d is at least 10 ms). workers
// goroutines on as many cores are used for the parallel figure; 0 means GOMAXPROCS.
// All other figures, and the rate that the parallel one is compared with, are taken
// with GOMAXPROCS set to 1 meanwhile, so that the garbage collector has no core of
// its own: run nothing else in the process.
func Bench(ctx context.Context, d time.Duration, workers int) (BenchResult, error) {
	d = max(d, 10*time.Millisecond)
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if _, err := embedded(); err != nil {
		return BenchResult{}, err
	}
	scripts := benchScripts(64)
	res := BenchResult{Workers: workers, Games: len(scripts)}
	for _, s := range scripts {
		res.Commands += len(s.cmds)
	}
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)
	var err error
	timed := func(f func() (int, error)) (perS float64) {
		for range benchWindows {
			n, start := 0, time.Now()
			var took time.Duration
			for took < d/benchWindows && err == nil {
				k, e := f()
				n += k
				if err = e; err == nil {
					err = ctx.Err()
				}
				took = time.Since(start)
			}
			perS = max(perS, float64(n)/took.Seconds())
		}
		return perS
	}
	plain, listing := newPlayer(scripts, false), newPlayer(scripts, true)
	res.StepsPerS = timed(func() (int, error) { return plain.play(ctx) })
	res.StepsPerSAdmissible = timed(func() (int, error) { return listing.play(ctx) })
	w := NewWorld(scripts[0].game, DialectMove)
	res.EngineStepsPerS = timed(func() (int, error) {
		n := 0
		for _, s := range scripts {
			w.CopyFrom(NewWorld(s.game, DialectMove))
			for _, c := range s.cmds {
				w.Do(c)
			}
			n += len(s.cmds)
		}
		return n, nil
	})
	res.ResetUS = 1e6 / timed(func() (int, error) {
		for _, s := range scripts {
			NewWorld(s.game, DialectMove)
		}
		return len(scripts), nil
	})
	res.CloneUS = 1e6 / timed(func() (int, error) {
		for range 100 {
			w.Clone()
		}
		return 100, nil
	})
	set := mustLibrary().set
	res.OpenUS = 1e6 / timed(func() (int, error) {
		for i := 0; i < len(set.entries); i += 97 {
			data, err := set.load(&set.entries[i])
			if err != nil {
				return 0, err
			}
			compile(data)
		}
		return (len(set.entries) + 96) / 97, nil
	})
	if err != nil {
		return res, err
	}
	// The two rates are taken in turn, so that both meet the same machine.
	var together, alone float64
	for range benchWindows {
		n, err := parallelRate(ctx, scripts, d/benchWindows, workers)
		if err != nil {
			return res, err
		}
		one, err := parallelRate(ctx, scripts, d/benchWindows, 1)
		if err != nil {
			return res, err
		}
		together, alone = max(together, n), max(alone, one)
	}
	res.ParallelSpeedup = together / alone
	return res, nil
}

// parallelRate is the number of steps a second of n goroutines on n cores together.
func parallelRate(ctx context.Context, scripts []benchScript, d time.Duration, n int) (float64, error) {
	runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(1)
	var wg sync.WaitGroup
	counts, errs := make([]int, n), make([]error, n)
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			p := newPlayer(scripts, false)
			total := 0
			for time.Since(start) < d && errs[i] == nil {
				var k int
				k, errs[i] = p.play(ctx)
				total += k
			}
			counts[i] = total
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	total := 0
	for i := range n {
		total += counts[i]
		if errs[i] != nil {
			return 0, errs[i]
		}
	}
	return float64(total) / took, nil
}

// player replays scripts through environments made once.
type player struct {
	scripts []benchScript
	envs    []*Env
	list    bool
	adm     []string
}

func newPlayer(scripts []benchScript, list bool) *player {
	p := &player{scripts: scripts, list: list}
	for _, s := range scripts {
		p.envs = append(p.envs, New(s.game, Options{}))
	}
	return p
}

// play sends every script once and returns the number of steps.
func (p *player) play(ctx context.Context) (int, error) {
	n := 0
	for i, s := range p.scripts {
		e := p.envs[i]
		if _, _, err := e.Reset(ctx, envs.ResetOptions{}); err != nil {
			return n, err
		}
		for _, c := range s.cmds {
			if _, err := e.Step(ctx, c); err != nil {
				return n, err
			}
			if p.list {
				p.adm = e.world.AppendAdmissible(p.adm[:0])
			}
			n++
		}
	}
	return n, nil
}
