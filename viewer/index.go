package viewer

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/internal/runindex"
)

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
