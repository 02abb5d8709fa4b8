package selfassess

import "strings"

// FeatureVersion names the definition of the counting features; it is stored in
// checkpoints, and a checkpoint of another version can't be loaded.
const FeatureVersion = "history15@1"

// NumFeatures is the length of a vector of counting features.
const NumFeatures = 15

// FeatureNames lists the counting features in the order of the vector.
//
// "Failed" means that the observation begins with "Nothing happens"; a place is
// the command of a "go to" that did not fail. All come from [Input.History] and
// [Input.Pairs] (and the end claim), hence work for any generator of text.
var FeatureNames = [NumFeatures]string{
	"count",       // how often the first action was already sent, at most 5, over 5
	"same_last",   // 1 if the first action equals the last real command
	"tried_noth",  // 1 if the first action failed before
	"obs1_noth",   // 1 if the first action fails in the assessed pairs
	"frac_noth",   // share of the assessed pairs that fail; 1 without pairs
	"new_places",  // places of the assessed pairs not yet in the history, over 4
	"first_new",   // 1 if the first action goes to the first of these
	"step",        // real commands so far over the command limit
	"win",         // 1 if the generator claimed the end "won"
	"npairs",      // number of assessed pairs over 4
	"rep_inside",  // assessed actions that repeat an assessed one, over 4
	"pickups",     // assessed observations with "you pick up", over 2
	"hist_noth4",  // share of the last 4 real commands that failed
	"hist_places", // distinct places so far, over 20
	"tried_since", // 1 if the first action failed since anything last worked
}

const (
	defaultLimit = 50 // ALFWorld's command limit
	nothing      = "nothing happens"
	pickUp       = "you pick up"
)

// failed reports whether an observation says that the command had no effect.
func failed(obs string) bool {
	return len(obs) >= len(nothing) && strings.EqualFold(obs[:len(nothing)], nothing)
}

// visit reports whether a pair is a successful move to a place.
func visit(p Pair) bool { return strings.HasPrefix(p.Action, "go to") && !failed(p.Observation) }

// hasVisit reports whether one of pairs visits the place of the command action.
func hasVisit(pairs []Pair, action string) bool {
	for _, p := range pairs {
		if p.Action == action && visit(p) {
			return true
		}
	}
	return false
}

// HistoryFeatures writes the [NumFeatures] counting features of in to dst, which
// must be at least that long. It allocates only for observations in mixed case.
func HistoryFeatures(dst []float32, in *Input) {
	dst = dst[:NumFeatures]
	clear(dst)
	h, ps := in.History, in.Pairs
	first := ""
	if len(ps) > 0 {
		first = ps[0].Action
	}
	count, places := 0, 0
	for i, p := range h {
		if p.Action == first {
			count++
			if failed(p.Observation) {
				dst[2] = 1
			}
		}
		if visit(p) && !hasVisit(h[:i], p.Action) {
			places++
		}
	}
	dst[0] = float32(min(count, 5)) / 5
	dst[1] = bit(len(h) > 0 && h[len(h)-1].Action == first)
	dst[3] = bit(len(ps) > 0 && failed(ps[0].Observation))
	dst[4] = 1
	fails, fresh, repeats, picks := 0, 0, 0, 0
	for i, p := range ps {
		if failed(p.Observation) {
			fails++
		}
		if visit(p) && !hasVisit(h, p.Action) && !hasVisit(ps[:i], p.Action) {
			if fresh == 0 {
				dst[6] = bit(p.Action == first)
			}
			fresh++
		}
		for _, q := range ps[:i] {
			if q.Action == p.Action {
				repeats++
				break
			}
		}
		if strings.Contains(strings.ToLower(p.Observation), pickUp) {
			picks++
		}
	}
	if len(ps) > 0 {
		dst[4] = float32(fails) / float32(len(ps))
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	dst[5] = float32(fresh) / 4
	dst[7] = float32(len(h)) / float32(limit)
	dst[8] = bit(in.WinClaim)
	dst[9] = float32(len(ps)) / 4
	dst[10] = float32(repeats) / 4
	dst[11] = float32(picks) / 2
	if last := h[max(0, len(h)-4):]; len(last) > 0 {
		n := 0
		for _, p := range last {
			if failed(p.Observation) {
				n++
			}
		}
		dst[12] = float32(n) / float32(len(last))
	}
	dst[13] = float32(places) / 20
	for k := len(h) - 1; k >= 0 && failed(h[k].Observation); k-- {
		if h[k].Action == first {
			dst[14] = 1
		}
	}
}

func bit(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
