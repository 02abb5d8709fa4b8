package train

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
	"github.com/muse-agent/muse/reflexion"
)

// SiblingFormat is the format tag of a line of siblings.jsonl.
const SiblingFormat = "muse/siblings@1"

// SiblingGame is one line of siblings.jsonl: the states that one episode visited
// at which the imagined futures begin with different commands, and what really
// came of each of these commands.
type SiblingGame struct {
	Format   string         `json:"format"`
	Unit     string         `json:"unit"`
	Final    bool           `json:"final"` // always true: a line is a unit
	Task     string         `json:"task_id"`
	TaskType string         `json:"task_type"`
	Goal     string         `json:"goal"`
	Plan     string         `json:"plan,omitempty"`
	Limit    int            `json:"limit"`
	Success  bool           `json:"success"` // of the episode that visited the states
	Pairs    []llm.Pair     `json:"pairs"`   // of that episode; a state's history is Pairs[:Step]
	States   []SiblingState `json:"states"`
	// Model is whose hidden states the futures carry, in packed files; in a run folder
	// run.json says it.
	Model *llm.Info `json:"model,omitempty"`

	by *llm.Info // of run.json
}

// SiblingState is one decision.
type SiblingState struct {
	Step       int                `json:"step"` // commands before it
	Actions    []SiblingAction    `json:"actions"`
	Candidates []SiblingCandidate `json:"candidates"`
}

// SiblingAction is a distinct first command and the outcomes of playing on.
type SiblingAction struct {
	Action      string `json:"action"`
	Observation string `json:"observation"` // the real answer
	Wins        int    `json:"wins"`
	Plays       int    `json:"plays"`
	Steps       int    `json:"steps"` // commands of all plays after this one
}

// Value is the mean outcome.
func (a SiblingAction) Value() float64 {
	if a.Plays == 0 {
		return 0
	}
	return float64(a.Wins) / float64(a.Plays)
}

// SiblingCandidate is one imagined future.
type SiblingCandidate struct {
	Pairs  []llm.Pair `json:"pairs"`
	Claim  string     `json:"claim,omitempty"`
	Action int        `json:"a"`                // index into Actions
	Hidden string     `json:"hidden,omitempty"` // base64 of little-endian float16, see Config.Hidden
}

// SiblingConfig are the settings of sibling collection.
type SiblingConfig struct {
	Episodes int     `json:"episodes"`  // visiting episodes a game
	PerVisit int     `json:"per_visit"` // at most so many states of one episode
	Share    float64 `json:"share"`     // chance that futures are imagined at a state
	// StuckShare replaces Share when the last two commands had no effect: there the
	// outcome hardly depends on the next command (measured with the weak model: two
	// thirds of the states, of which 3 % differ, against 58 % elsewhere).
	StuckShare float64 `json:"stuck_share"`
	Plays      int     `json:"plays"`      // continuations of each distinct first command
	EarlyStop  int     `json:"early_stop"` // "Nothing happens." in a row that end a play, 0 = never; the same for all commands
	Hidden     bool    `json:"hidden"`     // keep the futures' hidden states, where the model shows them
}

// DefaultSiblings gives about 1,000 states on 140 games, most of them where the
// last command worked.
func DefaultSiblings() SiblingConfig {
	return SiblingConfig{Episodes: 6, PerVisit: 6, Share: .9, StuckShare: .15, Plays: 2, EarlyStop: 12, Hidden: true}
}

// Validate reports all problems at once.
func (c SiblingConfig) Validate() error {
	var errs []error
	for _, x := range []struct {
		ok   bool
		what string
	}{
		{c.Episodes >= 1 && c.Episodes <= 100_000, "episodes must lie between 1 and 100000"}, {c.PerVisit >= 1, "per_visit must be at least 1"},
		{c.StuckShare >= 0 && c.StuckShare <= 1, "stuck_share must lie in [0, 1]"},
		{c.Plays >= 1, "plays must be at least 1"}, {c.Share > 0 && c.Share <= 1, "share must lie in (0, 1]"},
		{c.EarlyStop >= 0, "early_stop must not be negative"},
	} {
		if !x.ok {
			errs = append(errs, errors.New("train: siblings: "+x.what))
		}
	}
	return errors.Join(errs...)
}

// CollectSiblings visits states by plain sampling: by player (selector off), and at
// states that the coin chooses by visitor, which imagines futures and takes one of
// them at random: the same distribution, with the futures at hand. Every distinct
// first command of these is executed in a copy of the game and played on by
// player. The games must be training games: the outcomes become labels. It
// continues where an interrupted call ended.
func CollectSiblings(ctx context.Context, r *Run, b *Bench, visitor, player Player, c SiblingConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if len(b.Games) == 0 {
		return errors.New("train: siblings: no games selected")
	}
	log, err := r.OpenLog(FileSiblings, SiblingFormat)
	if err != nil {
		return err
	}
	// Episodes of a game lie far apart, so that an early stop has seen all games.
	plan := make([]string, 0, len(b.Games)*c.Episodes)
	for e := range c.Episodes {
		for _, g := range b.Games {
			plan = append(plan, fmt.Sprintf("%s#sibling/%d", g.ID(), e))
		}
	}
	from, err := log.Expect(plan)
	if err != nil {
		return err
	}
	p := NewProgress(b.Progress, b.TTY, "siblings", from, len(plan))
	defer p.Close()
	states, plays := 0, 0
	return Ordered(ctx, b.Workers, from, len(plan), func(ctx context.Context, i int) (*SiblingGame, error) {
		g, e := b.Games[i%len(b.Games)], i/len(b.Games)
		sg, err := b.siblingGame(llm.InUnit(ctx, plan[i]), g, visitor, player, c, rng.Seed(b.Seed, "sibling", g.ID(), e))
		if err != nil {
			return nil, fmt.Errorf("siblings of %s: %w", plan[i], err)
		}
		sg.Unit = plan[i]
		return sg, nil
	}, func(i int, sg *SiblingGame) error {
		states += len(sg.States)
		for _, s := range sg.States {
			for _, a := range s.Actions {
				plays += a.Plays
			}
		}
		if err := log.Append(plan[i], sg); err != nil {
			return err
		}
		p.Add(1, fmt.Sprintf("%d states, %d plays", states, plays))
		return nil
	})
}

// siblingGame plays one visiting episode and the continuations of its states.
func (b *Bench) siblingGame(ctx context.Context, g *textworld.Game, visitor, player Player, c SiblingConfig, seed uint64) (*SiblingGame, error) {
	env := textworld.New(g, b.Env)
	defer env.Close()
	intro, err := resetText(ctx, env)
	if err != nil {
		return nil, err
	}
	task, err := reflexion.ParseIntro(intro)
	if err != nil {
		return nil, err
	}
	carry, _, err := visitor.Agent.Begin(ctx, task, nil, seed)
	if err != nil {
		return nil, err
	}
	defer visitor.Agent.Close(carry)
	sg := &SiblingGame{
		Format: SiblingFormat, Final: true, Task: g.ID(), TaskType: g.TaskType(), Goal: task.Goal,
		Plan: carry.Plan, Limit: visitor.Info.Config.Limit, States: []SiblingState{},
	}
	coin := rng.New(seed, "use state")
	failed := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		share := c.Share
		if failed >= 2 {
			share = c.StuckShare
		}
		// Near an early stop every outcome is a loss by that rule, not by the command.
		near := c.EarlyStop > 0 && 3*failed >= 2*c.EarlyStop
		imagine := coin.Float64() < share && len(sg.States) < c.PerVisit && !near
		who := player.Agent
		if imagine {
			who = visitor.Agent
		}
		action, tr, err := who.Act(ctx, carry)
		if err != nil {
			return nil, err
		}
		if st, ok := newState(carry, tr, c.Hidden); ok && imagine {
			for i := range st.Actions {
				if err := b.playSibling(ctx, env, carry, player, tr, &st, i, c); err != nil {
					return nil, err
				}
			}
			sg.States = append(sg.States, st)
		}
		step, err := send(ctx, env, visitor.Info.ThinkCost, tr.Thoughts, action)
		if err != nil {
			return nil, err
		}
		text, _ := step.Obs.(string)
		if err := visitor.Agent.Observe(ctx, carry, action, tr, text); err != nil {
			return nil, err
		}
		if text == nothing {
			failed++
		} else {
			failed = 0
		}
		if step.Done() || c.EarlyStop > 0 && failed >= c.EarlyStop {
			sg.Success = step.Info.Success()
			break
		}
	}
	sg.Pairs = slices.Clone(carry.Pairs)
	return sg, nil
}

// newState keeps the candidates of a decision; ok is false unless at least two
// different first commands were imagined.
func newState(c *reflexion.Carry, tr reflexion.Trace, hidden bool) (SiblingState, bool) {
	st := SiblingState{Step: len(c.Pairs)}
	for _, cand := range tr.Candidates {
		if !cand.Valid {
			continue
		}
		first := cand.Pairs[0].Action
		i := slices.IndexFunc(st.Actions, func(a SiblingAction) bool { return a.Action == first })
		if i < 0 {
			i = len(st.Actions)
			st.Actions = append(st.Actions, SiblingAction{Action: first})
		}
		sc := SiblingCandidate{Pairs: cand.Pairs, Claim: cand.Claim, Action: i}
		if hidden {
			sc.Hidden = packHalf(cand.Hidden)
		}
		st.Candidates = append(st.Candidates, sc)
	}
	return st, len(st.Actions) > 1
}

// playSibling executes first command i of the state in clones and plays on.
func (b *Bench) playSibling(ctx context.Context, env *textworld.Env, at *reflexion.Carry, player Player, tr reflexion.Trace, st *SiblingState, i int, c SiblingConfig) error {
	a := &st.Actions[i]
	// The thoughts of the first candidate that begins with this command.
	k := slices.IndexFunc(tr.Candidates, func(x reflexion.Candidate) bool { return x.Valid && x.Pairs[0].Action == a.Action })
	thoughts := tr.Candidates[k].Pairs[0].Thoughts
	after := env.Clone()
	defer after.Close()
	step, err := send(ctx, after, player.Info.ThinkCost, thoughts, reflexion.EnvAction(a.Action, player.Info.Config.Dialect))
	if err != nil {
		return err
	}
	text, _ := step.Obs.(string)
	a.Observation = text
	if step.Done() {
		a.Plays = 1
		if step.Info.Success() {
			a.Wins = 1
		}
		return nil
	}
	base, err := at.Fork(ctx)
	if err != nil {
		return err
	}
	defer player.Agent.Close(base)
	if err := player.Agent.Observe(ctx, base, a.Action, reflexion.Trace{Thoughts: thoughts}, text); err != nil {
		return err
	}
	for p := range c.Plays {
		won, n, err := b.playOut(ctx, after, base, player, rng.Seed(at.Seed, "sibling", len(at.Pairs), a.Action, p), c.EarlyStop)
		if err != nil {
			return err
		}
		a.Plays++
		a.Steps += n
		if won {
			a.Wins++
		}
	}
	return nil
}

// playOut plays one continuation from base in a clone of env.
func (b *Bench) playOut(ctx context.Context, env *textworld.Env, base *reflexion.Carry, player Player, seed uint64, earlyStop int) (won bool, steps int, err error) {
	e := Episode{Agent: player.Info}
	e.Agent.EarlyStop = earlyStop
	clone := env.Clone()
	defer clone.Close()
	c, err := base.Fork(ctx)
	if err != nil {
		return false, 0, err
	}
	defer player.Agent.Close(c)
	c.Seed = seed
	var tm Timing
	if err := playOn(ctx, clone, player.Agent, c, &e, &tm); err != nil {
		return false, 0, err
	}
	return e.Success, len(e.Steps), nil
}

// EachSibling calls fn for every line of a run folder's siblings.jsonl or of a
// siblings file (.jsonl, .jsonl.gz).
func EachSibling(path string, fn func(*SiblingGame) error) error {
	_, err := eachFormatted(path, FileSiblings, SiblingFormat, fn)
	return err
}

// packHalf stores hidden states as float16: half precision is far below the noise
// of the labels and halves the file.
func packHalf(h []float32) string {
	if len(h) == 0 {
		return ""
	}
	b := make([]byte, 0, 2*len(h))
	for _, v := range h {
		x := toHalf(v)
		b = append(b, byte(x), byte(x>>8))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// unpackHalf is the inverse of packHalf.
func unpackHalf(s string) ([]float32, error) {
	if s == "" {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err == nil && len(b)%2 != 0 {
		err = fmt.Errorf("%d bytes", len(b))
	}
	if err != nil {
		return nil, fmt.Errorf("train: hidden states are no base64 of float16: %w", err)
	}
	h := make([]float32, len(b)/2)
	for i := range h {
		h[i] = fromHalf(uint16(b[2*i]) | uint16(b[2*i+1])<<8)
	}
	return h, nil
}

// toHalf rounds to IEEE 754 binary16, ties to even; overflow becomes infinity and
// subnormals become zero.
func toHalf(f float32) uint16 {
	x := math.Float32bits(f)
	sign := uint16(x >> 16 & 0x8000)
	exp := int(x>>23&0xff) - 127 + 15
	man := x & 0x7fffff
	switch {
	case exp <= 0:
		return sign
	case exp >= 31:
		return sign | 0x7c00
	}
	half := uint32(exp)<<10 | man>>13
	if r := man & 0x1fff; r > 0x1000 || r == 0x1000 && half&1 == 1 {
		half++
	}
	return sign | uint16(half)
}

// fromHalf widens a binary16; it is the inverse of toHalf but for subnormals, which
// toHalf never makes.
func fromHalf(h uint16) float32 {
	sign, exp, man := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0:
		return math.Float32frombits(sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | man<<13)
}
