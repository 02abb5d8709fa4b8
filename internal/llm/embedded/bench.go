package embedded

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/muse-agent/muse/internal/llm"
)

// BenchPrefix is the text before a decision in the middle of an episode, about
// 300 tokens: what BenchRollouts imagines on from unless told otherwise.
const BenchPrefix = "Your task is to: put a clean mug in shelf.\n" +
	"You are in the middle of a room. Looking quickly around you, you see a cabinet 6, a cabinet 5, a cabinet 4, a cabinet 3, a cabinet 2, a cabinet 1, " +
	"a coffeemachine 1, a countertop 2, a countertop 1, a drawer 3, a drawer 2, a drawer 1, a fridge 1, a garbagecan 1, a microwave 1, a shelf 2, a shelf 1, " +
	"a sinkbasin 1, a stoveburner 4, a stoveburner 3, a stoveburner 2, a stoveburner 1, and a toaster 1.\n" +
	"plan: find a mug, clean it with sinkbasin 1, put it in shelf 1.\n" +
	"think: find mug: next cabinet 1.\n> go to cabinet 1\nThe cabinet 1 is closed.\n" +
	"think: find mug: cabinet 1 is closed.\n> open cabinet 1\nYou open the cabinet 1. The cabinet 1 is open. In it, you see a bowl 1, and a plate 2.\n" +
	"think: find mug: not here. next cabinet 2.\n> go to cabinet 2\nThe cabinet 2 is closed.\n" +
	"think: find mug: cabinet 2 is closed.\n> open cabinet 2\nYou open the cabinet 2. The cabinet 2 is open. In it, you see nothing.\n" +
	"think: find mug: not here. next countertop 1.\n> go to countertop 1\nOn the countertop 1, you see a bread 1, a cup 2, a fork 1, a knife 2, and a spoon 1.\n" +
	"think: find mug: not here. next countertop 2.\n> go to countertop 2\nOn the countertop 2, you see a apple 1, a cellphone 1, a pan 1, and a saltshaker 2.\n" +
	"think: find mug: not here. next coffeemachine 1.\n> go to coffeemachine 1\nOn the coffeemachine 1, you see a mug 1."

// BenchOptions of BenchRollouts. Zero values are the defaults.
type BenchOptions struct {
	Prefix      string  // BenchPrefix
	Rollouts    int     // 5
	Pairs       int     // 4
	Temperature float64 // .5
	Repeats     int     // 30
	Seed        uint64
	Hidden      bool
	// Recall as in llm.Request.
	Recall func([]llm.Pair, string) (string, bool)
}

// BenchResult tells what the rollouts of one decision cost.
type BenchResult struct {
	PrefixTokens int     `json:"prefix_tokens"`
	RolloutsMS   float64 `json:"rollouts_ms"`     // median over repeats
	BestMS       float64 `json:"rollouts_ms_min"` // least
	P90MS        float64 `json:"rollouts_ms_p90"`
	CPUMS        float64 `json:"rollouts_cpu_ms"` // mean CPU time of the process, 0 where unknown: steadier on a busy machine
	AppendMS     float64 `json:"append_ms"`       // appending one observation of a dozen tokens, median
	Tokens       float64 `json:"tokens"`          // generated a decision, all rollouts, mean
	Pairs        float64 `json:"pairs"`           // complete pairs a rollout, mean
}

// BenchRollouts times the imagination of one decision, repeated with different
// seeds. Use a machine that does nothing else; the clock is the only part that
// differs between equal calls.
func BenchRollouts(ctx context.Context, m llm.Model, o BenchOptions) (BenchResult, error) {
	if o.Prefix == "" {
		o.Prefix = BenchPrefix
	}
	if o.Temperature == 0 {
		o.Temperature = .5
	}
	o.Rollouts, o.Pairs, o.Repeats = or(o.Rollouts, 5), or(o.Pairs, 4), or(o.Repeats, 30)
	s, err := m.Open(ctx, o.Prefix)
	if err != nil {
		return BenchResult{}, fmt.Errorf("bench: %w", err)
	}
	defer s.Close()
	res := BenchResult{PrefixTokens: s.Len()}
	var roll, app []float64
	const warm = 2
	for i := range warm + o.Repeats {
		start, cpu := time.Now(), cpuTime()
		cs, _, err := s.Sample(ctx, llm.Request{N: o.Rollouts, Temperature: o.Temperature, Until: llm.UntilPairs, Pairs: o.Pairs,
			Seed: o.Seed + uint64(i), Recall: o.Recall, Hidden: o.Hidden})
		took, used := ms(start), cpuTime()-cpu
		if err != nil {
			return BenchResult{}, fmt.Errorf("bench: %w", err)
		}
		f, err := s.Fork(ctx)
		if err != nil {
			return BenchResult{}, err
		}
		start = time.Now()
		_, err = f.Append(ctx, "\nthink: i see mug 1.\n> take mug 1 from coffeemachine 1\nYou pick up the mug 1 from the coffeemachine 1.")
		if err = errors.Join(err, f.Close()); err != nil {
			return BenchResult{}, err
		}
		if i < warm {
			continue
		}
		app = append(app, ms(start))
		roll = append(roll, took)
		res.CPUMS += float64(used) / float64(time.Millisecond) / float64(o.Repeats)
		for _, c := range cs {
			res.Tokens += float64(c.Tokens) / float64(o.Repeats)
			pairs, _, _ := llm.ParseRollout(c.Text)
			res.Pairs += float64(len(pairs)) / float64(o.Repeats*len(cs))
		}
	}
	sort.Float64s(roll)
	sort.Float64s(app)
	res.RolloutsMS, res.BestMS, res.P90MS = roll[len(roll)/2], roll[0], roll[len(roll)*9/10]
	res.AppendMS = app[len(app)/2]
	return res, nil
}

func or(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

func ms(since time.Time) float64 { return float64(time.Since(since)) / float64(time.Millisecond) }
