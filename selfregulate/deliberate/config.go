package deliberate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/nearest"
)

// Mode is the way in which paths are made.
type Mode string

const (
	Adaptive Mode = "adaptive"
	BestOfN  Mode = "best_of_n"
	Stepwise Mode = "stepwise"
	Race     Mode = "race"
)

// Modes lists all modes.
func Modes() []Mode { return []Mode{Adaptive, BestOfN, Stepwise, Race} }

// Strategies of judging several paths.
const (
	Independent = "independent" // one question a path: is it right?
	Choice      = "choice"      // one question about all: which is right? (the judge must be a Chooser)
)

// maxChoices bounds a comparative question: one letter a candidate.
const maxChoices = 26

// Config of a deliberation. Zero is not usable: start from [Default].
type Config struct {
	Mode Mode `json:"mode"`

	// Adaptive: a path with a score of StopConfidence ends the run; else
	// round(MinPaths + u (MaxPaths − MinPaths)) more are written, u = 1 − score.
	StopConfidence float64 `json:"stop_confidence"`
	MinPaths       int     `json:"min_paths"`
	MaxPaths       int     `json:"max_paths"`
	// AnswerPrior weighs the score of the bare final answer, added to the path's own.
	AnswerPrior float64 `json:"answer_prior"`
	// Paths of best_of_n and race, and continuations a step of stepwise.
	Paths int `json:"paths"`

	StepTokens       int     `json:"step_tokens"`       // stepwise: tokens of a continuation
	CommitConfidence float64 `json:"commit_confidence"` // stepwise: from here the rest is written greedily in one call; above 1 = never

	RaceConfidence float64 `json:"race_confidence"`  // race: the first stream with this score wins
	RaceScoreChars int     `json:"race_score_chars"` // race: new characters after which a stream is judged again

	MaxTokens   int     `json:"max_tokens"`  // of a path
	Temperature float64 `json:"temperature"` // of sampled paths; the greedy one has 0
	Seed        uint64  `json:"seed"`

	// Options, all off by default.
	Triage         bool    `json:"triage,omitempty"` // the judge rates the bare problem first; below TriageHard the greedy path is skipped
	TriageHard     float64 `json:"triage_hard"`
	SketchTokens   int     `json:"sketch_tokens,omitempty"` // branches begin as outlines of so many tokens; the better half is written out
	MaxRounds      int     `json:"max_rounds"`              // rounds of branching; from the second on, from the best path
	DiversityHints bool    `json:"diversity_hints,omitempty"`
	Strategy       string  `json:"strategy"`
	Split          bool    `json:"split,omitempty"`           // a path that holds several approaches becomes several candidates
	VerifyFinished bool    `json:"verify_finished,omitempty"` // ask about the winner: complete? correct?
	KeepReasoning  bool    `json:"keep_reasoning,omitempty"`  // paths keep their reasoning, in think tags
	PathRetries    int     `json:"path_retries"`              // times a path lost to the network is tried again
	AllowSelfJudge bool    `json:"allow_self_judge,omitempty"`

	// Escalate writes one path when the best one still lacks StopConfidence.
	Escalate chat.Model `json:"-"`
	// System is the thinker's system message; "" = a default that asks for a last
	// line "Final answer: …".
	System string `json:"system,omitempty"`
	// Answer reads the final answer of a path; nil = FinalAnswer.
	Answer func(text string) string `json:"-"`
	// Observe sees every event as it happens, one at a time. It must not call back.
	Observe func(Event) `json:"-"`
}

// Default returns the settings of the source's measured pipeline (adaptive, stop at
// .95, two to six more paths, prior of bare answers .5, race at .8).
func Default() Config {
	return Config{
		Mode: Adaptive, StopConfidence: .95, MinPaths: 2, MaxPaths: 6, AnswerPrior: .5, Paths: 4,
		StepTokens: 128, CommitConfidence: .9, RaceConfidence: .8, RaceScoreChars: 400,
		MaxTokens: 2048, Temperature: .8, TriageHard: .5, MaxRounds: 1, Strategy: Independent, PathRetries: 1, Seed: 1,
	}
}

// Validate reports all problems at once, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf("deliberate: "+format, a...)) }
	known := false
	var names []string
	for _, m := range Modes() {
		known = known || m == c.Mode
		names = append(names, string(m))
	}
	if !known {
		near, _ := nearest.Of(string(c.Mode), names)
		bad("no mode %q; did you mean %q? (known: %s)", c.Mode, near, strings.Join(names, ", "))
	}
	for _, p := range []struct {
		name string
		v    float64
		most float64
	}{
		{"stop_confidence", c.StopConfidence, 2}, {"commit_confidence", c.CommitConfidence, 2}, {"race_confidence", c.RaceConfidence, 2},
		{"answer_prior", c.AnswerPrior, 100}, {"triage_hard", c.TriageHard, 1}, {"temperature", c.Temperature, 100},
	} {
		if !(p.v >= 0 && p.v <= p.most) {
			bad("%s is %v; it must lie between 0 and %v", p.name, p.v, p.most)
		}
	}
	for _, p := range []struct {
		name  string
		v     int
		least int
	}{
		{"min_paths", c.MinPaths, 1}, {"max_paths", c.MaxPaths, c.MinPaths}, {"paths", c.Paths, 1}, {"step_tokens", c.StepTokens, 1},
		{"race_score_chars", c.RaceScoreChars, 1}, {"max_tokens", c.MaxTokens, 1}, {"sketch_tokens", c.SketchTokens, 0},
		{"max_rounds", c.MaxRounds, 1}, {"path_retries", c.PathRetries, 0},
	} {
		if p.v < p.least {
			bad("%s is %d; at least %d is needed", p.name, p.v, p.least)
		}
	}
	if c.Strategy != Independent && c.Strategy != Choice {
		bad("strategy is %q; it must be %s or %s", c.Strategy, Independent, Choice)
	}
	if c.Strategy == Choice && c.Mode != Adaptive && c.Mode != BestOfN {
		bad("strategy %s compares whole paths: it fits adaptive and best_of_n, not %s", Choice, c.Mode)
	}
	if c.Strategy == Choice && c.Paths > maxChoices {
		bad("paths is %d; a comparative question takes at most %d", c.Paths, maxChoices)
	}
	return errors.Join(errs...)
}
