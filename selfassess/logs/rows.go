package logs

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/selfassess"
)

// Row is one prefix of an episode, or several equal ones: published logs repeat
// episodes under other settings, and equal rows are learnt from once, weighted.
type Row struct {
	Task, Model string // task id and player: what folds leave out
	Goal        string
	Steps       []Step    // the prefix; shares memory with the episode
	X           []float32 // counts, as FeatureNames
	Won, N      float64   // episodes with this prefix that succeeded, and all of them
	Episodes    []int     // their indices
	Whole       bool      // not a prefix: the episode with its end
}

// Label is the share of the row's episodes that succeeded.
func (r *Row) Label() float64 { return r.Won / r.N }

// Running cuts every episode that has more than n steps after the first n. Whole is
// n = 0: the whole episodes, end included.
func Running(es []Episode, n int) []Row {
	var rows []Row
	at := map[[sha256.Size]byte]int{}
	for i := range es {
		e := &es[i]
		k := n
		if n == 0 {
			k = len(e.Steps)
		} else if len(e.Steps) <= n {
			continue
		}
		h := sha256.New()
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s", e.TaskID, e.Model, e.Task, e.Room)
		for _, s := range e.Steps[:k] {
			fmt.Fprintf(h, "\x00%s\x00%s", s.Action, s.Observation)
		}
		key := [sha256.Size]byte(h.Sum(nil))
		j, ok := at[key]
		if !ok {
			j = len(rows)
			at[key] = j
			rows = append(rows, Row{Task: e.TaskID, Model: e.Model, Goal: e.Task, Steps: e.Steps[:k:k], X: Features(e, k), Whole: n == 0})
		}
		r := &rows[j]
		r.N++
		if e.Success {
			r.Won++
		}
		r.Episodes = append(r.Episodes, i)
	}
	return rows
}

// input is a row as the head of package selfassess sees it; the counts travel in
// the place of hidden states.
func (r *Row) input() selfassess.Input {
	in := selfassess.Input{Task: r.Goal, Hidden: r.X}
	for _, s := range r.Steps {
		in.Pairs = append(in.Pairs, selfassess.Pair{Action: oneLine(s.Action), Observation: oneLine(s.Observation)})
	}
	return in
}

// oneLine keeps a step's text apart from the next one's.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// text is what n-grams are counted in.
func (r *Row) text() string {
	var b strings.Builder
	b.WriteString(r.Goal)
	for _, s := range r.Steps {
		b.WriteString(" > ")
		b.WriteString(s.Action)
		b.WriteByte(' ')
		b.WriteString(s.Observation)
	}
	return b.String()
}

// Sample keeps n episodes, drawn by seed, in their order; 0 keeps all.
func Sample(es []Episode, n int, seed uint64) []Episode {
	if n == 0 || n >= len(es) {
		return es
	}
	pick := rng.New(seed, "sample").Perm(len(es))[:n]
	slices.Sort(pick)
	out := make([]Episode, n)
	for i, k := range pick {
		out[i] = es[k]
	}
	return out
}
