package gridarm

// The raster: what a small camera above the table sees. Row 0 is next to the arm,
// column 0 on the left; channel c of row y and column x is at (c·16 + y)·16 + x.
const (
	GridWidth    = 16 // cells of 6.25 cm along x
	GridHeight   = 16 // cells of 5 cm along y
	GridChannels = 15
	GridSize     = GridWidth * GridHeight * GridChannels
)

// gridClasses are the channels. The first holds the height of the hand in its cell (0
// at the table, 1 at the top of the workspace, never less than 0.05), all others the
// share of the cell that is covered. "wall" is every fixed solid.
var gridClasses = [GridChannels]string{"hand", "puck", "peg", "ball", "plate", "block", "wall", "button", "drawer", "door",
	"window", "lever", "handle", "coffee machine", "goal"}

// GridClasses are the names of the raster's channels.
func GridClasses() []string { return append([]string(nil), gridClasses[:]...) }

const (
	gridHand = 0
	gridWall = 6
	gridGoal = GridChannels - 1
	cellX    = 1.0 / GridWidth
	cellY    = 0.8 / GridHeight
	// goalHalf is half the size of a goal in the raster.
	goalHalf = 0.03
)

// gridChannel is the channel of object 1 of a task.
func gridChannel(class string) int {
	if class == "lock" {
		class = "lever"
	}
	for i, c := range gridClasses {
		if c == class {
			return i
		}
	}
	return gridWall
}

// grid draws the raster into dst.
func (w *World) grid(dst []float32) {
	s := &w.s
	dst = dst[:GridSize]
	clear(dst)
	x, y := cell(s.Hand[0]+.5, cellX, GridWidth), cell(s.Hand[1]-.2, cellY, GridHeight)
	dst[(gridHand*GridHeight+y)*GridWidth+x] = float32(max(.05, s.Hand[2]/handHigh[2]))
	for i := range s.solids[:s.nSolids] {
		cover(dst, gridWall, s.solids[i])
	}
	if b := w.spec.body; b != nil {
		cover(dst, w.spec.channel, box{add(s.Obj, b.lo), add(s.Obj, b.hi)})
	} else {
		cover(dst, w.spec.channel, around(s.Obj, w.spec.joint.half))
	}
	if !w.opt.PartiallyObservable {
		cover(dst, gridGoal, around(s.Goal, vec{goalHalf, goalHalf, goalHalf}))
	}
}

func cell(x, size float64, n int) int { return int(clip(x/size, 0, float64(n)-1)) }

// cover adds the shares of the cells that b covers, at most 1 each.
func cover(dst []float32, channel int, b box) {
	x0, x1 := (b.lo[0]+.5)/cellX, (b.hi[0]+.5)/cellX
	y0, y1 := (b.lo[1]-.2)/cellY, (b.hi[1]-.2)/cellY
	for y := max(0, int(y0)); y < GridHeight && float64(y) < y1; y++ {
		dy := min(y1, float64(y+1)) - max(y0, float64(y))
		for x := max(0, int(x0)); x < GridWidth && float64(x) < x1; x++ {
			dx := min(x1, float64(x+1)) - max(x0, float64(x))
			if dx <= 0 || dy <= 0 {
				continue
			}
			p := &dst[(channel*GridHeight+y)*GridWidth+x]
			*p = min(1, *p+float32(dx*dy))
		}
	}
}
