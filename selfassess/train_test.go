package selfassess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// bag is a deterministic embedder: signed hashed words, normalised.
type bag struct{ hash string }

func (bag) Dim() int       { return 24 }
func (b bag) Hash() string { return b.hash }
func (b bag) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		v, n := make([]float32, b.Dim()), 0.0
		for w := range strings.FieldsSeq(t) {
			h := fnv.New32a()
			h.Write([]byte(w))
			v[h.Sum32()%uint32(b.Dim())] += 1 - 2*float32(h.Sum32()>>16&1)
		}
		for _, x := range v {
			n += float64(x) * float64(x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(n) + 1e-9)
		}
		out[i] = v
	}
	return out, nil
}

// episodes makes a toy world: tasks differ in difficulty, and lost episodes hold
// more failed commands.
func episodes(tasks, each int, seed uint64) []Episode {
	r := rng.New(seed, "episodes")
	var out []Episode
	for k := range tasks {
		ease := r.Float64()
		for range each {
			e := Episode{Task: fmt.Sprintf("game-%02d", k), Goal: fmt.Sprintf("put a thing%d in shelf.", k%5), Limit: 20}
			e.Success = r.Float64() < ease
			fails, n := .6, 20
			if e.Success {
				fails, n = .15, 6+r.IntN(10)
			}
			for j := range n {
				p := Pair{Action: fmt.Sprintf("go to shelf %d", r.IntN(9)), Observation: fmt.Sprintf("You see thing %d.", j%3)}
				if r.Float64() < fails {
					p.Observation = "Nothing happens."
				}
				e.Pairs = append(e.Pairs, p)
			}
			out = append(out, e)
		}
	}
	return out
}

func chunksOf(es []Episode, stride int) (out []Example) {
	for _, e := range es {
		out = append(out, e.Examples(4, stride, false)...)
	}
	return out
}

// quick are settings for tests: a narrow head and few epochs.
func quick(k InputKind, l Labels) Config {
	c := Default()
	c.Input, c.Labels, c.Hidden, c.Folds, c.Batch = k, l, 32, 3, 64
	c.LR = 3e-3
	return c
}

// Training must really learn: the loss falls, unseen tasks are told apart, and
// calibration holds up on them.
func TestTrainLearns(t *testing.T) {
	ctx := context.Background()
	train, test := chunksOf(episodes(24, 8, 1), 4), chunksOf(episodes(20, 8, 2), 4)
	for _, k := range []InputKind{InputEmbedding, InputHistory, InputHistoryEmbedding} {
		m, rep, err := Train(ctx, train, bag{"x"}, quick(k, LabelsOutcome))
		if err != nil {
			t.Fatal(err)
		}
		f := rep.Final
		if last := f.Loss[len(f.Loss)-1]; !(last < f.StartLoss-.1) {
			t.Errorf("%s: training loss %.3f at the start, %.3f at the end", k, f.StartLoss, last)
		}
		if len(rep.Folds) != 3 || len(rep.OutOfFold) != len(train) || rep.Rows != len(train) || rep.Tasks != 24 || len(rep.Scores) != 4 {
			t.Errorf("%s: report %+v", k, rep)
		}
		p, err := m.Predict(ctx, test)
		if err != nil {
			t.Fatal(err)
		}
		y, q := columns(p)
		base := LogLoss(y, constant(len(y), mean(y)))
		if a := AUROC(y, q); !(a > .75) {
			t.Errorf("%s: AUROC on unseen tasks %.3f", k, a)
		}
		if l := LogLoss(y, q); !(l < base-.05) {
			t.Errorf("%s: log loss %.3f, always guessing the base rate %.3f", k, l, base)
		}
		if e, _, _ := ECE(y, q, ECEBins); e > .15 {
			t.Errorf("%s: ECE on unseen tasks %.3f", k, e)
		}
		yo, qo := columns(rep.OutOfFold)
		if a := AUROC(yo, qo); !(a > .75) {
			t.Errorf("%s: AUROC out of fold %.3f", k, a)
		}
		if !strings.HasPrefix(m.Name(), "msa/"+string(k)+"/outcome@") {
			t.Errorf("name %q", m.Name())
		}
	}
}

func mean(v []float64) float64 { return total(v) / float64(len(v)) }

func constant(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// Shuffled labels must not look learnable: a leak between folds would.
func TestOutOfFoldDoesNotLeak(t *testing.T) {
	rows := chunksOf(episodes(24, 6, 3), 4)
	r := rng.New(1, "labels")
	for i := range rows { // one random label a task: only a head that saw the task could know it
		rows[i].Input.Task = rows[i].Task
	}
	label := map[string]float64{}
	for i := range rows {
		if _, ok := label[rows[i].Task]; !ok {
			label[rows[i].Task] = float64(r.IntN(2))
		}
		rows[i].Label = label[rows[i].Task]
	}
	_, rep, err := Train(context.Background(), rows, bag{"x"}, quick(InputEmbedding, LabelsOutcome))
	if err != nil {
		t.Fatal(err)
	}
	y, p := columns(rep.OutOfFold)
	if a := AUROC(y, p); a > .8 {
		t.Errorf("AUROC %.3f on labels that only the held-out tasks know", a)
	}
}

func bytesOf(t *testing.T, m *Model) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Same seed, same bytes, whatever GOMAXPROCS and Workers are; another seed differs.
func TestTrainIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rows := chunksOf(episodes(10, 6, 4), 4)
	cfg := quick(InputHistoryEmbedding, LabelsOutcome)
	cfg.Epochs, cfg.Hidden, cfg.Batch = 2, 256, 128 // large enough for parallel matrix products
	run := func(procs, workers int, seed uint64) []byte {
		runtime.GOMAXPROCS(procs)
		cfg.Workers, cfg.Seed = workers, seed
		m, _, err := Train(context.Background(), rows, bag{"x"}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		a, err := AdaptWith(context.Background(), m, nil, rows[:40], DefaultAdapt())
		if err != nil {
			t.Fatal(err)
		}
		return append(bytesOf(t, m), bytesOf(t, a)...)
	}
	one := run(1, 1, 1)
	if !bytes.Equal(one, run(2, 2, 1)) {
		t.Error("GOMAXPROCS or Workers change the result")
	}
	if bytes.Equal(one, run(2, 2, 2)) {
		t.Error("the seed changes nothing")
	}
}

// siblings makes a world in which trajectories tell how hard a task is, but only
// counterfactual labels tell which of two first actions is the better one.
func siblings(tasks, each int, seed uint64) (d Data) {
	r := rng.New(seed, "siblings")
	for k := range tasks {
		task := fmt.Sprintf("game-%02d", k)
		ease := .15 + .7*r.Float64()
		row := func(act string, y float64, state string, hist int) Example {
			obs := "You see a lamp."
			if r.Float64() > ease {
				obs = "You see a wall."
			}
			h := make([]Pair, hist)
			return Example{Input: Input{Task: "do it.", Limit: 50, History: h, Pairs: []Pair{{Action: act, Observation: obs}}}, Label: y, Task: task, State: state}
		}
		act := func() string { return []string{"go to left", "go to right"}[r.IntN(2)] }
		for i := range each {
			y := 0.0
			if r.Float64() < ease { // the outcome does not depend on one action among many
				y = 1
			}
			for c := range 4 {
				e := row(act(), y, "", 4*c)
				e.Chunk, e.Last = c, c == 3
				d.Chunks = append(d.Chunks, e)
			}
			state := fmt.Sprintf("%s/%d", task, i)
			for _, a := range []string{"go to left", "go to right"} {
				p := ease - .12
				if a == "go to right" {
					p = ease + .12
				}
				y := 0.0
				for range 2 {
					if r.Float64() < p {
						y += .5
					}
				}
				d.Siblings = append(d.Siblings, row(a, y, state, 2))
			}
		}
	}
	return d
}

// The finding the package is built on: sibling labels choose, outcome labels
// predict but do not choose.
func TestSiblingLabelsLift(t *testing.T) {
	d := siblings(30, 16, 1)
	base := quick(InputEmbedding, LabelsOutcome)
	res, best, err := SelectDefault(context.Background(), d, bag{"x"}, Settings(base, InputEmbedding, InputHistoryHidden), Bootstrap{Draws: 400}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, sib := res[0], res[2]
	if res[best].Name != "embedding/sibling" || sib.Model == nil {
		t.Errorf("the winner is %s", res[best].Name)
	}
	if sib.Lift.States != 30*16 || !(sib.Lift.Best.Low > 0) || !(sib.Lift.Lowest.High < 0) {
		t.Errorf("sibling labels: best %v, lowest %v over %d states", sib.Lift.Best, sib.Lift.Lowest, sib.Lift.States)
	}
	if out.Lift.Best.Low > 0 || out.Lift.Best.Value > sib.Lift.Best.Value/2 {
		t.Errorf("outcome labels should not choose here: best %v, with sibling labels %v", out.Lift.Best, sib.Lift.Best)
	}
	if !(out.Chunks.AUROC.Low > .5) {
		t.Errorf("outcome labels should predict: AUROC %v", out.Chunks.AUROC)
	}
	if res[1].Skipped == "" || res[3].Skipped == "" {
		t.Error("settings without hidden states must be skipped with a reason")
	}
}

func TestHiddenInput(t *testing.T) {
	rows := chunksOf(episodes(12, 6, 5), 4)
	r := rng.New(1, "hidden")
	for i := range rows {
		if i%3 > 0 { // some rows have none
			rows[i].Input.Hidden = []float32{float32(rows[i].Label + r.NormFloat64()*.3), float32(r.NormFloat64())}
		}
	}
	m, rep, err := Train(context.Background(), rows, nil, quick(InputHistoryHidden, LabelsOutcome))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Dropped != (len(rows)+2)/3 {
		t.Errorf("%d of %d rows dropped", rep.Dropped, len(rows))
	}
	y, p := columns(rep.OutOfFold)
	if a := AUROC(y, p); a < .9 {
		t.Errorf("AUROC with a telling hidden state %.3f", a)
	}
	if _, err := m.Assess(context.Background(), []Input{{Task: "x"}}); !errors.Is(err, ErrHidden) {
		t.Errorf("without hidden states: %v", err)
	}
}

func TestTrainErrors(t *testing.T) {
	ctx := context.Background()
	rows := chunksOf(episodes(6, 3, 6), 4)
	cases := []struct {
		name string
		rows []Example
		emb  Embedder
		cfg  Config
		want error
	}{
		{"no embedder", rows, nil, quick(InputEmbedding, LabelsOutcome), ErrEmbedder},
		{"no rows", nil, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
		{"no hidden", rows, nil, quick(InputHistoryHidden, LabelsOutcome), ErrHidden},
		{"no task", []Example{{Label: 1}}, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
		{"label", []Example{{Label: 2, Task: "a"}}, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
		{"nan label", []Example{{Label: math.NaN(), Task: "a"}}, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
		{"one game", []Example{{Label: 1, Task: "a"}, {Label: 0, Task: "a"}}, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
		{"only siblings", []Example{{State: "s", Task: "a"}}, nil, quick(InputHistory, LabelsOutcome), ErrNoRows},
	}
	for _, c := range cases {
		if _, _, err := Train(ctx, c.rows, c.emb, c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := Train(done, rows, nil, quick(InputHistory, LabelsOutcome)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	one := quick(InputHistory, LabelsOutcome)
	one.Folds = 0
	if _, rep, err := Train(ctx, rows, nil, one); err != nil || len(rep.Folds) != 0 || rep.Final.Held == 0 || rep.Chosen != "none" {
		t.Errorf("without folds: %+v, %v", rep, err)
	}
}

// Adaptation moves the predictions for the new task towards what happened there
// and leaves the base model alone.
func TestAdapt(t *testing.T) {
	ctx := context.Background()
	base := chunksOf(episodes(20, 8, 7), 4)
	m, _, err := Train(ctx, base, bag{"x"}, quick(InputHistoryEmbedding, LabelsOutcome))
	if err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, m)
	var fresh []Example // a novel task that always fails, though it looks as if it should not
	for _, e := range episodes(5, 8, 8) {
		if e.Success {
			e.Success = false
			fresh = append(fresh, e.Examples(4, 4, false)...)
		}
	}
	replay, err := NewReplay(ctx, m, base)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultAdapt()
	cfg.LR = 3e-3 // the narrow head of the test learns slower
	a, err := AdaptWith(ctx, m, replay, fresh, cfg)
	if err != nil {
		t.Fatal(err)
	}
	average := func(m *Model, rows []Example) (p, loss float64) {
		pr, err := m.Predict(ctx, rows)
		if err != nil {
			t.Fatal(err)
		}
		y, q := columns(pr)
		return mean(q), LogLoss(y, q)
	}
	p0, l0 := average(m, fresh)
	p1, l1 := average(a, fresh)
	if !(p1 < p0-.03 && l1 < l0) {
		t.Errorf("on the new task: mean P %.3f → %.3f, log loss %.3f → %.3f", p0, p1, l0, l1)
	}
	alone, err := AdaptWith(ctx, m, nil, fresh, cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, with := average(a, base)
	if _, without := average(alone, base); !(with < without-.05) {
		t.Errorf("replay should guard the old tasks: log loss %.3f with it, %.3f without", with, without)
	}
	if !bytes.Equal(before, bytesOf(t, m)) {
		t.Error("adaptation changed the base model")
	}
	if a.Name() == m.Name() {
		t.Error("an adapted model needs a name of its own")
	}
	b, err := Adapt(ctx, m, base, fresh, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytesOf(t, a), bytesOf(t, b)) {
		t.Error("Adapt and AdaptWith differ")
	}
	err = AdaptConfig{LR: math.NaN(), WeightDecay: -1, Replay: -1}.Validate()
	for _, key := range []string{"lr is NaN", "weight_decay", "epochs", "batch", "replay", "fresh_weight"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q is not reported: %v", key, err)
		}
	}
	if _, err := Adapt(ctx, m, base, nil, cfg); !errors.Is(err, ErrNoRows) {
		t.Errorf("no fresh rows: %v", err)
	}
}

func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	m, _, err := Train(ctx, chunksOf(episodes(10, 6, 9), 4), bag{"right"}, quick(InputHistoryEmbedding, LabelsOutcome))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := Load(path, bag{"right"})
	if err != nil {
		t.Fatal(err)
	}
	in := []Input{sample, {Task: "x"}, sample}
	a, err := m.Assess(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := back.Assess(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if a[i] != b[i] || !(a[i].P >= 0 && a[i].P <= 1) {
			t.Errorf("input %d: %+v before, %+v after loading", i, a[i], b[i])
		}
	}
	if a[0] != a[2] {
		t.Error("equal inputs differ in one batch")
	}
	if alone, _ := m.Assess(ctx, in[1:2]); alone[0] != a[1] {
		t.Error("an input alone differs from the same in a batch")
	}
	if back.Name() != m.Name() {
		t.Errorf("names %q and %q", back.Name(), m.Name())
	}
	if _, err := Load(path, bag{"wrong"}); !errors.Is(err, ErrEmbedder) || !strings.Contains(err.Error(), "right") {
		t.Errorf("another embedder: %v", err)
	}
	if _, err := Load(path, nil); !errors.Is(err, ErrEmbedder) {
		t.Errorf("no embedder: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "missing"), nil); !errors.Is(err, ErrCheckpoint) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"truncated": raw[:len(raw)-9], "empty": nil, "header only": raw[:40],
		"flipped bit": append(append([]byte(nil), raw[:len(raw)-30]...), append([]byte{raw[len(raw)-30] ^ 1}, raw[len(raw)-29:]...)...),
		"features":    bytes.Replace(raw, []byte(FeatureVersion), []byte("history15@0"), 1),
		"format":      bytes.Replace(raw, []byte(CheckpointFormat), []byte("muse/msa@0"), 1),
	} {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(bad, bag{"right"}); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
