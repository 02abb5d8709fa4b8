package viewer

import (
	"errors"
	"image/color"
	"testing"
)

func TestFromSVG(t *testing.T) {
	s, err := FromSVG(`<svg xmlns="http://www.w3.org/2000/svg" width="100" height="60"><title>a &amp; b</title>
<rect x="10.0" y="20.0" width="30.0" height="30.0" fill="#0072b2" fill-opacity=".5"/>
<line x1="0" y1="5" x2="100" y2="5" stroke="#f00" stroke-width="2" stroke-dasharray="5 4"/>
<path d="M50.0 10.0L90.0 50.0" fill="none" stroke="#009e73" stroke-width="2"/>
<circle cx="70" cy="12" r="3.5" fill="#111"/><text x="50" y="58" text-anchor="middle" fill="#222">a &lt; b</text></svg>`)
	if err != nil {
		t.Fatal(err)
	}
	img := Raster(s, 1)
	for _, c := range []struct {
		x, y int
		want color.RGBA
	}{{20, 30, color.RGBA{127, 184, 216, 255}}, {5, 30, color.RGBA{255, 255, 255, 255}}, {70, 30, color.RGBA{0, 158, 115, 255}}, {70, 12, color.RGBA{17, 17, 17, 255}}} {
		got := img.RGBAAt(c.x, c.y)
		d := func(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
		if d(got.R, c.want.R)+d(got.G, c.want.G)+d(got.B, c.want.B) > 6 {
			t.Errorf("at %d, %d: %v, want %v", c.x, c.y, got, c.want)
		}
	}
	red, white := 0, 0 // of the broken line
	for x := range 100 {
		if img.RGBAAt(x, 5).G == 0 {
			red++
		} else if img.RGBAAt(x, 5).G == 255 {
			white++
		}
	}
	if red < 30 || white < 30 {
		t.Errorf("the dashed line has %d dark and %d light pixels", red, white)
	}
	texts := 0
	for _, it := range s.Items {
		if it.Kind == KindText && it.Text == "a < b" {
			texts++
		}
	}
	if texts != 1 {
		t.Errorf("%d texts", texts)
	}
	for _, bad := range []string{"", "no svg", `<svg width="10" height="x"></svg>`, `<svg width="1e9" height="1e9"></svg>`, `<rect/>`,
		`<svg width="9" height="9"><polygon/></svg>`, `<svg width="9" height="9"><rect fill="red"/></svg>`, `<svg width="9" height="9"><path d="Mx"/></svg>`, `<svg width="9" height="9">`} {
		if _, err := FromSVG(bad); !errors.Is(err, ErrSVG) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
