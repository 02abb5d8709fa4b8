package corpus

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// LevelStats are the results of one level of a mixture.
type LevelStats struct {
	Level              Level
	Episodes, Wins     int
	Commands, WinSteps int // over all episodes; over the won ones
}

// Stats describe a written corpus.
type Stats struct {
	Mixture   string
	Levels    []LevelStats
	Reflected int // episodes that were given reflections
	Words     int
	Tokens    int // estimate, see estimateTokens
	MaxTokens int
	Failed    int            // commands without effect
	Failures  map[string]int // by reason, as in RealFailures
}

func newStats(m Mixture) Stats {
	s := Stats{Mixture: m.Name, Failures: map[string]int{}}
	for _, l := range m.Levels {
		s.Levels = append(s.Levels, LevelStats{Level: l})
	}
	return s
}

// Episodes, Wins and Commands are sums over the levels.
func (s Stats) Episodes() int { return s.sum(func(l LevelStats) int { return l.Episodes }) }

// Wins is the number of won episodes.
func (s Stats) Wins() int { return s.sum(func(l LevelStats) int { return l.Wins }) }

// Commands is the number of commands in all episodes.
func (s Stats) Commands() int { return s.sum(func(l LevelStats) int { return l.Commands }) }

func (s Stats) sum(f func(LevelStats) int) (n int) {
	for _, l := range s.Levels {
		n += f(l)
	}
	return n
}

func (s *Stats) count(e Episode, level int, t trial) {
	l := &s.Levels[level]
	l.Episodes++
	l.Commands += len(t.pairs)
	if t.won {
		l.Wins++
		l.WinSteps += len(t.pairs)
	}
	if e.Segments[2].K == "reflection" {
		s.Reflected++
	}
	text := e.Text()
	s.Words += words(text)
	n := estimateTokens(text)
	s.Tokens += n
	s.MaxTokens = max(s.MaxTokens, n)
	for k, n := range t.fails {
		s.Failures[k] += n
		s.Failed += n
	}
}

func (s *Stats) add(o Stats) {
	for i, l := range o.Levels {
		s.Levels[i].Episodes += l.Episodes
		s.Levels[i].Wins += l.Wins
		s.Levels[i].Commands += l.Commands
		s.Levels[i].WinSteps += l.WinSteps
	}
	s.Reflected += o.Reflected
	s.Words += o.Words
	s.Tokens += o.Tokens
	s.MaxTokens = max(s.MaxTokens, o.MaxTokens)
	s.Failed += o.Failed
	for k, n := range o.Failures {
		s.Failures[k] += n
	}
}

var phrase = regexp.MustCompile(`[a-z]+ \d+`)

// estimateTokens guesses a length for a tokenizer that has fixed phrases as
// single tokens: a name is two tokens, what stands between names one, a line's
// tag and end two.
func estimateTokens(text string) int {
	return 3*len(phrase.FindAllStringIndex(text, -1)) + 2*(1+strings.Count(text, "\n"))
}

// Print writes the figures for people.
func (s Stats) Print(w io.Writer) error {
	n := max(1, s.Episodes())
	var b strings.Builder
	fmt.Fprintf(&b, "mixture %s: %d episodes, %.3f won, %.1f commands, %.2f without effect, %.3f with reflections, %.0f words, about %.0f tokens (at most %d)\n",
		s.Mixture, s.Episodes(), float64(s.Wins())/float64(n), float64(s.Commands())/float64(n), float64(s.Failed)/float64(max(1, s.Commands())),
		float64(s.Reflected)/float64(n), float64(s.Words)/float64(n), float64(s.Tokens)/float64(n), s.MaxTokens)
	for _, l := range s.Levels {
		fmt.Fprintf(&b, "  confused %.2f, recovers %.2f, share %.2f: %6d episodes, %.3f won, %.1f commands (%.1f when won)\n", l.Level.Confuse, l.Level.Recover, l.Level.Share,
			l.Episodes, float64(l.Wins)/float64(max(1, l.Episodes)), float64(l.Commands)/float64(max(1, l.Episodes)), float64(l.WinSteps)/float64(max(1, l.Wins)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
