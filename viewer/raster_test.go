package viewer_test

import (
	"image/color"
	"math"
	"testing"

	"github.com/muse-agent/muse/viewer"
)

var (
	white = color.NRGBA{255, 255, 255, 255}
	black = color.NRGBA{0, 0, 0, 255}
)

// covered is the area that is not white, in pixels.
func covered(s *viewer.Scene, scale float64) float64 {
	m := viewer.Raster(s, scale)
	sum := 0.0
	for i := 0; i < len(m.Pix); i += 4 {
		sum += float64(255-m.Pix[i]) / 255
	}
	return sum
}

// Shapes cover the area that geometry gives them, at each scale.
func TestAreas(t *testing.T) {
	for name, c := range map[string]struct {
		draw func(s *viewer.Scene)
		area float64
	}{
		"rectangle": {func(s *viewer.Scene) { s.Rect(viewer.Box{X: 10, Y: 10, W: 30, H: 20}, black) }, 600},
		"circle":    {func(s *viewer.Scene) { s.Circle(50, 50, 20, black, color.NRGBA{}, 0) }, math.Pi * 400},
		"ring":      {func(s *viewer.Scene) { s.Circle(50, 50, 20, color.NRGBA{}, black, 4) }, math.Pi * (400 - 256)},
		"round":     {func(s *viewer.Scene) { s.Round(viewer.Box{X: 10, Y: 10, W: 40, H: 30}, 10, black, color.NRGBA{}, 0) }, 1200 - (4-math.Pi)*100},
		"line":      {func(s *viewer.Scene) { s.Line(10, 20, 60, 20, black, 3) }, 150},
		"slope":     {func(s *viewer.Scene) { s.Line(10, 10, 40, 50, black, 2) }, 100},
		"dashes":    {func(s *viewer.Scene) { s.Dashed([]viewer.Point{{X: 10, Y: 20}, {X: 50, Y: 20}}, black, 2, 5) }, 40},
		"triangle": {func(s *viewer.Scene) {
			s.Polygon([]viewer.Point{{X: 10, Y: 10}, {X: 50, Y: 10}, {X: 10, Y: 40}}, black)
		}, 600},
		"outside": {func(s *viewer.Scene) { s.Circle(0, 0, 20, black, color.NRGBA{}, 0) }, math.Pi * 100},
		"far left": {func(s *viewer.Scene) {
			s.Polygon([]viewer.Point{{X: -50, Y: 10}, {X: 50, Y: 10}, {X: 50, Y: 20}, {X: -50, Y: 20}}, black)
		}, 500},
		"half clear": {func(s *viewer.Scene) {
			s.Rect(viewer.Box{X: 10, Y: 10, W: 30, H: 20}, color.NRGBA{0, 0, 0, 128})
		}, 600 * 128 / 255.},
		"clipped": {func(s *viewer.Scene) {
			s.Clip(viewer.Box{X: 0, Y: 0, W: 50, H: 100})
			s.Clip(viewer.Box{X: 0, Y: 0, W: 100, H: 50})
			s.Circle(50, 50, 20, black, color.NRGBA{}, 0)
			s.Unclip()
			s.Unclip()
			s.Unclip() // one too many does nothing
		}, math.Pi * 100},
	} {
		for _, scale := range []float64{1, 2, 1.5} {
			s := viewer.NewScene(100, 100, white)
			c.draw(s)
			if got := covered(s, scale) / (scale * scale); math.Abs(got-c.area) > c.area*.03+1 {
				t.Errorf("%s at %g: area %.1f, want %.1f", name, scale, got, c.area)
			}
		}
	}
}

// Coordinates that no picture has do no harm.
func TestWildCoordinates(t *testing.T) {
	wild := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 0, 5}
	for _, x := range wild {
		for _, y := range wild {
			s := viewer.NewScene(50, 50, white)
			b := viewer.Box{X: x, Y: y, W: y, H: x}
			s.Rect(b, black)
			s.Round(b, x, black, black, y)
			s.Circle(x, y, x, black, black, y)
			s.Path([]viewer.Point{{X: x, Y: y}, {X: 10, Y: 10}, {X: y, Y: x}}, black, 2)
			s.Dashed([]viewer.Point{{X: x, Y: y}, {X: 10, Y: 10}}, black, 2, 3)
			s.Polygon([]viewer.Point{{X: x, Y: y}, {X: 10, Y: 10}, {X: 30, Y: 10}}, black)
			s.Text(x, y, viewer.Style{Face: viewer.Bold, Size: x}, black, "x")
			s.Clip(b)
			s.Text(3, 3, viewer.Style{Face: viewer.Bold, Size: 10}, black, "x")
			s.Unclip()
			viewer.Raster(s, 1)
		}
	}
	for _, size := range []float64{math.NaN(), -1, 0, 1e9} {
		if m := viewer.Raster(&viewer.Scene{W: size, H: size}, 1); m == nil {
			t.Error("no picture")
		}
	}
}
