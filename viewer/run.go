package viewer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/muse-agent/muse/internal/atomicfile"
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

// OpenOptions say how a run is opened.
type OpenOptions struct {
	// ReadOnly never writes a rebuilt index.
	ReadOnly bool
	// Progress is told how many bytes of how many have been read when an index must be
	// rebuilt. It may be nil.
	Progress func(done, total int64)
}

// Open opens a run folder, a folder with run folders in it, or an episodes.jsonl file. A
// missing or foreign index is rebuilt from the episodes, and written where the folder
// allows it and no process works in it.
func Open(path string, o OpenOptions) (*Run, error) {
	files, err := findEpisodes(path)
	if err != nil {
		return nil, err
	}
	r := &Run{title: filepath.Base(filepath.Clean(path))}
	for _, f := range files {
		p, err := openPart(f, o)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.parts = append(r.parts, p)
	}
	r.join()
	bad := 0
	for i := range r.entries {
		if r.entries[i].Problem != "" {
			bad++
		}
	}
	if bad > 0 && bad == len(r.entries) {
		e := r.entries[0]
		return nil, errors.Join(fmt.Errorf("viewer: %s: no episode can be read; the first: %s", path, Clean(e.Problem)), r.Close())
	}
	return r, nil
}

// findEpisodes names the episode files that path stands for.
func findEpisodes(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w (name a run folder, such as runs/demo-x)", err)
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	if f := filepath.Join(path, fileEpisodes); isFile(f) {
		return []string{f}, nil
	}
	es, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	var found []string
	for _, e := range es { // sorted by name
		if f := filepath.Join(path, e.Name(), fileEpisodes); isFile(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("viewer: %s holds no %s, nor does a folder in it: is it a run folder, and has the run begun?", path, fileEpisodes)
	}
	return found, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

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

// part is one episodes.jsonl.
type part struct {
	path, dir string
	f         *os.File
	ix        *runindex.Index
	cut       int64
	notice    string
	file      os.FileInfo // which file is open: a replaced one has another identity
}

func openPart(path string, o OpenOptions) (*part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	p := &part{path: path, dir: filepath.Dir(path), f: f}
	if err := p.open(o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

func (p *part) open(o OpenOptions) error {
	if err := p.manifest(); err != nil {
		return err
	}
	st, err := p.f.Stat()
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	p.file = st
	var head [2]byte
	if n, _ := p.f.ReadAt(head[:], 0); n == 2 && head[0] == 0x1f && head[1] == 0x8b {
		return fmt.Errorf("viewer: %s is compressed: unpack it first (gunzip -k)", p.path)
	}
	written, foreign := p.readIndex(st.Size())
	p.ix = written
	if err := p.scan(o.Progress); err != nil {
		return err
	}
	if written == nil && !foreign && !o.ReadOnly && filepath.Base(p.path) == fileEpisodes && p.cut == 0 {
		p.writeIndex()
	}
	return nil
}

// manifest checks run.json, which need not be there.
func (p *part) manifest() error {
	name := filepath.Join(p.dir, fileRun)
	st, err := os.Stat(name)
	if err != nil || filepath.Base(p.path) != fileEpisodes {
		return nil
	}
	if st.Size() > MaxEpisode {
		p.notice = name + " is too long to be read"
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		p.notice = err.Error()
		return nil
	}
	var m struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		p.notice = fmt.Sprintf("%s: %v", name, err)
	} else if m.Format != runFormat {
		return fmt.Errorf("%w: %s has %q, this program reads %q: a later version of muse made it", ErrVersion, name, Ellipsis(Style{Mono, 1}, m.Format, 40), runFormat)
	}
	return nil
}

// maxIndex bounds an index file; that of a million episodes is smaller.
const maxIndex = 1 << 30

// readIndex returns the folder's index if it can be used. foreign: there is one of a later
// version, which must not be replaced.
func (p *part) readIndex(size int64) (ix *runindex.Index, foreign bool) {
	name := filepath.Join(p.dir, fileIndex)
	st, err := os.Stat(name)
	if err != nil || st.Size() > maxIndex || filepath.Base(p.path) != fileEpisodes {
		return nil, false
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	ix = new(runindex.Index)
	if err := json.Unmarshal(b, ix); err != nil {
		return nil, false
	}
	if ix.Format != runindex.Format {
		return nil, ix.Format != ""
	}
	if ix.Check(size) != nil || !ix.Full() || ix.Size > 0 && !p.fits(ix) {
		return nil, false
	}
	return ix, false
}

// fits compares some entries with the lines where they should be.
func (p *part) fits(ix *runindex.Index) bool {
	n := len(ix.Entries)
	if n == 0 {
		return false
	}
	for _, i := range []int{0, n / 2, n - 1} {
		e := ix.Entries[i]
		if e.Problem != "" {
			continue
		}
		b := make([]byte, 4096)
		k, err := p.f.ReadAt(b[:min(len(b), e.Length)], e.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return false
		}
		if id, ok := leadingID(b[:k]); ok && id != e.ID {
			return false
		} else if !ok && (k == 0 || b[0] != '{') {
			return false
		}
	}
	// What the index covers must end where a line ends.
	var last [1]byte
	if _, err := p.f.ReadAt(last[:], ix.Size-1); err != nil {
		return false
	}
	return last[0] == '\n' || last[0] == '}'
}

// leadingID is the "id" among the first fields of a line, as the writer puts it.
func leadingID(b []byte) (string, bool) {
	var h struct {
		ID string `json:"id"`
	}
	// The prefix is no whole JSON: cut it behind the id's own string.
	const key = `"id":"`
	for i := 0; i+len(key) < len(b) && i < 256; i++ {
		if string(b[i:i+len(key)]) != key {
			continue
		}
		for j := i + len(key); j < len(b); j++ {
			if b[j] == '\\' {
				j++
			} else if b[j] == '"' {
				err := json.Unmarshal(append([]byte(`{`), append(append([]byte(nil), b[i:j+1]...), '}')...), &h)
				return h.ID, err == nil
			}
		}
	}
	return "", false
}

// writeIndex keeps a rebuilt index for the next time. Where that isn't possible (a
// read-only folder, a run still going) it does nothing: the writer will do it.
func (p *part) writeIndex() {
	l, err := atomicfile.LockDir(p.dir)
	if err != nil {
		return
	}
	defer l.Close()
	b, err := json.MarshalIndent(p.ix, "", "  ")
	if err != nil {
		return
	}
	_ = atomicfile.WriteFile(filepath.Join(p.dir, fileIndex), append(b, '\n'), 0o644)
}

// line reads the bytes of an entry.
func (p *part) line(i int) ([]byte, error) {
	e := p.ix.Entries[i]
	switch {
	case e.Problem != "":
		return nil, fmt.Errorf("viewer: %s: episode %d can't be shown: %s", p.path, i+1, Clean(e.Problem))
	case e.Length > MaxEpisode:
		return nil, fmt.Errorf("viewer: %s: episode %d has %d bytes, more than %d are not read", p.path, i+1, e.Length, MaxEpisode)
	}
	b := make([]byte, e.Length)
	if _, err := p.f.ReadAt(b, e.Offset); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file became shorter than its index says: it was changed; open it again")
		}
		return nil, fmt.Errorf("viewer: %s: %w", p.path, err)
	}
	return b, nil
}

// changedFile says whether path now names another file than the open one.
func (p *part) changedFile() (size int64, other bool, err error) {
	st, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, fmt.Errorf("viewer: %s is gone", p.path)
	} else if err != nil {
		return 0, false, fmt.Errorf("viewer: %w", err)
	}
	return st.Size(), !os.SameFile(st, p.file), nil
}
