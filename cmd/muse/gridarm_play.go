package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/gridarm"
)

func playGridarmCmd(a *app) *cobra.Command {
	var o gridarm.Options
	var seed uint64
	var episode int
	var w windowFlags
	c := &cobra.Command{
		Use: "gridarm [TASK]", Short: "Move the arm by keyboard",
		Long: "Plays one task (default push) in text pictures, from above and from the side. On a terminal each\n" +
			"key is a decision; otherwise each character of a line is. --window plays in a window (make viewer),\n" +
			"where --worldmodel shows at each decision how likely success is, and what the model would do.\n\n" + gridarmKeys,
		Example: "  muse play gridarm drawer-open --seed 3\n  muse play gridarm reach --window --worldmodel runs/worldmodel-x\n  echo xxxxxxxxxxxxxxxxxxxx | muse play gridarm pick-place",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactArgs(1, "at most one task")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			name := "push"
			if len(args) == 1 {
				name = args[0]
			}
			tasks, err := gridarmTasks([]string{name})
			if err != nil {
				return err
			}
			if len(tasks) != 1 {
				return usagef("%q is a group of tasks; name one (see muse envs gridarm)", name)
			}
			if episode < 0 {
				return usagef("--episode is %d; it must not be negative", episode)
			}
			if o.MaxSteps < 1 {
				return usagef("--max-steps is %d; at least 1 is needed", o.MaxSteps)
			}
			if err := w.check(c, "worldmodel", "futures"); err != nil {
				return err
			}
			if w.futures < 0 || w.futures > 32 {
				return usagef("--futures is %d; it must lie between 0 and 32", w.futures)
			}
			if w.window {
				return a.playArmWindow(c.Context(), tasks[0], o, seed, episode, &w)
			}
			env, err := gridarm.New(tasks[0], o)
			if err != nil {
				return usageError{err}
			}
			defer env.Close()
			return a.playGridarm(c.Context(), env, seed, episode)
		},
	}
	w.add(c)
	c.Flags().StringVar(&w.model, "worldmodel", "", "run folder of muse train worldmodel, or its model.safetensors, that watches in the window")
	c.Flags().IntVar(&w.futures, "futures", 8, "with --worldmodel: decisions that it imagines ahead")
	c.Flags().Uint64Var(&seed, "seed", 0, "seed of the episode")
	c.Flags().IntVar(&episode, "episode", 0, "number of the episode")
	c.Flags().IntVar(&o.MaxSteps, "max-steps", gridarm.DefaultMaxSteps, "limit of decisions")
	c.Flags().Float64Var(&o.StepSize, "step-size", gridarm.DefaultStepSize, "how far a decision goes, metres")
	return c
}

// armPlay is one game by keyboard.
type armPlay struct {
	a      *app
	env    *gridarm.Env
	out    io.Writer
	clear  bool // each picture replaces the last
	effort float32
	obs    []float32
	total  float64
	first  int // decision of the first success, 0 for none
	over   bool
}

func (a *app) playGridarm(ctx context.Context, env *gridarm.Env, seed uint64, episode int) error {
	obs, _, err := env.Reset(ctx, envs.ResetOptions{Seed: &seed, Options: map[string]any{"episode": episode}})
	if err != nil {
		return err
	}
	p := &armPlay{a: a, env: env, out: a.stdout, effort: -1, obs: obs.([]float32)}
	a.say("%s: %s\n%s\n%s", env.Task(), env.Task().Summary(), gridarm.Legend(env.Task()), gridarmKeys)
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return p.keys(ctx, f)
	}
	p.show("")
	lines := readLines(a.stdin)
	for !p.over {
		var line typed
		select {
		case line = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if line.err != nil {
			if errors.Is(line.err, io.EOF) {
				break
			}
			return fmt.Errorf("standard input: %w (a line may have at most %d bytes)", line.err, bufio.MaxScanTokenSize)
		}
		said := ""
		for _, k := range strings.TrimSpace(line.text) {
			words, quit, err := p.press(ctx, k)
			if err != nil {
				return err
			}
			if said = words; quit || p.over {
				p.over = true
				break
			}
		}
		p.show(said)
	}
	return p.end()
}

// keys plays with single keys on a terminal.
func (p *armPlay) keys(ctx context.Context, f *os.File) error {
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal can't send single keys: %w; pipe lines of keys instead", err)
	}
	defer term.Restore(int(f.Fd()), old) //nolint:errcheck // nothing else can be done with the terminal
	p.out, p.clear = crlf{p.out}, true
	in := make(chan rune, 1)
	failed := make(chan error, 1)
	go func() {
		r := bufio.NewReader(f)
		for {
			k, _, err := r.ReadRune()
			if err != nil {
				failed <- err
				return
			}
			if k == 0x1b && r.Buffered() >= 2 { // an arrow key: ESC [ A
				if b, _ := r.Peek(2); b[0] == '[' {
					k = map[byte]rune{'A': 'w', 'B': 's', 'C': 'd', 'D': 'a'}[b[1]]
					r.Discard(2) //nolint:errcheck // they are buffered
				}
			}
			in <- k
		}
	}()
	p.show("? help, q quit")
	for !p.over {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return p.end()
			}
			return fmt.Errorf("keyboard: %w", err)
		case k := <-in:
			if k == 3 { // Ctrl-C, which is no signal in this mode
				return context.Canceled
			}
			said, quit, err := p.press(ctx, k)
			if err != nil {
				return err
			}
			if quit {
				return p.end()
			}
			p.show(said)
		}
	}
	return p.end()
}

// press does what a key means; said are words about it.
func (p *armPlay) press(ctx context.Context, k rune) (said string, quit bool, err error) {
	act := make([]float32, gridarm.ActionSize)
	size := float32(1)
	if k >= 'A' && k <= 'Z' {
		k, size = k-'A'+'a', .2
	}
	switch m, ok := armWays[k]; {
	case ok:
		act[m.axis] = m.sign * size
	case k == 'o':
		p.effort = -1
	case k == 'c':
		p.effort = 1
	case k == '.' || k == ' ':
	case k == 'x':
		gridarm.Scripted(p.env.Task())(p.obs, act)
		p.effort = act[3]
	case k == 'q':
		return "", true, nil
	case k == '?':
		return gridarm.Legend(p.env.Task()) + "\n" + gridarmKeys, false, nil
	default:
		return fmt.Sprintf("%q does nothing; ? lists the keys", k), false, nil
	}
	act[3] = p.effort
	st, err := p.env.Step(ctx, act)
	if err != nil {
		return "", false, err
	}
	p.obs, p.over = st.Obs.([]float32), st.Done()
	p.total += st.Reward
	said = fmt.Sprintf("reward %.2f, sum %.1f", st.Reward, p.total)
	if st.Info.Success() {
		said += ", SUCCESS"
		if p.first == 0 {
			p.first = p.env.Steps()
		}
	}
	return said, false, nil
}

func (p *armPlay) show(said string) {
	if p.clear {
		fmt.Fprint(p.out, "\x1b[H\x1b[2J")
	}
	fmt.Fprint(p.out, p.env.Render())
	if said != "" {
		fmt.Fprintln(p.out, said)
	}
}

func (p *armPlay) end() error {
	if p.first > 0 {
		_, err := fmt.Fprintf(p.out, "Solved at decision %d; return %.1f.\n", p.first, p.total)
		return err
	}
	_, err := fmt.Fprintf(p.out, "Not solved in %d decisions; return %.1f.\n", p.env.Steps(), p.total)
	return err
}

// crlf writes the line ends that a terminal in raw mode needs.
type crlf struct{ w io.Writer }

func (c crlf) Write(b []byte) (int, error) {
	if _, err := io.WriteString(c.w, strings.ReplaceAll(string(b), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}
