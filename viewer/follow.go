package viewer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muse-agent/muse/internal/runindex"
)

// scan enters what stands in the file behind the index. A last line without its end is
// counted as cut, unless it is a whole record.
func (p *part) scan(progress func(done, total int64)) error {
	st, err := p.f.Stat()
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	b := runindex.NewBuilder(fileEpisodes, p.ix)
	size := st.Size()
	at := b.Size()
	p.cut = 0
	br := bufio.NewReaderSize(io.NewSectionReader(p.f, at, size-at), 256<<10)
	var buf []byte
	var told int64
	for {
		line, n, err := readLine(br, buf[:0])
		buf = line
		ended := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("viewer: %s: %w", p.path, err)
		}
		record := bytes.TrimSpace(line)
		end := at + n
		switch {
		case n == 0:
		case !ended && (len(record) == 0 || n > MaxEpisode || !json.Valid(record)):
			p.cut = n
			if len(record) == 0 {
				p.cut = 0
			}
		case n > MaxEpisode:
			b.Refuse(at, end, int(min(n, 1<<40)), fmt.Sprintf("the line has %d bytes, more than %d are not read", n, MaxEpisode))
		case len(record) == 0:
			b.Skip(end)
		default:
			lead := bytes.Index(line, record)
			_ = b.Add(at+int64(lead), end, record) // entered with its problem
		}
		if !ended {
			break
		}
		at = end
		if progress != nil && at-told > 8<<20 {
			told = at
			progress(at, size)
		}
	}
	p.ix = b.Index()
	return nil
}

// readLine reads up to and with the next newline. Of a line longer than MaxEpisode only
// the beginning is kept; n is its whole length.
func readLine(br *bufio.Reader, buf []byte) (line []byte, n int64, err error) {
	for {
		s, err := br.ReadSlice('\n')
		n += int64(len(s))
		if len(buf) <= MaxEpisode {
			buf = append(buf, s...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, n, err
		}
	}
}

// refresh enters what was written since. A run that continues after an interrupt first
// cuts off its unfinished end, and a file may be replaced: then all is read again.
func (p *part) refresh() (grew, again bool, err error) {
	size, other, err := p.changedFile()
	if err != nil {
		return false, false, err
	}
	if other {
		f, err := os.Open(p.path)
		if err != nil {
			return false, false, fmt.Errorf("viewer: %w", err)
		}
		_ = p.f.Close() // only read
		p.f, p.ix = f, nil
		if p.file, err = f.Stat(); err != nil {
			return false, false, fmt.Errorf("viewer: %w", err)
		}
		return true, true, p.scan(nil)
	}
	if size == p.ix.Size+p.cut {
		return false, false, nil
	}
	if size < p.ix.Size || p.ix.Size > 0 && !p.fits(p.ix) {
		p.ix = nil
		return true, true, p.scan(nil)
	}
	n := len(p.ix.Entries)
	if err := p.scan(nil); err != nil {
		return false, false, err
	}
	return len(p.ix.Entries) > n, false, nil
}
