package viewer

import (
	"fmt"
	"image/color"
)

// Theme holds the colours by what they mean. Whatever a colour says is also said by a
// sign, a word, a line's width or its dashes.
//
// Good, Bad, Doubt, Choice and Real are taken from the palette of Okabe and Ito (Color
// Universal Design, 2008), which people with any of the common kinds of colour blindness
// tell apart, made darker or lighter where text needs contrast with the background.
type Theme struct {
	Name                     string
	Back, Panel, Line, Floor color.NRGBA
	Ink, Soft, Faint         color.NRGBA // text: main, secondary, marks
	Good, Bad, Doubt         color.NRGBA // solved, failed, neither
	Choice, Real             color.NRGBA // the chosen future; what really happened
	Band                     color.NRGBA // area between the lowest and the highest P
}

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// Light is the default.
var Light = Theme{
	Name: "light",
	Back: rgb(0xf4f5f7), Panel: rgb(0xffffff), Line: rgb(0xd3d7de), Floor: rgb(0xf3efe6),
	Ink: rgb(0x15191f), Soft: rgb(0x55606e), Faint: rgb(0x98a2b0),
	Good: rgb(0x00785a), Bad: rgb(0xb84300), Doubt: rgb(0x8f6a00),
	Choice: rgb(0x005f9e), Real: rgb(0xa04a7d),
	Band: rgb(0xd6e6f2),
}

// Dark is for dark rooms.
var Dark = Theme{
	Name: "dark",
	Back: rgb(0x14171b), Panel: rgb(0x1d2127), Line: rgb(0x3a414b), Floor: rgb(0x25262a),
	Ink: rgb(0xeceff3), Soft: rgb(0xa9b3c0), Faint: rgb(0x6d7784),
	Good: rgb(0x2cc197), Bad: rgb(0xf08a4b), Doubt: rgb(0xe6b422),
	Choice: rgb(0x6cbcf0), Real: rgb(0xdc9ac0),
	Band: rgb(0x223646),
}

// ThemeByName returns the theme called name; "" is the default.
func ThemeByName(name string) (Theme, error) {
	switch name {
	case "", Light.Name:
		return Light, nil
	case Dark.Name:
		return Dark, nil
	}
	return Theme{}, fmt.Errorf("viewer: no theme %q; there are light and dark", name)
}

// probability is the colour of a probability of success; the number stands beside it.
func (t *Theme) probability(p float64) color.NRGBA {
	switch {
	case p >= .5:
		return t.Good
	case p >= .2:
		return t.Doubt
	}
	return t.Bad
}

// mix blends a share of b into a.
func mix(a, b color.NRGBA, share float64) color.NRGBA {
	f := func(x, y uint8) uint8 { return uint8(float64(x)*(1-share) + float64(y)*share + .5) }
	return color.NRGBA{f(a.R, b.R), f(a.G, b.G), f(a.B, b.B), 255}
}
