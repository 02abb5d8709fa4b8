package viewer

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/muse-agent/muse/internal/runindex"
)

// Entry is what a list shows of an episode; Reliability compares P with what came of it.
type (
	Entry       = runindex.Entry
	Reliability = runindex.Reliability
)

// Source is where the viewer gets episodes from: a run folder, or a server in the browser.
// Its methods may be called from several goroutines.
type Source interface {
	// Title names the run.
	Title() string
	// Entries returns the episodes known so far. The caller must not change them; an
	// entry keeps its place while the run grows.
	Entries() []Entry
	// Reliability returns the bins of every arm.
	Reliability() []Reliability
	// Episode reads episode i.
	Episode(i int) (*Episode, error)
	// Refresh looks for new episodes; changed says that Entries differ.
	Refresh() (changed bool, err error)
	// Notice is a line about the whole run, such as a cut-off last line; "" for none.
	Notice() string
}

// Names of files in a run folder.
const (
	fileEpisodes = "episodes.jsonl"
	fileIndex    = "index"
	fileRun      = "run.json"
	runFormat    = "muse/run@1"
)

// Run is an open run folder, or a folder of some of them (a demo), shown as one. It keeps
// an index in memory and reads episodes when they are asked for.
type Run struct {
	title string
	mu    sync.Mutex
	parts []*part
	// Joined from the parts; entries of one part need not follow each other.
	entries []Entry
	where   []place
	cache   []cached
}

type place struct{ part, entry int }

type cached struct {
	i int
	e *Episode
}

// keep is the number of decoded episodes held: those on the screen and their neighbours.
const keep = 6

// Close closes the files.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, p := range r.parts {
		err = errors.Join(err, p.f.Close())
	}
	r.parts = nil
	return err
}

// join lists the entries that are new in the parts behind those known.
func (r *Run) join() {
	seen := make([]int, len(r.parts))
	for _, w := range r.where {
		seen[w.part]++
	}
	r.entries = r.entries[:len(r.entries):len(r.entries)] // callers keep the old list
	for k, p := range r.parts {
		for i := seen[k]; i < len(p.ix.Entries); i++ {
			r.entries = append(r.entries, p.ix.Entries[i])
			r.where = append(r.where, place{k, i})
		}
	}
}

// Title implements Source.
func (r *Run) Title() string { return r.title }

// Entries implements Source.
func (r *Run) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// Reliability implements Source.
func (r *Run) Reliability() []Reliability {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := map[string]*Reliability{}
	for _, p := range r.parts {
		for _, x := range p.ix.Reliability {
			y := sum[x.Arm]
			if y == nil {
				y = &Reliability{Arm: x.Arm}
				sum[x.Arm] = y
			}
			for i, b := range x.Bin {
				y.Bin[i].N += b.N
				y.Bin[i].P += b.P
				y.Bin[i].Won += b.Won
			}
		}
	}
	out := make([]Reliability, 0, len(sum))
	for _, x := range sum {
		out = append(out, *x)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Arm < out[j].Arm })
	return out
}

// Notice implements Source.
func (r *Run) Notice() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		if p.notice != "" {
			return p.notice
		}
		if p.cut > 0 {
			return fmt.Sprintf("%s: the last %d bytes are no whole line: still being written, or cut off by an interrupt", p.path, p.cut)
		}
	}
	return ""
}

// Line returns the bytes of episode i as they stand in the file.
func (r *Run) Line(i int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < 0 || i >= len(r.where) || len(r.parts) == 0 {
		return nil, fmt.Errorf("viewer: no episode %d, the run has %d", i+1, len(r.where))
	}
	return r.parts[r.where[i].part].line(r.where[i].entry)
}

// Episode implements Source.
func (r *Run) Episode(i int) (*Episode, error) {
	r.mu.Lock()
	for k, c := range r.cache {
		if c.i == i {
			copy(r.cache[1:k+1], r.cache[:k]) // to the front
			r.cache[0] = c
			r.mu.Unlock()
			return c.e, nil
		}
	}
	r.mu.Unlock()
	b, err := r.Line(i)
	if err != nil {
		return nil, err
	}
	e, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("viewer: %s: episode %d: %w", r.title, i+1, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache = append([]cached{{i, e}}, r.cache[:min(len(r.cache), keep-1)]...)
	return e, nil
}

// Refresh implements Source.
func (r *Run) Refresh() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, fresh := false, false
	for _, p := range r.parts {
		grew, again, err := p.refresh()
		if err != nil {
			return changed, err
		}
		changed, fresh = changed || grew, fresh || again
	}
	if fresh { // a file was replaced: places changed
		r.entries, r.where, r.cache = nil, nil, nil
	}
	if changed || fresh {
		r.join()
	}
	return changed || fresh, nil
}
