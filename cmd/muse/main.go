// Command muse trains and plays agents that know how competent they are.
//
// It only reads flags and wires packages together; see `muse --help`. Data goes to
// standard output, words for people to standard error. Exit status: 0 success,
// 1 failure, 2 usage, 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// version is set by the linker; see the Makefile.
var version = "dev"

// Exit codes, documented in `muse --help`.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	if path := os.Getenv("MUSE_CPUPROFILE"); path != "" { // for developers
		if f, err := os.Create(path); err == nil && pprof.StartCPUProfile(f) == nil {
			defer f.Close()
			code := start()
			pprof.StopCPUProfile()
			os.Exit(code)
		}
	}
	os.Exit(start())
}

// start runs the program until it ends or is interrupted.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	return code
}

// run is the whole program; tests call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, args: args, getenv: os.LookupEnv}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	switch code {
	case exitOK:
	case exitInterrupted:
		fmt.Fprintln(stderr, "muse: interrupted; finished work is saved, the same command continues")
	default:
		fmt.Fprintf(stderr, "muse: %v\n", err)
	}
	return code
}

// usageError marks mistakes in the command line or settings: exit 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

func exitCode(ctx context.Context, err error) int {
	var u usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &u):
		return exitUsage
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}
