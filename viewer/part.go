package viewer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/runindex"
)

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
