package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/serve"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/ensemble"
	"github.com/muse-agent/muse/selfregulate/gate"
)

func askCmd(a *app) *cobra.Command {
	var (
		f      thinkFlags
		asJSON bool
		system string
	)
	c := &cobra.Command{
		Use: "ask QUESTION", Short: "Answer one question, with metacognition", Args: exactArgs(1, "one question (in quotes; - reads it from standard input)"),
		Long: `Answers one question by a model server, or several, and shows on standard error what
happens: paths and their scores, the critic's decision, or states, roles and system. The
answer goes to standard output.

The judge must not be the thinker: grading oneself measures worse than no judge.`,
		Example: "  muse ask \"How many primes are below 100?\" --thinker llama@http://127.0.0.1:8080/v1 --judge qwen@http://127.0.0.1:8081/v1\n" +
			"  muse ask \"How does the FFT work?\" --system ensemble --node a@http://127.0.0.1:8080/v1,b@http://127.0.0.1:8081/v1",
		RunE: func(c *cobra.Command, args []string) error {
			q := strings.TrimSpace(args[0])
			if q == "-" {
				b, err := io.ReadAll(io.LimitReader(a.stdin, 1<<20))
				if err != nil {
					return fmt.Errorf("reading the question: %w", err)
				}
				q = strings.TrimSpace(string(b))
			}
			if q == "" {
				return usagef("the question is empty")
			}
			e, err := f.engine(a)
			if err != nil {
				return err
			}
			defer f.Close()
			query := serve.Query{Messages: []chat.Message{{Role: chat.User, Content: q}}}
			if system != "" {
				query.Messages = append([]chat.Message{{Role: chat.System, Content: system}}, query.Messages...)
			}
			w, tty := a.progressWriter()
			v := &liveView{w: w, tty: tty, lanes: map[int]*liveLane{}}
			switch e := e.(type) {
			case *deliberator:
				r, err := e.run(c.Context(), query, v.deliberate)
				if err != nil {
					return err
				}
				if !r.Judged && slices.ContainsFunc(r.Events, func(e deliberate.Event) bool { return e.Kind == deliberate.EventJudgeLost }) {
					a.say("warning: the answer was not judged (%s)", r.Reason)
				}
				if asJSON {
					return a.printJSON(r)
				}
				fmt.Fprintln(a.stdout, r.Text)
			case *assembly:
				r, err := e.run(c.Context(), query, v.ensemble)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(r)
				}
				fmt.Fprintln(a.stdout, r.Text)
			default:
				r, err := e.Answer(c.Context(), query)
				if err != nil {
					return err
				}
				if m, ok := r.Extension.(map[string]any); ok {
					if x, ok := m["review"].(gate.Review); ok {
						v.line("gate: fire %t (%s), corrected %t", x.Decision.Fire, x.Decision.Reason, x.Corrected)
					}
				}
				if asJSON {
					return a.printJSON(r.Extension)
				}
				fmt.Fprintln(a.stdout, r.Text)
			}
			return nil
		},
	}
	f.add(c)
	c.Flags().StringVar(&system, "system-message", "", "system message for the thinker")
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON: paths, scores, states, events")
	return c
}

// liveLane is one path in the terminal.
type liveLane struct {
	origin, state string
	chars         int
	score         *float64
}

// liveView shows a run on standard error: on a terminal as lines that change, else
// as one line an event.
type liveView struct {
	w     io.Writer
	tty   bool
	mu    sync.Mutex
	lanes map[int]*liveLane
	ids   []int
	drawn int
}

// clean keeps text of models from steering the terminal.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func (v *liveView) line(format string, x ...any) {
	if v.w == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	fmt.Fprintln(v.w, clean(fmt.Sprintf(format, x...), 300))
	v.draw()
}

func (v *liveView) erase() {
	if v.tty && v.drawn > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA\x1b[J", v.drawn)
	}
	v.drawn = 0
}

func (v *liveView) draw() {
	if !v.tty {
		return
	}
	for _, id := range v.ids {
		l := v.lanes[id]
		score := "     "
		if l.score != nil {
			score = fmt.Sprintf("%.3f", *l.score)
		}
		fmt.Fprintf(v.w, "  %2d %-9s %s %6d characters  %s\n", id, l.origin, score, l.chars, clean(l.state, 50))
		v.drawn++
	}
}

func (v *liveView) deliberate(e deliberate.Event) {
	if v.w == nil {
		return
	}
	if !v.tty {
		if e.Kind == deliberate.EventPiece {
			return
		}
		text := e.Kind
		if e.Path >= 0 {
			text += fmt.Sprintf(" %d", e.Path)
		}
		if e.Score != nil {
			text += fmt.Sprintf(" %.3f", *e.Score)
		}
		if e.Note != "" {
			text += ": " + e.Note
		}
		v.line("%s", text)
		return
	}
	if e.Path < 0 || e.Kind == deliberate.EventBranch || e.Kind == deliberate.EventChosen {
		v.line("%s: %s", e.Kind, e.Note)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.lanes[e.Path]
	if l == nil {
		l = &liveLane{}
		v.lanes[e.Path] = l
		v.ids = append(v.ids, e.Path)
	}
	switch e.Kind {
	case deliberate.EventBegin:
		l.origin, l.state = e.Note, "…"
	case deliberate.EventPiece:
		l.chars += len([]rune(e.Piece))
	case deliberate.EventScore:
		l.score = e.Score
	default:
		l.state = e.Kind + " " + e.Note
	}
	v.erase()
	v.draw()
}

func (v *liveView) ensemble(e ensemble.Event) {
	switch {
	case e.State != nil && e.State.Rated:
		x := e.State.Values
		v.line("%s: ER %.0f CE %.0f EM %.0f CI %.0f PI %.0f", e.State.Node, 100*x[0], 100*x[1], 100*x[2], 100*x[3], 100*x[4])
	case e.State != nil:
		v.line("%s: no rating: %s", e.State.Node, e.State.Error)
	case e.Kind == "roles":
		for _, s := range e.Result.States {
			v.line("%s is %s", s.Node, s.Role)
		}
	case e.Kind == "system":
		v.line("System %d: %s", e.Result.System, e.Note)
	case e.Contribution != nil && e.Contribution.Error != "":
		v.line("%s (%s) is lost: %s", e.Contribution.Node, e.Contribution.Role, e.Contribution.Error)
	case e.Contribution != nil:
		v.line("%s (%s), confidence %.0f: %s", e.Contribution.Node, e.Contribution.Role, e.Contribution.Confidence, clean(e.Contribution.Text, 100))
	case e.Note != "":
		v.line("%s: %s", e.Kind, e.Note)
	}
}
