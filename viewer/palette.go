package viewer

import (
	"image"
	"image/color"
	"sort"
)

// palette finds at most 256 colours for an animation. Pictures are flat: most pixels have
// one of a dozen colours, the others are the blends at edges of shapes and letters. The
// most frequent are kept exactly and the rest go to the nearest of them. (A fixed palette
// would put neighbouring greys together, and dithering would make still pictures flicker.)
type palette struct {
	n     map[uint32]int
	index map[uint32]uint8
	list  []colourCount
}

type colourCount struct {
	key uint32
	n   int
}

func newPalette() *palette { return &palette{n: map[uint32]int{}} }

// count adds the pixels of a picture. Runs of one colour cost one step.
func (p *palette) count(m *image.RGBA) {
	for i := 0; i < len(m.Pix); {
		k := rgbKey(m.Pix[i:])
		j := i + 4
		for j < len(m.Pix) && m.Pix[j] == m.Pix[i] && m.Pix[j+1] == m.Pix[i+1] && m.Pix[j+2] == m.Pix[i+2] {
			j += 4
		}
		p.n[k] += (j - i) / 4
		i = j
	}
}

// choose fixes the palette.
func (p *palette) choose() color.Palette {
	all := make([]colourCount, 0, len(p.n))
	for k, n := range p.n {
		all = append(all, colourCount{k, n})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].n != all[j].n {
			return all[i].n > all[j].n
		}
		return all[i].key < all[j].key
	})
	// Half by frequency alone, half by frequency among those far from what is kept: a
	// colour of few pixels (a thin line) must not become another one.
	p.list = spread(all, 256)
	out := make(color.Palette, len(p.list))
	p.index = make(map[uint32]uint8, len(all))
	for i, c := range p.list {
		out[i] = c.colour()
		p.index[c.key] = uint8(i)
	}
	return out
}

// spread picks at most n colours from a list sorted by frequency.
func spread(all []colourCount, n int) []colourCount {
	if len(all) <= n {
		return all
	}
	kept := append([]colourCount(nil), all[:n/2]...)
	rest := all[n/2:]
	for _, far := range []int{48, 32, 24, 16, 10, 0} {
		var later []colourCount
		for _, c := range rest {
			if len(kept) < n && (far == 0 || distance(kept, c.key) >= far*far) {
				kept = append(kept, c)
			} else {
				later = append(later, c)
			}
		}
		rest = later
	}
	return kept
}

// distance is the least squared distance of a colour from those in list.
func distance(list []colourCount, key uint32) int {
	best := 1 << 30
	for _, c := range list {
		best = min(best, apart(c.key, key))
	}
	return best
}

func apart(a, b uint32) int {
	dr, dg, db := int(a>>16)-int(b>>16), int(a>>8&255)-int(b>>8&255), int(a&255)-int(b&255)
	return dr*dr + dg*dg + db*db
}

// put writes a picture in palette colours.
func (p *palette) put(dst *image.Paletted, m *image.RGBA) {
	last, v := uint32(1<<31), uint8(0)
	for i := range dst.Pix {
		k := rgbKey(m.Pix[4*i:])
		if k != last {
			last = k
			var ok bool
			if v, ok = p.index[k]; !ok {
				v = p.nearest(k)
				p.index[k] = v
			}
		}
		dst.Pix[i] = v
	}
}

func (p *palette) nearest(k uint32) uint8 {
	best, at := 1<<30, 0
	for i, c := range p.list {
		if d := apart(c.key, k); d < best {
			best, at = d, i
		}
	}
	return uint8(at)
}
