package train

import (
	"fmt"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
)

// Chunks turns episodes into the paper's rows (Algorithm 3): every non-overlapping
// chunk of four pairs gets the outcome of its episode. The inputs hold nothing
// privileged: a real window never carries a claim of victory.
func Chunks(es []*Episode) []selfassess.Example { return windows(es, selfassess.ChunkSize) }

// Windows is Chunks with windows that begin at every pair, as futures do that are
// imagined in the middle of an episode.
func Windows(es []*Episode) []selfassess.Example { return windows(es, 1) }

func windows(es []*Episode, stride int) []selfassess.Example {
	var out []selfassess.Example
	for _, e := range es {
		from := len(out)
		out = append(out, selfassess.Episode{
			Task: e.Task, Goal: e.Goal, Plan: e.Plan, Pairs: e.Pairs(), Success: e.Success, Limit: e.Agent.Config.Limit,
		}.Examples(selfassess.ChunkSize, stride, false)...)
		if e.states == nil {
			continue
		}
		for i := range out[from:] {
			in := &out[from+i].Input
			start := len(in.History)
			in.Hidden = llm.JoinStates(e.states[start : start+len(in.Pairs)])
		}
	}
	return out
}

// SiblingExamples turns counterfactual outcomes into rows: each imagined future
// gets the mean outcome of really executing its first command and playing on.
func SiblingExamples(gs []*SiblingGame) ([]selfassess.Example, error) {
	var out []selfassess.Example
	for _, g := range gs {
		for _, s := range g.States {
			if s.Step < 0 || s.Step > len(g.Pairs) {
				return nil, fmt.Errorf("train: %s: a state after %d commands, the episode has %d", g.Unit, s.Step, len(g.Pairs))
			}
			id := fmt.Sprintf("%s@%d", g.Unit, s.Step)
			for _, c := range s.Candidates {
				if c.Action < 0 || c.Action >= len(s.Actions) {
					return nil, fmt.Errorf("train: %s: candidate of action %d, there are %d", id, c.Action, len(s.Actions))
				}
				h, err := unpackHalf(c.Hidden)
				if err != nil {
					return nil, fmt.Errorf("%w (%s)", err, id)
				}
				out = append(out, selfassess.Example{
					Input: selfassess.Input{
						Task: g.Goal, Plan: g.Plan, Pairs: c.Pairs, History: g.Pairs[:s.Step],
						WinClaim: c.Claim == "won", Hidden: h, Limit: g.Limit,
					},
					Label: s.Actions[c.Action].Value(), Task: g.Task, Chunk: s.Step / selfassess.ChunkSize, State: id,
				})
			}
		}
	}
	return out, nil
}

// ReadSiblings reads run folders of `muse siblings` or siblings files; a file without
// visits, or that is cut off, is an error.
func ReadSiblings(paths ...string) ([]*SiblingGame, error) {
	var all []*SiblingGame
	for _, p := range paths {
		by, err := siblingPlayer(p)
		if err != nil {
			return nil, err
		}
		gs, err := readWhole([]string{p}, FileSiblings, SiblingFormat, func(*SiblingGame) bool { return false })
		if err != nil {
			return nil, err
		}
		for _, g := range gs {
			g.by = by
		}
		all = append(all, gs...)
	}
	return all, nil
}
