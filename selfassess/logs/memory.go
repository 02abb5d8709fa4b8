package logs

import (
	"hash/fnv"
	"math"
	"strconv"

	"github.com/muse-agent/muse/internal/rng"
)

// Memory is what is known of tasks that were seen before: how often other players
// succeeded, and how often they did after having taken the same steps. A new player of
// a known task is judged by it; a new task has none.
type Memory struct {
	Tasks map[string]Tally `json:"tasks"` // by "<bucket>/<task>"
	Steps map[string]Tally `json:"steps"` // by a hash of bucket, task and step
	Base  float64          `json:"base"`  // share of all episodes that succeeded
}

// Tally counts episodes and successes.
type Tally [2]float64

// MemoryNames are the counts that memory adds to [FeatureNames].
var MemoryNames = []string{"task_known", "task_record", "steps_record", "steps_best", "steps_worst"}

// buckets are the lengths of prefixes that memory and n-grams are kept for.
var buckets = []int{4, 8, 16}

// bucketOf is the longest bucket that n steps fill, the first for fewer.
func bucketOf(n int) int {
	b := buckets[0]
	for _, x := range buckets {
		if x <= n {
			b = x
		}
	}
	return b
}

func taskKey(bucket int, task string) string { return strconv.Itoa(bucket) + "/" + task }

func stepKey(bucket int, task string, s Step) string {
	h := fnv.New64a()
	h.Write([]byte(taskKey(bucket, task) + "\x00" + s.Action + "\x00" + s.Observation))
	return strconv.FormatUint(h.Sum64(), 36)
}

// stepKeys are the keys of the distinct steps of a prefix.
func stepKeys(r *Row) []string {
	b := bucketOf(len(r.Steps))
	seen := map[string]bool{}
	var out []string
	for _, s := range r.Steps[:min(len(r.Steps), buckets[len(buckets)-1])] {
		if k := stepKey(b, r.Task, s); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// remembering is a memory that can leave a player out.
type remembering struct {
	all  Memory
	by   map[string]Tally // key, 0, player
	keys [][]string       // of the rows it was made from
}

// remember builds a memory from rows.
func remember(rows []Row) *remembering {
	m := &remembering{all: Memory{Tasks: map[string]Tally{}, Steps: map[string]Tally{}}, by: map[string]Tally{}, keys: make([][]string, len(rows))}
	add := func(t map[string]Tally, k string, r *Row) {
		v := t[k]
		t[k] = Tally{v[0] + r.N, v[1] + r.Won}
	}
	n, won := 1.0, 0.5
	for i := range rows {
		r := &rows[i]
		m.keys[i] = stepKeys(r)
		n, won = n+r.N, won+r.Won
		if len(r.Steps) != bucketOf(len(r.Steps)) {
			continue
		}
		k := taskKey(len(r.Steps), r.Task)
		add(m.all.Tasks, k, r)
		add(m.by, k+"\x00"+r.Model, r)
		for _, k := range m.keys[i] {
			add(m.all.Steps, k, r)
			add(m.by, k+"\x00"+r.Model, r)
		}
	}
	m.all.Base = won / n
	return m
}

const (
	taskPrior = 10 // episodes that the base rate counts for
	stepPrior = 5  // and the task's own rate
	minSteps  = 3  // a step seen in fewer episodes says nothing
)

func logOdds(p float64) float64 { return math.Log(p / (1 - p)) }

// features writes the counts of memory for a prefix; less gives what is to be left
// out of a tally, nil nothing.
func (m *Memory) features(dst []float32, task string, n int, keys []string, less func(key string) Tally) {
	clear(dst[:len(MemoryNames)])
	get := func(t map[string]Tally, k string) Tally {
		v := t[k]
		if less != nil {
			x := less(k)
			v = Tally{v[0] - x[0], v[1] - x[1]}
		}
		return v
	}
	t := get(m.Tasks, taskKey(bucketOf(n), task))
	if t[0] <= 0 {
		return
	}
	rate := (t[1] + taskPrior*m.Base) / (t[0] + taskPrior)
	var sum, best, worst float64
	for _, k := range keys {
		s := get(m.Steps, k)
		if s[0] < minSteps {
			continue
		}
		v := logOdds((s[1]+stepPrior*rate)/(s[0]+stepPrior)) - logOdds(rate)
		sum, best, worst = sum+v, max(best, v), min(worst, v)
	}
	dst[0], dst[1], dst[2] = 1, float32(logOdds(rate)-logOdds(m.Base)), float32(sum/float64(max(1, len(keys))))
	dst[3], dst[4] = float32(best), float32(worst)
}

// training returns the counts of the rows that the memory was made from, memory's own
// appended: each without its own player, and half of the tasks of each player as
// if they were new, so that both cases are learnt.
func (m *remembering) training(rows []Row, seed uint64) [][]float32 {
	out := make([][]float32, len(rows))
	for i := range rows {
		r := &rows[i]
		x := make([]float32, len(FeatureNames)+len(MemoryNames))
		copy(x, r.X)
		if rng.Seed(seed, "memory", r.Task, r.Model)&1 == 0 {
			m.all.features(x[len(FeatureNames):], r.Task, len(r.Steps), m.keys[i], func(k string) Tally { return m.by[k+"\x00"+r.Model] })
		}
		out[i] = x
	}
	return out
}

// with returns the counts of a new row, memory's own appended.
func (m *Memory) with(r *Row) []float32 {
	x := make([]float32, len(FeatureNames)+len(MemoryNames))
	copy(x, r.X)
	m.features(x[len(FeatureNames):], r.Task, len(r.Steps), stepKeys(r), nil)
	return x
}

// prune drops what features would pass over, before a memory is stored.
func (m *Memory) prune() {
	for k, v := range m.Steps {
		if v[0] < minSteps {
			delete(m.Steps, k)
		}
	}
}
