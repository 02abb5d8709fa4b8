package textworld

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// The packed set is one file:
//
//	magic "MUSETW1\n"
//	length of the index (uvarint), index (deflated)
//	blocks (deflated), one for each room
//
// The unpacked index holds the shared tables (kinds, object types, receptacle
// types, canContain pairs), then for each block its compressed length, then for
// each game id, split, goal sentence, block and place within the block. Games of
// one room share a block, so their likeness is found by deflate; opening a game
// unpacks one block of a few dozen games.

const packMagic = "MUSETW1\n"

var errPacked = errors.New("textworld: the packed game set is damaged; rebuild it with envs/textworld/internal/packgames")

type packer struct {
	bytes.Buffer
	tables [3]table // kinds, object types, receptacle types
}

type table struct {
	index map[string]int
	names []string
}

func (t *table) of(s string) int {
	if i, ok := t.index[s]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[s] = len(t.names)
	t.names = append(t.names, s)
	return t.index[s]
}

func (p *packer) uint(n int) { p.Write(binary.AppendUvarint(nil, uint64(n))) }
func (p *packer) str(s string) {
	p.uint(len(s))
	p.WriteString(s)
}

// deltas writes an ascending list.
func (p *packer) deltas(s []int) {
	p.uint(len(s))
	last := 0
	for _, x := range s {
		p.uint(x - last)
		last = x
	}
}

func (p *packer) game(d *gameData) {
	p.uint(int(d.goal.kind))
	p.uint(p.tables[1].of(d.goal.object))
	if d.goal.kind == goalLook {
		p.uint(p.tables[1].of(d.goal.target))
	} else {
		p.uint(p.tables[2].of(d.goal.target))
	}
	p.uint(d.start)
	p.uint(d.held + 1)
	p.uint(len(d.recs))
	for i := range d.recs {
		r := &d.recs[i]
		f := 0
		if r.opens {
			f |= 1
		}
		if r.opened {
			f |= 2
		}
		p.uint(p.tables[0].of(r.kind))
		p.uint(p.tables[2].of(r.rtype))
		p.uint(r.num)
		p.uint(r.loc)
		p.uint(f)
	}
	p.uint(len(d.objs))
	for i := range d.objs {
		o := &d.objs[i]
		p.uint(p.tables[0].of(o.kind))
		p.uint(p.tables[1].of(o.otype))
		p.uint(o.num)
		p.uint(int(o.flags))
		p.deltas(o.in)
		p.deltas(o.locs)
		p.deltas(o.inner)
	}
	p.str(strings.Join(d.walkthrough, "\n"))
}

// roomOf is the part of a game id that names the room: its scene number.
func roomOf(id string) string {
	task, _, _ := strings.Cut(id, "/")
	return task[strings.LastIndexByte(task, '-')+1:]
}

// Pack writes games as one compact set, the form embedded in the program. All
// games must agree on which receptacle type may hold which object type. The
// bytes depend on the set of games alone, not on their order.
func Pack(w io.Writer, games []*Game) error {
	games = append([]*Game(nil), games...)
	sort.Slice(games, func(i, j int) bool {
		a, b := games[i], games[j]
		if ra, rb := roomOf(a.ID()), roomOf(b.ID()); ra != rb {
			return ra < rb
		}
		return a.ID() < b.ID()
	})
	var p packer
	var index packer
	contain := map[[2]string]bool{}
	var blocks [][]byte
	var entries packer
	for i, g := range games {
		d := g.core().data
		if i > 0 && d.id == games[i-1].ID() {
			return fmt.Errorf("textworld: pack: game %s occurs twice", d.id)
		}
		if i > 0 && roomOf(d.id) != roomOf(games[i-1].ID()) {
			blocks = append(blocks, deflate(p.Bytes()))
			p.Reset()
		}
		for _, c := range d.contain {
			contain[c] = true
		}
		entries.str(d.id)
		entries.str(d.split)
		entries.str(d.goalText)
		entries.uint(int(d.goal.kind))
		entries.uint(len(blocks))
		entries.uint(p.Len())
		p.game(d)
	}
	blocks = append(blocks, deflate(p.Bytes()))
	pairs := sortedPairs(contain)
	for _, g := range games { // the table must give each game back its own pairs
		d := g.core().data
		if got := restrict(pairs, d); !slices.Equal(got, d.contain) {
			return fmt.Errorf("textworld: pack: game %s has other canContain facts than the rest of the set", d.id)
		}
	}
	for t := range p.tables {
		index.uint(len(p.tables[t].names))
		for _, n := range p.tables[t].names {
			index.str(n)
		}
	}
	index.uint(len(pairs))
	for _, c := range pairs {
		index.str(c[0])
		index.str(c[1])
	}
	index.uint(len(blocks))
	for _, b := range blocks {
		index.uint(len(b))
	}
	index.uint(len(games))
	index.Write(entries.Bytes())
	z := deflate(index.Bytes())
	out := append([]byte(packMagic), binary.AppendUvarint(nil, uint64(len(z)))...)
	out = append(out, z...)
	for _, b := range blocks {
		out = append(out, b...)
	}
	_, err := w.Write(out)
	return err
}

func deflate(b []byte) []byte {
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.BestCompression)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // cannot happen: the level is valid and a Buffer does not fail
		panic(err)
	}
	return z.Bytes()
}

// restrict keeps the pairs of types that a game has.
func restrict(pairs [][2]string, d *gameData) [][2]string {
	rt, ot := map[string]bool{}, map[string]bool{}
	for i := range d.recs {
		rt[d.recs[i].rtype] = true
	}
	for i := range d.objs {
		ot[d.objs[i].otype] = true
	}
	var out [][2]string
	for _, p := range pairs {
		if rt[p[0]] && ot[p[1]] {
			out = append(out, p)
		}
	}
	return out
}
