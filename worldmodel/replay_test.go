package worldmodel

import (
	"errors"
	"math"
	"testing"

	"github.com/muse-agent/muse/internal/rng"
)

// counted is a replay whose step i shows i and was led to by action i/1000.
func counted(t *testing.T, c Config, lanes, capacity int) (*Replay, func(lane int, first, last bool)) {
	t.Helper()
	r, err := NewReplay(c, lanes, capacity)
	if err != nil {
		t.Fatal(err)
	}
	n := make([]int, lanes)
	return r, func(lane int, first, last bool) {
		x := float32(n[lane])
		if err := r.Add(lane, Step{Obs: []float32{x}, Action: []float32{x / 1000}, Reward: -x, First: first, Last: last}); err != nil {
			t.Fatal(err)
		}
		n[lane]++
	}
}

func tinyReplay() Config {
	c := little(1, 1)
	c.Batch, c.Length = 4, 5
	return c
}

func TestReplayOrder(t *testing.T) {
	c := tinyReplay()
	r, add := counted(t, c, 2, 60)
	for i := range 23 {
		add(0, i%10 == 0, i%10 == 9)
	}
	rnd := rng.New(1, "draw")
	seqs, err := r.draw(rnd, 4, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range seqs { // everything is new: in order, without gaps
		if q != (sequence{0, 5 * i}) {
			t.Errorf("new sequence %d is %+v", i, q)
		}
	}
	for i := range 50 { // the ring drops the first 43 steps
		add(0, i%10 == 7, i%10 == 6)
	}
	if r.Steps() != 30 || r.Added() != 73 {
		t.Errorf("%d steps held of %d", r.Steps(), r.Added())
	}
	seen := map[int]int{}
	for range 2000 {
		seqs, err := r.draw(rnd, 4, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range seqs {
			if q.lane != 0 || q.from < 43 || q.from > 68 {
				t.Fatalf("sequence %+v is not held (43 to 73)", q)
			}
			seen[q.from]++
		}
	}
	for from := 43; from <= 68; from++ {
		p := 1.0 / 26
		if d := math.Abs(float64(seen[from]) - 8000*p); d > 6*math.Sqrt(8000*p) {
			t.Errorf("start %d was drawn %d times of 8000, want about %.0f", from, seen[from], 8000*p)
		}
	}
}

// TestReplayLoad checks pairing, borders, labels and latents in the leaves of the graph.
func TestReplayLoad(t *testing.T) {
	c := tinyReplay()
	c.Quantiles = 2
	r, add := counted(t, c, 1, 100)
	for i := range 20 {
		add(0, i%8 == 0, i%8 == 7)
		if i%8 == 7 {
			if err := r.Label(0, 0, []float32{0, 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	g, err := newModelGraph(newNet[float32](c), newNet[float32](c), c.Batch, c.Length)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	state := make([]float32, c.StateDim())
	state[0], state[c.Deter+2] = 7, 1
	for i := range c.Stoch {
		state[c.Deter+i*c.Classes+2] = 1
	}
	r.setLatent(&r.lanes[0], 4, state)
	r.load([]sequence{{0, 5}, {0, 15}, {0, 0}, {0, 13}}, g, 0)
	for i, from := range []int{5, 15, 0, 13} {
		for s := range c.Length {
			row, at := s*4+i, from+s
			first := at%8 == 0
			if got := g.obs[row]; got != symlog(float32(at)) {
				t.Errorf("sequence %d step %d shows %g", i, s, got)
			}
			if want := float32(at) / 1000; !first && g.act[row] != want || first && g.act[row] != 0 {
				t.Errorf("sequence %d step %d: action %g, want %g (first %v)", i, s, g.act[row], want, first)
			}
			if (g.first[row] == 1) != first || g.last[row] != (at%8 == 7) || g.reward[row] != -float32(at) {
				t.Errorf("sequence %d step %d: first %g last %v reward %g", i, s, g.first[row], g.last[row], g.reward[row])
			}
			known := float32(1)
			if at >= 16 { // the third episode has not ended
				known = 0
			}
			if g.mask[2*row] != known || g.mask[2*row+1] != known || known == 1 && (g.psi[2*row] != 0 || g.psi[2*row+1] != 1) {
				t.Errorf("sequence %d step %d (of step %d): labels %v mask %v", i, s, at, g.psi[2*row:2*row+2], g.mask[2*row:2*row+2])
			}
		}
	}
	if g.h0[0] != 7 || g.z0[2] != 1 || g.h0[c.Deter] != 0 {
		t.Errorf("stored state: h0 %g, z0 %g; without one %g", g.h0[0], g.z0[2], g.h0[c.Deter])
	}
	// Labels of a continuation cover its own steps only.
	if err := r.Label(0, 2, []float32{1, 1}); err != nil {
		t.Fatal(err)
	}
	r.load([]sequence{{0, 15}}, g, 0)
	if g.mask[2*4*1] != 0 || g.mask[2*4*3] != 1 {
		t.Errorf("labels from step 2 on: step 0 %g, step 2 %g", g.mask[8], g.mask[24])
	}
}

func TestReplayRefuses(t *testing.T) {
	c := tinyReplay()
	r, add := counted(t, c, 1, 20)
	if _, err := r.draw(rng.New(1), 4, 5); err == nil {
		t.Error("drawing from an empty replay")
	}
	if err := r.Add(0, Step{Obs: []float32{1}, Action: []float32{1}}); !errors.Is(err, ErrReplay) {
		t.Errorf("beginning without First: %v", err)
	}
	add(0, true, false)
	add(0, false, true)
	for name, s := range map[string]Step{
		"after Last": {Obs: []float32{1}, Action: []float32{1}},
		"obs":        {Obs: []float32{1, 2}, First: true},
		"action":     {Obs: []float32{1}, Action: []float32{}, First: false},
		"state":      {Obs: []float32{1}, First: true, State: []float32{1}},
		"nan":        {Obs: []float32{float32(math.NaN())}, First: true},
	} {
		if err := r.Add(0, s); !errors.Is(err, ErrReplay) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.Steps() != 2 {
		t.Errorf("refused steps changed the replay: %d", r.Steps())
	}
	if _, err := NewReplay(c, 10, 20); err == nil {
		t.Error("lanes shorter than a sequence")
	}
}

func TestQuantileLabels(t *testing.T) {
	for _, c := range []struct {
		at   int
		want string
	}{{0, "11111"}, {20, "11111"}, {21, "01111"}, {60, "00111"}, {100, "00001"}, {-1, "00000"}} {
		got := ""
		for _, v := range QuantileLabels(5, c.at, 100) {
			got += string('0' + rune(v))
		}
		if got != c.want {
			t.Errorf("solved after %d of 100: %s, want %s", c.at, got, c.want)
		}
	}
}
