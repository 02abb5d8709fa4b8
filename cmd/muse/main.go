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
	"runtime/debug"
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
	// The live heap is a few megabytes: at Go's default the collector would run
	// hundreds of times a second and take a part of every core.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
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
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the program where it stands
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is a failed write like others; see output
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// run is the whole program; tests call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	a := &app{stdin: stdin, stdout: out, stderr: stderr, args: args, getenv: os.LookupEnv}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := out.result(root.ExecuteContext(ctx))
	code := exitCode(ctx, err)
	switch code {
	case exitOK:
	case exitInterrupted:
		fmt.Fprintln(stderr, "muse: interrupted; finished work is saved, the same command continues")
	default:
		fmt.Fprintf(stderr, "muse: %s\n", oneLine(err))
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
