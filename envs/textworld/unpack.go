package textworld

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"strings"
	"sync"
)

// packed is an opened set: the index is unpacked, the blocks are not.
type packed struct {
	tables  [3][]string
	contain [][2]string
	blocks  [][]byte // deflated
	entries []packedEntry
	mu      sync.Mutex
	recent  [8]unpacked // the blocks opened last
	next    int
}

type unpacked struct {
	block int
	data  []byte
}

type packedEntry struct {
	ref    Ref
	block  int
	offset int
}

// reader reads the packer's elements; the first fault sticks.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() int {
	n, k := binary.Uvarint(r.b)
	if k <= 0 || n > 1<<30 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[k:]
	return int(n)
}

// count reads a length that cannot exceed the bytes left.
func (r *reader) count() int {
	n := r.uint()
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return 0
	}
	return n
}

func (r *reader) str() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) deltas() []int {
	n := r.count()
	if n == 0 {
		return nil
	}
	s := make([]int, n)
	last := 0
	for i := range s {
		last += r.uint()
		s[i] = last
	}
	return s
}

func (r *reader) name(t []string) string {
	i := r.uint()
	if i >= len(t) {
		r.bad = true
		return ""
	}
	return t[i]
}

// openPacked reads the index of a set; b is kept and must not change.
func openPacked(b []byte) (*packed, error) {
	if !bytes.HasPrefix(b, []byte(packMagic)) {
		return nil, errPacked
	}
	h := reader{b: b[len(packMagic):]}
	n := h.count()
	if h.bad {
		return nil, errPacked
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(h.b[:n])))
	if err != nil {
		return nil, errPacked
	}
	rest := h.b[n:]
	p := &packed{}
	for i := range p.recent {
		p.recent[i].block = -1
	}
	r := reader{b: raw}
	for t := range p.tables {
		p.tables[t] = make([]string, r.count())
		for i := range p.tables[t] {
			p.tables[t][i] = r.str()
		}
	}
	p.contain = make([][2]string, r.count())
	for i := range p.contain {
		p.contain[i] = [2]string{r.str(), r.str()}
	}
	p.blocks = make([][]byte, r.count())
	for i := range p.blocks {
		k := r.uint()
		if k > len(rest) {
			return nil, errPacked
		}
		p.blocks[i], rest = rest[:k], rest[k:]
	}
	p.entries = make([]packedEntry, r.count())
	for i := range p.entries {
		e := &p.entries[i]
		e.ref.ID, e.ref.Split, e.ref.Goal = r.str(), r.str(), r.str()
		k := r.uint()
		e.block, e.offset = r.uint(), r.uint()
		if r.bad || k >= len(taskTypes) || e.block >= len(p.blocks) {
			return nil, errPacked
		}
		e.ref.TaskType = taskTypes[k]
	}
	if r.bad || len(rest) > 0 || len(r.b) > 0 {
		return nil, errPacked
	}
	return p, nil
}

// block unpacks a block, or returns it from the few opened last.
func (p *packed) block(i int) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.recent {
		if u.block == i {
			return u.data, nil
		}
	}
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(p.blocks[i])))
	if err != nil {
		return nil, errPacked
	}
	p.recent[p.next] = unpacked{i, data}
	p.next = (p.next + 1) % len(p.recent)
	return data, nil
}

// load reads one game.
func (p *packed) load(e *packedEntry) (*gameData, error) {
	b, err := p.block(e.block)
	if err != nil || e.offset > len(b) {
		return nil, errPacked
	}
	r := reader{b: b[e.offset:]}
	d := &gameData{id: e.ref.ID, split: e.ref.Split, goalText: e.ref.Goal}
	d.goal.kind = goalKind(r.uint())
	d.goal.object = r.name(p.tables[1])
	if d.goal.kind == goalLook {
		d.goal.target = r.name(p.tables[1])
	} else {
		d.goal.target = r.name(p.tables[2])
	}
	d.start = r.uint()
	d.held = r.uint() - 1
	d.recs = make([]recData, r.count())
	for i := range d.recs {
		d.recs[i] = recData{kind: r.name(p.tables[0]), rtype: r.name(p.tables[2]), num: r.uint(), loc: r.uint()}
		f := r.uint()
		d.recs[i].opens, d.recs[i].opened = f&1 != 0, f&2 != 0
	}
	d.objs = make([]objData, r.count())
	for i := range d.objs {
		o := &d.objs[i]
		*o = objData{kind: r.name(p.tables[0]), otype: r.name(p.tables[1]), num: r.uint(), flags: uint16(r.uint())}
		o.in, o.locs, o.inner = r.deltas(), r.deltas(), r.deltas()
		for _, x := range o.in {
			r.bad = r.bad || x >= len(d.recs)
		}
		for _, x := range o.inner {
			r.bad = r.bad || x >= len(d.objs)
		}
	}
	if s := r.str(); s != "" {
		d.walkthrough = strings.Split(s, "\n")
	}
	if r.bad || int(d.goal.kind) >= len(taskTypes) || d.held >= len(d.objs) ||
		len(d.recs) > maxEntities || len(d.objs) > maxEntities {
		return nil, errPacked
	}
	d.contain = restrict(p.contain, d)
	return d, nil
}

// ReadPack opens a set written by Pack. All games are unpacked at
// once. b is kept and must not change.
func ReadPack(b []byte) ([]*Game, error) {
	p, err := openPacked(b)
	if err != nil {
		return nil, err
	}
	games := make([]*Game, len(p.entries))
	for i := range p.entries {
		d, err := p.load(&p.entries[i])
		if err != nil {
			return nil, err
		}
		games[i] = newGame(d)
	}
	return games, nil
}
