package selfassess

// ChunkSize is the paper's number of action-observation pairs in a chunk.
const ChunkSize = 4

// Window is a run of consecutive pairs of one episode.
type Window struct {
	Index   int    // 0, 1, 2 … in order
	Start   int    // index of the first pair
	Pairs   []Pair // the window; shares memory with the episode
	History []Pair // all pairs before it
	Last    bool   // it reaches the end of the episode
}

// Chunks cuts an episode into windows of size pairs that begin every stride
// pairs; a shorter rest is kept. Chunks(pairs, 4, 4) are the paper's
// non-overlapping chunks, Chunks(pairs, 4, 1) sliding windows for training. A
// size or stride below 1 means [ChunkSize] and size.
func Chunks(pairs []Pair, size, stride int) []Window {
	if size < 1 {
		size = ChunkSize
	}
	if stride < 1 {
		stride = size
	}
	out := make([]Window, 0, (len(pairs)+stride-1)/stride)
	for i := 0; i < len(pairs); i += stride {
		end := min(i+size, len(pairs))
		out = append(out, Window{
			Index: len(out), Start: i,
			Pairs: pairs[i:end:end], History: pairs[:i:i],
			Last: end == len(pairs),
		})
	}
	return out
}

// Episode is a finished real episode, ready to be cut into labelled rows.
type Episode struct {
	Task    string // game id
	Goal    string // I
	Plan    string // P^e
	Pairs   []Pair
	Success bool // the label; never part of an Input
	Limit   int  // command limit, 0 = 50
}

// Examples cuts the episode by [Chunks] and labels every window with the outcome
// (paper, section 4.1.3).
//
// claim sets WinClaim on the windows that reach the end of a won episode. It is
// for training rows only, where it imitates a generator's "[end: won]": on rows
// that are evaluated it would hand the outcome to the predictor.
func (e Episode) Examples(size, stride int, claim bool) []Example {
	label := 0.0
	if e.Success {
		label = 1
	}
	ws := Chunks(e.Pairs, size, stride)
	out := make([]Example, len(ws))
	for i, w := range ws {
		out[i] = Example{
			Input: Input{
				Task: e.Goal, Plan: e.Plan, Pairs: w.Pairs, History: w.History,
				WinClaim: claim && e.Success && w.Last, Limit: e.Limit,
			},
			Label: label, Weight: 1, Task: e.Task, Chunk: w.Index, Last: w.Last,
		}
	}
	return out
}
