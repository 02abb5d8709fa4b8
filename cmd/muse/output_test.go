package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// failing is standard output on a full disk, or whose reader went away.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatFails(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"envs", "list", "--limit", "3"}, {"--help"}} {
		var errs strings.Builder
		if code := run(context.Background(), args, strings.NewReader(""), failing{syscall.ENOSPC}, &errs); code != exitFailure ||
			!strings.Contains(errs.String(), "no space left") {
			t.Errorf("muse %v on a full disk: exit %d, %q", args, code, errs.String())
		}
		errs.Reset()
		if code := run(context.Background(), append(args, "-q"), strings.NewReader(""), failing{syscall.EPIPE}, &errs); code != exitOK || errs.Len() > 0 {
			t.Errorf("muse %v into a closed pipe: exit %d, %q", args, code, errs.String())
		}
	}
}

func TestOneLine(t *testing.T) {
	got := oneLine(errors.Join(errors.New("a\r\n\n b\x1b[31m"), fmt.Errorf("c: %w", io.EOF)))
	if want := "a; b; [31m; c: EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := oneLine(errors.New(strings.Repeat("ä", 5000))); len(got) > 2010 || !strings.HasSuffix(got, "ä …") {
		t.Errorf("a long error has %d bytes and ends in %q", len(got), got[len(got)-8:])
	}
}

func TestListFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string // nil = an error
	}{
		{nil, []string{"x", "y"}},
		{[]string{"--l=a"}, []string{"a"}},
		{[]string{"--l=a,b", "--l", "c\nd \"e\""}, []string{"a", "b", "c\nd \"e\""}},
		{[]string{"--l="}, nil},
		{[]string{"--l=a,"}, nil},
	} {
		fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		got := []string{"x", "y"}
		list(fs, &got, "l", "")
		if err := fs.Parse(c.args); (err == nil) != (c.want != nil) || c.want != nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	got := []string{"x"}
	listOrNone(fs, &got, "l", "")
	if err := fs.Parse([]string{"--l="}); err != nil || len(got) > 0 {
		t.Errorf("a list that may be empty: %q, %v", got, err)
	}
}

// An interrupt ends a game although nobody types.
func TestInterruptedPlay(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	defer w.Close()
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"play", "-q"}, r, io.Discard, io.Discard) }()
	cancel()
	select {
	case c := <-code:
		if c != exitInterrupted {
			t.Errorf("exit %d, want %d", c, exitInterrupted)
		}
	case <-time.After(time.Minute):
		t.Fatal("the game waits for input")
	}
	if code, _, errs := muse(t, "play", "-q", "--max-steps", "0"); code != exitUsage || errs == "" {
		t.Errorf("exit %d, %q", code, errs)
	}
}
