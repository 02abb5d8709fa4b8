// Package runindex makes the index of an episodes.jsonl: where each episode begins, and
// what a list of ten thousand of them shows and filters by.
//
// The writer of a run and the viewer use the same [Builder], so that an index that was
// written with the run and one that was rebuilt from the file are equal.
package runindex

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
)

// Format is the format tag of an index, EpisodeFormat that of the lines it describes.
const (
	Format        = "muse/index@1"
	EpisodeFormat = "muse/episode@1"
)

// ErrVersion is matched when a line has another format tag.
var ErrVersion = errors.New("unknown format version")

// Index is the file "index" of a run folder.
type Index struct {
	Format  string  `json:"format"`
	File    string  `json:"file"`
	Size    int64   `json:"size"` // bytes of the file that the entries cover
	Entries []Entry `json:"entries"`
	// Reliability of the P of chosen futures, an entry an arm, sorted by arm. Absent in
	// files of early versions, as are the fields of Entry from Arm on.
	Reliability []Reliability `json:"reliability,omitempty"`
}

// Entry is one episode.
type Entry struct {
	ID       string `json:"id"`
	Offset   int64  `json:"offset"`
	Length   int    `json:"length"` // without the newline
	Steps    int    `json:"steps"`
	Success  bool   `json:"success"`
	Arm      string `json:"arm,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Task     string `json:"task_id,omitempty"`
	TaskType string `json:"task_type,omitempty"`
	Goal     string `json:"goal,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Trial    int    `json:"trial,omitempty"`
	Rep      uint64 `json:"rep,omitempty"`
	Nothing  int    `json:"nothing,omitempty"` // commands without effect
	Tokens   int    `json:"tokens,omitempty"`  // written by the model
	P        *P     `json:"p,omitempty"`       // nil where nothing was assessed
	// Problem is why the episode can't be shown, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// P sums up the probabilities of the chosen futures of one episode.
type P struct {
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	N     int     `json:"n"`
}

// Bins is the number of equally wide bins of a reliability diagram.
const Bins = 10

// Reliability compares P with what came of it.
type Reliability struct {
	Arm string    `json:"arm"`
	Bin [Bins]Bin `json:"bins"`
}

// Bin holds the decisions whose chosen future had a P in [i/10, (i+1)/10).
type Bin struct {
	N   int     `json:"n"`
	P   float64 `json:"p"`   // sum over the decisions
	Won int     `json:"won"` // decisions of solved episodes
}

// NothingHappens is the game's answer to a command without effect.
const NothingHappens = "Nothing happens."

const nothing = `"` + NothingHappens + `"` // as JSON

// Builder makes an index line by line.
type Builder struct {
	ix  Index
	rel map[string]*Reliability
}

// NewBuilder starts an index of the file called name, or goes on with old, which may be nil.
func NewBuilder(name string, old *Index) *Builder {
	b := &Builder{ix: Index{Format: Format, File: name, Entries: []Entry{}}, rel: map[string]*Reliability{}}
	if old != nil {
		b.ix.Size, b.ix.Entries = old.Size, old.Entries
		for _, r := range old.Reliability {
			b.rel[r.Arm] = &r
		}
	}
	return b
}

// line is what the index looks at.
type line struct {
	Format   string `json:"format"`
	ID       string `json:"id"`
	Arm      string `json:"arm"`
	Phase    string `json:"phase"`
	Task     string `json:"task_id"`
	TaskType string `json:"task_type"`
	Goal     string `json:"goal"`
	Reason   string `json:"reason"`
	Trial    int    `json:"trial"`
	Rep      uint64 `json:"rep"`
	Success  bool   `json:"success"`
	Usage    struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
	Steps []struct {
		Observation json.RawMessage `json:"observation"` // a text, or numbers
		Trace       struct {
			Candidates []struct {
				Assessed *struct {
					P float64 `json:"p"`
				} `json:"assessment"`
			} `json:"candidates"`
			Choice struct {
				Index int `json:"index"`
			} `json:"choice"`
		} `json:"trace"`
	} `json:"steps"`
}

// longest is what an entry keeps of a text, in bytes.
const longest = 256

func short(s string) string {
	if len(s) <= longest {
		return s
	}
	n := longest
	for n > longest-4 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// Add appends the episode in text, which stands at offset, and of which end is the offset
// of what follows it. A line that is no episode of a known format is entered with its
// Problem, and the error returned; adding may go on.
func (b *Builder) Add(offset int64, end int64, text []byte) error {
	e := Entry{Offset: offset, Length: len(text)}
	var l line
	err := json.Unmarshal(text, &l)
	if err == nil && l.Format != EpisodeFormat {
		err = fmt.Errorf("%w: %q, this program reads %q", ErrVersion, short(l.Format), EpisodeFormat)
	}
	b.ix.Size = end
	if err != nil {
		e.ID, e.Problem = short(l.ID), short(err.Error())
		b.ix.Entries = append(b.ix.Entries, e)
		return err
	}
	e.ID, e.Arm, e.Phase, e.Task, e.TaskType = l.ID, l.Arm, l.Phase, l.Task, l.TaskType
	e.Goal, e.Reason, e.Trial, e.Rep = short(l.Goal), short(l.Reason), l.Trial, l.Rep
	e.Success, e.Steps, e.Tokens = l.Success, len(l.Steps), l.Usage.CompletionTokens
	sum := P{}
	for i := range l.Steps {
		s := &l.Steps[i]
		if string(s.Observation) == nothing {
			e.Nothing++
		}
		k := s.Trace.Choice.Index
		if k < 0 || k >= len(s.Trace.Candidates) || s.Trace.Candidates[k].Assessed == nil {
			continue
		}
		p := min(max(s.Trace.Candidates[k].Assessed.P, 0), 1)
		if sum.N == 0 {
			sum.First, sum.Min, sum.Max = p, p, p
		}
		sum.Last, sum.Min, sum.Max = p, min(sum.Min, p), max(sum.Max, p)
		sum.Mean += p
		sum.N++
		b.reliability(l.Arm, p, l.Success)
	}
	if sum.N > 0 {
		sum.Mean /= float64(sum.N)
		e.P = &sum
	}
	b.ix.Entries = append(b.ix.Entries, e)
	return nil
}

// Refuse enters the length bytes at offset as an episode that can't be shown.
func (b *Builder) Refuse(offset, end int64, length int, problem string) {
	b.ix.Size = end
	b.ix.Entries = append(b.ix.Entries, Entry{Offset: offset, Length: length, Problem: short(problem)})
}

// Skip moves on over bytes that hold no episode, such as blank lines.
func (b *Builder) Skip(end int64) { b.ix.Size = end }

// Size is how far the file has been read.
func (b *Builder) Size() int64 { return b.ix.Size }

func (b *Builder) reliability(arm string, p float64, won bool) {
	r := b.rel[arm]
	if r == nil {
		r = &Reliability{Arm: arm}
		b.rel[arm] = r
	}
	bin := &r.Bin[min(int(p*Bins), Bins-1)]
	bin.N++
	bin.P += p
	if won {
		bin.Won++
	}
}

// Index returns what was added so far. Later calls of Add may change it.
func (b *Builder) Index() *Index {
	b.ix.Reliability = b.ix.Reliability[:0]
	for _, r := range b.rel {
		b.ix.Reliability = append(b.ix.Reliability, *r)
	}
	sort.Slice(b.ix.Reliability, func(i, j int) bool { return b.ix.Reliability[i].Arm < b.ix.Reliability[j].Arm })
	return &b.ix
}

// Check says why an index can't be used for a file of size bytes, nil if it can: entries
// must lie in the file, in order. Whether they are that file's own is seen when one is read.
func (ix *Index) Check(size int64) error {
	if ix.Format != Format {
		return fmt.Errorf("%w: the index has %q, this program reads %q", ErrVersion, short(ix.Format), Format)
	}
	if ix.Size < 0 || ix.Size > size {
		return fmt.Errorf("the index covers %d bytes, the file has %d", ix.Size, size)
	}
	at := int64(0)
	for i, e := range ix.Entries {
		if e.Offset < at || e.Length < 0 || e.Offset > ix.Size || int64(e.Length) > ix.Size-e.Offset {
			return fmt.Errorf("entry %d of the index lies outside the file", i+1)
		}
		at = e.Offset + int64(e.Length)
	}
	return nil
}

// Full says whether the index has what lists and filters show; indexes of early versions
// have only where episodes are.
func (ix *Index) Full() bool {
	return len(ix.Entries) == 0 || ix.Entries[0].Task != "" || ix.Entries[0].Problem != "" || ix.Entries[0].Phase != ""
}
