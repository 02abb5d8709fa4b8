package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/muse-agent/muse/internal/jsonl"
	"github.com/muse-agent/muse/internal/llm"
)

// pattern are the files of a folder: one a process that recorded into it.
const pattern = "http-*.jsonl"

// Create records exchanges of next into dir, for one run: each process that works on
// the run adds a file, at its first exchange. Close the recorder.
func Create(dir string, next http.RoundTripper) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return New(&numbered{dir: dir}, next), nil
}

// numbered is a file that is made at the first write, with the next free number.
type numbered struct {
	dir string
	mu  sync.Mutex
	f   *os.File
	err error
}

func (n *numbered) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.f == nil && n.err == nil {
		n.f, n.err = n.create()
	}
	if n.err != nil {
		return 0, n.err
	}
	k, err := n.f.Write(b)
	n.err = err // the file may end in half a line now
	return k, err
}

func (n *numbered) create() (*os.File, error) {
	names, err := filepath.Glob(filepath.Join(n.dir, pattern))
	if err != nil {
		return nil, err
	}
	for k := len(names) + 1; ; k++ {
		f, err := os.OpenFile(filepath.Join(n.dir, fmt.Sprintf("http-%04d.jsonl", k)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Close makes what was recorded survive a crash of the machine.
func (n *numbered) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.f == nil {
		return nil
	}
	err := errors.Join(n.f.Sync(), n.f.Close())
	n.f, n.err = nil, fs.ErrClosed
	return err
}

// Open reads what was recorded into dir. Of a unit of work (see [llm.InUnit]) that
// several processes began, the last one's answers count: it is the one that finished
// it. A line that a killed process left half written is passed over.
func Open(dir string) (*Player, error) {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("record: %s holds no recording (%s); make one with --record, or name its folder", dir, pattern)
	}
	p := newPlayer()
	for _, name := range names { // sorted
		if err := p.readFile(name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Player) readFile(name string) (err error) {
	r, err := jsonl.Open(name)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	again := map[string]bool{} // units of this file
	for {
		var e Entry
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		if err := e.check(); err != nil {
			return fmt.Errorf("record: %s:%d: %w", name, r.Line(), err)
		}
		if top := llm.TopUnit(e.Unit); top != "" && !again[top] {
			again[top] = true
			p.forget(top)
		}
		p.add(e)
	}
}
